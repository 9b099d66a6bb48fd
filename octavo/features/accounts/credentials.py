"""Authenticate callers by session token or API key, and record their last activity."""

import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace

import trio
from octavo_rules.identity import AccountId

from octavo.access.caller import Caller
from octavo.access.ports import Clock, milliseconds
from octavo.features.accounts.rules.session import SessionLife
from octavo.features.accounts.sql import api_keys, sessions
from octavo.features.accounts.sql.sessions import record_activity
from octavo.features.legal.rules import NO_DOCUMENTS, LegalDocuments
from octavo.features.oauth.sql import oauth_grants
from octavo.model.access.account import Account, GrantId, KeyId, SessionId
from octavo.model.access.token import digest_of, is_access_token, is_api_key, is_opaque_token
from octavo.store import Store, StoreError
from octavo.store.gathered_reads import GatheredReads

_log = logging.getLogger(__name__)


WRITE_SECONDS = 5.0
"""Seconds between two writes of activity."""
MAX_CACHED = 10_000
"""Maximum number of cached sessions, of cached keys, and of cached access tokens."""


class Activity:
    """Collects activity and writes it to the store periodically.

    Args:
        store: the store of sessions and keys.
        maximum: the maximum number of sessions, and of keys, collected between two writes. Beyond
            it, activity is recorded at a later request.
    """

    def __init__(self, store: Store, *, maximum: int = 10_000) -> None:
        self._store = store
        self._maximum = maximum
        self._sessions: dict[SessionId, int] = {}
        self._keys: dict[KeyId, int] = {}
        self._grants: dict[GrantId, int] = {}
        self._noted = trio.Event()

    def session_active(self, session_id: SessionId, at: int) -> None:
        """Record that a session was active, ``at`` milliseconds of Unix time."""
        if len(self._sessions) < self._maximum or session_id in self._sessions:
            self._sessions[session_id] = at
            self._noted.set()

    def key_used(self, key_id: KeyId, at: int) -> None:
        """Record that a key was used, ``at`` milliseconds of Unix time."""
        if len(self._keys) < self._maximum or key_id in self._keys:
            self._keys[key_id] = at
            self._noted.set()

    def grant_used(self, grant_id: GrantId, at: int) -> None:
        """Record that a grant was used, ``at`` milliseconds of Unix time."""
        if len(self._grants) < self._maximum or grant_id in self._grants:
            self._grants[grant_id] = at
            self._noted.set()

    async def run(self) -> None:
        """Write collected activity once per interval, until cancelled.

        Cancellation loses what was collected since the last write; a started write may be
        committed.
        """
        while True:
            await self._noted.wait()
            await self.flush()
            await trio.sleep(WRITE_SECONDS)

    async def flush(self) -> None:
        """Write the collected activity.

        A failure of the store is logged, and the activity is dropped.
        """
        sessions, keys, grants = self._sessions, self._keys, self._grants
        self._sessions, self._keys, self._grants = {}, {}, {}
        self._noted = trio.Event()
        try:
            if sessions or keys:
                await self._store.write(record_activity(sessions, keys))
            if grants:
                await self._store.write(oauth_grants.record_use(grants))
        except StoreError as error:
            _log.warning("the last activity of sessions and keys was not recorded: %s", error)


class CachedCaller:
    """An authenticated caller.

    Attributes:
        caller: the caller.
        expires_at: when its session or key expires, in seconds of Unix time.
        active_at: its last activity recorded or collected, in seconds of Unix time.
        until: when the entry becomes stale, in seconds of trio's clock.
    """

    __slots__ = ("active_at", "caller", "expires_at", "until")

    def __init__(self, caller: Caller, expires_at: float, active_at: float, until: float) -> None:
        self.caller = caller
        self.expires_at = expires_at
        self.active_at = active_at
        self.until = until


class CredentialCache:
    """Caches at most ``maximum`` callers by credential digest; the oldest are evicted.

    Entries may be a few seconds old. A process that ends a session itself calls `forget`, which
    takes effect at once. A concurrent look-up may have read the earlier state. It passes the
    generation at which it started, and its result is cached only if that has not changed.

    Attributes:
        entries: the callers by digest, also stale ones; only for reading.
        generation: the number of calls of `forget` and `forget_all`.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self.entries: dict[bytes, CachedCaller] = {}
        self._digests: dict[AccountId, set[bytes]] = {}
        self.generation = 0

    def __len__(self) -> int:
        return len(self.entries)

    def keep(self, digest: bytes, entry: CachedCaller, generation: int) -> None:
        """Cache ``entry``, unless something was forgotten since ``generation``."""
        if generation != self.generation:
            return
        self._drop(digest)
        if len(self.entries) >= self._maximum:
            self._drop(next(iter(self.entries)))
        self.entries[digest] = entry
        self._digests.setdefault(entry.caller.account_id, set()).add(digest)

    def forget(self, account_id: AccountId) -> None:
        """Remove every caller of the account."""
        self.generation += 1
        for digest in self._digests.pop(account_id, ()):
            del self.entries[digest]

    def forget_all(self) -> None:
        """Remove every caller."""
        self.generation += 1
        self.entries.clear()
        self._digests.clear()

    def _drop(self, digest: bytes) -> None:
        entry = self.entries.pop(digest, None)
        if entry is None:
            return
        account_id = entry.caller.account_id
        digests = self._digests[account_id]
        digests.discard(digest)
        if not digests:
            del self._digests[account_id]


CACHE_SECONDS = 5.0
"""Seconds for which a credential is cached in an installation of one process."""
ACTIVITY_INTERVAL = 60.0
"""The shortest time in seconds between two recorded activities of a session or a key."""


class Credentials:
    """Looks up sessions and keys, and caches them for some seconds.

    Args:
        store: the store of sessions and keys.
        activity: receives their activity.
        now: the clock.
        life: the lifetime of sessions.
        fresh: seconds for which a result is cached. Revocations by this process take effect
            through `forget`; those by another process only after this time, so it must be 0 if
            several processes serve the installation.
        legal: the documents that accounts must have accepted.
        elapsed: returns a time in seconds, for the age of what is cached.
    """

    def __init__(
        self,
        store: Store,
        activity: Activity,
        *,
        now: Clock,
        life: SessionLife,
        fresh: float = CACHE_SECONDS,
        legal: LegalDocuments = NO_DOCUMENTS,
        elapsed: Callable[[], float] = trio.current_time,
    ) -> None:
        self._elapsed = elapsed
        self._store = store
        self._activity = activity
        self._now = now
        self._life = life
        self._fresh = fresh
        self._legal = legal
        self._sessions = CredentialCache(MAX_CACHED)
        self._keys = CredentialCache(MAX_CACHED)
        self._tokens = CredentialCache(MAX_CACHED)
        self._stored_keys = GatheredReads(store, api_keys.by_digests)
        self._stored_sessions = GatheredReads(store, sessions.by_digests)

    def forget(self, account_id: AccountId) -> None:
        """Drop the cached sessions, keys and access tokens of the account.

        Call this after a commit that ended one, or that changed the account's role, state or
        consent.
        """
        self._sessions.forget(account_id)
        self._keys.forget(account_id)
        self._tokens.forget(account_id)

    def forget_tokens(self) -> None:
        """Drop all cached access tokens: of a program that was removed, whoever allowed it."""
        self._tokens.forget_all()

    async def of_key(self, secret: bytes) -> Caller | None:
        """Return the caller with the API key ``secret``; None if it is not valid.

        Raises `StoreUnavailable`. Cancellation has no effect on the store.
        """
        return await self._caller(secret, self._keys, is_api_key, self._look_up_key)

    async def of_session(self, token: bytes) -> Caller | None:
        """Return the caller with the session ``token``; None if it is not valid.

        Raises `StoreUnavailable`. Cancellation has no effect on the store.
        """
        return await self._caller(token, self._sessions, is_opaque_token, self._look_up_session)

    async def of_access_token(self, token: bytes) -> Caller | None:
        """Return the caller with an access token; None if it is not valid.

        Raises `StoreUnavailable`. Cancellation has no effect on the store.
        """
        return await self._caller(token, self._tokens, is_access_token, self._look_up_token)

    async def _caller(
        self,
        secret: bytes,
        cache: CredentialCache,
        is_one: Callable[[bytes], bool],
        look_up: Callable[[bytes], Awaitable[CachedCaller | None]],
    ) -> Caller | None:
        digest = digest_of(secret)
        entry = cache.entries.get(digest)
        if entry is None or entry.until <= self._elapsed():
            if not is_one(secret):
                return None
            generation = cache.generation
            entry = await look_up(digest)
            if entry is None:
                return None
            cache.keep(digest, entry, generation)
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
            if caller.grant_id is not None:
                self._activity.grant_used(caller.grant_id, milliseconds(now))
        return entry.caller

    async def _look_up_key(self, digest: bytes) -> CachedCaller | None:
        stored = await self._stored_keys.find(digest)
        if stored is None or not stored.account.open:
            return None
        key = stored.key
        caller = replace(self._caller_for(stored.account), key_id=key.key_id, limits=key.limits)
        return self._entry(caller, key.expires_at, key.used_at)

    async def _look_up_token(self, digest: bytes) -> CachedCaller | None:
        stored = await self._store.read(oauth_grants.token_of(digest, "access"))
        if stored is None or not stored.account.open:
            return None
        grant = stored.grant
        caller = replace(
            self._caller_for(stored.account),
            limits=replace(grant.limits, scopes=stored.scopes),
            grant_id=grant.grant_id,
            program=grant.program,
        )
        return self._entry(caller, stored.expires_at, grant.used_at)

    async def _look_up_session(self, digest: bytes) -> CachedCaller | None:
        stored = await self._stored_sessions.find(digest)
        if stored is None or not stored.account.open:
            return None
        session = stored.session
        caller = replace(self._caller_for(stored.account), session_id=session.session_id)
        return self._entry(caller, self._life.expires_at(session), session.active_at)

    def _entry(self, caller: Caller, expires_at: int | None, active_at: int | None) -> CachedCaller:
        """Return the entry of a caller; times are in milliseconds, None for never."""
        return CachedCaller(
            caller,
            expires_at=math.inf if expires_at is None else expires_at / 1000,
            active_at=-math.inf if active_at is None else active_at / 1000,
            until=self._elapsed() + self._fresh,
        )

    def _caller_for(self, account: Account) -> Caller:
        due = self._legal.due_from(account.consent)
        return Caller(account.account_id, account.role, account.state == "locked", due)
