"""Administer accounts from the terminal, in the running server or in the database itself.

The accounts are found by address or id. Every command is recorded in the audit, with the actor
``system``.
"""

from uuid import UUID

from octavo_rules.identity import AccountId

from octavo.access.attempts import Attempts
from octavo.access.audit import Audit, command_audit
from octavo.access.entropy import jitter, new_entropy, now
from octavo.features.accounts.passwords import Passwords, hash_workers
from octavo.features.accounts.removal import AccountRemoval
from octavo.features.accounts.rules.refusal import LastAdministrator
from octavo.features.accounts.sql.accounts import AccountSummary
from octavo.features.administration.account_command import (
    PAGE,
    AccountAction,
    AccountCommand,
    AccountCommandResult,
    AccountRecord,
    NotApplicable,
    change_of,
)
from octavo.features.administration.administration import Administration
from octavo.model.access.account import AccountMissing, parse_address
from octavo.settings import Settings
from octavo.store import StoreError
from octavo.store.engine import open_engine
from octavo.store.transaction import Listeners


class AccountCommandFailed(Exception):
    """The command was not carried out; the text says why, in one line."""


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
        found = await self._administration.list(AccountId(after or ""), PAGE + 1)
        accounts = tuple(_record(each) for each in found[:PAGE])
        following = accounts[-1].id if len(found) > PAGE else None
        return AccountCommandResult(accounts=accounts, following=following)

    async def _find(self, given: str) -> AccountSummary:
        try:
            return await self._administration.read(AccountId(str(UUID(given))))
        except ValueError:
            pass
        try:
            address = parse_address(given)
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
                await self._removal.remove(account_id, actor="system", client=None)
                return summary
            case _:
                change = change_of(action, summary.decisions.state, reason)
        return await self._administration.decide(account_id, change, actor="system", client=None)

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
    settings: Settings, listeners: Listeners, command: AccountCommand
) -> AccountCommandResult:
    """Carry out a command in the database itself, as no server runs with the data folder.

    ``listeners`` is what features do in its transactions. Other servers on a PostgreSQL database
    are notified. Raises `AccountCommandFailed`.
    """
    try:
        async with open_engine(settings, listeners, random=jitter, serving=False) as engine:
            store = engine.store
            audit = command_audit(store)
            administration = Administration(store, audit=audit, now=now)
            removal = AccountRemoval(
                store,
                # Not used: no command verifies a password.
                Passwords(new_entropy=new_entropy, run=hash_workers().run),
                Attempts(),
                audit=audit,
                now=now,
                gone=lambda _: None,
                removed=lambda: None,
            )
            return await AccountCommands(administration, removal, audit).run(command)
    except StoreError as error:
        raise AccountCommandFailed(str(error)) from None


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
