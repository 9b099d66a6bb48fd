"""A person's own account: name, preferences, password and removal."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from octavo_rules.problems import CredentialRefused, Problem
from quart import Response

from octavo.features.accounts.api.account import PortalOpened
from octavo.http.account_schemas import AccountSchema, PreferencesSchema
from octavo.http.pages.page_registry import PageRegistry, Visitor
from octavo.http.pages.responses import FormErrors, form_errors_of, redirect, show
from octavo.http.pages.usage import ReadUsage, known, next_month, reads_are_refused, used_shares

_PASSWORD = "/account/password"
_REMOVAL = "/account/removal"


def add_account_pages(site: PageRegistry, usage: ReadUsage) -> None:
    """Serve the pages of one's own account; ``usage`` returns that of the installation."""

    async def account_page(visitor: Visitor, trouble: FormErrors | None = None) -> Response:
        account = visitor.account
        return await show(
            "accounts/account.html",
            trouble=trouble,
            form=visitor.form,
            shares=list(used_shares(account.usage, account.limit, account.controls)),
            next_month=next_month(account.usage.month),
            all_refused=reads_are_refused(await known(usage)),
        )

    @site.page("/account")
    async def showaccount_page(visitor: Visitor) -> Response:
        return await account_page(visitor)

    @site.form("/account/name")
    async def rename(visitor: Visitor) -> Response:
        body = {"displayName": visitor.form.get("displayName", "")}
        try:
            await visitor.api.send(AccountSchema, "PATCH", "/api/account", body)
        except Problem as problem:
            return await account_page(visitor, form_errors_of(problem))
        return redirect("/account", "name-changed")

    @site.form("/account/preferences")
    async def change_preferences(visitor: Visitor) -> Response:
        fields = visitor.form
        body = {
            "themeFamily": fields.get("themeFamily", ""),
            "appearance": fields.get("appearance", ""),
            "spellCheck": "spellCheck" in fields,
        }
        path = "/api/account/preferences"
        try:
            await visitor.api.send(PreferencesSchema, "PUT", path, body)
        except Problem as problem:
            return await account_page(visitor, form_errors_of(problem))
        return redirect("/account", "preferences-changed")

    @site.page(_PASSWORD)
    async def show_password(visitor: Visitor) -> Response:
        return await show("accounts/password.html", form={"end": "on"})

    @site.form(_PASSWORD)
    async def change_password(visitor: Visitor) -> Response:
        fields = visitor.form
        body = {
            "currentPassword": fields.get("currentPassword", ""),
            "newPassword": fields.get("newPassword", ""),
            "revokeOtherSessions": "end" in fields,
        }
        try:
            await visitor.api.call("POST", "/api/auth/change-password", body)
        except CredentialRefused as problem:
            trouble = _wrong_password(problem, "currentPassword")
        except Problem as problem:
            trouble = form_errors_of(problem)
        else:
            return redirect("/account", "password-changed")
        return await show("accounts/password.html", trouble=trouble, form=fields)

    @site.page("/account/consent")
    async def show_consent(visitor: Visitor) -> Response:
        consent = visitor.account.consent
        if consent.accepted is None and consent.required is None:
            return redirect("/account")
        return await show("accounts/consent.html")

    @site.page(_REMOVAL, before_consent=True)
    async def show_removal(visitor: Visitor) -> Response:
        return await show("accounts/removal.html")

    @site.form(_REMOVAL)
    async def remove(visitor: Visitor) -> Response:
        body = {"password": visitor.form.get("password", "")}
        try:
            performed = await visitor.api.call("POST", "/api/account/removal", body)
        except CredentialRefused as problem:
            trouble = _wrong_password(problem, "password")
        except Problem as problem:
            trouble = form_errors_of(problem)
        else:
            return redirect("/", "account-removed", performed.headers)
        return await show("accounts/removal.html", trouble=trouble)


def _wrong_password(problem: Problem, field: str) -> FormErrors:
    fault = {field: "This is not your password."}
    return FormErrors(problem.status, "", fault, code=problem.code)


class PortalLink(NamedTuple):
    """What leads to a page of the portal.

    Attributes:
        page: the name of the page.
        title: the name for people.
        host: where the page is.
    """

    page: str
    title: str
    host: str


def portal_links(portal: Mapping[str, str]) -> tuple[PortalLink, ...]:
    """Return what leads to the pages of ``portal``: addresses by name."""
    return tuple(
        PortalLink(page, page.replace("-", " ").strip().capitalize(), urlsplit(address).netloc)
        for page, address in portal.items()
    )


def add_portal_page(site: PageRegistry, portal: Mapping[str, str]) -> None:
    """Serve the form that opens a page of ``portal``: addresses by name."""
    site.provide(portal_links=portal_links(portal))

    @site.form("/account/portal")
    async def open_portal(visitor: Visitor) -> Response:
        body = {"path": visitor.form.get("page", "")}
        opened = await visitor.api.send(PortalOpened, "POST", "/api/account/portal", body)
        # A redirect of a form to another origin would be blocked: the policy is form-action 'self'.
        host = urlsplit(opened.address).netloc
        return await show("accounts/portal.html", address=opened.address, host=host)
