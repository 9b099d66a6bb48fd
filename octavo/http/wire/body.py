"""The body of a request whose length is known, and the absence of one."""

from octavo.http.wire.chunked import ChunkedBody
from octavo.http.wire.limits import Limits


class SizedBody:
    """The framing of a body of ``left`` bytes (RFC 9112 section 6.2), fed as it arrives."""

    __slots__ = ("complete", "left")

    def __init__(self, length: int) -> None:
        self.left = length
        self.complete = not length

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Take ``data``; answer the content in it, and what stands behind the end of the body."""
        left = self.left
        if len(data) < left:
            self.left = left - len(data)
            return data, b""
        self.left = 0
        self.complete = True
        if len(data) == left:
            return data, b""
        return data[:left], data[left:]


Body = SizedBody | ChunkedBody
_NONE = SizedBody(0)


def body_of(length: int | None, limits: Limits) -> Body:
    """Answer the framing of a body of ``length`` bytes, or in chunks when that is None."""
    if length is None:
        return ChunkedBody(limits)
    return SizedBody(length) if length else _NONE
