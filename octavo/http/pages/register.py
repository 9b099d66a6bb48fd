"""The registration page: a form that creates an account, without scripts."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from quart import Response, make_response, render_template, request
from quart_trio import QuartTrio

from octavo.http.api.consent import required_documents
from octavo.http.api.store_problems import store_problem
from octavo.http.contract.problems import (
    ConsentRequired,
    Header,
    InvalidRequest,
    NotFound,
    Problem,
    WrongOrigin,
)
from octavo.http.pages.registering import Registering
from octavo.model.accounts.consent import NO_DOCUMENTS, LegalDocuments
from octavo.store import StoreUnavailable

PATH = "/register"
DONE = "/register/done"
_DONE = DONE.encode()
FIELDS = ("invitation", "address", "displayName", "password")
VERSIONS = ("termsVersion", "privacyVersion")


class FormlessPage(NamedTuple):
    """A page without a form: why there is none, and what to do; ``link`` may be empty."""

    heading: str
    what: str
    advice: str
    link: str = ""
    link_text: str = ""


NO_INVITATION = FormlessPage(
    "You need an invitation",
    "To create an account you need the link of an invitation, and this address has none.",
    "Open the complete link that you received, or ask the people who run this "
    "installation for one.",
)
UNUSABLE = FormlessPage(
    "This invitation can't be used",
    "An invitation works once and for a limited time. This one was used, has expired, or "
    "is incomplete.",
    "If you created your account with it, sign in on your device with your address and "
    "password. Otherwise ask the person who invited you for a new link.",
)
NOT_ACCEPTED = (
    "To create an account, accept the documents below in their present version. They may have "
    "changed since you opened this page."
)
OTHER_ADDRESS = (
    "This invitation is not for this e-mail address. Use the address that was invited, "
    "or ask the person who invited you for another link."
)


def add_register_page(app: QuartTrio, registering: Registering, public_url: str) -> None:
    """Serve the page at `PATH`, and the confirmation at `DONE`.

    ``public_url`` is the origin of the installation; a form submitted from another one is refused.
    """
    legal = registering.legal

    @app.get(PATH)
    async def show_form() -> Response:
        given = {"invitation": request.args.get("invitation", "")}
        try:
            opens = await registering.opens(given["invitation"])
        except StoreUnavailable as error:
            return await _temporary(store_problem(error))
        if not opens:
            return await _closed(given["invitation"], NotFound.status)
        other_origin = _other_origin(public_url, given["invitation"])
        return await _form(given, legal, other_origin=other_origin)

    @app.get(DONE)
    async def show_welcome() -> str:
        return await render_template("registered.html")

    @app.post(PATH)
    async def take_form() -> Response:
        form = await request.form
        given = {name: form.get(name, "") for name in FIELDS}
        consent = {name: form.get(name, "") for name in VERSIONS} if "accept" in form else {}
        try:
            name, cookie = await registering.register(
                {**given, **consent}, [*request.scope["headers"]], request.remote_addr
            )
        except WrongOrigin as problem:
            return await _without_form(
                _at_the_public_url(public_url, given["invitation"]), problem.status
            )
        except NotFound as problem:
            try:
                opens = await registering.opens(given["invitation"])
            except StoreUnavailable as error:
                return await _form(given, legal, store_problem(error))
            if opens:
                return await _form(given, legal, NotFound(OTHER_ADDRESS))
            return await _closed(given["invitation"], problem.status)
        except ConsentRequired:
            return await _form(given, legal, ConsentRequired(NOT_ACCEPTED))
        except Problem as problem:
            if "invitation" in _by_field(problem):
                return await _without_form(UNUSABLE, problem.status)
            return await _form(given, legal, problem)
        except StoreUnavailable as error:
            return await _form(given, legal, store_problem(error))
        # A redirect, so that reloading the page does not submit the form again.
        return _with_headers(await make_response("", 303), [(name, cookie), (b"location", _DONE)])


async def _form(
    given: Mapping[str, str],
    legal: LegalDocuments,
    problem: Problem | None = None,
    *,
    other_origin: str = "",
) -> Response:
    errors = {} if problem is None else _by_field(problem)
    page = await render_template(
        "register.html",
        given=given,
        errors=errors,
        refused="" if problem is None or errors else problem.detail,
        other_origin=other_origin,
        documents=None if legal == NO_DOCUMENTS else required_documents(legal),
    )
    status, headers = (200, ()) if problem is None else (problem.status, problem.headers)
    return _with_headers(await make_response(page, status), headers)


async def _without_form(
    dead: FormlessPage, status: int, headers: Sequence[Header] = ()
) -> Response:
    page = await render_template("register_refused.html", **dead._asdict())
    return _with_headers(await make_response(page, status), headers)


async def _closed(invitation: str, status: int) -> Response:
    """Return the page for an invitation that is not valid, or for none where one is needed."""
    if not invitation:
        return await _without_form(NO_INVITATION, 200)
    return await _without_form(UNUSABLE, status)


async def _temporary(problem: Problem) -> Response:
    again = FormlessPage("Try again soon", problem.detail, "An invitation stays valid.")
    return await _without_form(again, problem.status, problem.headers)


def _other_origin(public_url: str, invitation: str) -> str:
    """Return the link to the page at ``public_url`` when the request has another host.

    The page keeps its form all the same: a proxy may have changed the host.
    """
    known = urlsplit(public_url).netloc
    return "" if request.host.lower() == known else _link(public_url, invitation)


def _at_the_public_url(public_url: str, invitation: str) -> FormlessPage:
    return FormlessPage(
        "Open this page at its own address",
        f"This installation is used at {public_url}, and your browser opened the page at "
        "another address, where it would not keep you signed in.",
        "Open it there, and fill in the form again.",
        _link(public_url, invitation),
        f"Go to {public_url}",
    )


def _link(public_url: str, invitation: str) -> str:
    query = f"?invitation={quote(invitation, safe='')}" if invitation else ""
    return f"{public_url}{PATH}{query}"


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
