"""Forms with a file of any size, which is read as it arrives.

Quart would keep the whole body in memory. The connection of such a form leaves the body to the
handler, which reads the fields before the file first: whether it is to be read at all is known
before its first byte is stored.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast

import trio
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable
from quart.wrappers import Request
from quart_trio.asgi import TrioASGIHTTPConnection

from octavo.http.contract.bodies import multipart_body
from octavo.http.contract.bodies.multipart import Part
from octavo.http.contract.bodies.part_cutter import PartBounds
from octavo.http.contract.problems import InvalidRequest
from octavo.http.contract.renewed_time import RenewedTime
from octavo.http.server.asgi import Event, Receive, Scope, extension_of
from octavo.transfers.imports import MAX_PARTS, PART_SIZE

TRANSFER_SECONDS = 60.0
"""Seconds in which an upload has to progress."""
LARGEST_FIELD = 4096
"""Bytes of a field beside the file."""
LARGEST_UPLOAD = PART_SIZE * MAX_PARTS + 64 * 1024
"""Bytes of a form with a file."""
MOST_DISCARDED = 1024 * 1024 * 1024
"""Bytes of a refused file that are read: browsers show the reason when they have sent it all."""

_FORM = multipart_body(limit=LARGEST_UPLOAD, bounds=PartBounds(parts=10, field=LARGEST_FIELD))
_PATH = re.compile(r"/workspaces/[0-9a-f-]{36}/transfers")
_BODY = "octavo.body"


class UploadConnection(TrioASGIHTTPConnection):
    """Serves a request; the body of a form with a file is left to its handler."""

    async def __call__(self, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Serve the request."""
        scope = cast(Scope, self.scope)
        if scope["method"] == "POST" and _PATH.fullmatch(scope["path"]):
            scope[_BODY] = receive
        await super().__call__(receive, send)

    async def handle_messages(  # type: ignore[override]
        self, nursery: trio.Nursery, request: Request, receive: ASGIReceiveCallable
    ) -> None:
        """Pass the body to the request, unless the handler reads it."""
        if _BODY not in self.scope:
            await super().handle_messages(nursery, request, receive)


class Slices:
    """The bytes of a file in slices, one after the other.

    Iterate this after each `more`, until it ends. Nothing but the last chunk is in memory.

    Args:
        chunks: the bytes as they arrive.
        size: maximum size of a slice, in bytes.

    Attributes:
        size: of the slices that follow.
        waiting: bytes that have arrived, and are in no slice yet.
    """

    def __init__(self, chunks: AsyncIterator[bytes], size: int) -> None:
        self._chunks = chunks
        self.size = size
        self._left = 0
        self.waiting = b""

    async def more(self) -> bool:
        """Begin the next slice; return whether there is one."""
        self._left = self.size
        while not self.waiting:
            try:
                self.waiting = await anext(self._chunks)
            except StopAsyncIteration:
                return False
        return True

    def __aiter__(self) -> "Slices":
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        chunk = self.waiting or await anext(self._chunks)
        found, self.waiting = chunk[: self._left], chunk[self._left :]
        self._left -= len(found)
        return found


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A form whose file arrives.

    Attributes:
        fields: the fields before the file.
        file: the file; None if the form has none.
    """

    fields: dict[str, str]
    file: Part | None


class Body:
    """The body of a form with a file, in a request of an `UploadConnection`.

    Args:
        scope: of the request.
    """

    def __init__(self, scope: Scope) -> None:
        exchange = extension_of(scope)
        self._scope = scope
        self._ended = False
        self._receive: Receive = scope[_BODY]
        if exchange is not None:
            exchange.allow(TRANSFER_SECONDS)
            self._receive = RenewedTime(exchange, TRANSFER_SECONDS).receive(self._receive)

    async def open(self) -> UploadForm:
        """Return the form, read up to its file.

        Raises `InvalidRequest`, `BodyTooLarge` and `UnsupportedMediaType`, and `ClientLeft`.
        """
        fields: dict[str, str] = {}
        async for part in await _FORM.read(self._scope["headers"], self._next):
            if part.filename is not None:
                return UploadForm(fields, part)
            try:
                fields.setdefault(part.name, (await part.read(LARGEST_FIELD)).decode())
            except UnicodeDecodeError:
                raise InvalidRequest("A field of the form is not UTF-8.") from None
        return UploadForm(fields, None)

    async def discard(self) -> None:
        """Read the rest of the form, unless it is too long to be read for nothing."""
        left = MOST_DISCARDED
        while not self._ended and left > 0:
            left -= len((await self._next()).get("body", b""))

    async def _next(self) -> Event:
        event = await self._receive()
        self._ended = event["type"] != "http.request" or not event.get("more_body", False)
        return event
