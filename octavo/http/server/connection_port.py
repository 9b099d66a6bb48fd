"""The interfaces of a connection that its exchange and its upgraded stream use."""

from typing import Protocol

import trio

from octavo.http.server.limits import Limits


class StreamPort(Protocol):
    """What an upgraded stream uses of its connection."""

    async def receive(self) -> bytes:
        """Wait for bytes without a deadline; return ``b""`` at the end of input."""

    async def send(self, data: bytes) -> None:
        """Send all of ``data``, at most `WRITE_SIZE` bytes. Raises `ClientGone`."""

    def send_now(self, data: bytes) -> int:
        """Send what the socket accepts without blocking; return the number of bytes.

        Raises `ClientGone`.
        """

    async def send_end(self) -> None:
        """Shut down the sending side. Raises `ClientGone`."""

    def may_begin(self) -> bool:
        """Count a message of the client; return False when it has to wait for `begin`."""

    async def begin(self) -> None:
        """Wait until the client may begin a message. Cancellation counts nothing."""


class ConnectionPort(Protocol):
    """What an exchange uses of its connection."""

    limits: Limits

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

    @property
    def date(self) -> bytes:
        """The line of the date header."""

    @property
    def closes(self) -> bool:
        """True when the connection must close after this request."""

    @property
    def stopping(self) -> trio.Event:
        """Set when the service stops."""

    def new_id(self) -> str:
        """Generate an identifier."""

    def take_over(self) -> trio.abc.HalfCloseableStream:
        """Return the rest of the connection as a stream."""
