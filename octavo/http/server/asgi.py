"""The types of ASGI 3.0 that the wire and its application speak.

A request in the words of ASGI.

What the wire lets an application ask for beyond ASGI, found in the scope of a request.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Protocol

import trio

from octavo.http.server.http1.head import Head, Headers
from octavo.http.server.response import FixedHeaders

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


SocketAddress = tuple[str, int]


def asgi_scope(
    head: Head,
    client: SocketAddress | None,
    server: SocketAddress | None,
    scheme: str,
    state: Mapping[str, object],
    exchange: object,
) -> Scope:
    """Return the scope of a request over HTTP/1: of ``http``, or of ``websocket``.

    ``scheme`` is http or https; ``state`` is that of the lifespan, which the scope gets a copy
    of; ``exchange`` is what the application finds as the extension ``octavo``.
    """
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": head.version,
        "method": head.method,
        "scheme": scheme,
        "path": head.path,
        "raw_path": head.raw_path,
        "query_string": head.query,
        "root_path": "",
        "headers": head.headers,
        "client": client,
        "server": server,
        "state": dict(state),
        "extensions": {"octavo": exchange},
    }
    if head.websocket:
        scope["type"] = "websocket"
        scope["scheme"] = "wss" if scheme == "https" else "ws"
        del scope["method"]
        scope["subprotocols"] = [
            token.strip()
            for name, value in head.headers
            if name == b"sec-websocket-protocol"
            for token in value.decode("latin-1").split(",")
        ]
        scope["extensions"]["websocket.http.response"] = {}
    return scope


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
    """Return the extension of ``scope``; None when another server than the wire made it."""
    extensions = scope.get("extensions")
    found: Extension | None = extensions.get(EXTENSION) if extensions else None
    return found
