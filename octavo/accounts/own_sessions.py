"""The sessions of an account, as their account sees and ends them."""

from octavo.accounts.credentials import Credentials
from octavo.accounts.injected import Clock, milliseconds
from octavo.model.identity import AccountId
from octavo.model.identity_refusal import NoSuchSession
from octavo.model.session import Session, SessionId, SessionLife
from octavo.store import Store
from octavo.store.scripts import sessions


class OwnSessions:
    """Lists and ends sessions.

    Args:
        store: where they are kept.
        credentials: told of those that end.
        now: the clock.
        life: how long sessions last.
    """

    def __init__(
        self, store: Store, credentials: Credentials, *, now: Clock, life: SessionLife
    ) -> None:
        self._store = store
        self._credentials = credentials
        self._now = now
        self._life = life

    async def list(self, account_id: AccountId, before: str | None, limit: int) -> list[Session]:
        """Answer living sessions, the newest first, at most ``limit``, from ``before`` on.

        Raises `StoreUnavailable`.
        """
        alive = self._life.alive_since(milliseconds(self._now()))
        return await self._store.read(sessions.list_of(account_id, alive, before, limit))

    async def end(self, account_id: AccountId, session_id: SessionId) -> None:
        """End one session. Raises `NoSuchSession` and `StoreUnavailable`.

        Cancelled, it may have ended.
        """
        try:
            ended = await self._store.write(sessions.end(account_id, session_id))
        finally:
            # A write that failed, or was cancelled, may have been kept.
            self._credentials.forget(account_id)
        if not ended:
            raise NoSuchSession

    async def end_others(self, account_id: AccountId, kept: SessionId | None) -> int:
        """End every session but ``kept``; answer how many. Raises `StoreUnavailable`.

        Cancelled, they may have ended.
        """
        try:
            ended = await self._store.write(sessions.end_all(account_id, but=kept))
        finally:
            # A write that failed, or was cancelled, may have been kept.
            self._credentials.forget(account_id)
        return ended
