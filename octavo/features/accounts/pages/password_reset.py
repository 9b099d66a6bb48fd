"""A forgotten password: ask for a link, and choose a new password with it."""

from collections.abc import Awaitable, Callable

from octavo_rules.problems import Problem
from quart import Response

from octavo.features.accounts.rules.refusal import InvalidResetToken
from octavo.http.pages.form_errors import form_errors_of
from octavo.http.pages.page_registry import Audience, PageRegistry, Visitor
from octavo.http.pages.responses import SIGN_IN, redirect, show
from octavo.http.refusals import failures_as_problems

FORGOTTEN = "/forgot-password"
RESET = "/reset-password"

ResetOpens = Callable[[str], Awaitable[bool]]
"""Returns whether a token can be used now. Raises `StoreUnavailable`."""


def add_password_reset_pages(site: PageRegistry, opens: ResetOpens) -> None:
    """Serve the pages; ``opens`` returns whether a link is valid."""

    @site.page(FORGOTTEN, Audience.ANYBODY)
    async def show_request(visitor: Visitor) -> Response:
        return await show("forgot_password.html", given={})

    @site.form(FORGOTTEN, Audience.ANYBODY, once=True)
    async def request_link(visitor: Visitor) -> Response:
        address = visitor.given.get("address", "").strip()
        path = "/api/auth/request-password-reset"
        try:
            await visitor.api.call("POST", path, {"email": address})
        except Problem as problem:
            trouble = form_errors_of(problem, {"email": "address"})
            return await show("forgot_password.html", trouble=trouble, given=visitor.given)
        return await show("forgot_password.html", given={}, sent=address)

    @site.page(RESET, Audience.ANYBODY)
    async def show_form(visitor: Visitor) -> Response:
        token = visitor.query.get("token", "")
        with failures_as_problems():
            opened = await opens(token)
        if not opened:
            return await show("reset_closed.html", status=404)
        return await show("reset_password.html", token=token)

    @site.form(RESET, Audience.ANYBODY)
    async def reset(visitor: Visitor) -> Response:
        given = visitor.given
        token = given.get("token", "")
        body = {"newPassword": given.get("newPassword", ""), "token": token}
        try:
            await visitor.api.call("POST", "/api/auth/reset-password", body)
        except InvalidResetToken as problem:
            return await show("reset_closed.html", status=problem.status)
        except Problem as problem:
            return await show("reset_password.html", trouble=form_errors_of(problem), token=token)
        return redirect(SIGN_IN, "password-reset")
