"""What the parts of a connection ask of it."""

from typing import Protocol

import trio

from octavo.http.server.limits import Limits


class StreamPort(Protocol):
    """What a stream needs of the connection under it."""

    async def receive(self) -> bytes:
        """Wait for bytes without a deadline; ``b""`` when no more come."""

    async def send(self, data: bytes) -> None:
        """Send all of ``data``, at most `WRITE_SIZE` bytes; raise `ClientGone`."""

    def send_now(self, data: bytes) -> int:
        """Send what can be sent without waiting; return how many bytes; raise `ClientGone`."""

    async def send_end(self) -> None:
        """Tell the client that no more comes; raise `ClientGone`."""


class ConnectionPort(Protocol):
    """What an exchange needs of its connection."""

    limits: Limits

    async def receive_body(self) -> bytes:
        """Wait for bytes of the body; ``b""`` when no more come."""

    def put_back(self, rest: bytes) -> None:
        """Keep what was received beyond the body."""

    async def send(self, data: bytes) -> None:
        """Send all of ``data``, at most `WRITE_SIZE` bytes; raise `ClientGone`."""

    def allow(self, seconds: float) -> None:
        """Let the whole request take ``seconds`` from now."""

    @property
    def date(self) -> bytes:
        """The line of the date header."""

    @property
    def closes(self) -> bool:
        """True when the connection is to close after this request, whatever it is."""

    @property
    def stopping(self) -> trio.Event:
        """The event that is set when the service stops."""

    def new_id(self) -> str:
        """Make an identifier."""

    def take_over(self) -> trio.abc.HalfCloseableStream:
        """Return the rest of the connection as a stream."""
