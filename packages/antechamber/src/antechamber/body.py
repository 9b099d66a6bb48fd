"""The framing of request bodies, of known length or chunked (RFC 9112 sections 6 and 7).

llhttp decodes chunked bodies, but does not report where in its input a message ends, and the next
request follows there. A separate scan of the framing finds the end, llhttp decodes the bytes before
it, and a body on which the two disagree is rejected as ambiguous.
"""

import re
from enum import Enum, auto

import httptools

from antechamber.limits import Limits
from antechamber.rejection import RequestRejected, malformed

_HEAD = b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
_SIZE = re.compile(rb"0{0,16}([0-9A-Fa-f]{1,15})(;[\t\x20-\x7e\x80-\xff]*)?")
#: Extensions are ignored (RFC 9112 section 7.1.1); legitimate clients send few bytes of them.
_EXTENSIONS_SIZE = 4096
_LINE_SIZE = 1024


class _ChunkState(Enum):
    SIZE = auto()
    DATA = auto()
    TRAILER = auto()
    END = auto()


class _ChunkEvents:
    """Callbacks of llhttp during decoding."""

    __slots__ = ("content", "done")

    def __init__(self) -> None:
        self.content: list[bytes] = []
        self.done = False

    def on_body(self, body: bytes) -> None:
        self.content.append(body)

    def on_message_complete(self) -> None:
        self.done = True


class ChunkedBody:
    """The framing of one chunked body, fed incrementally.

    ``complete`` is true once the last byte was fed.
    """

    __slots__ = (
        "_at",
        "_extensions",
        "_limits",
        "_line",
        "_parser",
        "_rest",
        "_seen",
        "_trailers",
        "_trailers_size",
        "complete",
    )

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._at = _ChunkState.SIZE
        self._line = b""
        self._rest = 0
        self._extensions = self._trailers = self._trailers_size = 0
        self.complete = False
        self._seen = _ChunkEvents()
        self._parser = httptools.HttpRequestParser(self._seen)
        self._parser.feed_data(_HEAD)

    @property
    def left(self) -> int | None:
        """The number of bytes to come: None until the last one, then 0."""
        return 0 if self.complete else None

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Feed ``data``; return its content, and the bytes after the end of the body.

        Raises `RequestRejected` (400, 431) for malformed or oversized framing; the body cannot be
        fed any more then.
        """
        end = self._scan(data)
        try:
            self._parser.feed_data(data if end == len(data) else data[:end])
        except httptools.HttpParserError as error:
            raise malformed(f"The chunked body is malformed: {error}.") from None
        self.complete = self._at is _ChunkState.END
        if self._seen.done is not self.complete:
            raise malformed("The chunked body is malformed.")
        content = b"".join(self._seen.content)
        self._seen.content.clear()
        return content, data[end:]

    def _scan(self, data: bytes) -> int:
        at, size = 0, len(data)
        while at < size and self._at is not _ChunkState.END:
            if self._at is _ChunkState.DATA:
                step = min(self._rest, size - at)
                self._rest -= step
                at += step
                if not self._rest:
                    self._at = _ChunkState.SIZE
                continue
            end = data.find(b"\n", at)
            if end < 0:
                self._line += data[at:]
                at = size
            else:
                line, self._line = self._line + data[at : end + 1], b""
                at = end + 1
                self._read(line)
            if len(self._line) > _LINE_SIZE and self._at is _ChunkState.SIZE:
                raise malformed("The chunk size line is too long.")
            if self._trailers_size + len(self._line) > self._limits.head_size:
                raise RequestRejected("head_too_large", "The trailers of the body are too large.")
        return at

    def _read(self, line: bytes) -> None:
        if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
            raise malformed("Lines of a chunked body must end with CR LF.")
        if self._at is _ChunkState.TRAILER:
            self._trailers += 1
            self._trailers_size += len(line)
            if line == b"\r\n":
                self._at = _ChunkState.END
            elif self._trailers > self._limits.header_count:
                raise RequestRejected("head_too_large", "The body has too many trailers.")
            return
        size = _SIZE.fullmatch(line[:-2])
        if size is None:
            raise malformed("The chunk size must be a hexadecimal number.")
        self._extensions += len(size[2] or b"")
        if self._extensions > _EXTENSIONS_SIZE:
            raise malformed("The chunk extensions are too long.")
        # CR and LF follow the content of a chunk.
        self._rest = int(size[1], 16)
        if self._rest:
            self._rest += 2
            self._at = _ChunkState.DATA
        else:
            self._at = _ChunkState.TRAILER


class SizedBody:
    """The framing of a body of ``left`` bytes (RFC 9112 section 6.2), fed incrementally."""

    __slots__ = ("complete", "left")

    def __init__(self, length: int) -> None:
        self.left = length
        self.complete = not length

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Feed ``data``; return its content, and the bytes after the end of the body."""
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
NO_BODY = SizedBody(0)


def request_body(length: int | None, limits: Limits) -> Body:
    """Return the framing of a body of ``length`` bytes; None means chunked."""
    if length is None:
        return ChunkedBody(limits)
    return SizedBody(length) if length else NO_BODY
