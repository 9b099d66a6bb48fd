"""The page of an invitation: a form that makes an account, without script."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from quart import Response, make_response, render_template, request
from quart_trio import QuartTrio

from octavo.http.api.store_problems import store_problem
from octavo.http.contract.problems import Header, InvalidRequest, NotFound, Problem
from octavo.model.accounts.refusal import InvitationUnusable
from octavo.store import StoreUnavailable

PATH = "/register"
DONE = "/register/done"
_DONE = DONE.encode()
FIELDS = ("invitation", "address", "displayName", "password")

Register = Callable[[Mapping[str, str], Sequence[Header], str | None], Awaitable[Header]]
"""Makes an account of the fields of a form, the headers and the client; answers the cookie.

Raises a `Problem`, whose ``errors`` point to fields.
"""


Opens = Callable[[str], Awaitable[bool]]
"""Answers whether an account may be made from an invitation."""


class Registering(NamedTuple):
    """What the page needs."""

    opens: Opens
    register: Register


def add_register_page(app: QuartTrio, registering: Registering) -> None:
    """Serve the page at `PATH`, and what follows it at `DONE`."""

    @app.get(PATH)
    async def show_form() -> Response:
        given = {"invitation": request.args.get("invitation", "")}
        try:
            if given["invitation"] and not await registering.opens(given["invitation"]):
                return await _refusal(given, NotFound(str(InvitationUnusable())))
        except StoreUnavailable as error:
            return await _refusal(given, store_problem(error))
        page = await render_template("register.html", given=given, errors={}, refused="")
        return _with_headers(await make_response(page), [])

    @app.get(DONE)
    async def show_welcome() -> str:
        return await render_template("registered.html")

    @app.post(PATH)
    async def take_form() -> Response:
        form = await request.form
        given = {name: form.get(name, "") for name in FIELDS}
        try:
            name, cookie = await registering.register(
                given, [*request.scope["headers"]], request.remote_addr
            )
        except Problem as problem:
            return await _refusal(given, problem)
        except StoreUnavailable as error:
            return await _refusal(given, store_problem(error))
        # Elsewhere, so that a second look at the page does not send the form again.
        return _with_headers(await make_response("", 303), [(name, cookie), (b"location", _DONE)])


async def _refusal(given: Mapping[str, str], problem: Problem) -> Response:
    errors = _by_field(problem)
    refused = "" if errors else problem.detail
    page = await render_template("register.html", given=given, errors=errors, refused=refused)
    return _with_headers(await make_response(page, problem.status), problem.headers)


def _by_field(problem: Problem) -> dict[str, str]:
    if not isinstance(problem, InvalidRequest):
        return {}
    errors = problem.members.get("errors")
    found = errors if isinstance(errors, list) else []
    return {each["pointer"].removeprefix("/"): each["message"] for each in found}


def _with_headers(response: object, headers: Sequence[Header]) -> Response:
    if not isinstance(response, Response):
        raise TypeError(f"a page is a response, not {response!r}")
    for name, value in headers:
        response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
    return response
