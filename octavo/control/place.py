"""Where the control socket is: a file in the data folder, however long the way there."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOCKET_NAME = "control.sock"

# The address of a Unix socket has room for so many bytes, and the zero at its end (unix(7)).
_LONGEST_ADDRESS = 107 if sys.platform == "linux" else 103
_OPEN_FILES = Path("/proc/self/fd")


class AddressTooLong(OSError):
    """The path of the socket is longer than this system takes; the text says what to do."""


@contextmanager
def socket_address(folder: Path) -> Iterator[str]:
    """Give the address of the control socket in ``folder``, for the length of a block.

    A path that is too long is replaced by a short one through the open folder, where the system
    has a way to name that (proc(5)). Raises `AddressTooLong` where it has none, and `OSError` when
    such a folder can't be opened.
    """
    path = folder / SOCKET_NAME
    length = len(os.fsencode(path))
    if length <= _LONGEST_ADDRESS:
        yield str(path)
        return
    if not _OPEN_FILES.is_dir():
        raise AddressTooLong(
            f"the path {path} has {length} bytes, and a socket takes {_LONGEST_ADDRESS} at most: "
            "choose a data folder with a shorter path"
        )
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield str(_OPEN_FILES / str(opened) / SOCKET_NAME)
    finally:
        os.close(opened)
