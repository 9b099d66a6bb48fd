"""The audit of the installation, for its administrators."""

from octavo_rules.identity import AccountId

from octavo.access.audit import Audit
from octavo.http import contract
from octavo.http.callers import require_administrator
from octavo.model.access.audit import AuditEntry, AuditKind, AuditOutcome


class AuditQuery(contract.PageQuery):
    """Selects a page of the audit."""

    kind: AuditKind | None = None
    """Only entries of this kind."""
    account: contract.Identifier | None = None
    """Only entries that this account is the actor or the subject of."""


class AuditEntrySchema(contract.Model):
    """What was done, or refused."""

    id: contract.Identifier
    at: contract.Timestamp
    kind: AuditKind
    actor: str | None
    """The id of the account that did it, `operator`, or `system` for the server and its commands.
    Null if it is unknown, as in a refused sign-in."""
    subject: contract.Identifier | None
    """The id of the account, session, key or invitation that it was done to."""
    client: str | None
    """The network of the client address; null without one, and after the account was removed."""
    outcome: AuditOutcome
    detail: dict[str, str | int | bool | None]
    """Further ids, codes and numbers, such as `workspaceId`, `role`, `code` and `count`."""


class AuditList(contract.ListPage[AuditEntrySchema]):
    """A page of the audit, newest first."""


class AuditOperations:
    """The audit.

    Args:
        audit: the use case that reads it.
    """

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    @contract.operation(
        id="listAuditEntries",
        method="GET",
        path="/api/audit",
        tag="administration",
        summary="List what was done to accounts, keys, invitations and members",
        description="Requires an administrator of the installation. Entries contain ids and codes, "
        "and neither names, addresses nor secrets. Equal refused attempts are counted in one entry "
        "about every 30 seconds.",
        security=contract.Security.SESSION_OR_KEY,
    )
    async def list_entries(self, call: contract.Call, query: AuditQuery) -> AuditList:
        """Return a page of the audit."""
        require_administrator(call)
        after = contract.read_cursor(query.after, 1, identifier=0)
        found = await self._audit.page(
            None if after is None else after[0],
            query.limit + 1,
            kind=query.kind,
            account_id=None if query.account is None else AccountId(query.account),
        )
        page, following = contract.split_page(found, query.limit, lambda each: (each.entry_id,))
        return AuditList(items=[_schema(each) for each in page], next=following)


def _schema(entry: AuditEntry) -> AuditEntrySchema:
    return AuditEntrySchema(
        id=entry.entry_id,
        at=contract.timestamp(entry.at),
        kind=entry.kind,
        actor=entry.actor,
        subject=entry.subject,
        client=entry.client,
        outcome=entry.outcome,
        detail={**entry.detail},
    )
