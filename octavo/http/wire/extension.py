"""What the wire lets an application ask for beyond ASGI, found in the scope of a request."""

from typing import Protocol

import trio

from octavo.http.wire.asgi import Scope
from octavo.http.wire.head import Headers
from octavo.http.wire.response import FixedHeaders

EXTENSION = "octavo"


class Extension(Protocol):
    """One request on the wire: ``scope["extensions"]["octavo"]``.

    Another server gives none, and the request does without.
    """

    @property
    def request_id(self) -> str:
        """The id of the request: the client's own when it is a good one, else one made."""

    @property
    def request_id_accepted(self) -> bool:
        """False when the request brought an id of its own that is none."""

    @property
    def refused(self) -> tuple[int, str] | None:
        """Status and code of what the wire answers in place of the application, if it does."""

    @property
    def stopping(self) -> trio.Event:
        """Set when the service stops: what lasts has to end then, within the grace time."""

    async def answer(self, status: int, headers: Headers, fixed: FixedHeaders, body: bytes) -> None:
        """Send a whole answer at once, in place of the two events that ASGI has for it.

        ``headers`` and ``fixed`` are its headers, ``body`` is its body, empty where HTTP has
        none. Raises as the ``send`` of ASGI does; cancelling may cut the answer anywhere.
        """

    def allow(self, seconds: float) -> None:
        """Let the whole request take ``seconds`` from now, in place of the wire's own limit."""

    def ignore_disconnect(self) -> None:
        """Let the application run to its end, also when the client leaves before that."""

    def take_stream(self) -> trio.abc.HalfCloseableStream:
        """Take the connection of a request for a WebSocket over, from its first byte on.

        The wire answers nothing any more, and closes the connection when the application
        returns. Raises `BadAnswer` for any other request, and after an answer.
        """


def extension_of(scope: Scope) -> Extension | None:
    """Answer the extension of ``scope``; None when another server than the wire made it."""
    extensions = scope.get("extensions")
    found: Extension | None = extensions.get(EXTENSION) if extensions else None
    return found
