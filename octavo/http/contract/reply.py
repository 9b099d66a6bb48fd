"""What a handler may answer beside a plain model."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from octavo.http.contract.problems import Header

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """A model with headers of its own, or with another status than the declared one.

    ``headers`` have lower-case names that the operation declares; ``status`` None is the
    declared one.
    """

    body: T
    headers: tuple[Header, ...] = ()
    status: int | None = None


@dataclass(frozen=True, slots=True)
class NotModified:
    """304: what the client holds is current (RFC 9110 section 15.4.5).

    ``headers`` are those that the 200 would have had and that name the version, as ``etag``.
    """

    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """Bytes sent as they come, of ``length`` bytes when it is known.

    ``media_type`` is one that the operation declares. When ``chunks`` raises, the connection is
    cut, as the head of the answer was sent already. ``chunks`` is closed in any case, also when
    a HEAD needs none of it; one that never began runs nothing of its code.
    """

    chunks: AsyncIterator[bytes]
    media_type: str
    length: int | None = None
    headers: tuple[Header, ...] = ()
    status: int | None = None
