"""The head of an answer and the framing of its body, as bytes for the wire (RFC 9112).

What frames the message is the wire's alone: an application names a content-length, or leaves
the wire to choose.
"""

from collections.abc import Iterable, Iterator
from email.utils import formatdate
from enum import Enum, auto
from http import HTTPStatus
from typing import NamedTuple

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"

_LINES = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode())
    for status in HTTPStatus
    if status >= 200
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


def _has_breaks(data: bytes, lines: int) -> bool:
    """Return whether more breaks a line of ``data`` than the ends of its ``lines``."""
    return data.count(b"\n") != lines or data.count(b"\r") != lines or b"\0" in data


class FixedHeaders:
    """Headers that many answers share, encoded and checked once.

    Names are in lower case; none is the wire's own. Raises `BadAnswer` for one that no answer
    can have.

    Attributes:
        each: the headers.
        lines: their bytes on the wire.
    """

    __slots__ = ("each", "lines")

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.each = tuple(headers)
        self.lines = b"".join(b"%b: %b\r\n" % header for header in self.each)
        if any(name in _OF_THE_WIRE for name, _ in self.each):
            raise BadAnswer("what frames an answer is no fixed header")
        if _has_breaks(self.lines, len(self.each)):
            raise BadAnswer("a fixed header holds a line break or NUL")


NO_HEADERS = FixedHeaders(())


class AnswerHead(NamedTuple):
    """The head of one answer, ready to be sent.

    ``length`` is that of the body in bytes, None when nobody knows it yet; ``close`` says that
    the connection ends with the answer.
    """

    data: bytes
    framing: Framing
    length: int | None
    close: bool


def encode_head(
    status: int,
    headers: Iterable[tuple[bytes, bytes]],
    date: bytes,
    *,
    fixed: FixedHeaders = NO_HEADERS,
    head_only: bool,
    modern: bool,
    whole: int | None,
    close: bool,
) -> AnswerHead:
    """Return the head of an answer as bytes.

    Args:
        status: the final status.
        headers: those of the application, names in lower case.
        date: the line of the date header, for an answer that has none of its own.
        fixed: more headers of the application.
        head_only: the request was a HEAD.
        modern: the request was HTTP/1.1, not 1.0.
        whole: the length in bytes of a body that is known as a whole, else None.
        close: the connection has to close behind the answer, whatever that says.

    Raises `BadAnswer` for a status or a header that no answer can have.
    """
    parts = [_LINES.get(status) or _unnamed_line(status), date]
    length = None
    for name, value in headers:
        if name in _OF_THE_WIRE:
            if name == b"content-length":
                if length is not None or not value.isdigit():
                    raise BadAnswer("the content-length of the answer is no single number")
                length = int(value)
                continue
            if name == b"connection":
                close = close or b"close" in value.lower()
            if name != b"date":
                continue
            parts[1] = b""
        parts += (name, b": ", value, b"\r\n")
    if status in (204, 304):
        # No length is better than that of nothing, which a 304 would tell of what it stands for.
        framing = Framing.NONE
    elif head_only:
        framing = Framing.NONE
        length = whole if length is None else length
    elif length is not None or whole is not None:
        framing = Framing.LENGTH
        length = whole if length is None else length
    elif modern:
        framing = Framing.CHUNKED
        parts += (b"transfer-encoding", b": ", b"chunked", b"\r\n")
    else:
        framing = Framing.CLOSE
        close = True
    if length is not None and status != 204:
        parts += (b"content-length", b": ", b"%d" % length, b"\r\n")
    if close:
        parts += (b"connection", b": ", b"close", b"\r\n")
    data = b"".join(parts)
    # The line of the status, that of the date unless there is another, four parts a header.
    if _has_breaks(data, (len(parts) - 2) // 4 + 1 + (parts[1] != b"")):
        raise BadAnswer("a header of the answer holds a line break or NUL")
    return AnswerHead(b"%b%b\r\n" % (data, fixed.lines), framing, length, close)


def _unnamed_line(status: int) -> bytes:
    if not 200 <= status <= 599:
        raise BadAnswer(f"{status} is no final status")
    return b"HTTP/1.1 %d Unknown\r\n" % status


def around_chunk(size: int) -> tuple[bytes, bytes]:
    """Return what stands before and behind a chunk of ``size`` bytes (RFC 9112 section 7.1).

    An empty one is no chunk at all, and has nothing around it.
    """
    return (b"%x\r\n" % size, b"\r\n") if size else (b"", b"")


def slices(before: bytes, content: bytes, after: bytes, size: int) -> Iterator[bytes]:
    """Yield the three joined, ``size`` bytes at most at once.

    ``content`` is never copied as a whole: that would double what a large answer takes.
    """
    at = max(0, size - len(before))
    end = max(at, len(content) - size)
    ends = before + content[:at]
    for start in range(0, len(ends), size):
        yield ends[start : start + size]
    while at < end:
        yield content[at : at + size]
        at += size
    ends = content[at:] + after
    for start in range(0, len(ends), size):
        yield ends[start : start + size]


def date_line(seconds: int) -> bytes:
    """Return the date header of ``seconds`` since 1970, in the form of RFC 9110 section 5.6.7."""
    return f"date: {formatdate(seconds, usegmt=True)}\r\n".encode()
