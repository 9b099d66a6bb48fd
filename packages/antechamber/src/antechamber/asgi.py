"""The types of ASGI 3.0, the scope of a request, its id, and the server's extension of it."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Protocol

import trio

from antechamber.head import Head, Headers
from antechamber.response import FixedHeaders

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
SocketAddress = tuple[str, int]

ServeUpgraded = Callable[[trio.abc.HalfCloseableStream], Awaitable[None]]
"""Serves a connection that is used for another protocol from now on."""

EXTENSION = "antechamber"

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")

REQUEST_ID_RULE = (
    "The header x-request-id must be one value of 1 to 128 letters, digits, '.', '_', '-'."
)
"""The detail of the error for an invalid request id."""


def asgi_scope(
    head: Head,
    client: SocketAddress | None,
    server: SocketAddress | None,
    scheme: str,
    state: Mapping[str, object],
    exchange: object,
) -> Scope:
    """Return the scope of a request, of type ``http`` or ``websocket``.

    ``scheme`` is http or https; ``state`` is the state of the lifespan, which the scope gets a copy
    of; ``exchange`` becomes the extension ``antechamber``.
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
        # The next request may have the same head.
        "headers": [*head.headers],
        "client": client,
        "server": server,
        "state": dict(state),
        "extensions": {EXTENSION: exchange},
    }
    if head.websocket:
        scope["type"] = "websocket"
        scope["scheme"] = "wss" if scheme == "https" else "ws"
        del scope["method"]
        scope["subprotocols"] = [
            # Optional whitespace (RFC 9110 section 5.6.3); `str.strip` takes more than that.
            token.strip(" \t")
            for name, value in head.headers
            if name == b"sec-websocket-protocol"
            for token in value.decode("latin-1").split(",")
        ]
        scope["extensions"]["websocket.http.response"] = {}
    return scope


class Extension(Protocol):
    """A request as the server sees it: ``scope["extensions"]["antechamber"]``.

    It is absent under other servers; applications must work without it.
    """

    @property
    def request_id(self) -> str:
        """The id of the request: the client's if valid, otherwise a generated one."""

    @property
    def request_id_accepted(self) -> bool:
        """False when the request has an invalid id."""

    @property
    def rejected(self) -> tuple[int, str] | None:
        """Status and code of the response that the server sends instead of the application's."""

    @property
    def stopping(self) -> trio.Event:
        """Set when the service stops; long-lived requests must end within the shutdown timeout."""

    async def respond(
        self, status: int, headers: Headers, fixed: FixedHeaders, body: bytes
    ) -> None:
        """Send a complete response in one call instead of the two ASGI events.

        ``headers`` and ``fixed`` are its headers; ``body`` is empty where HTTP allows none. Raises
        as the ASGI ``send`` does. Cancellation may truncate the response.
        """

    def allow(self, seconds: float) -> None:
        """Set the deadline of the whole request to ``seconds`` from now."""

    def ignore_disconnect(self) -> None:
        """Let the application run to completion even if the client disconnects."""

    def progressed_at(self) -> float:
        """Return when the client last took 64 KiB of the response; now while none wait for it."""

    def abort(self) -> None:
        """Cut the response off, as for a client that does not read it."""

    def upgrade(
        self,
        serve: ServeUpgraded,
        subprotocol: str | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Accept a WebSocket request, as soon as the application has returned.

        The response has ``subprotocol``, one of those that the request offers, and ``headers``.
        Then ``serve`` is called with the connection from the first frame on, in the context of the
        application, and the connection is closed when it returns. Nothing else of the request is
        kept meanwhile. Raises `InvalidResponse` for any other request, after a response has
        started, and for invalid headers.
        """

    def hand_over(self, serve: ServeUpgraded) -> None:
        """Leave the connection of a WebSocket request to ``serve``, which accepts or refuses it.

        The stream begins with the head of the request, as for a server of WebSockets that reads
        from a socket. The server has checked the handshake. See `upgrade` for the rest.
        """


def extension_of(scope: Scope) -> Extension | None:
    """Return the extension of ``scope``; None under another server."""
    extensions = scope.get("extensions")
    extension: Extension | None = extensions.get(EXTENSION) if extensions else None
    return extension


def choose_request_id(
    headers: Iterable[tuple[bytes, bytes]], new_id: Callable[[], str]
) -> tuple[str, bool]:
    """Return the id of a request, and whether its ``x-request-id`` is valid.

    ``headers`` are those of the request, names in lower case. A single valid value is the id.
    Without one the id comes from ``new_id``; an invalid value, or several, must be rejected with
    400.
    """
    ids = [value for name, value in headers if name == b"x-request-id"]
    if not ids:
        return new_id(), True
    if len(ids) > 1 or _REQUEST_ID.fullmatch(ids[0]) is None:
        return new_id(), False
    return ids[0].decode("ascii"), True
