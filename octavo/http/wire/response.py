"""The head of an answer and the framing of its body, as bytes for the wire (RFC 9112).

What frames the message is the wire's alone: an application names a content-length, or leaves
the wire to choose.
"""

from collections.abc import Iterable
from email.utils import formatdate
from enum import Enum, auto
from http import HTTPStatus

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"

_LINES = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode())
    for status in HTTPStatus
}
#: Of the connection, not of the answer (RFC 9110 section 7.6.1); what an application says of
#: them is dropped, but for a wish to close.
HOP_BY_HOP = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding"})
_OF_THE_WIRE = HOP_BY_HOP | {b"content-length", b"date"}


class Framing(Enum):
    """How the end of an answer's body is told."""

    NONE = auto()  # there is no body: HEAD, 204, 304
    LENGTH = auto()  # by its length
    CHUNKED = auto()  # by a last chunk
    CLOSE = auto()  # by the end of the connection: HTTP/1.0 knows no chunks


class BadAnswer(Exception):
    """The application answered what can't be sent: a bug of its own, and the message says which."""


class AnswerHead:
    """The head of one answer, read from what the application gave.

    ``length`` is the declared content-length in bytes, or None. ``close`` says that the
    application asked to close the connection. Raises `BadAnswer` for a status or a header that
    no answer can have.
    """

    __slots__ = ("_block", "_dated", "_lines", "close", "length", "status")

    def __init__(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        if not 200 <= status <= 599:
            raise BadAnswer(f"{status} is no final status")
        block = []
        self.status = status
        self.length: int | None = None
        self.close = self._dated = False
        for name, value in headers:
            if name in _OF_THE_WIRE:
                self._read(name, value)
                if name != b"date":
                    continue
            block.append(b"%b: %b\r\n" % (name, value))
        self._block = b"".join(block)
        self._lines = len(block)
        if (
            self._block.count(b"\n") != self._lines
            or self._block.count(b"\r") != self._lines
            or b"\0" in self._block
        ):
            raise BadAnswer("a header of the answer holds a line break")

    def _read(self, name: bytes, value: bytes) -> None:
        if name == b"content-length":
            if self.length is not None or not value.isdigit():
                raise BadAnswer("the content-length of the answer is no single number")
            self.length = int(value)
        elif name == b"connection":
            self.close = self.close or b"close" in value.lower()
        elif name == b"date":
            self._dated = True

    def framing(self, *, head_only: bool, modern: bool, whole: int | None) -> Framing:
        """Choose how the end of the body is told.

        ``head_only``: the request was a HEAD; ``modern``: it was HTTP/1.1; ``whole``: the length
        in bytes of a body that is known as a whole, or None.
        """
        if self.status in (204, 304):
            return Framing.NONE
        if self.length is None:
            self.length = whole
        if head_only:
            return Framing.NONE
        if self.length is not None:
            return Framing.LENGTH
        return Framing.CHUNKED if modern else Framing.CLOSE

    def encode(self, framing: Framing, date: bytes, *, close: bool) -> bytes:
        """Answer the head as bytes, with the line of the ``date`` unless there is one already."""
        parts = [_LINES.get(self.status) or b"HTTP/1.1 %d Unknown\r\n" % self.status]
        if not self._dated:
            parts.append(date)
        parts.append(self._block)
        if framing is Framing.CHUNKED:
            parts.append(b"transfer-encoding: chunked\r\n")
        elif self.length is not None and self.status != 204:
            parts.append(b"content-length: %d\r\n" % self.length)
        parts.append(b"connection: close\r\n\r\n" if close else b"\r\n")
        return b"".join(parts)


def chunk(content: bytes) -> bytes:
    """Frame ``content`` as one chunk (RFC 9112 section 7.1); an empty one is no chunk at all."""
    return b"%x\r\n%b\r\n" % (len(content), content) if content else b""


def date_line(seconds: int) -> bytes:
    """Answer the date header of ``seconds`` since 1970, in the form of RFC 9110 section 5.6.7."""
    return f"date: {formatdate(seconds, usegmt=True)}\r\n".encode()
