"""The accounts and the audit of the installation, for its administrators."""

from functools import partial
from typing import Annotated

from octavo_rules.identity import AccountId
from octavo_rules.problems import InvalidRequest, NotFound
from pydantic import Field
from pydantic_core import MISSING

from octavo.access.audit import Audit
from octavo.features.accounts.api.account import controls_schema, usage_schema
from octavo.features.accounts.removal import AccountRemoval
from octavo.features.accounts.rules.decisions import LONGEST_REASON, ControlsChange, DecisionsChange
from octavo.features.accounts.rules.refusal import ControlsChanged, LastAdministrator
from octavo.features.accounts.sql.accounts import AccountSummary
from octavo.features.administration.administration import Administration
from octavo.http import account_schemas as schemas
from octavo.http import contract
from octavo.http.callers import require_administrator
from octavo.model.access.account import Role, State
from octavo.model.access.audit import AuditEntry, AuditKind, AuditOutcome
from octavo.model.label import parse_label
from octavo.model.usage import MonthlyLimit, StorageLimit

_LONGEST_BODY = 8_192


class AccountPath(contract.Model):
    """One account."""

    account_id: Annotated[AccountId, contract.IN_PATH]


class AccountSummarySchema(contract.Model):
    """An account as administrators see it."""

    id: contract.Identifier
    address: str
    display_name: str
    role: Role
    state: State
    """What administrators decided."""
    effective_state: State
    """The stricter of `state` and the controls."""
    lock_reason: str | None
    """Why `state` is locked; null if nothing was said, or it is not."""
    usage: schemas.UsageSchema
    limit: schemas.LimitSchema
    controls: schemas.ControlsSchema
    created_at: contract.Timestamp
    last_active_at: contract.Timestamp | None
    """The last use of a session or a key, to the minute; null without any."""


class AccountList(contract.ListPage[AccountSummarySchema]):
    """A page of accounts, oldest first."""


class AccountControlsInput(contract.Model):
    """A change of controls; a member that is left out keeps its value."""

    revision: Annotated[int, contract.WHOLE]
    """The revision that was read."""
    locked: bool | MISSING = MISSING
    lock_reason: str | MISSING | None = MISSING
    """1 to 500 characters on one line; null for none. It ends with the lock."""
    storage_bytes: schemas.StorageBytes | MISSING | None = MISSING
    """The maximum size of the files of the account; null for no limit."""
    download_bytes_per_month: schemas.StorageBytes | MISSING | None = MISSING
    """The maximum of bytes that it may read in a month; null for no limit."""
    download_objects_per_month: schemas.ObjectCount | MISSING | None = MISSING
    """The maximum of files that it may read in a month; null for no limit."""
    publishing: bool | MISSING = MISSING
    """Whether it may publish links, and the links that it has published open anything."""


class LimitUpdate(contract.Model):
    """A limit."""

    storage_bytes: schemas.StorageBytes | None
    """The maximum size of the files of the account; null for no limit."""


class AccountUpdateInput(contract.Model):
    """A change of an account; a member that is left out keeps its value."""

    role: Role | MISSING = MISSING
    state: State | MISSING = MISSING
    lock_reason: str | MISSING | None = MISSING
    """Why `state` is locked, for the person: 1 to 500 characters on one line; null for none. It
    ends with the lock."""
    limit: LimitUpdate | MISSING = MISSING
    controls: AccountControlsInput | MISSING = MISSING


class AccountQuery(contract.PageQuery):
    """Selects a page of accounts."""

    text: Annotated[str, Field(max_length=254, pattern="^[^\\u0000]*$")] = ""
    """Part of the address or of the display name; case is ignored. Empty for every account."""


class AdministrationOperations:
    """The accounts of the installation.

    Args:
        administration: the use case that lists and changes them.
        removal: the use case that removes them.
    """

    def __init__(self, administration: Administration, removal: AccountRemoval) -> None:
        self._administration = administration
        self._removal = removal

    @contract.operation(
        id="listAccounts",
        method="GET",
        path="/api/accounts",
        tag="administration",
        summary="List the accounts of the installation",
        description="Requires an administrator of the installation.",
    )
    async def list_accounts(self, call: contract.Call, query: AccountQuery) -> AccountList:
        """Return a page of accounts."""
        require_administrator(call)
        after = contract.read_cursor(query.after, 1, identifier=0)
        summaries = await self._administration.list(
            AccountId(after[0] if after else ""), query.limit + 1, query.text
        )
        page, following = contract.split_page(
            summaries, query.limit, lambda summary: (summary.account.account_id,)
        )
        return AccountList(items=tuple(_schema(summary) for summary in page), next=following)

    @contract.operation(
        id="readAccount",
        method="GET",
        path="/api/accounts/{accountId}",
        tag="administration",
        summary="Get an account of the installation",
        description="Requires an administrator of the installation.",
        problems=(NotFound,),
    )
    async def read_account(self, call: contract.Call, path: AccountPath) -> AccountSummarySchema:
        """Return an account."""
        require_administrator(call)
        return _schema(await self._administration.read(path.account_id))

    @contract.operation(
        id="updateAccount",
        method="PATCH",
        path="/api/accounts/{accountId}",
        tag="administration",
        summary="Change role, state, limit or controls of an account",
        description="Requires an administrator of the installation. The sessions of an account "
        "that is disabled end. The last enabled administrator can't be demoted, locked or "
        "disabled. A former administrator's invitations end. Controls are changed with the "
        "revision that was read.",
        problems=(NotFound, LastAdministrator, ControlsChanged),
        body=contract.json_body(AccountUpdateInput, limit=_LONGEST_BODY),
        finish_when_client_leaves=True,
    )
    async def update_account(
        self, call: contract.Call, path: AccountPath, body: AccountUpdateInput
    ) -> AccountSummarySchema:
        """Change an account."""
        caller = require_administrator(call)
        change = DecisionsChange(
            role=None if body.role is MISSING else body.role,
            state=None if body.state is MISSING else body.state,
            storage=None if body.limit is MISSING else StorageLimit(body.limit.storage_bytes),
            lock_reason=_reason(body.lock_reason, ""),
            controls=None
            if body.controls is MISSING
            else controls_change(body.controls, below="/controls"),
        )
        return _schema(
            await self._administration.decide(
                path.account_id, change, actor=caller.account_id, remote_address=call.remote_address
            )
        )

    @contract.operation(
        id="removeAccount",
        method="DELETE",
        path="/api/accounts/{accountId}",
        tag="administration",
        summary="Remove an account",
        description="Requires an administrator of the installation. What happens to its "
        "workspaces is described at removeOwnAccount.",
        problems=(NotFound, LastAdministrator),
        finish_when_client_leaves=True,
    )
    async def remove_account(self, call: contract.Call, path: AccountPath) -> contract.Removed:
        """Remove an account."""
        caller = require_administrator(call)
        await self._removal.remove(
            path.account_id, actor=caller.account_id, remote_address=call.remote_address
        )
        return contract.REMOVED


def controls_change(controls: AccountControlsInput, *, below: str) -> ControlsChange:
    """Return a change of controls that was sent below a pointer. Raises `InvalidRequest`."""
    reason = _reason(controls.lock_reason, below)
    storage = controls.storage_bytes
    size, objects = controls.download_bytes_per_month, controls.download_objects_per_month
    return ControlsChange(
        controls.revision,
        None if controls.locked is MISSING else controls.locked,
        reason,
        None if storage is MISSING else StorageLimit(storage),
        None if size is MISSING else MonthlyLimit(size),
        None if objects is MISSING else MonthlyLimit(objects),
        None if controls.publishing is MISSING else controls.publishing,
    )


def _reason(reason: str | MISSING | None, below: str) -> str | None:
    """Return a reason: None to keep the present one, empty for none. Raises `InvalidRequest`."""
    if reason is MISSING:
        return None
    try:
        return "" if reason is None else parse_label(reason, LONGEST_REASON)
    except ValueError as error:
        raise InvalidRequest(errors=[(f"{below}/lockReason", str(error))]) from None


def _schema(summary: AccountSummary) -> AccountSummarySchema:
    account, decisions = summary.account, summary.decisions
    active_at = summary.active_at
    return AccountSummarySchema(
        id=account.account_id,
        address=account.address,
        display_name=account.display_name,
        role=account.role,
        state=decisions.state,
        effective_state=decisions.effective_state,
        lock_reason=decisions.lock_reason,
        usage=usage_schema(summary.usage),
        limit=schemas.LimitSchema(storage_bytes=decisions.storage.maximum),
        controls=controls_schema(decisions.controls),
        created_at=contract.timestamp(account.created_at),
        last_active_at=None if active_at is None else contract.timestamp(active_at),
    )


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
    )
    async def list_entries(self, call: contract.Call, query: AuditQuery) -> AuditList:
        """Return a page of the audit."""
        require_administrator(call)
        account_id = None if query.account is None else AccountId(query.account)
        read = partial(self._audit.page, kind=query.kind, account_id=account_id)
        page, following = await contract.page_by_id(query, read, lambda entry: entry.entry_id)
        return AuditList(items=tuple(_entry_schema(entry) for entry in page), next=following)


def _entry_schema(entry: AuditEntry) -> AuditEntrySchema:
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
