"""Record the last activity of sessions and keys in the background, many in one write.

No request waits for these writes or fails because of them. Activity that was not written when the
process ends is lost: about a minute of a time with the resolution of a minute.
"""

import logging

import trio

from octavo.features.accounts.sql.sessions import record_activity
from octavo.features.oauth.sql.oauth_grants import record_use
from octavo.model.access.account import GrantId, KeyId, SessionId
from octavo.store import Store, StoreError

_log = logging.getLogger(__name__)


class Activity:
    """Collects activity and writes it to the store periodically.

    Args:
        store: the store of sessions and keys.
        interval: seconds between two writes.
        maximum: the maximum number of sessions, and of keys, collected between two writes; the
            activity of others is recorded at their next request.
    """

    def __init__(self, store: Store, *, interval: float = 5.0, maximum: int = 10_000) -> None:
        self._store = store
        self._interval = interval
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
            await trio.sleep(self._interval)

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
                await self._store.write(record_use(grants))
        except StoreError as error:
            _log.warning("the last activity of sessions and keys was not recorded: %s", error)
