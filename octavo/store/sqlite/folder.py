"""The data folder: the database's files, and the lock that makes one process its server."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from octavo.store.errors import StoreUnusable

DATABASE = "octavo.sqlite3"
LOCK = "octavo.lock"


def prepare(folder: Path) -> Path:
    """Make the folder and the database's file if they aren't there; answer the file.

    Nobody but the user of this process may look into what is made here; SQLite gives the files
    that it makes beside the database the mode of that. Raises `StoreUnusable`.
    """
    database = folder / DATABASE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreUnusable(
            f"the data folder {folder} can't be used ({error.strerror}: {error.filename}): give the"
            " user that runs Octavo the right to write to it, or name another folder"
        ) from error
    return database


@contextmanager
def served(folder: Path) -> Iterator[None]:
    """Be the one process that serves ``folder``, within the block.

    The lock is the kernel's (flock), and ends with the process however that ends. Raises
    `StoreUnusable` when another process holds it.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnusable(
            f"the lock file {folder / LOCK} can't be opened ({error.strerror}): give the user that"
            " runs Octavo the right to write to it"
        ) from error
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
        raise StoreUnusable(
            f"the data folder {folder} is served by another process (its id: {holder}): stop that"
            " one, or give this one a folder of its own"
        ) from None
    except OSError as error:
        raise StoreUnusable(
            f"the data folder {folder} can't be locked ({error.strerror}): put it on a file system"
            " that has locks"
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
