"""Read the frames of an HTTP/2 client from its bytes, and estimate their work."""

from typing import NamedTuple

from octavo.http.server.http2.frames import (
    ACK,
    CONTINUATION,
    FRAME_HEAD,
    FRAME_SIZE,
    HEADERS,
    PREFACE,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
    Http2Error,
)

# In requests. A head costs more with its size; a reset cancels a request; a window wakes a sender,
# and settings may wake that of every stream.
_COSTS = {HEADERS: 1.0, RST_STREAM: 0.5, SETTINGS: 1.0, WINDOW_UPDATE: 0.25, PRIORITY: 0.25}
_BYTES = 1024
_STREAMS = 16
_OTHER = 1 / 16


class Frame(NamedTuple):
    """One frame; the reserved bit is removed from ``stream``."""

    kind: int
    flags: int
    stream: int
    payload: bytes


class FrameReader:
    """The frames of one connection, from its preface on."""

    __slots__ = ("_at", "_begun", "_data")

    def __init__(self) -> None:
        self._data = b""
        self._at = 0
        self._begun = False

    def feed(self, data: bytes) -> None:
        """Add bytes received."""
        self._data = self._data[self._at :] + data if self._at < len(self._data) else data
        self._at = 0

    def next(self) -> Frame | None:
        """Return the next frame, or None until more bytes are fed.

        Raises `Http2Error` for a wrong preface and for a frame that is too large.
        """
        data, at = self._data, self._at
        if not self._begun:
            if not PREFACE.startswith(data[: len(PREFACE)]):
                raise Http2Error(ErrorCode.PROTOCOL_ERROR, "the preface is wrong")
            if len(data) < len(PREFACE):
                return None
            self._begun = True
            self._at = at = len(PREFACE)
        begin = at + FRAME_HEAD
        if len(data) < begin:
            return None
        head = int.from_bytes(data[at:begin])
        size = head >> 48
        if size > FRAME_SIZE:
            raise Http2Error(ErrorCode.FRAME_SIZE_ERROR, "the frame is too large")
        end = begin + size
        if len(data) < end:
            return None
        self._at = end
        if end == len(data):
            # An idle connection keeps nothing.
            self._data, self._at = b"", 0
        return Frame(head >> 40 & 0xFF, head >> 32 & 0xFF, head & 0x7FFFFFFF, data[begin:end])


def work_of(frame: Frame, streams: int) -> float:
    """Return the work of handling ``frame`` while ``streams`` are open, in requests."""
    kind = frame.kind
    work = _COSTS.get(kind, _OTHER)
    if kind in (HEADERS, CONTINUATION):
        return work + len(frame.payload) / _BYTES
    if kind == SETTINGS:
        if frame.flags & ACK:
            return _OTHER
        return work + len(frame.payload) / _BYTES + streams / _STREAMS
    return work
