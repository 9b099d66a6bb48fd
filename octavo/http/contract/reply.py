"""What a handler may return besides a plain model."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from octavo_rules.problems import Header
from pydantic import BaseModel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """A model with additional headers, or with a status other than the declared one.

    ``headers`` have lower-case names that the operation declares; ``status`` None means the
    declared one. ``encoded`` is what `encoded_json` returned for ``body``, if it is known.
    """

    body: T
    headers: tuple[Header, ...] = ()
    status: int | None = None
    encoded: bytes | None = None


@dataclass(frozen=True, slots=True)
class EncodedJson(Generic[T]):
    """A large model, as the handler has encoded it, piece by piece, in a thread.

    Encoding it as a whole would hold the event loop, and its objects take much more memory.
    """

    json: bytes


def encoded_json(body: BaseModel) -> bytes:
    """Return a model as the JSON of a response, to send it several times."""
    return body.__pydantic_serializer__.to_json(body, by_alias=True, warnings=False)


@dataclass(frozen=True, slots=True)
class NotModified:
    """A 304: the client's copy is current (RFC 9110 section 15.4.5).

    ``headers`` are those of the 200 that identify the version, such as ``etag``.
    """

    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """An HTML page, which is sent with the security headers of pages."""

    MEDIA_TYPE: ClassVar[str] = "text/html; charset=utf-8"

    html: bytes
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """Bytes sent as they are produced; ``length`` is their number, if known.

    ``media_type`` is one that the operation declares. When ``chunks`` raises, the connection is
    closed, since the response head was sent already. ``chunks`` is closed in any case, also when a
    HEAD does not need it; if iteration never began, none of its code runs.
    """

    chunks: AsyncIterator[bytes]
    media_type: str
    length: int | None = None
    headers: tuple[Header, ...] = ()
    status: int | None = None


class NoBytes:
    """The chunks of a `Stream` that responds to HEAD, and is not read."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration
