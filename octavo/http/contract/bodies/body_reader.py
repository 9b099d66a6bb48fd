"""Read request bodies: check the headers first, and count bytes as they arrive."""

from collections.abc import Iterable, Sequence
from typing import NoReturn

from antechamber.asgi import Event, Receive
from octavo_rules.problems import BodyTooLarge, Header, InvalidRequest, UnsupportedMediaType


class ClientLeft(Exception):
    """The client disconnected before the body was complete, so there is no response.

    An operation that reads the whole body first has done nothing.
    """


Headers = Sequence[Header]

_BODY_HEADERS = frozenset({b"content-type", b"content-length", b"content-encoding"})
# A longer number exceeds every limit, and would be slow to convert.
_MAX_LENGTH_DIGITS = 18


def body_head(headers: Headers, limit: int) -> tuple[bytes | None, int | None]:
    """Return the media type and the length in bytes that ``headers`` declare.

    Raises `BodyTooLarge` when the declared length exceeds ``limit``, `UnsupportedMediaType` for a
    content coding (RFC 9110 section 8.4), and `InvalidRequest` for an invalid or repeated header
    (RFC 9110 section 5.3).
    """
    media_type = length = None
    for name, value in headers:
        if name not in _BODY_HEADERS:
            continue
        if name == b"content-type":
            if media_type is not None:
                raise InvalidRequest("The header content-type occurs twice: send one.")
            media_type = value
        elif name == b"content-length":
            declared = _length(value, limit)
            if length not in (None, declared):
                raise InvalidRequest("The header content-length has two values: send one.")
            length = declared
        elif value.strip().lower() not in (b"", b"identity"):
            raise UnsupportedMediaType(
                "The body has a content-encoding, which is not supported: send it unencoded."
            )
    return media_type, length


def _length(value: bytes, limit: int) -> int:
    if not value.isdigit():
        raise InvalidRequest("The header content-length is not a number of bytes.")
    if len(value) > _MAX_LENGTH_DIGITS:
        refuse_length(limit)
    length = int(value)
    if length > limit:
        refuse_length(limit)
    return length


def refuse_length(limit: int) -> NoReturn:
    """Raise the problem of a body that exceeds ``limit`` bytes."""
    raise BodyTooLarge(f"The body may have at most {limit:,} bytes.")


def refuse_media_type(accepted: Iterable[str]) -> NoReturn:
    """Raise the problem of a body that has none of the media types ``accepted``."""
    raise UnsupportedMediaType(
        f"Send a body of this media type, and declare it in content-type: {', '.join(accepted)}."
    )


def declared_size(headers: Headers, limit: int) -> int:
    """Return the declared length of a body, or ``limit`` for chunked bodies.

    Returns 0 for one that `body_head` refuses before a byte is read.
    """
    for name, value in headers:
        if name == b"content-length":
            size = int(value) if value.isdigit() and len(value) <= _MAX_LENGTH_DIGITS else 0
            return size if size <= limit else 0
    return limit


async def whole_body(receive: Receive, limit: int) -> bytes:
    """Return the complete body, of at most ``limit`` bytes.

    Raises `BodyTooLarge` at the first byte in excess, and `ClientLeft`. A body in a single event is
    not copied. Cancellation loses the bytes read.
    """
    event = await receive()
    if event["type"] == "http.request" and not event.get("more_body", False):
        body: bytes = event.get("body", b"")
        if len(body) > limit:
            refuse_length(limit)
        return body
    stream = BodyStream(receive, limit)
    # One block: pieces of many bodies leave gaps in the heap that it keeps when they are freed.
    whole = bytearray(stream.take(event))
    async for chunk in stream:
        whole += chunk
    return bytes(whole)


class BodyStream:
    """The bytes of a body as they arrive: iterate it once, in one task.

    Each step reads one event and does not read ahead, so a slow reader slows the client. A step
    raises `BodyTooLarge` before it returns bytes in excess of the limit, and `ClientLeft`.
    Cancelling a step may lose its bytes; the body can't be read further then.

    Attributes:
        declared_length: bytes declared in the header; None for a chunked body.
        received: number of bytes received.
    """

    __slots__ = ("_ended", "_limit", "_receive", "declared_length", "received")

    def __init__(self, receive: Receive, limit: int, declared_length: int | None = None) -> None:
        self._receive = receive
        self._limit = limit
        self._ended = False
        self.declared_length = declared_length
        self.received = 0

    def __aiter__(self) -> "BodyStream":
        return self

    async def __anext__(self) -> bytes:
        while not self._ended:
            if chunk := self.take(await self._receive()):
                return chunk
        raise StopAsyncIteration

    def take(self, event: Event) -> bytes:
        """Count the ASGI ``event`` and return its bytes; called by each step."""
        if event["type"] != "http.request":
            raise ClientLeft
        chunk = event.get("body", b"")
        assert isinstance(chunk, bytes)
        self.received += len(chunk)
        if self.received > self._limit:
            refuse_length(self._limit)
        self._ended = not event.get("more_body", False)
        return chunk
