"""Create the data folder, check who has access to it, and lock it for one server at a time."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MODE = 0o700


class DataFolderError(Exception):
    """The data folder can't be used; the text says why, and what to do about it."""


class DataFolderInUse(DataFolderError):
    """A server runs with the data folder."""


@contextmanager
def holding(folder: Path) -> Iterator[bool]:
    """Lock ``folder`` for this server during the block; create it if it is missing.

    Yields whether only its owner has access to it. The lock ends with the process, however that
    ends. Raises `DataFolderError` when the folder can't be created or opened, or another server
    has locked it.
    """
    where = folder.absolute()
    try:
        folder.mkdir(mode=_MODE, parents=True, exist_ok=True)
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise DataFolderError(
            f"the data folder {where} can't be used: {error.strerror}: "
            "choose another with --data-dir or OCTAVO_DATA_DIR"
        ) from error
    try:
        _lock(opened, where)
        yield not stat.S_IMODE(os.fstat(opened).st_mode) & ~_MODE
    finally:
        os.close(opened)


def _lock(opened: int, where: Path) -> None:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise DataFolderInUse(
                f"another server runs with the data folder {where}: "
                "stop it, or choose another folder with --data-dir or OCTAVO_DATA_DIR"
            ) from None
        raise DataFolderError(
            f"the data folder {where} can't be locked: {error.strerror}: "
            "choose one on a local disk with --data-dir or OCTAVO_DATA_DIR"
        ) from error
