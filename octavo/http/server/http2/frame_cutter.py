"""Cut the bytes of an HTTP/2 client into portions of a few frames, and estimate their work."""

from collections.abc import Iterator

_PREFACE = 24
_HEAD = 9
_DATA, _HEADERS, _PRIORITY, _RESET, _SETTINGS, _WINDOW, _CONTINUATION = 0, 1, 2, 3, 4, 8, 9
# In requests. A head costs more with its size; a reset cancels a request; a window wakes a sender.
_COSTS = {_HEADERS: 1.0, _RESET: 0.5, _SETTINGS: 1.0, _WINDOW: 0.25, _PRIORITY: 0.25}
_HEAD_KINDS = frozenset((_HEADERS, _CONTINUATION))
_HEAD_BYTES = 1024
_OTHER = 1 / 16
_WORK = 4.0
"""The work of a portion; at least one frame."""
_SIZE = 16 * 1024
"""Bytes of a portion."""


class FrameCutter:
    """Follows the frames of one connection, from its preface on.

    Only lengths and types are read. What is no frame is cut into portions as well: the protocol
    refuses it.
    """

    __slots__ = ("_head", "_skip")

    def __init__(self) -> None:
        self._skip = _PREFACE
        self._head = b""

    def portions(self, data: bytes) -> Iterator[tuple[bytes, float]]:
        """Yield ``data`` in portions, and for each the work in requests."""
        begin = at = 0
        work = 0.0
        end = len(data)
        while at < end:
            if self._skip:
                step = min(self._skip, end - at, begin + _SIZE - at)
                self._skip -= step
            else:
                step = min(_HEAD - len(self._head), end - at, begin + _SIZE - at)
                self._head += data[at : at + step]
                if len(self._head) == _HEAD:
                    work += self._read_head()
            at += step
            if (work >= _WORK and not self._skip and not self._head) or at - begin >= _SIZE:
                yield data[begin:at], work
                begin, work = at, 0.0
        if begin < end:
            yield data[begin:], work

    def _read_head(self) -> float:
        self._skip = int.from_bytes(self._head[:3])
        kind = self._head[3]
        self._head = b""
        work = _COSTS.get(kind, _OTHER)
        return work + self._skip / _HEAD_BYTES if kind in _HEAD_KINDS else work
