"""The interfaces of a connection that its exchange and its upgraded stream use."""

from collections.abc import Callable
from typing import Protocol

import trio

from octavo.http.server.limits import Limits


class StreamPort(Protocol):
    """What an upgraded stream uses of its connection."""

    async def receive(self) -> bytes:
        """Wait for bytes without a deadline; return ``b""`` at the end of input."""

    async def send(self, data: bytes) -> None:
        """Send all of ``data``, at most `WRITE_SIZE` bytes. Raises `ClientGone`."""

    async def send_end(self) -> None:
        """Shut down the sending side. Raises `ClientGone`."""

    def may_begin(self) -> bool:
        """Count a message of the client; return False when it has to wait for `begin`."""

    async def begin(self) -> None:
        """Wait until the client may begin a message. Cancellation counts nothing."""


class ServerState(Protocol):
    """What the connections of a server share.

    Attributes:
        date: the current line of the date header.
        new_id: generates request ids.
        stopping: set when the service stops.
        is_stopping: whether it is set, which each request asks.
    """

    date: bytes
    new_id: Callable[[], str]
    stopping: trio.Event
    is_stopping: bool


class ConnectionPort(Protocol):
    """What an exchange uses of its connection.

    Attributes:
        limits: those of the server.
        server: what it shares with others.
        last_request: whether it closes after the present request.
    """

    limits: Limits
    server: ServerState
    last_request: bool

    async def receive_body(self) -> bytes:
        """Wait for bytes of the body; return ``b""`` at the end of input."""

    def put_back(self, rest: bytes) -> None:
        """Return bytes received after the end of the body to the buffer."""

    async def send(self, data: bytes) -> None:
        """Send all of ``data``, at most `WRITE_SIZE` bytes. Raises `ClientGone`."""

    def allow(self, seconds: float) -> None:
        """Set the deadline of the whole request to ``seconds`` from now."""

    def progressed_at(self) -> float:
        """Return when the current write began, or now."""

    def abort(self) -> None:
        """Close the connection without waiting for the client."""
