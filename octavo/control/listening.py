"""The control socket of a server: opened in its data folder, for its user alone."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from octavo.control.place import SOCKET_NAME, AddressTooLong, socket_address
from octavo.store.data_folder import DataFolderError

BACKLOG = 16


@contextmanager
def control_listener(folder: Path) -> Iterator[socket.socket]:
    """Listen on the control socket of ``folder`` for the length of a block.

    The caller holds the folder (`octavo.store.data_folder.holding`), so an existing socket was left
    by a crash and is replaced, unless a server responds on it. Gives a non-blocking socket. Raises
    `DataFolderError`.
    """
    path = folder / SOCKET_NAME
    try:
        with socket_address(folder) as address:
            if _accepts(address):
                raise DataFolderError(
                    f"a server responds on {path.absolute()}: stop it, "
                    "or choose another folder with --data-dir or OCTAVO_DATA_DIR"
                )
            listener = _listen(address)
    except AddressTooLong as error:
        raise DataFolderError(str(error)) from error
    except OSError as error:
        raise DataFolderError(
            f"the control socket {path.absolute()} can't be opened: {error.strerror}: "
            "choose another folder with --data-dir or OCTAVO_DATA_DIR"
        ) from error
    with listener:
        try:
            yield listener
        finally:
            # On a disk that is read-only now it stays, and the next start replaces it.
            with suppress(OSError):
                path.unlink()


def _accepts(address: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        # One whose queue is full would keep a caller waiting; it is alive.
        caller.setblocking(False)
        try:
            caller.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except BlockingIOError:
            return True
    return True


def _listen(address: str) -> socket.socket:
    with suppress(FileNotFoundError):
        os.unlink(address)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(address)
        # Until it listens nobody gets in, whatever mode the file was made with.
        os.chmod(address, 0o600)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
