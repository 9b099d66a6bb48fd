"""Paths in a file, for an archive whose paths do not fit into memory."""

import os
from types import TracebackType

PathRef = int
"""The position of a path in a `PathFile`, and its length in bytes in the lowest bits."""

_LENGTH_BITS = 16
_LENGTH = (1 << _LENGTH_BITS) - 1
_IN_MEMORY = 4 * 1024 * 1024


class PathFile:
    """Paths and names in a file, found by references. Use it as a context manager.

    A file of at most 4 MiB is read into memory, as calls of the system take most of the time.

    Args:
        path: the file, which is created if it does not exist.

    All methods raise OSError.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "a+b")  # noqa: SIM115  # closed on exit
        self._descriptor = self._file.fileno()
        self._size = os.fstat(self._descriptor).st_size
        self._memory = self._loaded()

    def __enter__(self) -> "PathFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, data: bytes) -> PathRef:
        """Append up to 65,535 bytes, and return a reference, which can be read after `flush`."""
        self._file.write(data)
        at = self._size
        self._size += len(data)
        return at << _LENGTH_BITS | len(data)

    def flush(self) -> None:
        """Make readable what was added."""
        self._file.flush()
        self._memory = self._loaded()

    def read(self, ref: PathRef) -> bytes:
        """Return the bytes of a reference."""
        at, length = ref >> _LENGTH_BITS, ref & _LENGTH
        if self._memory:
            return self._memory[at : at + length]
        return os.pread(self._descriptor, length, at)

    def _loaded(self) -> bytes:
        return os.pread(self._descriptor, self._size, 0) if self._size <= _IN_MEMORY else b""

    def path(self, ref: PathRef) -> str:
        """Return the path of a reference."""
        return self.read(ref).decode()
