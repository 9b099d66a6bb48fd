"""Stream multipart forms (RFC 7578) part by part, without buffering files."""

import re
from collections.abc import Mapping

from antechamber.asgi import Receive
from octavo_rules.problems import BodyTooLarge, Header, InvalidRequest

from octavo.http.contract.bodies.body_reader import (
    BodyStream,
    Headers,
    body_head,
    refuse_length,
    refuse_media_type,
)
from octavo.http.contract.bodies.media_type import parse_media_type
from octavo.http.contract.bodies.part_cutter import PartBounds, PartCutter, PartEvent, PartHead

MEDIA_TYPE = "multipart/form-data"
# RFC 2046 section 5.1.1.
_BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]")

_ANY_FORM: Mapping[str, object] = {"type": "object"}


class Part:
    """One part of a form: iterate its bytes as they arrive, or `read` them.

    It must be consumed before the stream advances: RuntimeError otherwise. Errors and cancellation
    are those of `BodyStream`.

    Attributes:
        name: the name of the field.
        filename: the client's file name, never to be used as a path; None for a field.
        headers: the headers of the part, names in lower case.
    """

    __slots__ = ("_stream", "filename", "headers", "name")

    def __init__(self, head: PartHead, stream: "MultipartStream") -> None:
        self.name, self.filename = head.disposition
        self.headers: tuple[Header, ...] = head.headers
        self._stream = stream

    @property
    def media_type(self) -> str | None:
        """The declared media type of the part as ``type/subtype``; None if missing or invalid."""
        for name, value in self.headers:
            if name == b"content-type":
                media_type = parse_media_type(value)
                return media_type.essence if media_type else None
        return None

    def __aiter__(self) -> "Part":
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._stream.chunk_of(self)
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    async def read(self, limit: int) -> bytes:
        """Return the rest of the part. Raises `BodyTooLarge` above ``limit`` bytes."""
        # One block, as for a `whole_body`.
        whole = bytearray()
        async for chunk in self:
            whole += chunk
            if len(whole) > limit:
                refuse_length(limit)
        return bytes(whole)


class MultipartStream:
    """The parts of a form as they arrive: iterate it once, in one task.

    The unread rest of a part is skipped when the next one is requested. At most one event of the
    connection is buffered. The iteration ends normally only if the form was complete. A step raises
    `InvalidRequest` for a form that is malformed, truncated or exceeds a limit, `BodyTooLarge` and
    `ClientLeft`.
    """

    __slots__ = ("_body", "_current", "_cutter")

    def __init__(self, body: BodyStream, cutter: PartCutter) -> None:
        self._body = body
        self._cutter = cutter
        self._current: Part | None = None

    def __aiter__(self) -> "MultipartStream":
        return self

    async def __anext__(self) -> Part:
        self._current = None
        while True:
            event = await self._event()
            if event is None:
                raise StopAsyncIteration
            if isinstance(event, PartHead):
                self._current = Part(event, self)
                return self._current

    async def chunk_of(self, part: Part) -> bytes | None:
        """Return the next bytes of ``part``, None at its end; called by its iteration."""
        if part is not self._current:
            raise RuntimeError(f"the stream has advanced: part {part.name!r} can't be read")
        if self._cutter.events and self._cutter.events[0] == "end of part":
            return None
        event = await self._event()
        if isinstance(event, bytes):
            return event
        self._cutter.events.appendleft("end of part")
        return None

    async def _event(self) -> PartEvent | None:
        events = self._cutter.events
        while not events:
            try:
                chunk = await anext(self._body)
            except StopAsyncIteration:
                self._cutter.finish()
                return None
            self._cutter.feed(chunk)
        return events.popleft()


class MultipartBody:
    """The body kind of `multipart_body`."""

    __slots__ = ("bounds", "limit", "media_types", "model", "schema", "time")

    too_large = BodyTooLarge

    def __init__(
        self,
        limit: int,
        bounds: PartBounds,
        time: float | None,
        schema: Mapping[str, object],
    ) -> None:
        self.limit = limit
        self.schema = schema
        self.bounds = bounds
        self.time = time
        self.media_types = (MEDIA_TYPE,)
        self.model = None

    async def read(self, headers: Headers, receive: Receive) -> MultipartStream:
        """Return the stream of parts; raises as `BodyKind.read`."""
        declared, length = body_head(headers, self.limit)
        media_type = parse_media_type(declared or b"")
        if media_type is None or media_type.essence != MEDIA_TYPE:
            refuse_media_type(self.media_types)
        boundary = media_type.parameters.get("boundary")
        if boundary is None or not _BOUNDARY.fullmatch(boundary):
            raise InvalidRequest("The header content-type needs a boundary (RFC 2046 5.1.1).")
        return MultipartStream(
            BodyStream(receive, self.limit, length), PartCutter(boundary, self.bounds)
        )


def multipart_body(
    *,
    limit: int,
    bounds: PartBounds | None = None,
    time: float | None = None,
    schema: Mapping[str, object] = _ANY_FORM,
) -> MultipartBody:
    """Declare a multipart form of at most ``limit`` bytes in total, within ``bounds``.

    It has ``time`` seconds to arrive. ``schema`` describes its parts in the API document, where its
    title is its name; the handler checks them.
    """
    return MultipartBody(limit, bounds or PartBounds(), time, schema)
