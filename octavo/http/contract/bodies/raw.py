"""Bytes as a body, handed on as they arrive."""

from octavo.http.contract.bodies.body_reader import (
    BodyStream,
    Headers,
    body_head,
    refuse_media_type,
)
from octavo.http.contract.bodies.media_type import parse_media_type
from octavo.http.server.asgi import Receive


class RawBody:
    """The kind of body that `raw_body` makes."""

    __slots__ = ("limit", "media_types", "model", "time")

    def __init__(self, media_types: tuple[str, ...], limit: int, time: float | None) -> None:
        self.media_types = media_types
        self.limit = limit
        self.time = time
        self.model = None

    async def read(self, headers: Headers, receive: Receive) -> BodyStream:
        """Return the stream of the body, of which nothing was read yet.

        Raises what `BodyKind.read` names, of which what depends on the bytes comes from the
        stream.
        """
        declared, length = body_head(headers, self.limit)
        media_type = parse_media_type(declared or b"")
        if media_type is None or media_type.essence not in self.media_types:
            refuse_media_type(self.media_types)
        return BodyStream(receive, self.limit, length)


def raw_body(*media_types: str, limit: int, time: float | None = None) -> RawBody:
    """Declare a body of bytes that is of one of ``media_types`` (``type/subtype``, lower case).

    It has ``limit`` bytes at most and may take ``time`` seconds.
    """
    return RawBody(media_types, limit, time)
