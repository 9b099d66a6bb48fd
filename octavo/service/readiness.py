"""Check whether the service can take work: database, schema, data folder.

The checks write, because a disk that is full or was remounted read-only can still be read. A check
that wrote counts for `FRESH_SECONDS`, so that requests for readiness can't wear out the disk.

Anybody can read the details: they contain no version, path, address, or text of an error. The log
has these.

An object store that can't be used is reported, but the service stays ready: notes don't need it,
and all processes lose it at the same time, so that sending requests elsewhere would not help.
"""

import errno
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import trio

from octavo.service.health import Readiness, Requirement
from octavo.store import StoreError
from octavo.store.blobs import BlobStore, BlobsUnavailable
from octavo.store.engine import StoreEngine
from octavo.store.migrations import shipped
from octavo.store.outages import Outage

T = TypeVar("T")

LOOK_SECONDS = 2.0
"""Seconds that a single check may take."""
FRESH_SECONDS = 1.0
"""Seconds for which the result of a check that writes is used again."""
STORE_FRESH_SECONDS = 30.0
"""The same for an object store, where each write has a price."""
PROBE_BYTES = 64 * 1024
"""Size of the file that is written to the data folder, and removed."""

_CONFIGURED = Requirement("configuration", met=True, detail="The settings were read and checked.")


class ReadinessProbe:
    """Checks what the service depends on.

    Args:
        engine: the database.
        folder: the data folder.
        stopping: set when the process is about to stop.
        write: writes to the data folder, without blocking the loop; `write_probe` in a thread
            when left out.
        object_store: the blob store if it is not in the data folder.
    """

    def __init__(
        self,
        engine: StoreEngine,
        folder: Path,
        stopping: trio.Event,
        write: Callable[[Path], Awaitable[None]] | None = None,
        object_store: BlobStore | None = None,
    ) -> None:
        self._engine = engine
        self._stopping = stopping
        self._writing = _Repeated(partial(_check_writing, engine))
        outage = Outage("the data folder", "written to", OSError)
        self._blobs = _Repeated(partial(_check_folder, folder, write or _in_thread(), outage))
        self._schema = Outage("the schema of the database", "used", _OtherVersion)
        self._object_store: _Repeated[Requirement] | None = None
        if object_store is not None:
            away = Outage("the object store", "used", BlobsUnavailable)
            check = partial(_check_object_store, object_store, away)
            self._object_store = _Repeated(check, STORE_FRESH_SECONDS)

    async def look(self) -> Readiness:
        """Check everything, and return the result.

        Each check takes `LOOK_SECONDS` at most; a commit of SQLite that a disk holds up is waited
        for, because it can't be cancelled.
        """
        required: list[Requirement] = []
        optional: list[Requirement] = []

        async def look_at_database() -> None:
            # The read is never cached: a database that is away must not count as usable because
            # it could be written to a moment ago.
            version, problem = await _read_version(self._engine)
            if version is None:
                required[:0] = _unmet("database", problem), _unmet("migrations", _UNREADABLE)
            else:
                schema = await _check_schema(version, self._schema)
                required[:0] = await self._writing.result(), schema

        async def look_at_folder() -> None:
            required.append(await self._blobs.result())

        async def look_at_object_store() -> None:
            if self._object_store is not None:
                optional.append(await self._object_store.result())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(look_at_database)
            nursery.start_soon(look_at_folder)
            nursery.start_soon(look_at_object_store)
        return Readiness((_CONFIGURED, *required, *optional), stopping=self._stopping.is_set())


_UNREADABLE = "The version of the schema can't be read while the database is away."


def _unmet(name: str, detail: str) -> Requirement:
    return Requirement(name, met=False, detail=detail)


class _Repeated(Generic[T]):
    """A check that runs once at a time, and whose result counts for ``fresh`` seconds."""

    def __init__(self, check: Callable[[], Awaitable[T]], fresh: float = FRESH_SECONDS) -> None:
        self._check = check
        self._fresh = fresh
        self._lock = trio.Lock()
        self._results: list[T] = []
        self._expires = 0.0

    async def result(self) -> T:
        async with self._lock:
            if not self._results or trio.current_time() >= self._expires:
                self._results = [await self._check()]
                self._expires = trio.current_time() + self._fresh
            return self._results[0]


async def _read_version(engine: StoreEngine) -> tuple[int | None, str]:
    """Return the version of the schema; None, and why, when it can't be read."""
    with trio.move_on_after(LOOK_SECONDS):
        try:
            return await engine.applied_version(), ""
        except StoreError:
            return None, "The database can't be used now: the log of the service says why."
    return None, f"The database did not respond within {LOOK_SECONDS:g} seconds."


class _OtherVersion(Exception):
    """The schema was migrated by another version of the program."""


async def _check_schema(version: int, outage: Outage) -> Requirement:
    try:
        await outage.watched(_require(version))
    except _OtherVersion:
        detail = "The schema is that of another version: the log of the service says of which."
        return _unmet("migrations", detail)
    return Requirement("migrations", met=True, detail="The schema is the one expected.")


async def _require(version: int) -> None:
    newest = shipped()[-1].version
    if version != newest:
        raise _OtherVersion(f"it has version {version}, and this program expects {newest}")


async def _check_writing(engine: StoreEngine) -> Requirement:
    """Return whether the database can be written to."""
    with trio.move_on_after(LOOK_SECONDS):
        try:
            await engine.store.write(engine.probe)
        except StoreError:
            detail = "The database can't be written to now: the log of the service says why."
            return _unmet("database", detail)
        return Requirement("database", met=True, detail="The database can be written to.")
    detail = f"The database did not respond within {LOOK_SECONDS:g} seconds."
    return _unmet("database", detail)


def _in_thread() -> Callable[[Path], Awaitable[None]]:
    # A thread that a broken disk blocks is abandoned; there is at most one.
    threads = trio.CapacityLimiter(1)

    async def write(folder: Path) -> None:
        await trio.to_thread.run_sync(write_probe, folder, abandon_on_cancel=True, limiter=threads)

    return write


async def _check_folder(
    folder: Path, write: Callable[[Path], Awaitable[None]], outage: Outage
) -> Requirement:
    detail = f"The data folder took longer than {LOOK_SECONDS:g} seconds to write to."
    with trio.move_on_after(LOOK_SECONDS):
        try:
            await outage.watched(write(folder))
        except OSError as error:
            detail = f"The data folder can't be written to: {_reason(error)}"
        else:
            return Requirement("blobs", met=True, detail="The data folder can be written to.")
    return Requirement("blobs", met=False, detail=detail)


async def _check_object_store(blobs: BlobStore, outage: Outage) -> Requirement:
    name, met = "object_store", False
    detail = f"The object store did not respond within {LOOK_SECONDS:g} seconds."
    with trio.move_on_after(LOOK_SECONDS):
        try:
            await outage.watched(blobs.check())
        except BlobsUnavailable:
            detail = "The object store can't be used now: the log of the service says why."
        else:
            met, detail = True, "The object store can be written to."
    return Requirement(name, met=met, detail=detail, optional=True)


def write_probe(folder: Path) -> None:
    """Write a file of `PROBE_BYTES` to ``folder``, durably, and remove it. Raises `OSError`."""
    # A fixed name: a crash leaves at most one file, which the next probe replaces.
    path = folder / ".ready"
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        written = 0
        while written < PROBE_BYTES:
            written += os.write(opened, bytes(PROBE_BYTES - written))
        os.fsync(opened)
    finally:
        os.close(opened)
        with suppress(OSError):
            path.unlink()


def _reason(error: OSError) -> str:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "its disk is full: make room there."
        case errno.EROFS:
            return "its file system is read-only: look at its disk."
        case errno.EACCES | errno.EPERM:
            return "the service may not: look at its owner and its mode."
        case _:
            return "the log of the service says why."
