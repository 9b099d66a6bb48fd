"""Sign in and sign out, and choose a new password instead of a forgotten one."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from octavo_rules.problems import CredentialRefused, Problem
from quart import Response

from octavo.features.accounts.rules.refusal import InvalidResetToken
from octavo.http.callers import token_that_is_set
from octavo.http.pages import responses
from octavo.http.pages.kept_forms import AGAIN, go_on, kept_fields, sign_in_again
from octavo.http.pages.page_registry import Audience, PageRegistry, Visitor, form_token
from octavo.http.pages.responses import FormErrors, form_errors_of, redirect, show
from octavo.http.refusals import failures_as_problems

FORGOTTEN = "/forgot-password"
RESET = "/reset-password"

ResetOpens = Callable[[str], Awaitable[bool]]
"""Returns whether a token can be used now. Raises `StoreUnavailable`."""


def add_password_reset_pages(site: PageRegistry, opens: ResetOpens, *, sends_mail: bool) -> None:
    """Serve the pages.

    ``opens`` returns whether a link is valid. ``sends_mail`` is whether the installation can send
    one.
    """
    site.provide(sends_mail=sends_mail)

    @site.page(FORGOTTEN, Audience.ANYBODY)
    async def show_request(visitor: Visitor) -> Response:
        return await show("accounts/forgot_password.html", form={})

    @site.form(FORGOTTEN, Audience.ANYBODY, once=True)
    async def request_link(visitor: Visitor) -> Response:
        address = visitor.form.get("address", "").strip()
        path = "/api/auth/request-password-reset"
        try:
            await visitor.api.call("POST", path, {"email": address})
        except Problem as problem:
            trouble = form_errors_of(problem, {"email": "address"})
            return await show("accounts/forgot_password.html", trouble=trouble, form=visitor.form)
        return await show("accounts/forgot_password.html", form={}, sent=address)

    @site.page(RESET, Audience.ANYBODY)
    async def show_form(visitor: Visitor) -> Response:
        token = visitor.query.get("token", "")
        with failures_as_problems():
            opened = await opens(token)
        if not opened:
            return await show("accounts/reset_closed.html", status=404)
        return await show("accounts/reset_password.html", token=token)

    @site.form(RESET, Audience.ANYBODY)
    async def reset(visitor: Visitor) -> Response:
        fields = visitor.form
        token = fields.get("token", "")
        body = {"newPassword": fields.get("newPassword", ""), "token": token}
        try:
            await visitor.api.call("POST", "/api/auth/reset-password", body)
        except InvalidResetToken as problem:
            return await show("accounts/reset_closed.html", status=problem.status)
        except Problem as problem:
            return await show(
                "accounts/reset_password.html", trouble=form_errors_of(problem), token=token
            )
        return redirect(responses.SIGN_IN, "password-reset")


WRONG = FormErrors(
    CredentialRefused.status,
    "The address or the password is wrong.",
    {"password": "Check the address, and type the password again."},
    code=CredentialRefused.code,
)


def add_sign_in_pages(site: PageRegistry) -> None:
    """Serve the pages of signing in and out."""

    async def form(fields: Mapping[str, str], trouble: FormErrors | None = None) -> Response:
        open_to_all = await site.registration_is_open()
        return await show(
            "accounts/sign_in.html", trouble=trouble, form=fields, open_registration=open_to_all
        )

    @site.page(responses.SIGN_IN, Audience.ANYBODY)
    async def show_form(visitor: Visitor) -> Response:
        following = responses.inside(visitor.query.get("next", ""), site.public_url)
        if visitor.signed_in is not None:
            return redirect(following)
        return await form({"next": following})

    @site.form(responses.SIGN_IN, Audience.ANYBODY)
    async def sign_in(visitor: Visitor) -> Response:
        fields = visitor.form
        following = responses.inside(fields.get("next", ""), site.public_url)
        body = {
            "email": fields.get("address", ""),
            "password": fields.get("password", ""),
            "rememberMe": "remember" in fields,
        }
        try:
            performed = await visitor.api.call("POST", "/api/auth/sign-in/email", body)
        except CredentialRefused:
            return await form(fields, WRONG)
        except Problem as problem:
            return await form(fields, form_errors_of(problem, {"email": "address"}))
        return redirect(following, headers=performed.headers)

    @site.form(AGAIN, Audience.ANYBODY, stamped=True)
    async def sign_in_to_go_on(visitor: Visitor) -> Response:
        fields = visitor.form
        kept, address = kept_fields(fields), fields.get("address", "")
        following = responses.inside(fields.get("following", ""), site.public_url)
        body = {
            "email": address,
            "password": fields.get("password", ""),
            "rememberMe": "remember" in fields,
        }
        again = partial(sign_in_again, kept, following, address=address)
        try:
            performed = await visitor.api.call("POST", "/api/auth/sign-in/email", body)
        except CredentialRefused:
            return await again(trouble=WRONG)
        except Problem as problem:
            return await again(trouble=form_errors_of(problem, {"email": "address"}))
        token = token_that_is_set(performed.headers)
        response = await go_on(kept, following, form_token(token))
        return responses.with_headers(response, performed.headers)

    @site.page("/sign-out", Audience.ANYBODY)
    async def ask(visitor: Visitor) -> Response:
        if visitor.signed_in is None:
            return redirect("/")
        return await show("accounts/sign_out.html")

    @site.form("/sign-out", Audience.ANYBODY)
    async def sign_out(visitor: Visitor) -> Response:
        performed = await visitor.api.call("POST", "/api/auth/sign-out", {})
        return redirect(responses.SIGN_IN, "signed-out", performed.headers)
