"""The audit, for administrators."""

from urllib.parse import urlencode

from octavo_rules.problems import NotFound
from quart import Response

from octavo.features.administration.api.administration import AccountSummarySchema
from octavo.features.administration.api.audit import AuditList
from octavo.features.administration.pages.administration import PLACE
from octavo.http.pages.page_registry import Audience, PageRegistry, Visitor
from octavo.http.pages.responses import show
from octavo.model.access.audit import KINDS, SERVICES

_FILTERS = ("kind", "account")


def add_audit_page(site: PageRegistry) -> None:
    """Serve the page of the audit."""

    @site.page(f"{PLACE}/audit", Audience.ADMINISTRATOR)
    async def show_audit(visitor: Visitor) -> Response:
        chosen = {name: visitor.query[name] for name in _FILTERS if visitor.query.get(name)}
        if chosen.get("kind", KINDS[0]) not in KINDS:
            del chosen["kind"]
        page = await visitor.api.get(AuditList, "/api/audit", **visitor.page, **chosen)
        return await show(
            "administration/audit.html",
            page=page,
            names=await _names(visitor, page, chosen.get("account")),
            kinds=KINDS,
            kind=chosen.get("kind", ""),
            person=chosen.get("account", ""),
            filters=urlencode(chosen),
        )


async def _names(visitor: Visitor, page: AuditList, chosen: str | None) -> dict[str, str]:
    """Return the display names of the accounts in a page of the audit, and of ``chosen``, by id."""
    mentioned = {each.actor for each in page.items} | {each.subject for each in page.items}
    mentioned.add(chosen)
    names: dict[str, str] = {}
    for account_id in mentioned - {None, *SERVICES}:
        try:
            found = await visitor.api.get(AccountSummarySchema, f"/api/accounts/{account_id}")
        except NotFound:
            # The id of a session, a key or an invitation, or of a removed account.
            continue
        names[found.id] = found.display_name
    return names
