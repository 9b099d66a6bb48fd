"""Find out who shows a session's token or an API key."""

import math
from collections.abc import Awaitable, Callable

import trio

from octavo.accounts.activity import Activity
from octavo.accounts.caller import Caller, caller_of
from octavo.accounts.credential_cache import CachedCaller, CredentialCache
from octavo.accounts.ports import Clock, milliseconds
from octavo.model.accounts.session import SessionLife
from octavo.model.accounts.token import digest_of, is_api_key, is_opaque_token
from octavo.model.identity import AccountId
from octavo.store import Store
from octavo.store.scripts import api_keys, sessions

REMEMBERED = 5.0
"""Seconds that what was found is not looked up again, in an installation of one process."""
ACTIVITY_INTERVAL = 60.0
"""Seconds in which the activity of a session or a key is written down once."""


class Credentials:
    """Knows sessions and keys, and remembers those it saw for some seconds.

    Args:
        store: where they are kept.
        activity: takes when they are used.
        now: the clock.
        life: how long sessions last.
        fresh: seconds that somebody found is not looked up again. What this process revokes is
            told to `forget`; what another one does would still pass so long: 0 beside others.
        most: sessions and keys, each, that are remembered.
        forgotten: told of each account that `forget` was told of; must not wait.
    """

    def __init__(
        self,
        store: Store,
        activity: Activity,
        *,
        now: Clock,
        life: SessionLife,
        fresh: float = REMEMBERED,
        most: int = 10_000,
        forgotten: Callable[[AccountId], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._forgotten = forgotten
        self._activity = activity
        self._now = now
        self._life = life
        self._fresh = fresh
        self._sessions = CredentialCache(most)
        self._keys = CredentialCache(most)

    def forget(self, account_id: AccountId) -> None:
        """Look up every session and key of the account anew from now on.

        To be called once it is kept that one ended, or that the account's role or state changed.
        """
        self._sessions.forget(account_id)
        self._keys.forget(account_id)
        self._forgotten(account_id)

    async def of_key(self, secret: bytes) -> Caller | None:
        """Return whose key ``secret`` is; None when it opens nothing.

        Raises `StoreUnavailable`. Cancelling changes nothing.
        """
        return await self._caller(secret, self._keys, is_api_key, self._look_up_key)

    async def of_session(self, token: bytes) -> Caller | None:
        """Return whose session ``token`` is of; None when it opens nothing.

        Raises `StoreUnavailable`. Cancelling changes nothing.
        """
        return await self._caller(token, self._sessions, is_opaque_token, self._look_up_session)

    async def _caller(
        self,
        secret: bytes,
        remembered: CredentialCache,
        is_one: Callable[[bytes], bool],
        look_up: Callable[[bytes], Awaitable[CachedCaller | None]],
    ) -> Caller | None:
        digest = digest_of(secret)
        entry = remembered.find(digest)
        if entry is None or entry.until <= trio.current_time():
            if not is_one(secret):
                return None
            entry = await look_up(digest)
            if entry is None:
                return None
        now = self._now()
        if now >= entry.expires_at:
            return None
        if now - entry.active_at >= ACTIVITY_INTERVAL:
            entry.active_at = now
            caller = entry.caller
            if caller.key_id is not None:
                self._activity.key_used(caller.key_id, milliseconds(now))
            if caller.session_id is not None:
                self._activity.session_active(caller.session_id, milliseconds(now))
        return entry.caller

    async def _look_up_key(self, digest: bytes) -> CachedCaller | None:
        generation = self._keys.generation
        found = await self._store.read(api_keys.by_digest(digest))
        if found is None or not found.account.open:
            return None
        key = found.key
        entry = CachedCaller(
            caller_of(found.account, key_id=key.key_id),
            expires_at=math.inf if key.expires_at is None else key.expires_at / 1000,
            active_at=-math.inf if key.used_at is None else key.used_at / 1000,
            until=trio.current_time() + self._fresh,
        )
        self._keys.keep(digest, entry, generation)
        return entry

    async def _look_up_session(self, digest: bytes) -> CachedCaller | None:
        generation = self._sessions.generation
        found = await self._store.read(sessions.by_digest(digest))
        if found is None or not found.account.open:
            return None
        session = found.session
        entry = CachedCaller(
            caller_of(found.account, session_id=session.session_id),
            expires_at=self._life.expires_at(session) / 1000,
            active_at=session.active_at / 1000,
            until=trio.current_time() + self._fresh,
        )
        self._sessions.keep(digest, entry, generation)
        return entry
