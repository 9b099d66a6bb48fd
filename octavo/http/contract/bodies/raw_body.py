"""Raw bytes as a body, passed to the handler as they arrive."""

from collections.abc import Mapping

from antechamber.asgi import Receive
from octavo_rules.problems import BodyTooLarge

from octavo.http.contract.bodies.body_reader import (
    BodyStream,
    Headers,
    body_head,
    refuse_media_type,
)
from octavo.http.contract.bodies.media_type import parse_media_type

BYTES: Mapping[str, object] = {"type": "string", "format": "binary"}
"""The schema of bytes, as generators of clients know it."""


class RawBody:
    """The body kind of `raw_body`."""

    __slots__ = ("limit", "media_types", "model", "schema", "time")

    too_large = BodyTooLarge

    def __init__(self, media_types: tuple[str, ...], limit: int, time: float | None) -> None:
        self.media_types = media_types
        self.limit = limit
        self.time = time
        self.model = None
        self.schema = BYTES

    async def read(self, headers: Headers, receive: Receive) -> BodyStream:
        """Return the stream of the body.

        Raises the same errors as `BodyKind.read`; the stream raises the errors that depend on the
        bytes.
        """
        declared, length = body_head(headers, self.limit)
        media_type = parse_media_type(declared or b"")
        if media_type is None or media_type.essence not in self.media_types:
            refuse_media_type(self.media_types)
        return BodyStream(receive, self.limit, length)


def raw_body(*media_types: str, limit: int, time: float | None = None) -> RawBody:
    """Declare a body of bytes in one of ``media_types`` (``type/subtype``, lower case).

    It has at most ``limit`` bytes and ``time`` seconds to arrive.
    """
    return RawBody(media_types, limit, time)
