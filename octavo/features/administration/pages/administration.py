"""The administration of the installation: accounts and invitations."""

import re
from collections.abc import Mapping
from decimal import Decimal
from http import HTTPStatus
from urllib.parse import urlencode

from octavo_rules.problems import NotFound, Problem
from quart import Response

from octavo.features.administration.api import administration as accounts
from octavo.features.administration.api.installation import InstallationSchema
from octavo.features.members.api.invitations import InvitationCreated, InvitationList
from octavo.http import contract
from octavo.http.pages.page_registry import Audience, PageRegistry, Visitor
from octavo.http.pages.responses import HOME, FormErrors, form_errors_of, redirect, show
from octavo.http.pages.usage import ReadUsage, first_day, installation_shares, known, used_shares
from octavo.model.access.audit import KINDS, SERVICES

PLACE = "/administration"
_ACCOUNTS = f"{PLACE}/accounts"
_INVITATIONS = f"{PLACE}/invitations"
_INSTALLATION = f"{PLACE}/installation"
_MEGABYTE = 1_000_000
_REVISION = re.compile("[0-9]{1,15}")
_NUMBER = re.compile("[0-9]{1,15}")
_LONGEST_TEXT = 254
_FILTERS = ("kind", "account")
_DECIDED = ("role", "state", "reason", "storage")
_MEGABYTES = re.compile(r"[0-9]{1,10}(\.[0-9]{1,6})?")

ROLES = {
    "member": "Member",
    "administrator": "Administrator",
}
STATES = {
    "enabled": "Enabled",
    "locked": "Locked: can sign in, but not read or change notes",
    "disabled": "Disabled: can't sign in",
}
POLICIES = {
    "invitation": "People who are invited",
    "open": "Anybody",
}


def add_pages(site: PageRegistry, usage: ReadUsage) -> None:
    """Serve the pages for administrators; ``usage`` returns that of the installation."""
    only = Audience.ADMINISTRATOR

    @site.page(PLACE, only)
    async def show_first(visitor: Visitor) -> Response:
        return redirect(_ACCOUNTS)

    @site.page(_ACCOUNTS, only)
    async def show_accounts(visitor: Visitor) -> Response:
        text = visitor.query.get("text", "").replace("\0", "")[:_LONGEST_TEXT]
        page = await visitor.api.get(
            accounts.AccountList, "/api/accounts", **visitor.page, text=text
        )
        return await show("administration/accounts.html", page=page, text=text)

    @site.page(f"{_ACCOUNTS}/<uuid:account_id>", only)
    async def show_account(visitor: Visitor, account_id: str) -> Response:
        return await _account(visitor, account_id)

    @site.form(f"{_ACCOUNTS}/<uuid:account_id>", only)
    async def change(visitor: Visitor, account_id: str) -> Response:
        fields = visitor.form
        limit, fault = parse_megabytes(fields.get("storage", ""))
        if fault:
            return await _account(visitor, account_id, FormErrors(400, "", {"storage": fault}))
        decided: dict[str, object] = {
            "role": fields.get("role", ""),
            "state": fields.get("state", ""),
            "lockReason": fields.get("reason", "").strip() or None,
            "limit": {"storageBytes": limit},
        }
        # Leave out unchanged fields: others may have changed them meanwhile.
        body = {
            member: value
            for (member, value), name in zip(decided.items(), _DECIDED, strict=True)
            if fields.get(name, "").strip() != fields.get(f"shown-{name}", "")
        }
        names = {"storageBytes": "storage", "lockReason": "reason"}
        changed = await _changed(visitor, account_id, body, names)
        own = str(account_id) == visitor.account.id
        if own and body.get("role") == "member" and changed.status_code < HTTPStatus.BAD_REQUEST:
            return redirect(HOME, "account-changed")
        return changed

    @site.form(f"{_ACCOUNTS}/<uuid:account_id>/controls", only)
    async def change_controls(visitor: Visitor, account_id: str) -> Response:
        fields = visitor.form
        limit, no_limit = parse_megabytes(fields.get("controlledStorage", ""))
        size, no_size = parse_megabytes(fields.get("downloads", ""))
        files, no_files = parse_number(fields.get("filesRead", ""))
        faults = {"controlledStorage": no_limit, "downloads": no_size, "filesRead": no_files}
        errors = {name: fault for name, fault in faults.items() if fault}
        revision = fields.get("revision", "")
        if errors or not _REVISION.fullmatch(revision):
            return await _account(visitor, account_id, FormErrors(400, "", errors))
        locked = "locked" in fields
        controls: dict[str, object] = {
            "revision": int(revision),
            "locked": locked,
            "storageBytes": limit,
            "downloadBytesPerMonth": size,
            "downloadObjectsPerMonth": files,
            "publishing": "publishing" in fields,
        }
        if locked:
            controls["lockReason"] = fields.get("lockReason", "").strip() or None
        names = {
            "storageBytes": "controlledStorage",
            "downloadBytesPerMonth": "downloads",
            "downloadObjectsPerMonth": "filesRead",
        }
        return await _changed(visitor, account_id, {"controls": controls}, names)

    @site.page(f"{_ACCOUNTS}/<uuid:account_id>/remove", only)
    async def ask_remove(visitor: Visitor, account_id: str) -> Response:
        if str(account_id) == visitor.account.id:
            return redirect("/account/removal")
        account = await _read(visitor, account_id)
        return await show("administration/remove_account.html", subject=account)

    @site.form(f"{_ACCOUNTS}/<uuid:account_id>/remove", only)
    async def remove(visitor: Visitor, account_id: str) -> Response:
        account = await _read(visitor, account_id)
        try:
            await visitor.api.send(contract.Removed, "DELETE", f"/api/accounts/{account_id}")
        except NotFound:
            raise
        except Problem as problem:
            trouble = form_errors_of(problem)
            return await show(
                "administration/remove_account.html", trouble=trouble, subject=account
            )
        return redirect(_ACCOUNTS, "other-account-removed")

    @site.page(_INVITATIONS, only)
    async def show_invitations(visitor: Visitor) -> Response:
        return await _invitations(visitor)

    @site.form(_INVITATIONS, only, once=True)
    async def invite(visitor: Visitor) -> Response:
        fields = visitor.form
        body = {
            "role": fields.get("role", ""),
            "address": fields.get("address", "").strip() or None,
        }
        try:
            made = await visitor.api.send(InvitationCreated, "POST", "/api/invitations", body)
        except Problem as problem:
            return await _invitations(visitor, form_errors_of(problem))
        return await show("administration/invited.html", invitation=made)

    @site.form(f"{_INVITATIONS}/<uuid:invitation_id>/revoke", only)
    async def revoke(visitor: Visitor, invitation_id: str) -> Response:
        await visitor.api.send(contract.Removed, "DELETE", f"/api/invitations/{invitation_id}")
        return redirect(_INVITATIONS, "invitation-revoked")

    @site.page(_INSTALLATION, only)
    async def show_installation(visitor: Visitor) -> Response:
        return await _installation(visitor, usage)

    @site.form(_INSTALLATION, only)
    async def change_installation(visitor: Visitor) -> Response:
        body = {"registrationPolicy": visitor.form.get("registrationPolicy", "")}
        try:
            await visitor.api.send(InstallationSchema, "PUT", "/api/installation", body)
        except Problem as problem:
            return await _installation(visitor, usage, form_errors_of(problem))
        return redirect(_INSTALLATION, "installation-changed")

    @site.page(f"{PLACE}/audit", only)
    async def show_audit(visitor: Visitor) -> Response:
        chosen = {name: visitor.query[name] for name in _FILTERS if visitor.query.get(name)}
        if chosen.get("kind", KINDS[0]) not in KINDS:
            del chosen["kind"]
        page = await visitor.api.get(accounts.AuditList, "/api/audit", **visitor.page, **chosen)
        return await show(
            "administration/audit.html",
            page=page,
            names=await _names(visitor, page, chosen.get("account")),
            kinds=KINDS,
            kind=chosen.get("kind", ""),
            person=chosen.get("account", ""),
            filters=urlencode(chosen),
        )


async def _read(visitor: Visitor, account_id: str) -> accounts.AccountSummarySchema:
    return await visitor.api.get(accounts.AccountSummarySchema, f"/api/accounts/{account_id}")


async def _account(
    visitor: Visitor, account_id: str, trouble: FormErrors | None = None
) -> Response:
    account = await _read(visitor, account_id)
    return await show(
        "administration/account.html",
        trouble=trouble,
        subject=account,
        shares=list(used_shares(account.usage, account.limit, account.controls)),
        megabytes=megabytes,
        form=visitor.form,
        roles=ROLES,
        states=STATES,
    )


async def _changed(
    visitor: Visitor, account_id: str, body: Mapping[str, object], names: Mapping[str, str]
) -> Response:
    path = f"/api/accounts/{account_id}"
    try:
        await visitor.api.send(accounts.AccountSummarySchema, "PATCH", path, body)
    except NotFound:
        raise
    except Problem as problem:
        return await _account(visitor, account_id, form_errors_of(problem, names))
    return redirect(f"{_ACCOUNTS}/{account_id}", "account-changed")


async def _installation(
    visitor: Visitor, usage: ReadUsage, trouble: FormErrors | None = None
) -> Response:
    used = await known(usage)
    installation = await visitor.api.get(InstallationSchema, "/api/installation")
    return await show(
        "administration/installation.html",
        trouble=trouble,
        installation=installation,
        form=visitor.form,
        policies=POLICIES,
        shares=[] if used is None else list(installation_shares(used)),
        month=None if used is None else first_day(used.month),
    )


async def _invitations(visitor: Visitor, trouble: FormErrors | None = None) -> Response:
    page = await visitor.api.get(InvitationList, "/api/invitations", **visitor.page)
    return await show(
        "administration/invitations.html",
        trouble=trouble,
        page=page,
        form=visitor.form or {"role": "member"},
        roles=ROLES,
    )


def parse_megabytes(megabytes: str) -> tuple[int | None, str]:
    """Return a limit given in megabytes, None for no limit, and what is wrong with it."""
    text = megabytes.strip()
    if not text:
        return None, ""
    if _MEGABYTES.fullmatch(text):
        count = Decimal(text) * _MEGABYTE
        if count == count.to_integral_value() and count < 2**53:
            return int(count), ""
    return None, "Give a number of megabytes, such as 500, or leave it empty for no limit."


def parse_number(number: str) -> tuple[int | None, str]:
    """Return a limit given as a whole number, None for no limit, and what is wrong with it."""
    text = number.strip()
    if not text:
        return None, ""
    if _NUMBER.fullmatch(text):
        return int(text), ""
    return None, "Give a whole number, such as 5000, or leave it empty for no limit."


def megabytes(count: int | None) -> str:
    """Return a limit as its field shows it; empty for no limit."""
    return "" if count is None else f"{(Decimal(count) / _MEGABYTE).normalize():f}"


async def _names(visitor: Visitor, page: accounts.AuditList, chosen: str | None) -> dict[str, str]:
    """Return the display names of the accounts in a page of the audit, and of ``chosen``, by id."""
    mentioned = {item.actor for item in page.items} | {item.subject for item in page.items}
    mentioned.add(chosen)
    names: dict[str, str] = {}
    for account_id in mentioned - {None, *SERVICES}:
        try:
            account = await visitor.api.get(
                accounts.AccountSummarySchema, f"/api/accounts/{account_id}"
            )
        except NotFound:
            # The id of a session, a key or an invitation, or of a removed account.
            continue
        names[account.id] = account.display_name
    return names
