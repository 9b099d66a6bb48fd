"""Administer the accounts of the installation, and remove accounts."""

from collections.abc import Callable, Iterator, Sequence

import trio
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.attempts import Attempts
from octavo.access.audit import Audit
from octavo.access.ports import Clock, milliseconds
from octavo.features.accounts.credentials import Credentials
from octavo.features.accounts.passwords import Passwords
from octavo.features.accounts.rules.decisions import DecisionsChange
from octavo.features.accounts.rules.refusal import AccountGone, AccountMissing, InvalidCredentials
from octavo.features.accounts.sql import account_removal, accounts
from octavo.features.accounts.sql.account_removal import Removal
from octavo.features.accounts.sql.accounts import AccountSummary
from octavo.features.members.members import Changed
from octavo.model.access.address import Address
from octavo.model.access.audit import Actor, AuditEntry, AuditKind, account_of
from octavo.model.usage import Month, month_of
from octavo.store import Script, Store


class Administration:
    """Lists accounts, and changes what was decided about them.

    Args:
        store: the store of accounts.
        credentials: drops cached callers whose role or state changes.
        audit: records changes.
        now: the clock.
    """

    def __init__(self, store: Store, credentials: Credentials, *, audit: Audit, now: Clock) -> None:
        self._store = store
        self._audit = audit
        self._credentials = credentials
        self._now = now

    async def list(self, after: AccountId, limit: int, text: str = "") -> Sequence[AccountSummary]:
        """Return accounts whose id is greater than ``after``, at most ``limit``, oldest first.

        With ``text``, return those whose address or display name contains it. Raises
        `StoreUnavailable`.
        """
        return await self._store.read_much(accounts.list_of(after, limit, text, self._month))

    async def find(self, address: Address) -> AccountSummary:
        """Return the account with an address. Raises `AccountMissing`, `StoreUnavailable`."""
        return _present(await self._store.read(accounts.summary_at(address, self._month)))

    async def read(self, account_id: AccountId) -> AccountSummary:
        """Return an account. Raises `AccountMissing` and `StoreUnavailable`."""
        return _present(await self._store.read(accounts.summary_of(account_id, self._month)))

    async def decide(
        self, account_id: AccountId, change: DecisionsChange, *, actor: Actor, client: str | None
    ) -> AccountSummary:
        """Change what was decided about an account; it takes effect with its next request.

        ``actor`` is the administrator who decides, or a service, and ``client`` its address.

        Raises `NotAdministrator`, `AccountMissing`, `ControlsChanged`, `LastAdministrator` and
        `StoreUnavailable`. If cancelled, it may have changed.
        """
        now = milliseconds(self._now())
        try:
            return await self._audit.write(
                accounts.decide(account_id, change, now, actor=account_of(actor)),
                lambda _: self._entries(account_id, change, actor, client),
            )
        finally:
            # A write that failed or was cancelled may have been committed.
            self._credentials.forget(account_id)

    @property
    def _month(self) -> Month:
        return month_of(self._now())

    def _entries(
        self, account_id: AccountId, change: DecisionsChange, actor: Actor, client: str | None
    ) -> Sequence[AuditEntry]:
        made: dict[AuditKind, dict[str, str | int | bool | None]] = {}
        decided: dict[str, str | int | bool | None] = {}
        if change.role is not None:
            decided["role"] = change.role
        if change.state is not None:
            decided["state"] = change.state
        if change.storage is not None:
            decided["storageBytes"] = change.storage.maximum
        if decided:
            made["account_changed"] = decided
        if change.controls is not None:
            controlled: dict[str, str | int | bool | None] = {
                "revision": change.controls.revision + 1
            }
            if change.controls.locked is not None:
                controlled["locked"] = change.controls.locked
            if change.controls.storage is not None:
                controlled["storageBytes"] = change.controls.storage.maximum
            if change.controls.download_size is not None:
                controlled["downloadBytesPerMonth"] = change.controls.download_size.maximum
            if change.controls.download_objects is not None:
                controlled["downloadObjectsPerMonth"] = change.controls.download_objects.maximum
            if change.controls.publishing is not None:
                controlled["publishing"] = change.controls.publishing
            made["controls_changed"] = controlled
        return [
            self._audit.entry(kind, actor=actor, subject=account_id, client=client, detail=detail)
            for kind, detail in made.items()
        ]


def _present(summary: AccountSummary | None) -> AccountSummary:
    if summary is None:
        raise AccountMissing
    return summary


class AccountRemoval:
    """Removes accounts with everything that is their own.

    Args:
        store: the store of accounts.
        credentials: drops cached callers of a removed account.
        passwords: verifies the password of an account that removes itself.
        attempts: counts its attempts, on the route ``password``.
        audit: records removals and refusals.
        now: the clock.
        gone: called with each workspace that was deleted; must not block.
        changed: called with each membership that changed; must not block.
        removed: called after each removal, also after one that may have failed: data is left to
            erase; must not block.
    """

    def __init__(
        self,
        store: Store,
        credentials: Credentials,
        passwords: Passwords,
        attempts: Attempts,
        *,
        audit: Audit,
        now: Clock,
        gone: Callable[[WorkspaceId], None],
        changed: Changed,
        removed: Callable[[], None],
    ) -> None:
        self._store = store
        self._audit = audit
        self._credentials = credentials
        self._passwords = passwords
        self._attempts = attempts
        self._now = now
        self._gone = gone
        self._changed = changed
        self._removed = removed

    async def remove(self, account_id: AccountId, *, actor: Actor, client: str | None) -> None:
        """Remove an account on behalf of an administrator or a command.

        ``actor`` is the administrator, or the service of the command, ``client`` its address.
        Raises `NotAdministrator`, `AccountMissing`, `LastAdministrator` and `StoreUnavailable`.

        If cancelled, it may have been removed.
        """
        script = account_removal.remove(account_id, actor=account_of(actor))
        await self._remove(script, account_id, actor, client)

    async def remove_by_operator(self, account_id: AccountId, *, client: str | None) -> None:
        """Remove an account, and store its id and the time.

        ``client`` is the address of the operator's service. Raises and is cancelled as `remove`.
        """
        now = milliseconds(self._now())
        script = account_removal.remove(account_id, tombstone=now)
        await self._remove(script, account_id, "operator", client)

    async def remove_own(self, account_id: AccountId, password: str, *, client: str | None) -> None:
        """Remove an account on its own behalf, proven by its password.

        ``client`` is its address, which is recorded of a refusal only. Raises `InvalidCredentials`,
        `AccountGone`, `LastAdministrator`, `TooManyAttempts` and `StoreUnavailable`. If cancelled,
        it may have been removed.
        """
        stored = await self._store.read(accounts.password_of(account_id))
        if stored is None or not stored.account.open:
            raise AccountGone
        self._passwords.require_room()
        self._attempts.admit_account("password", account_id)
        if not await self._passwords.verify(password, stored.encoded):
            self._audit.refused.note(
                InvalidCredentials.code, "removeOwnAccount", subject=account_id, client=client
            )
            raise InvalidCredentials
        try:
            script = account_removal.remove(account_id, verified=stored.encoded)
            await self._remove(script, account_id, account_id, None)
        except AccountMissing:
            raise AccountGone from None

    async def _remove(
        self, script: Script[Removal], account_id: AccountId, actor: Actor, client: str | None
    ) -> None:
        def entries(removal: Removal) -> Iterator[AuditEntry]:
            yield self._audit.entry(
                "account_removed",
                actor=actor,
                subject=account_id,
                client=client,
                detail={"deletedWorkspaces": len(removal.deleted)},
            )
            for workspace_id, heir in removal.inherited:
                yield self._audit.entry(
                    "member_changed",
                    actor="system",
                    subject=heir,
                    detail={"workspaceId": workspace_id, "role": "owner"},
                )

        try:
            # It may be committed after it was cancelled, and what is read until then would stay.
            with trio.CancelScope(shield=True):
                removal = await self._audit.write(script, entries)
        finally:
            # A write that failed may have been committed.
            self._credentials.forget(account_id)
            self._removed()
        for workspace_id in removal.deleted:
            self._gone(workspace_id)
        for workspace_id, heir in removal.inherited:
            self._changed(workspace_id, heir)
