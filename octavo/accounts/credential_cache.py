"""A cache of recently authenticated callers, which saves a query for each request.

Entries may be outdated by a few seconds, the time for which they are cached. A process that ends a
session itself calls `CredentialCache.forget`, which takes effect immediately. A concurrent look-up
may still have read the previous state; it therefore passes the generation at which it started, and
its result is cached only if the generation is unchanged.
"""

from octavo.accounts.caller import Caller
from octavo.model.identity import AccountId


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
