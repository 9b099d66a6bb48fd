"""The last activity of sessions and keys, written down behind the requests, many in one write.

No request waits for it, and none fails because of it. What was noted and not yet written when the
process ends is lost: a minute or so of a time that is told to the minute.
"""

import logging

import trio

from octavo.model.accounts.api_key import KeyId
from octavo.model.accounts.session import SessionId
from octavo.store import Store, StoreError
from octavo.store.scripts.sessions import record_activity

_log = logging.getLogger(__name__)


class Activity:
    """Notes activity, and writes it down.

    Args:
        store: where it is kept.
        interval: seconds between two writes, so that each holds what came meanwhile.
        most: sessions and keys, each, that are noted between two writes; beyond that they are
            noted again at their next request.
    """

    def __init__(self, store: Store, *, interval: float = 5.0, most: int = 10_000) -> None:
        self._store = store
        self._interval = interval
        self._most = most
        self._sessions: dict[SessionId, int] = {}
        self._keys: dict[KeyId, int] = {}
        self._noted = trio.Event()

    def session_active(self, session_id: SessionId, at: int) -> None:
        """Note that a session was active, ``at`` milliseconds of Unix time."""
        if len(self._sessions) < self._most or session_id in self._sessions:
            self._sessions[session_id] = at
            self._noted.set()

    def key_used(self, key_id: KeyId, at: int) -> None:
        """Note that a key was used, ``at`` milliseconds of Unix time."""
        if len(self._keys) < self._most or key_id in self._keys:
            self._keys[key_id] = at
            self._noted.set()

    async def run(self) -> None:
        """Write down what is noted, for ever: at once, then once in each interval.

        Cancelling loses what was noted since the last write; one that began may be kept.
        """
        while True:
            await self._noted.wait()
            await self.write_down()
            await trio.sleep(self._interval)

    async def write_down(self) -> None:
        """Write down what is noted by now.

        A store that fails is a line in the log: what was noted is dropped.
        """
        sessions, keys = self._sessions, self._keys
        self._sessions, self._keys = {}, {}
        self._noted = trio.Event()
        if not (sessions or keys):
            return
        try:
            await self._store.write(record_activity(sessions, keys))
        except StoreError as error:
            _log.warning("the last activity of sessions and keys could not be kept: %s", error)
