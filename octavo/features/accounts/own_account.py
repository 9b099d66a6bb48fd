"""The operations of an account on itself: details and password."""

from collections.abc import Callable
from dataclasses import replace

from attrs import define
from octavo_rules.identity import AccountId

from octavo.access.attempts import Attempts
from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewId, milliseconds
from octavo.features.accounts.passwords import Passwords
from octavo.features.accounts.rules.refusal import InvalidCredentials
from octavo.features.accounts.sql import accounts, password_resets, sessions
from octavo.features.accounts.sql.accounts import AccountDetails, StoredPassword
from octavo.features.legal.rules import LegalTexts
from octavo.features.mail import sql as outbox
from octavo.features.mail.rules import queued
from octavo.model.access import account as model
from octavo.model.access.account import Account, AccountGone
from octavo.model.usage import month_of
from octavo.store import Store
from octavo.store.queries import consents
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
        details = await self._store.read_much(
            accounts.details_of(account_id, month_of(self._now()))
        )
        if details is None or not details.account.open:
            raise AccountGone
        return details

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
        theme_family: model.ThemeFamily | None = None,
        appearance: model.Appearance | None = None,
        spell_check: bool | None = None,
    ) -> model.Preferences:
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


@define(eq=False)
class OwnConsent:
    """Records the consent of an account to the legal documents.

    Args:
        legal: the documents in force.
        audit: records what was accepted.
        now: the clock.
    """

    _legal: LegalTexts
    _audit: Audit
    _now: Clock

    async def accept(
        self, account_id: AccountId, versions: model.Versions, *, remote_address: str | None
    ) -> model.Consent:
        """Record that the account accepts ``versions``, which must be those in force; return it.

        ``remote_address`` is the address of the caller. Raises `ConsentDue`, `AccountGone` and
        `StoreUnavailable`. If cancelled, it may have been recorded.
        """
        self._legal.require_current(versions)
        consent = model.Consent(versions, milliseconds(self._now()))
        entry = self._audit.entry(
            "documents_accepted",
            actor=account_id,
            subject=account_id,
            remote_address=remote_address,
        )
        script = consents.record(account_id, consent)
        await self._audit.write(script, entry, access_of=account_id)
        return consent


@define(eq=False)
class OwnPassword:
    """Verifies and changes the password of an account.

    Args:
        store: the store of accounts.
        passwords: verifies and hashes passwords.
        attempts: counts the attempts for each account, on the route ``password``.
        audit: records changes and refusals.
        now: the clock.
        new_id: returns an id for a message.
        mail_added: called when a message was added to the outbox; must not block.
    """

    _store: Store
    _passwords: Passwords
    _attempts: Attempts
    _audit: Audit
    _now: Clock
    _new_id: NewId
    _mail_added: Callable[[], None]

    async def prove(
        self, account_id: AccountId, password: str, operation: str, *, remote_address: str | None
    ) -> StoredPassword:
        """Return the account and its password, which must be ``password``.

        ``operation`` is the id of the operation that requires it, ``remote_address`` the address of
        the caller; a refusal is recorded with both. Raises `InvalidCredentials`, `AccountGone`,
        `TooManyAttempts` and `StoreUnavailable`.
        """
        stored = await self._store.read(accounts.password_of(account_id))
        if stored is None or not stored.account.open:
            raise AccountGone
        self._passwords.require_room()
        self._attempts.admit_account("password", account_id)
        if not await self._passwords.verify(password, stored.encoded):
            code = InvalidCredentials.code
            self._audit.refused.note(
                code, operation, subject=account_id, remote_address=remote_address
            )
            raise InvalidCredentials
        return stored

    async def change(
        self,
        account_id: AccountId,
        current: str,
        new: str,
        *,
        session: model.SessionId,
        end_others: bool,
        remote_address: str | None,
    ) -> Account:
        """Replace the password ``current`` by ``new``, which must be valid; return the account.

        Tokens to reset it end, and the account is notified by mail. With ``end_others``, every
        session but ``session`` ends. ``remote_address`` is the address of the browser. Raises
        `InvalidCredentials` when ``current`` is not the password, `AccountGone`, `TooManyAttempts`
        and `StoreUnavailable`. If cancelled, the password may have changed.
        """
        stored = await self.prove(
            account_id, current, "changePassword", remote_address=remote_address
        )
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

        entry = self._audit.entry(
            "password_changed",
            actor=account_id,
            subject=account_id,
            remote_address=remote_address,
            detail={"endedOtherSessions": end_others},
        )
        if not await self._audit.write(replace_and_end, entry, access_of=account_id):
            # Another request has replaced the password.
            raise InvalidCredentials
        self._mail_added()
        return replace(stored.account, updated_at=now)
