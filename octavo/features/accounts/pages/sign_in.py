"""Sign in and sign out."""

from collections.abc import Mapping
from functools import partial

from octavo_rules.problems import CredentialRefused, Problem
from quart import Response

from octavo.http.callers import token_that_is_set
from octavo.http.pages.form_errors import FormErrors, form_errors_of
from octavo.http.pages.kept_forms import AGAIN, go_on, kept_fields, sign_in_again
from octavo.http.pages.page_registry import Audience, PageRegistry, Visitor, form_token
from octavo.http.pages.responses import SIGN_IN, inside, redirect, show, with_headers

WRONG = FormErrors(
    CredentialRefused.status,
    "The address or the password is wrong.",
    {"password": "Check the address, and type the password again."},
    code=CredentialRefused.code,
)


def add_sign_in_pages(site: PageRegistry) -> None:
    """Serve the pages of signing in and out."""

    async def form(given: Mapping[str, str], trouble: FormErrors | None = None) -> Response:
        open_to_all = await site.registration_is_open()
        return await show(
            "sign_in.html", trouble=trouble, given=given, open_registration=open_to_all
        )

    @site.page(SIGN_IN, Audience.ANYBODY)
    async def show_form(visitor: Visitor) -> Response:
        following = inside(visitor.query.get("next", ""), site.public_url)
        if visitor.signed_in is not None:
            return redirect(following)
        return await form({"next": following})

    @site.form(SIGN_IN, Audience.ANYBODY)
    async def sign_in(visitor: Visitor) -> Response:
        given = visitor.given
        following = inside(given.get("next", ""), site.public_url)
        body = {
            "email": given.get("address", ""),
            "password": given.get("password", ""),
            "rememberMe": "remember" in given,
        }
        try:
            performed = await visitor.api.call("POST", "/api/auth/sign-in/email", body)
        except CredentialRefused:
            return await form(given, WRONG)
        except Problem as problem:
            return await form(given, form_errors_of(problem, {"email": "address"}))
        return redirect(following, headers=performed.headers)

    @site.form(AGAIN, Audience.ANYBODY, stamped=True)
    async def sign_in_to_go_on(visitor: Visitor) -> Response:
        given = visitor.given
        kept, address = kept_fields(given), given.get("address", "")
        following = inside(given.get("following", ""), site.public_url)
        body = {
            "email": address,
            "password": given.get("password", ""),
            "rememberMe": "remember" in given,
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
        return with_headers(response, performed.headers)

    @site.page("/sign-out", Audience.ANYBODY)
    async def ask(visitor: Visitor) -> Response:
        if visitor.signed_in is None:
            return redirect("/")
        return await show("sign_out.html")

    @site.form("/sign-out", Audience.ANYBODY)
    async def sign_out(visitor: Visitor) -> Response:
        performed = await visitor.api.call("POST", "/api/auth/sign-out", {})
        return redirect(SIGN_IN, "signed-out", performed.headers)
