"""Log failures of the database and of the disk once, however many requests they affect."""

import logging
from collections.abc import Awaitable, Coroutine
from typing import Any

from octavo.store import IndexDamaged, Script, Store, StoreUnavailable, TextDamaged
from octavo.store.transaction import T

_log = logging.getLogger(__name__)
_MAX_TEXTS = 1000


class Outage:
    """Tracks whether one use of something failed at the last attempt.

    Args:
        subject: what is used, such as ``the database``.
        use: what it is used for, after "can be": ``read``, ``written to``.
        error: the class of the failures.
    """

    def __init__(self, subject: str, use: str, error: type[Exception] = StoreUnavailable) -> None:
        self._subject = subject
        self._use = use
        self._error = error
        self._lasts = False
        self._damaged: set[str] = set()

    async def watched(self, use: Awaitable[T]) -> T:
        """Return the result of ``use``, and log when it begins or ceases to fail."""
        try:
            result = await use
        except TextDamaged as error:
            self._report(error)
            raise
        except IndexDamaged:
            # Logged where the index is made anew.
            raise
        except self._error as error:
            if not self._lasts:
                self._lasts = True
                _log.warning("%s can't be %s now: %s", self._subject, self._use, error)
            raise
        if self._lasts:
            self._lasts = False
            _log.info("%s can be %s again", self._subject, self._use)
        return result

    def _report(self, error: TextDamaged) -> None:
        if error.file_id not in self._damaged and len(self._damaged) < _MAX_TEXTS:
            self._damaged.add(error.file_id)
            _log.error("%s; restore a backup, or delete the file", error)


class Outages:
    """The uses of the database: a full one can be read, and an open one without its file."""

    def __init__(self) -> None:
        self.opening = Outage("the database", "opened")
        self.reading = Outage("the database", "read")
        self.writing = Outage("the database", "written to")


class ReportingStore:
    """A `Store` whose failures are logged.

    Args:
        store: does the work.
        outages: its failures, shared by all that use it.
    """

    def __init__(self, store: Store, outages: Outages) -> None:
        self._store = store
        self._outages = outages

    # Not async functions: that saves every use one coroutine.
    def read(self, script: Script[T]) -> Coroutine[Any, Any, T]:
        """See `Store`."""
        return self._outages.reading.watched(self._store.read(script))

    def read_much(self, script: Script[T]) -> Coroutine[Any, Any, T]:
        """See `Store`."""
        return self._outages.reading.watched(self._store.read_much(script))

    def write(self, script: Script[T]) -> Coroutine[Any, Any, T]:
        """See `Store`."""
        return self._outages.writing.watched(self._store.write(script))
