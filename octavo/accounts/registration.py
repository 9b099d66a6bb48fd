"""Register an account with an invitation."""

from octavo.accounts.attempts import Attempts
from octavo.accounts.audit import Audit
from octavo.accounts.invitations import granted
from octavo.accounts.passwords import Passwords
from octavo.accounts.ports import Clock, NewId, milliseconds
from octavo.accounts.sign_in import SessionMaker, SignedIn
from octavo.model.accounts.account import Account
from octavo.model.accounts.address import Address
from octavo.model.accounts.refusal import AddressTaken, InvitationUnusable
from octavo.model.accounts.token import digest_of
from octavo.model.identity import AccountId
from octavo.store import Store
from octavo.store.scripts import accounts, invitations


class Registration:
    """Registers accounts.

    Args:
        store: the store of accounts.
        passwords: hashes passwords.
        attempts: counts the attempts for each address, on the route ``registration``.
        maker: creates their first sessions.
        audit: records new accounts.
        now: the clock.
        new_id: returns an id for an account.
    """

    def __init__(
        self,
        store: Store,
        passwords: Passwords,
        attempts: Attempts,
        maker: SessionMaker,
        *,
        audit: Audit,
        now: Clock,
        new_id: NewId,
    ) -> None:
        self._store = store
        self._audit = audit
        self._passwords = passwords
        self._attempts = attempts
        self._maker = maker
        self._now = now
        self._new_id = new_id

    async def opens(self, invitation: str) -> bool:
        """Return whether ``invitation`` is valid; raises `StoreUnavailable`."""
        found = await self._store.read(invitations.by_digest(digest_of(invitation.encode())))
        return found is not None and found.open_at(milliseconds(self._now()))

    async def register(
        self,
        invitation: str | None,
        address: Address,
        password: str,
        display_name: str,
        device: str,
        client: str | None,
    ) -> SignedIn:
        """Create an account with the role of ``invitation``, and its first session.

        ``password`` and ``display_name`` must be valid. Concurrent requests create one account per
        invitation. Raises `InvitationUnusable`, also for None; `AddressTaken`, but only for an
        invitation that is valid for the address; `TooManyAttempts`; `StoreUnavailable`. If
        cancelled, the account may have been created.
        """
        self._attempts.admit_account("registration", address)
        if invitation is None:
            raise InvitationUnusable
        digest = digest_of(invitation.encode())
        # Checked before the hash, so that callers without an invitation can't cause its cost.
        found = await self._store.read(invitations.by_digest(digest))
        if found is None or not found.admits(address, milliseconds(self._now())):
            raise InvitationUnusable
        if await self._store.read(accounts.password_at(address)) is not None:
            raise AddressTaken
        encoded = await self._passwords.hash(password)
        account_id = AccountId(self._new_id())
        session, token = self._maker.make(account_id, device, client)
        now = session.created_at
        account = await self._audit.write(
            invitations.use(
                digest,
                Account(account_id, address, display_name, found.role, "enabled", now, now),
                encoded,
                session,
                digest_of(token.encode()),
            ),
            self._audit.entry(
                "account_registered",
                actor=account_id,
                subject=account_id,
                client=client,
                detail={"invitationId": found.invitation_id, **granted(found)},
            ),
        )
        return SignedIn(account, session, token)
