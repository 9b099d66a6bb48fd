"""Sign in and sign out."""

from quart import Response

from octavo.http.contract.problems import CredentialRefused, Problem
from octavo.http.pages.responses import SIGN_IN, inside, redirect, show
from octavo.http.pages.site import Audience, Site, Visitor
from octavo.http.pages.trouble import Trouble, trouble_of

WRONG = Trouble(
    CredentialRefused.status,
    "The address or the password is wrong.",
    {"password": "Check it, and type it again."},
    code=CredentialRefused.code,
)


def add_sign_in_pages(site: Site) -> None:
    """Serve the pages of signing in and out."""

    @site.page(SIGN_IN, Audience.ANYBODY)
    async def show_form(visitor: Visitor) -> Response:
        following = inside(visitor.query.get("next", ""), site.public_url)
        if visitor.signed_in is not None:
            return redirect(following)
        return await show("sign_in.html", given={"next": following})

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
            return await show("sign_in.html", trouble=WRONG, given=given)
        except Problem as problem:
            trouble = trouble_of(problem, {"email": "address"})
            return await show("sign_in.html", trouble=trouble, given=given)
        return redirect(following, headers=performed.headers)

    @site.page("/sign-out", Audience.ANYBODY)
    async def ask(visitor: Visitor) -> Response:
        if visitor.signed_in is None:
            return redirect("/")
        return await show("sign_out.html")

    @site.form("/sign-out", Audience.ANYBODY)
    async def sign_out(visitor: Visitor) -> Response:
        performed = await visitor.api.call("POST", "/api/auth/sign-out", {})
        return redirect(SIGN_IN, "signed-out", performed.headers)
