"""Several files as one sequence of bytes: the parts in which an archive was uploaded."""

import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

_WINDOW = 1024 * 1024


class PartFiles:
    """Reads parts as if they were one file. Use it as a context manager.

    One part is open at a time, and one piece of at most 1 MiB is kept for the next reads, or of
    the length of the longest read.

    Args:
        paths: the parts in order.

    Attributes:
        size: the bytes of all parts.

    Raises OSError for a part that can't be read.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        sizes = [os.stat(path).st_size for path in paths]
        self._starts = [0, *accumulate(sizes)][:-1]
        self.size = sum(sizes)
        self._open = -1
        self._descriptor = -1
        self._window = b""
        self._window_at = 0

    def __enter__(self) -> "PartFiles":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def read(self, at: int, size: int) -> bytes:
        """Return ``size`` bytes from ``at``, fewer at the end. Raises OSError."""
        inside = at - self._window_at
        if inside < 0 or inside + size > len(self._window):
            self._window = self._read(at, max(size, _WINDOW))
            self._window_at = at
            inside = 0
        return self._window[inside : inside + size]

    def _read(self, at: int, size: int) -> bytes:
        chunks = []
        while size > 0 and at < self.size:
            part = bisect_right(self._starts, at) - 1
            chunk = os.pread(self._opened(part), size, at - self._starts[part])
            if not chunk:
                raise OSError(f"the part {self._paths[part]} became shorter")
            chunks.append(chunk)
            at += len(chunk)
            size -= len(chunk)
        return b"".join(chunks)

    def _opened(self, part: int) -> int:
        if part != self._open:
            self._close()
            self._descriptor = os.open(self._paths[part], os.O_RDONLY | os.O_CLOEXEC)
            self._open = part
        return self._descriptor

    def _close(self) -> None:
        if self._open >= 0:
            os.close(self._descriptor)
            self._open = -1
