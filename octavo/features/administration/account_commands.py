"""Administer accounts from the terminal, in the running server or in the database itself.

The accounts are found by address or id. Every command is recorded in the audit, with the actor
``system``.
"""

from typing import Annotated, Literal
from uuid import UUID

from octavo_rules.identity import AccountId
from pydantic import BaseModel, ConfigDict, StringConstraints

from octavo.access.audit import Audit, command_audit
from octavo.access.entropy import jitter, now
from octavo.cli.output import Failed
from octavo.features.accounts.removal import AccountRemoval
from octavo.features.accounts.rules.decisions import LONGEST_REASON, DecisionsChange
from octavo.features.accounts.rules.refusal import LastAdministrator
from octavo.features.accounts.sql.accounts import AccountSummary
from octavo.features.administration.administration import Administration
from octavo.model.access.account import AccountMissing, Role, State, parse_address
from octavo.model.label import parse_label
from octavo.settings import KernelSettings
from octavo.store import StoreError
from octavo.store.engine import open_engine
from octavo.store.transaction import Listeners

DecisionCommand = Literal["lock", "unlock", "enable", "disable", "promote", "demote"]


class NotApplicable(Exception):
    """The command does not fit the account; the text says what to do."""


def change_of(action: DecisionCommand, state: State, reason: str | None) -> DecisionsChange:
    """Return the change that a command makes to an account in ``state``.

    A lock without a reason keeps the reason of an account that is locked already.

    Raises `NotApplicable` when the account is in another state than the command expects, or the
    reason is not a label.
    """
    match action:
        case "promote":
            return DecisionsChange(role="administrator")
        case "demote":
            return DecisionsChange(role="member")
        case "disable":
            return DecisionsChange(state="disabled")
        case "lock" if state == "disabled":
            raise NotApplicable("the account is disabled, which is stricter than locked")
        case "lock":
            try:
                label = None if reason is None else parse_label(reason, LONGEST_REASON)
            except ValueError as error:
                raise NotApplicable(f"the reason can't be stored: {error}") from None
            return DecisionsChange(state="locked", lock_reason=label)
        case "unlock" if state == "disabled":
            raise NotApplicable("the account is disabled, not locked: use `octavo account enable`")
        case "enable" if state == "locked":
            raise NotApplicable("the account is locked, not disabled: use `octavo account unlock`")
        case "unlock" | "enable":
            return DecisionsChange(state="enabled")


NAME = "account"
"""The name of the command in the control protocol."""

AccountAction = DecisionCommand | Literal["list", "show", "remove"]
PAGE = 500
"""Accounts of one response of ``list``."""


class _AccountMessage(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, cache_strings="keys")


class AccountCommand(_AccountMessage):
    """What to do with which account.

    Attributes:
        action: what.
        account: the address or the id of the account; None for ``list``.
        reason: why it is locked; None for no reason.
        after: the id of the account that the list continues after; None for its start.
    """

    action: AccountAction
    account: Annotated[str, StringConstraints(min_length=1, max_length=320)] | None = None
    reason: Annotated[str, StringConstraints(max_length=LONGEST_REASON)] | None = None
    after: str | None = None


class AccountRecord(_AccountMessage):
    """An account; times are in milliseconds of Unix time, sizes in bytes."""

    id: str
    address: str
    display_name: str
    role: Role
    state: State
    effective_state: State
    lock_reason: str | None
    controls_locked: bool
    controls_lock_reason: str | None
    storage_used: int
    storage_limit: int | None
    created_at: int
    last_active_at: int | None


class AccountCommandResult(_AccountMessage):
    """The outcome of a command.

    Attributes:
        accounts: the account after the change, or before its removal; the page of a list.
        following: ``after`` of the next page; None on the last one.
        refusal: why nothing was done, for people; None if it was done.
    """

    accounts: tuple[AccountRecord, ...] = ()
    following: str | None = None
    refusal: str | None = None


class AccountCommands:
    """Carries out the commands.

    Args:
        administration: lists and changes accounts.
        removal: removes them.
        audit: records commands that change nothing.
    """

    def __init__(
        self, administration: Administration, removal: AccountRemoval, audit: Audit
    ) -> None:
        self._administration = administration
        self._removal = removal
        self._audit = audit

    async def run(self, command: AccountCommand) -> AccountCommandResult:
        """Carry out a command, and return its outcome.

        Raises `StoreUnavailable`. If cancelled, the change may have been made.
        """
        if command.action == "list":
            return await self._list(command.after)
        try:
            summary = await self._find(command.account or "")
        except AccountMissing:
            return AccountCommandResult(
                refusal=f"no account has the address or the id {command.account}:"
                " `octavo account list` shows all accounts"
            )
        account_id = summary.account.account_id
        try:
            summary = await self._carry_out(command.action, command.reason, summary)
        except (NotApplicable, LastAdministrator, AccountMissing) as refusal:
            code = getattr(refusal, "code", "not_applicable")
            await self._record(command.action, account_id, code)
            return AccountCommandResult(refusal=_refusal_of(refusal))
        return AccountCommandResult(accounts=(_record(summary),))

    async def _list(self, after: str | None) -> AccountCommandResult:
        if after is None:
            await self._record("list", None)
        summaries = await self._administration.list(AccountId(after or ""), PAGE + 1)
        accounts = tuple(_record(summary) for summary in summaries[:PAGE])
        following = accounts[-1].id if len(summaries) > PAGE else None
        return AccountCommandResult(accounts=accounts, following=following)

    async def _find(self, name: str) -> AccountSummary:
        try:
            return await self._administration.read(AccountId(str(UUID(name))))
        except ValueError:
            pass
        try:
            address = parse_address(name)
        except ValueError:
            raise AccountMissing from None
        return await self._administration.find(address)

    async def _carry_out(
        self, action: AccountAction, reason: str | None, summary: AccountSummary
    ) -> AccountSummary:
        account_id = summary.account.account_id
        match action:
            case "list" | "show":
                await self._record(action, account_id)
                return summary
            case "remove":
                await self._removal.remove(account_id, actor="system", remote_address=None)
                return summary
            case _:
                change = change_of(action, summary.decisions.state, reason)
        return await self._administration.decide(
            account_id, change, actor="system", remote_address=None
        )

    async def _record(
        self, action: AccountAction, subject: AccountId | None, refused: str | None = None
    ) -> None:
        detail = {"command": f"account_{action}"}
        if refused is not None:
            detail["code"] = refused
        await self._audit.record(
            self._audit.entry(
                "command",
                actor="system",
                subject=subject,
                outcome="done" if refused is None else "refused",
                detail=detail,
            )
        )


async def run_beside(
    settings: KernelSettings, listeners: Listeners, command: AccountCommand
) -> AccountCommandResult:
    """Carry out a command in the database itself, as no server runs with the data folder.

    ``listeners`` is what features do in its transactions. Other servers on a PostgreSQL database
    are notified. Raises `Failed`.
    """
    try:
        async with open_engine(settings, listeners, random=jitter, serving=False) as engine:
            store = engine.store
            audit = command_audit(store)
            administration = Administration(store, audit=audit, now=now)
            removal = AccountRemoval(audit, now=now, gone=lambda _: None, removed=lambda: None)
            return await AccountCommands(administration, removal, audit).run(command)
    except StoreError as error:
        raise Failed(str(error)) from None


def _refusal_of(refusal: Exception) -> str:
    match refusal:
        case LastAdministrator():
            return (
                "this is the last enabled administrator: make another account one first,"
                " with `octavo account promote`"
            )
        case AccountMissing():
            return "the account was removed meanwhile"
        case _:
            return str(refusal)


def _record(summary: AccountSummary) -> AccountRecord:
    account, decisions = summary.account, summary.decisions
    return AccountRecord(
        id=account.account_id,
        address=account.address,
        display_name=account.display_name,
        role=decisions.role,
        state=decisions.state,
        effective_state=decisions.effective_state,
        lock_reason=decisions.lock_reason,
        controls_locked=decisions.controls.locked,
        controls_lock_reason=decisions.controls.lock_reason,
        storage_used=summary.usage.storage,
        storage_limit=decisions.storage.maximum,
        created_at=account.created_at,
        last_active_at=summary.active_at,
    )
