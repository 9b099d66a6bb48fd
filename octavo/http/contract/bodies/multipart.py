"""Stream multipart forms (RFC 7578) part by part, without buffering files."""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from antechamber.asgi import Receive
from octavo_rules.problems import BodyTooLarge, Header, InvalidRequest
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser

from octavo.http.contract.bodies.body import (
    BodyStream,
    Headers,
    body_head,
    parse_media_type,
    refuse_length,
    refuse_media_type,
)

_START = re.compile(rb"(?i)[ \t]*form-data[ \t]*")
_PARAMETER = re.compile(
    rb';[ \t]*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)=("(?:[^"\\]|\\.)*"|[^;" \t]+)[ \t]*'
)
# Browsers percent-encode quotes and line breaks (HTML, section 4.10.21.8), other clients use a
# backslash; before any other character a backslash is part of the file name.
_ESCAPE = re.compile(rb'%(?:22|0[Dd]|0[Aa])|\\["\\]')
_UNESCAPED = {b"%22": b'"', b"%0D": b"\r", b"%0A": b"\n", b'\\"': b'"', b"\\\\": b"\\"}


class Disposition(NamedTuple):
    """The name of a field, and the file name if it is a file."""

    name: str
    filename: str | None


def parse_disposition(value: bytes) -> Disposition | None:
    """Parse a content-disposition header; return None when it is malformed.

    It is malformed without a name, with two, or if not UTF-8. Other parameters are ignored,
    including ``filename*`` (forbidden by RFC 7578 section 4.2, but sent by some clients as well).
    """
    start = _START.match(value)
    if start is None:
        return None
    parameters: dict[bytes, str] = {}
    position = start.end()
    while position < len(value):
        parameter = _PARAMETER.match(value, position)
        if parameter is None:
            return None
        position = parameter.end()
        name = parameter[1].lower()
        if name in parameters:
            return None
        try:
            parameters[name] = _text(parameter[2])
        except UnicodeDecodeError:
            return None
    if b"name" not in parameters:
        return None
    return Disposition(parameters[b"name"], parameters.get(b"filename"))


def _text(quoted: bytes) -> str:
    if not quoted.startswith(b'"'):
        return quoted.decode()
    return _ESCAPE.sub(lambda one: _UNESCAPED[one[0].upper()], quoted[1:-1]).decode()


_MAX_HEADERS = 16
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartBounds:
    """Limits of a form: number of parts, bytes of a part head, bytes of a field.

    A field is a part that is not a file; a file is limited by the size of the whole body.
    """

    parts: int = 100
    head: int = 8 * 1024
    field: int = 64 * 1024


@dataclass(frozen=True, slots=True)
class PartHead:
    """The head of a part: its names, and its headers in lower case."""

    disposition: Disposition
    headers: tuple[Header, ...]


PartEvent = PartHead | bytes | Literal["end of part"]


class PartCutter:
    """Parses the bytes of a form into heads, pieces of parts, and their ends.

    ``events`` is the queue of events; it never holds more than the bytes of the last `feed`.
    """

    def __init__(self, boundary: bytes, bounds: PartBounds) -> None:
        self.events: deque[PartEvent] = deque()
        self._bounds = bounds
        self._parts = 0
        self._ended = False
        self._headers: list[Header] = []
        self._name = self._value = b""
        self._head_size = 0
        # Bytes that the current part may still have; None for a file.
        self._left: int | None = None
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._header_name,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_headers_finished": self._head_end,
                "on_part_data": self._data,
                "on_part_end": self._end,
                "on_end": self._end_of_form,
            },
            max_header_count=_MAX_HEADERS,
            max_header_size=bounds.head,
        )

    def feed(self, data: bytes) -> None:
        """Parse the next bytes. Raises `InvalidRequest` or `BodyTooLarge`, and is unusable then."""
        try:
            self._parser.write(data)
        except FormParserError:
            raise InvalidRequest("The form is malformed: see RFC 7578.") from None

    def finish(self) -> None:
        """Signal the end of the bytes; raises `InvalidRequest` when the form is incomplete."""
        if not self._ended:
            raise InvalidRequest("The form ends before its closing boundary.")

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > self._bounds.parts:
            raise InvalidRequest(f"The form may have at most {self._bounds.parts} parts.")
        self._headers = []
        self._name = self._value = b""
        self._head_size = 0

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._count_head(end - start)
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._count_head(end - start)
        self._value += data[start:end]

    def _count_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > self._bounds.head:
            raise InvalidRequest(f"The head of a part may have at most {self._bounds.head} bytes.")

    def _header_end(self) -> None:
        if _CONTROL.search(self._value):
            raise InvalidRequest("A header of a part contains a control character.")
        self._headers.append((self._name.lower(), self._value.rstrip(b" \t")))
        self._name = self._value = b""

    def _head_end(self) -> None:
        named = [value for name, value in self._headers if name == b"content-disposition"]
        disposition = parse_disposition(named[0]) if len(named) == 1 else None
        if disposition is None:
            raise InvalidRequest(
                "Each part of the form needs one header content-disposition, as "
                'form-data; name="…", in UTF-8 (RFC 7578 section 4.2).'
            )
        self._left = self._bounds.field if disposition.filename is None else None
        self.events.append(PartHead(disposition, tuple(self._headers)))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._left is not None:
            self._left -= end - start
            if self._left < 0:
                refuse_length(self._bounds.field)
        self.events.append(data[start:end])

    def _end(self) -> None:
        self.events.append("end of part")

    def _end_of_form(self) -> None:
        self._ended = True


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
        # One block, as in `whole_body`.
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

    too_large = BodyTooLarge

    def __init__(
        self,
        limit: int,
        bounds: PartBounds,
        schema: Mapping[str, object],
    ) -> None:
        self.limit = limit
        self.schema = schema
        self.bounds = bounds
        self.media_types = (MEDIA_TYPE,)
        self.model = None

    async def read(self, headers: Headers, receive: Receive) -> MultipartStream:
        """Return the stream of parts. Raises the same errors as `BodyKind.read`."""
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
    schema: Mapping[str, object] = _ANY_FORM,
) -> MultipartBody:
    """Declare a multipart form of at most ``limit`` bytes in total, within ``bounds``.

    ``schema`` describes its parts in the API document, where its title is its name; the handler
    checks them.
    """
    return MultipartBody(limit, bounds or PartBounds(), schema)
