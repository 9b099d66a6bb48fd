"""Administer the accounts of the installation, and remove accounts."""

from collections.abc import Callable, Sequence

from octavo.accounts.attempts import Attempts
from octavo.accounts.credentials import Credentials
from octavo.accounts.members import Changed
from octavo.accounts.passwords import Passwords
from octavo.accounts.ports import Clock, milliseconds
from octavo.model.accounts.address import Address
from octavo.model.accounts.administration import DecisionsChange
from octavo.model.accounts.refusal import AccountGone, AccountMissing, InvalidCredentials
from octavo.model.identity import AccountId, WorkspaceId
from octavo.store import Script, Store
from octavo.store.scripts import account_removal, accounts
from octavo.store.scripts.account_removal import Removal
from octavo.store.scripts.accounts import AccountSummary


class Administration:
    """Lists accounts, and changes what was decided about them.

    Args:
        store: the store of accounts.
        credentials: drops cached callers whose role or state changes.
        now: the clock.
    """

    def __init__(self, store: Store, credentials: Credentials, *, now: Clock) -> None:
        self._store = store
        self._credentials = credentials
        self._now = now

    async def list(self, after: AccountId, limit: int, text: str = "") -> Sequence[AccountSummary]:
        """Return accounts whose id is greater than ``after``, at most ``limit``, oldest first.

        With ``text``, return those whose address or display name contains it. Raises
        `StoreUnavailable`.
        """
        return await self._store.read_much(accounts.list_of(after, limit, text))

    async def find(self, address: Address) -> AccountSummary:
        """Return the account with an address. Raises `AccountMissing`, `StoreUnavailable`."""
        return _present(await self._store.read(accounts.summary_at(address)))

    async def read(self, account_id: AccountId) -> AccountSummary:
        """Return an account. Raises `AccountMissing` and `StoreUnavailable`."""
        return _present(await self._store.read(accounts.summary_of(account_id)))

    async def decide(
        self, account_id: AccountId, change: DecisionsChange, *, actor: AccountId | None
    ) -> AccountSummary:
        """Change what was decided about an account; it takes effect with its next request.

        ``actor`` is the administrator who decides; None for the operator.

        Raises `NotAdministrator`, `AccountMissing`, `ControlsChanged`, `LastAdministrator` and
        `StoreUnavailable`. If cancelled, it may have changed.
        """
        now = milliseconds(self._now())
        try:
            return await self._store.write(accounts.decide(account_id, change, now, actor=actor))
        finally:
            # A write that failed or was cancelled may have been committed.
            self._credentials.forget(account_id)


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
        now: the clock.
        gone: called with each workspace that was deleted; must not block.
        changed: called with each membership that changed; must not block.
    """

    def __init__(
        self,
        store: Store,
        credentials: Credentials,
        passwords: Passwords,
        attempts: Attempts,
        *,
        now: Clock,
        gone: Callable[[WorkspaceId], None],
        changed: Changed,
    ) -> None:
        self._store = store
        self._credentials = credentials
        self._passwords = passwords
        self._attempts = attempts
        self._now = now
        self._gone = gone
        self._changed = changed

    async def remove(self, account_id: AccountId, *, actor: AccountId) -> None:
        """Remove an account on behalf of the administrator ``actor``.

        Raises `NotAdministrator`, `AccountMissing`, `LastAdministrator` and `StoreUnavailable`.

        If cancelled, it may have been removed.
        """
        await self._remove(account_removal.remove(account_id, actor=actor), account_id)

    async def remove_by_operator(self, account_id: AccountId) -> None:
        """Remove an account, and record its id and the time.

        Raises and is cancelled as `remove`.
        """
        now = milliseconds(self._now())
        await self._remove(account_removal.remove(account_id, tombstone=now), account_id)

    async def remove_own(self, account_id: AccountId, password: str) -> None:
        """Remove an account on its own behalf, proven by its password.

        Raises `InvalidCredentials`, `AccountGone`, `LastAdministrator`, `TooManyAttempts` and
        `StoreUnavailable`. If cancelled, it may have been removed.
        """
        stored = await self._store.read(accounts.password_of(account_id))
        if stored is None or not stored.account.open:
            raise AccountGone
        self._attempts.admit_account("password", account_id)
        if not await self._passwords.verify(password, stored.encoded):
            raise InvalidCredentials
        try:
            script = account_removal.remove(account_id, verified=stored.encoded)
            await self._remove(script, account_id)
        except AccountMissing:
            raise AccountGone from None

    async def _remove(self, script: Script[Removal], account_id: AccountId) -> None:
        try:
            removal = await self._store.write(script)
        finally:
            # A write that failed or was cancelled may have been committed.
            self._credentials.forget(account_id)
        for workspace_id in removal.deleted:
            self._gone(workspace_id)
        for workspace_id, heir in removal.inherited:
            self._changed(workspace_id, heir)
