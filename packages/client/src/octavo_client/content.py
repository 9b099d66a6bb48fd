"""Bodies of requests that are not JSON: bytes, files, and forms with one file."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import httpx
import trio

CHUNK = 256 * 1024
"""Bytes that are read from a file, or sent, in one step."""

_ESCAPED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})


class RequestContent(Protocol):
    """The body of a request."""

    @property
    def media_type(self) -> str:
        """Its media type."""

    @property
    def size(self) -> int | None:
        """Its size in bytes; None if it is not known."""

    def open(self) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Provide the bytes, from the first one each time that the request is sent."""


@dataclass(frozen=True, slots=True)
class Octets:
    """Bytes in memory.

    Attributes:
        data: the bytes.
        sent: called with the number of bytes that were passed to the connection so far.
    """

    data: bytes | bytearray
    sent: Callable[[int], object] = lambda _: None

    @property
    def media_type(self) -> str:
        """The type of any bytes."""
        return "application/octet-stream"

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.data)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncIterator[bytes]]:
        """Provide the bytes in chunks."""
        async with aclosing(self._chunks()) as chunks:
            yield chunks

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        for start in range(0, len(self.data), CHUNK):
            self.sent(start)
            yield bytes(self.data[start : start + CHUNK])
        self.sent(len(self.data))


Source = Path | bytes | AsyncIterator[bytes]
"""A file, bytes, or chunks of bytes, which can be read once."""


@dataclass(frozen=True, slots=True)
class FileForm:
    """A form with one file, followed by the digest of its bytes (RFC 7578).

    Attributes:
        source: the file, which is not held in memory.
        length: its size in bytes; None if it is not known.
        name: its name.
        type: its media type.
        boundary: separates the parts; random, so that the file does not contain it.
    """

    source: Source
    length: int | None
    name: str
    type: str
    boundary: str

    @property
    def media_type(self) -> str:
        """The type of the form."""
        return f"multipart/form-data; boundary={self.boundary}"

    @property
    def size(self) -> int | None:
        """The size of the form."""
        if self.length is None:
            return None
        digest = "0" * 64
        return len(self._head()) + self.length + len(self._tail(digest))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncIterator[bytes]]:
        """Provide the form in chunks. A step raises what reading the source raises."""
        async with opened(self.source) as chunks, aclosing(self._form(chunks)) as form:
            yield form

    async def _form(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        digest = sha256()
        yield self._head()
        async for chunk in chunks:
            digest.update(chunk)
            yield chunk
        yield self._tail(digest.hexdigest())

    def _head(self) -> bytes:
        name = self.name.translate(_ESCAPED)
        return (
            f"--{self.boundary}\r\n"
            f'content-disposition: form-data; name="file"; filename="{name}"\r\n'
            f"content-type: {self.type}\r\n\r\n"
        ).encode()

    def _tail(self, digest: str) -> bytes:
        return (
            f"\r\n--{self.boundary}\r\n"
            'content-disposition: form-data; name="declaredDigest"\r\n\r\n'
            f"{digest}\r\n--{self.boundary}--\r\n"
        ).encode()


@asynccontextmanager
async def opened(source: Source) -> AsyncIterator[AsyncIterator[bytes]]:
    """Provide the bytes of ``source`` in chunks. Raises OSError, also in a step."""
    if isinstance(source, Path):
        async with await trio.open_file(source, "rb") as file, aclosing(_read(file)) as chunks:
            yield chunks
    elif isinstance(source, bytes):
        async with Octets(source).open() as chunks:
            yield chunks
    else:
        yield source


class _ReadableFile(Protocol):
    async def read(self, size: int, /) -> bytes: ...


async def _read(file: _ReadableFile) -> AsyncGenerator[bytes, None]:
    while chunk := await file.read(CHUNK):
        yield chunk


class ContentStream(httpx.AsyncByteStream):
    """A request body for httpx, which would leave a generator unclosed when sending fails."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._chunks)
