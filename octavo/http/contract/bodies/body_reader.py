"""The end of a request whose client is gone.

A body on its way in: judged by its head before a byte is read, and counted as it arrives.
"""

from collections.abc import Iterable, Sequence
from typing import NoReturn

from octavo.http.contract.problems import BodyTooLarge, Header, InvalidRequest, UnsupportedMediaType
from octavo.http.server.asgi import Event, Receive


class ClientLeft(Exception):
    """The client left before its body was whole: there is nobody to answer.

    No problem, as it has no answer. What was done with the part that arrived is up to whoever
    read it; a body that is read whole before it is looked at did nothing.
    """


Headers = Sequence[Header]

_OF_A_BODY = frozenset({b"content-type", b"content-length", b"content-encoding"})
# A length of more digits is over every limit, and would take its time to convert.
_LONGEST_LENGTH = 18


def body_head(headers: Headers, limit: int) -> tuple[bytes | None, int | None]:
    """Return what ``headers`` declare of a body: its media type, and its length in bytes.

    Raises `BodyTooLarge` when the declared length passes ``limit``, `UnsupportedMediaType` for a
    coded body (RFC 9110 section 8.4), and `InvalidRequest` for a header that is no length or
    stands twice (RFC 9110 section 5.3).
    """
    media_type = length = None
    for name, value in headers:
        if name not in _OF_A_BODY:
            continue
        if name == b"content-type":
            if media_type is not None:
                raise InvalidRequest("The header content-type stands there twice: send one.")
            media_type = value
        elif name == b"content-length":
            declared = _length(value, limit)
            if length not in (None, declared):
                raise InvalidRequest("The header content-length has two values: send one.")
            length = declared
        elif value.strip().lower() not in (b"", b"identity"):
            raise UnsupportedMediaType(
                "The body has a content-encoding, and none is taken: send it as it is."
            )
    return media_type, length


def _length(value: bytes, limit: int) -> int:
    if not value.isdigit():
        raise InvalidRequest("The header content-length is no number of bytes.")
    if len(value) > _LONGEST_LENGTH:
        refuse_length(limit)
    length = int(value)
    if length > limit:
        refuse_length(limit)
    return length


def refuse_length(limit: int) -> NoReturn:
    """Raise the problem of a body of more than ``limit`` bytes."""
    raise BodyTooLarge(f"The body may have {limit} bytes at most.")


def refuse_media_type(taken: Iterable[str]) -> NoReturn:
    """Raise the problem of a body that is of none of the types ``taken``."""
    raise UnsupportedMediaType(
        f"Send a body of this media type, and say so in content-type: {', '.join(taken)}."
    )


def declared_size(headers: Headers, limit: int) -> int:
    """Return how many bytes a body may bring: those declared, or ``limit`` without a length.

    0 for one that `body_head` refuses before a byte is read.
    """
    for name, value in headers:
        if name == b"content-length":
            size = int(value) if value.isdigit() and len(value) <= _LONGEST_LENGTH else 0
            return size if size <= limit else 0
    return limit


async def whole_body(receive: Receive, limit: int) -> bytes:
    """Return the whole body, of ``limit`` bytes at most.

    Raises `BodyTooLarge` with the byte that is too much, and `ClientLeft`. A body that comes in
    one event is handed on uncopied. Cancelled, what was read is lost.
    """
    event = await receive()
    if event["type"] == "http.request" and not event.get("more_body", False):
        body: bytes = event.get("body", b"")
        if len(body) > limit:
            refuse_length(limit)
        return body
    stream = BodyStream(receive, limit)
    chunks = [stream.take(event)]
    chunks.extend([chunk async for chunk in stream])
    return b"".join(chunks)


class BodyStream:
    """The bytes of a body as they arrive: iterate it once, by one task.

    Each step reads one event of the connection and nothing ahead, so a slow reader slows the
    client. A step raises `BodyTooLarge` when the body passes its limit, before it hands out the
    bytes that pass it, and `ClientLeft`. A step that is cancelled may have lost its bytes: the
    body can't be read on.

    Attributes:
        declared_length: bytes that the head announced; None for a body in chunks.
        received: bytes so far.
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
        """Count the ASGI ``event`` and answer its bytes; the steps of the iteration do so."""
        if event["type"] != "http.request":
            raise ClientLeft
        chunk = event.get("body", b"")
        assert isinstance(chunk, bytes)
        self.received += len(chunk)
        if self.received > self._limit:
            refuse_length(self._limit)
        self._ended = not event.get("more_body", False)
        return chunk
