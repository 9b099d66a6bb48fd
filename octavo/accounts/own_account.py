"""The operations of an account on itself: details, password, sessions and API keys."""

from collections.abc import Callable
from dataclasses import replace

from octavo.accounts.attempts import Attempts
from octavo.accounts.credentials import Credentials
from octavo.accounts.passwords import Passwords
from octavo.accounts.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.model.accounts.account import Account, Appearance, Preferences, ThemeFamily
from octavo.model.accounts.api_key import ApiKey, KeyId
from octavo.model.accounts.consent import Consent, LegalDocuments, Versions
from octavo.model.accounts.refusal import (
    AccountGone,
    InvalidCredentials,
    NoSuchKey,
    NoSuchSession,
)
from octavo.model.accounts.session import Session, SessionId, SessionLife
from octavo.model.accounts.token import api_key, digest_of
from octavo.model.identity import AccountId
from octavo.model.mail import queued
from octavo.store import Store
from octavo.store.scripts import (
    accounts,
    api_keys,
    consents,
    outbox,
    password_resets,
    sessions,
)
from octavo.store.scripts.accounts import AccountDetails
from octavo.store.transaction import Transaction


class OwnAccount:
    """Reads and changes the account of the caller.

    Args:
        store: the store of accounts.
        now: the clock.
    """

    def __init__(self, store: Store, *, now: Clock) -> None:
        self._store = store
        self._now = now

    async def read(self, account_id: AccountId) -> AccountDetails:
        """Return the account. Raises `AccountGone` and `StoreUnavailable`."""
        found = await self._store.read_much(accounts.details_of(account_id))
        if found is None or not found.account.open:
            raise AccountGone
        return found

    async def rename(self, account_id: AccountId, display_name: str) -> AccountDetails:
        """Change the display name, which must be valid; return the account.

        Raises `AccountGone` and `StoreUnavailable`. If cancelled, it may have changed.
        """
        now = milliseconds(self._now())
        return await self._store.write(accounts.rename(account_id, display_name, now))

    async def update_preferences(
        self,
        account_id: AccountId,
        *,
        theme_family: ThemeFamily | None = None,
        appearance: Appearance | None = None,
        spell_check: bool | None = None,
    ) -> Preferences:
        """Change the preferences that are not None; return all of them.

        Raises `AccountGone` and `StoreUnavailable`. If cancelled, they may have changed.
        """
        return await self._store.write(
            accounts.update_preferences(
                account_id,
                theme_family=theme_family,
                appearance=appearance,
                spell_check=spell_check,
            )
        )


class OwnConsent:
    """Records the consent of an account to the legal documents.

    Args:
        store: the store of accounts.
        credentials: drops cached callers whose consent changes.
        legal: the documents in force.
        now: the clock.
    """

    def __init__(
        self, store: Store, credentials: Credentials, legal: LegalDocuments, *, now: Clock
    ) -> None:
        self._store = store
        self._credentials = credentials
        self._legal = legal
        self._now = now

    async def accept(self, account_id: AccountId, versions: Versions) -> Consent:
        """Record that the account accepts ``versions``, which must be those in force; return it.

        Raises `ConsentDue`, `AccountGone` and `StoreUnavailable`. If cancelled, it may have
        been recorded.
        """
        self._legal.require_current(versions)
        consent = Consent(versions, milliseconds(self._now()))
        try:
            await self._store.write(consents.record(account_id, consent))
        finally:
            # A write that failed or was cancelled may have been committed.
            self._credentials.forget(account_id)
        return consent


class OwnPassword:
    """Changes the password of an account.

    Args:
        store: the store of accounts.
        credentials: drops cached sessions that end.
        passwords: verifies and hashes passwords.
        attempts: counts the attempts for each account, on the route ``password``.
        now: the clock.
        new_id: returns an id for a message.
        mail_added: called when a message was added to the outbox; must not block.
    """

    def __init__(
        self,
        store: Store,
        credentials: Credentials,
        passwords: Passwords,
        attempts: Attempts,
        *,
        now: Clock,
        new_id: NewId,
        mail_added: Callable[[], None],
    ) -> None:
        self._store = store
        self._credentials = credentials
        self._passwords = passwords
        self._attempts = attempts
        self._now = now
        self._new_id = new_id
        self._mail_added = mail_added

    async def change(
        self,
        account_id: AccountId,
        current: str,
        new: str,
        *,
        session: SessionId,
        end_others: bool,
    ) -> Account:
        """Replace the password ``current`` by ``new``, which must be valid; return the account.

        Tokens to reset it end, and the account is notified by mail. With ``end_others``, every
        session but ``session`` ends. Raises `InvalidCredentials` when
        ``current`` is not the password, `AccountGone`, `TooManyAttempts` and `StoreUnavailable`. If
        cancelled, the password may have changed.
        """
        stored = await self._store.read(accounts.password_of(account_id))
        if stored is None or not stored.account.open:
            raise AccountGone
        self._attempts.admit_account("password", account_id)
        if not await self._passwords.verify(current, stored.encoded):
            raise InvalidCredentials
        encoded = await self._passwords.hash(new)
        now = milliseconds(self._now())
        replace_it = accounts.replace_password(
            account_id, verified=stored.encoded, encoded=encoded, now=now
        )

        notice = queued(self._new_id(), "password_changed", stored.account.address, now)

        async def replace_and_end(transaction: Transaction) -> bool:
            if not await replace_it(transaction):
                return False
            await password_resets.end_all(transaction, account_id)
            await outbox.insert(transaction, notice)
            if end_others:
                await sessions.end_all(account_id, but=session)(transaction)
            return True

        try:
            replaced = await self._store.write(replace_and_end)
        finally:
            # A write that failed or was cancelled may have been committed.
            self._credentials.forget(account_id)
        if not replaced:
            # Another request replaced it meanwhile.
            raise InvalidCredentials
        self._mail_added()
        return replace(stored.account, updated_at=now)


class OwnSessions:
    """Lists and ends the sessions of an account.

    Args:
        store: the store of sessions.
        credentials: drops cached sessions that end.
        now: the clock.
        life: the lifetime of sessions.
    """

    def __init__(
        self, store: Store, credentials: Credentials, *, now: Clock, life: SessionLife
    ) -> None:
        self._store = store
        self._credentials = credentials
        self._now = now
        self._life = life

    async def list(self, account_id: AccountId, before: str | None, limit: int) -> list[Session]:
        """Return at most ``limit`` living sessions, the newest first, starting at ``before``.

        Raises `StoreUnavailable`.
        """
        alive = self._life.alive_since(milliseconds(self._now()))
        return await self._store.read(sessions.list_of(account_id, alive, before, limit))

    async def end(self, account_id: AccountId, session_id: SessionId) -> None:
        """End one session. Raises `NoSuchSession` and `StoreUnavailable`.

        If cancelled, it may have ended.
        """
        try:
            ended = await self._store.write(sessions.end(account_id, session_id))
        finally:
            # A write that failed or was cancelled may have been committed.
            self._credentials.forget(account_id)
        if not ended:
            raise NoSuchSession

    async def end_others(self, account_id: AccountId, kept: SessionId | None) -> int:
        """End every session but ``kept``; return their number. Raises `StoreUnavailable`.

        If cancelled, they may have ended.
        """
        try:
            ended = await self._store.write(sessions.end_all(account_id, but=kept))
        finally:
            # A write that failed or was cancelled may have been committed.
            self._credentials.forget(account_id)
        return ended


class OwnKeys:
    """Lists, creates and revokes the API keys of an account.

    Args:
        store: the store of keys.
        credentials: drops cached keys that are revoked.
        now: the clock.
        new_id: returns an id for a key.
        new_entropy: returns entropy for a secret.
    """

    def __init__(
        self,
        store: Store,
        credentials: Credentials,
        *,
        now: Clock,
        new_id: NewId,
        new_entropy: NewEntropy,
    ) -> None:
        self._store = store
        self._credentials = credentials
        self._now = now
        self._new_id = new_id
        self._new_entropy = new_entropy

    async def list(self, account_id: AccountId) -> list[ApiKey]:
        """Return all keys, the newest first. Raises `StoreUnavailable`."""
        return await self._store.read(api_keys.list_of(account_id))

    async def create(
        self, account_id: AccountId, name: str, expires_at: int | None
    ) -> tuple[ApiKey, str]:
        """Create a key; return it with its secret, which is not stored.

        ``expires_at`` is in milliseconds of Unix time, None for never. Raises `TooManyKeys`,
        `AccountGone` and `StoreUnavailable`. If cancelled, a key whose secret is lost may have been
        created; it appears in the list.
        """
        created = milliseconds(self._now())
        key = ApiKey(KeyId(self._new_id()), account_id, name, created, expires_at, used_at=None)
        secret = api_key(self._new_entropy())
        await self._store.write(api_keys.create(key, digest_of(secret.encode())))
        return key, secret

    async def revoke(self, account_id: AccountId, key_id: KeyId) -> None:
        """Revoke a key. Raises `NoSuchKey` and `StoreUnavailable`.

        If cancelled, it may have been revoked.
        """
        try:
            revoked = await self._store.write(api_keys.revoke(account_id, key_id))
        finally:
            # A write that failed or was cancelled may have been committed.
            self._credentials.forget(account_id)
        if not revoked:
            raise NoSuchKey
