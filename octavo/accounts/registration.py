"""Make an account from an invitation."""

from octavo.accounts.attempts import Attempts
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
    """Makes accounts.

    Args:
        store: where they are kept.
        passwords: hashes theirs.
        attempts: counts the tries for each address, on the route ``registration``.
        maker: of their first sessions.
        now: the clock.
        new_id: makes their identifiers.
    """

    def __init__(
        self,
        store: Store,
        passwords: Passwords,
        attempts: Attempts,
        maker: SessionMaker,
        *,
        now: Clock,
        new_id: NewId,
    ) -> None:
        self._store = store
        self._passwords = passwords
        self._attempts = attempts
        self._maker = maker
        self._now = now
        self._new_id = new_id

    async def opens(self, invitation: str) -> bool:
        """Return whether an account may be made from ``invitation``; raises `StoreUnavailable`."""
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
        """Make an account with the role of ``invitation``, and its first session.

        ``password`` and ``display_name`` were found good. One invitation makes one account,
        however many ask at once. Raises `InvitationUnusable`, also without one;
        `AddressTaken`, told only to who holds an invitation that is good for the address;
        `TooManyAttempts`; `StoreUnavailable`. Cancelled, the account may have been made.
        """
        self._attempts.admit_account("registration", address)
        if invitation is None:
            raise InvitationUnusable
        digest = digest_of(invitation.encode())
        # Looked at before the hash, so that it costs nothing to whom nobody invited.
        found = await self._store.read(invitations.by_digest(digest))
        if found is None or not found.admits(address, milliseconds(self._now())):
            raise InvitationUnusable
        if await self._store.read(accounts.password_at(address)) is not None:
            raise AddressTaken
        encoded = await self._passwords.hash(password)
        account_id = AccountId(self._new_id())
        session, token = self._maker.make(account_id, device, client)
        now = session.created_at
        account = await self._store.write(
            invitations.use(
                digest,
                Account(account_id, address, display_name, found.role, "enabled", now, now),
                encoded,
                session,
                digest_of(token.encode()),
            )
        )
        return SignedIn(account, session, token)
