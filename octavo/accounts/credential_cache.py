"""Callers that were found a moment ago, so that their next request asks no database.

Entries may be out of date for as long as they are cached: seconds. A process that ends a session
itself calls `CredentialCache.forget`, and from then on the caller is unknown here.
A look-up that was under way at that moment may have read what was there before; so it brings the
count of forgettings that it began at, and what it found is remembered only while that still holds.
"""

from octavo.accounts.caller import Caller
from octavo.model.identity import AccountId


class CachedCaller:
    """A caller that was found.

    Attributes:
        caller: who it is.
        expires_at: when its session or key expires, in seconds of Unix time.
        active_at: its last activity that is recorded, or about to be, in the same.
        until: when it is to be looked up again, in seconds of trio's clock.
    """

    __slots__ = ("active_at", "caller", "expires_at", "until")

    def __init__(self, caller: Caller, expires_at: float, active_at: float, until: float) -> None:
        self.caller = caller
        self.expires_at = expires_at
        self.active_at = active_at
        self.until = until


class CredentialCache:
    """At most ``most`` callers by the digests of what they showed; the oldest make room.

    Attributes:
        generation: how often something was forgotten.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: dict[bytes, CachedCaller] = {}
        self._digests: dict[AccountId, set[bytes]] = {}
        self.generation = 0

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, digest: bytes) -> CachedCaller | None:
        """Return who showed what has ``digest``, whether or not it is too old; None for nobody."""
        return self._entries.get(digest)

    def keep(self, digest: bytes, entry: CachedCaller, generation: int) -> None:
        """Remember ``entry``, unless something was forgotten since ``generation``."""
        if generation != self.generation:
            return
        self._drop(digest)
        if len(self._entries) >= self._most:
            self._drop(next(iter(self._entries)))
        self._entries[digest] = entry
        self._digests.setdefault(entry.caller.account_id, set()).add(digest)

    def forget(self, account_id: AccountId) -> None:
        """Forget every caller of the account."""
        self.generation += 1
        for digest in self._digests.pop(account_id, ()):
            del self._entries[digest]

    def _drop(self, digest: bytes) -> None:
        entry = self._entries.pop(digest, None)
        if entry is None:
            return
        account_id = entry.caller.account_id
        digests = self._digests[account_id]
        digests.discard(digest)
        if not digests:
            del self._digests[account_id]
