"""The lock on a folder of blobs that keeps them from being deleted while they are copied.

A copy of the database names blobs that may lose their last reference before they are copied. A
backup holds the lock exclusively from before the copy of the database until the blobs are copied; a
server holds it shared during each deletion. It is a lock of flock(2) on the folder: scripts can
hold it with the command ``flock``, and it ends with the process.
"""

import errno
import fcntl
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import trio

from octavo.store.blobs.blob_store import BlobsUnavailable

_ATTEMPT_SECONDS = 0.02
_HELD = frozenset({errno.EWOULDBLOCK, errno.EACCES})


@contextmanager
def deleting(folder: Path) -> Iterator[None]:
    """Allow the block to delete blobs of ``folder``. Raises `BlobsUnavailable` during a backup."""
    opened = _open(folder)
    try:
        if not _lock(opened, fcntl.LOCK_SH):
            raise BlobsUnavailable("a backup copies them")
        yield
    finally:
        os.close(opened)


@asynccontextmanager
async def deletion_held_off(folder: Path, waiting: Callable[[], None]) -> AsyncIterator[None]:
    """Prevent the deletion of blobs of ``folder`` during the block; the folder may be missing.

    ``waiting`` is called if another holds the lock. Raises OSError.
    """
    try:
        opened = _open(folder)
    except FileNotFoundError:
        yield
        return
    try:
        if not _lock(opened, fcntl.LOCK_EX):
            waiting()
            while not _lock(opened, fcntl.LOCK_EX):  # noqa: ASYNC110  # another process frees it
                await trio.sleep(_ATTEMPT_SECONDS)
        yield
    finally:
        os.close(opened)


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _lock(opened: int, operation: int) -> bool:
    try:
        fcntl.flock(opened, operation | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems have no such locks. A blob that is deleted meanwhile is
        # reported as missing then.
        return error.errno not in _HELD
    return True
