"""Authenticate callers by session token or API key, and record their last activity."""

import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter

import trio
from octavo_rules.identity import AccountId

from octavo.access.caller import Caller
from octavo.access.ports import Clock, milliseconds
from octavo.features.accounts.rules.session import SessionLife
from octavo.features.accounts.sql import api_keys, sessions
from octavo.features.legal.rules import NO_TEXTS, LegalTexts
from octavo.model.access.account import Account
from octavo.model.access.token import digest_of, is_api_key, is_opaque_token
from octavo.store import Store, StoreError
from octavo.store.gathered_reads import GatheredReads
from octavo.store.transaction import Script, Transaction

_log = logging.getLogger(__name__)


WRITE_SECONDS = 5.0
"""Seconds between two writes of activity."""
MAX_CACHED = 10_000
"""Maximum number of cached callers of one kind of credential."""

RecordUse = Callable[[Mapping[str, int]], Script[None]]
"""Writes when credentials were last used, by id, in milliseconds of Unix time."""


class Activity:
    """Collects when credentials were used, and writes it to the store periodically.

    Args:
        store: the store of the credentials.
        maximum: the maximum number of credentials of one kind collected between two writes. Beyond
            it, activity is recorded at a later request.
    """

    def __init__(self, store: Store, *, maximum: int = 10_000) -> None:
        self._store = store
        self._maximum = maximum
        self._times: dict[RecordUse, dict[str, int]] = {}
        self._noted = trio.Event()

    def note(self, record: RecordUse, credential_id: str, at: int) -> None:
        """Collect that a credential was used ``at`` milliseconds of Unix time.

        ``record`` writes such times of its kind of credential.
        """
        times = self._times.setdefault(record, {})
        if len(times) < self._maximum or credential_id in times:
            times[credential_id] = at
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
        collected, self._times = self._times, {}
        self._noted = trio.Event()

        async def record_all(transaction: Transaction) -> None:
            # All processes use one order, so that they can't deadlock.
            for record in sorted(collected, key=attrgetter("__module__", "__name__")):
                await record(collected[record])(transaction)

        try:
            if collected:
                await self._store.write(record_all)
        except StoreError as error:
            _log.warning("the last uses of credentials were not recorded: %s", error)


class CachedCaller:
    """An authenticated caller.

    Args:
        caller: the caller.
        credential_id: of the session, the key or what else it was authenticated by.
        expires_at: when its credential expires, in milliseconds of Unix time; None for never.
        active_at: its last recorded activity, in milliseconds of Unix time; None for none.

    Attributes:
        caller: the caller.
        credential_id: the id of its credential.
        expires_at: when its credential expires, in seconds of Unix time.
        active_at: its last activity recorded or collected, in seconds of Unix time.
        until: when the entry becomes stale, in seconds of trio's clock.
    """

    __slots__ = ("active_at", "caller", "credential_id", "expires_at", "until")

    def __init__(
        self,
        caller: Caller,
        credential_id: str,
        expires_at: int | None,
        active_at: int | None,
    ) -> None:
        self.caller = caller
        self.credential_id = credential_id
        self.expires_at = math.inf if expires_at is None else expires_at / 1000
        self.active_at = -math.inf if active_at is None else active_at / 1000
        self.until = -math.inf


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
"""The shortest time in seconds between two recorded uses of a credential."""


class CredentialKind:
    """Looks up the callers of one kind of credential. Create it with `Credentials.add_kind`.

    Attributes:
        cache: its callers.
    """

    def __init__(
        self,
        is_one: Callable[[bytes], bool],
        look_up: Callable[[bytes], Awaitable[CachedCaller | None]],
        record_use: RecordUse,
        *,
        activity: Activity,
        now: Clock,
        fresh: float,
        elapsed: Callable[[], float],
    ) -> None:
        self.cache = CredentialCache(MAX_CACHED)
        self._is_one = is_one
        self._look_up = look_up
        self._record_use = record_use
        self._activity = activity
        self._now = now
        self._fresh = fresh
        self._elapsed = elapsed

    async def caller(self, secret: bytes) -> Caller | None:
        """Return the caller with the credential ``secret``; None if it is not valid.

        Raises `StoreUnavailable`. Cancellation has no effect on the store.
        """
        cache = self.cache
        digest = digest_of(secret)
        entry = cache.entries.get(digest)
        if entry is None or entry.until <= self._elapsed():
            if not self._is_one(secret):
                return None
            generation = cache.generation
            entry = await self._look_up(digest)
            if entry is None:
                return None
            entry.until = self._elapsed() + self._fresh
            cache.keep(digest, entry, generation)
        now = self._now()
        if now >= entry.expires_at:
            return None
        if now - entry.active_at >= ACTIVITY_INTERVAL:
            entry.active_at = now
            self._activity.note(self._record_use, entry.credential_id, milliseconds(now))
        return entry.caller


class Credentials:
    """Looks up sessions, keys and other kinds of credentials, and caches them for some seconds.

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

    Attributes:
        of_key: returns the caller with an API key; see `CredentialKind.caller`.
        of_session: the same for the token of a session.
    """

    def __init__(
        self,
        store: Store,
        activity: Activity,
        *,
        now: Clock,
        life: SessionLife,
        fresh: float = CACHE_SECONDS,
        legal: LegalTexts = NO_TEXTS,
        elapsed: Callable[[], float] = trio.current_time,
    ) -> None:
        self._life = life
        self._legal = legal
        self._stored_keys = GatheredReads(store, api_keys.by_digests)
        self._stored_sessions = GatheredReads(store, sessions.by_digests)
        self._kinds: list[CredentialKind] = []
        self._new_kind = partial(
            CredentialKind, activity=activity, now=now, fresh=fresh, elapsed=elapsed
        )
        self.of_key = self.add_kind(is_api_key, self._look_up_key, api_keys.record_use).caller
        self.of_session = self.add_kind(
            is_opaque_token, self._look_up_session, sessions.record_activity
        ).caller

    def add_kind(
        self,
        is_one: Callable[[bytes], bool],
        look_up: Callable[[bytes], Awaitable[CachedCaller | None]],
        record_use: RecordUse,
    ) -> CredentialKind:
        """Return a kind of credential whose callers are dropped by `forget`, too.

        ``is_one`` returns whether a secret has the form of this kind, ``look_up`` the caller with
        the SHA-256 digest of a secret. ``record_use`` writes when credentials were last used.
        """
        kind = self._new_kind(is_one, look_up, record_use)
        self._kinds.append(kind)
        return kind

    def forget(self, account_id: AccountId) -> None:
        """Drop the cached callers of the account.

        Call this after a commit that ended a credential, or that changed the account's role, state
        or consent.
        """
        for kind in self._kinds:
            kind.cache.forget(account_id)

    def caller_for(self, account: Account) -> Caller:
        """Return the caller for an open account, without limits and without a credential."""
        due = self._legal.due_from(account.consent)
        return Caller(account.account_id, account.role, account.state == "locked", due)

    async def _look_up_key(self, digest: bytes) -> CachedCaller | None:
        stored = await self._stored_keys.find(digest)
        if stored is None or not stored.account.open:
            return None
        key = stored.key
        caller = replace(self.caller_for(stored.account), key_id=key.key_id, limits=key.limits)
        return CachedCaller(caller, key.key_id, key.expires_at, key.used_at)

    async def _look_up_session(self, digest: bytes) -> CachedCaller | None:
        stored = await self._stored_sessions.find(digest)
        if stored is None or not stored.account.open:
            return None
        session = stored.session
        caller = replace(self.caller_for(stored.account), session_id=session.session_id)
        expires_at = self._life.expires_at(session)
        return CachedCaller(caller, session.session_id, expires_at, session.active_at)
