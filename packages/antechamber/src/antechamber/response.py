"""Encode response heads and the framing of response bodies (RFC 9112).

The server controls the framing: an application sets a content-length, or leaves the choice to the
server.
"""

from collections.abc import Iterable, Iterator
from email.utils import formatdate
from enum import Enum, auto
from http import HTTPStatus

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"

_LINES = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode())
    for status in HTTPStatus
    if status >= 200
}
# Headers of the connection (RFC 9110 section 7.6.1) are dropped from the application's response;
# only its wish to close the connection is honoured.
_SERVER_HEADERS = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"transfer-encoding",
        b"content-length",
        b"date",
    }
)


class Framing(Enum):
    """How the end of a response body is marked."""

    NONE = auto()  # no body: HEAD, 204, 304
    LENGTH = auto()  # by the content-length
    CHUNKED = auto()  # by the last chunk
    CLOSE = auto()  # by closing the connection: HTTP/1.0 has no chunks


class InvalidResponse(Exception):
    """The application's response is invalid, which is a bug; the message names the fault."""


class FixedHeaders:
    """Headers that many responses share, encoded and checked once.

    Names are in lower case. Raises `InvalidResponse` for invalid headers and for those that the
    server sets itself.

    Attributes:
        headers: the headers, not encoded.
        lines: the encoded headers.
    """

    __slots__ = ("headers", "lines")

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.headers = tuple(headers)
        self.lines = b"".join(b"%b: %b\r\n" % header for header in self.headers)
        if any(name in _SERVER_HEADERS for name, _ in self.headers):
            raise InvalidResponse("framing headers cannot be fixed headers")
        ends = (self.lines.count(b"\n"), self.lines.count(b"\r"))
        if ends != (len(self.headers), len(self.headers)) or b"\0" in self.lines:
            raise InvalidResponse("a fixed header contains a line break or NUL")


NO_HEADERS = FixedHeaders(())


def encode_head(
    status: int,
    headers: Iterable[tuple[bytes, bytes]],
    date: bytes,
    *,
    fixed: FixedHeaders = NO_HEADERS,
    head_only: bool,
    is_http_1_1: bool,
    whole: int | None,
    close: bool,
) -> tuple[bytes, Framing, int | None, bool]:
    """Return the encoded head of a response.

    With it the framing of the body, its length in bytes if that is known, and whether the
    connection closes after the response.

    Args:
        status: the final status.
        headers: those of the application, names in lower case.
        date: the line of the date header, used if the application sets none.
        fixed: more headers of the application.
        head_only: the request was a HEAD.
        is_http_1_1: the request was HTTP/1.1, not 1.0.
        whole: the length in bytes of a complete body, otherwise None.
        close: the connection must close after the response.

    Raises `InvalidResponse` for an invalid status or header.
    """
    parts = [_LINES.get(status) or _unnamed_line(status), date]
    length = None
    for name, value in headers:
        if name in _SERVER_HEADERS:
            if name == b"content-length":
                if length is not None or not value.isdigit():
                    raise InvalidResponse("the response needs a single numeric content-length")
                length = int(value)
                continue
            if name == b"connection":
                close = close or b"close" in value.lower()
            if name != b"date":
                continue
            parts[1] = b""
        parts += (name, b": ", value, b"\r\n")
    if status in (204, 304):
        # No content-length: 0 would be wrong for the representation that a 304 refers to.
        framing = Framing.NONE
    elif head_only:
        framing = Framing.NONE
        length = whole if length is None else length
    elif length is not None or whole is not None:
        framing = Framing.LENGTH
        length = whole if length is None else length
    elif is_http_1_1:
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
    # One status line, the date line unless replaced, and four parts per header.
    lines = (len(parts) - 2) // 4 + 1 + (parts[1] != b"")
    if data.count(b"\n") != lines or data.count(b"\r") != lines or b"\0" in data:
        raise InvalidResponse("a header of the response contains a line break or NUL")
    return b"%b%b\r\n" % (data, fixed.lines), framing, length, close


def _unnamed_line(status: int) -> bytes:
    if not 200 <= status <= 599:
        raise InvalidResponse(f"{status} is not a final status")
    return b"HTTP/1.1 %d Unknown\r\n" % status


def chunk_frame(size: int) -> tuple[bytes, bytes]:
    """Return the bytes before and after a chunk of ``size`` bytes (RFC 9112 section 7.1).

    Both are empty for size 0, since an empty chunk would end the body.
    """
    return (b"%x\r\n" % size, b"\r\n") if size else (b"", b"")


def slices(before: bytes, content: bytes, after: bytes, size: int) -> Iterator[bytes]:
    """Yield the concatenation of the three in slices of at most ``size`` bytes.

    ``content`` is never copied as a whole, which would double the memory of a large response.
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
    """Return the date header for ``seconds`` since 1970 (RFC 9110 section 5.6.7)."""
    return f"date: {formatdate(seconds, usegmt=True)}\r\n".encode()
