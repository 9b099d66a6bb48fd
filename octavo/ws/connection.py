"""An open WebSocket, as its handler uses it."""

from __future__ import annotations

import math
from typing import Self

import trio
from trio_websocket import ConnectionClosed, WebSocketConnection

from octavo.ws.frames import Frame
from octavo.ws.websocket_stream_adapter import Closing, WebSocketStreamAdapter

_REGISTERED = frozenset(range(1000, 1015)) - {1004, 1005, 1006}


class ConnectionGone(Exception):
    """The connection is closed; nothing more can be received or sent.

    ``code`` and ``reason`` are those of the side that closed first; 1005 means a close without a
    code, 1006 a disconnect without a close (RFC 6455 section 7.1.5).
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return f"closed with {self.code} {self.reason}".rstrip()


class ServerWebSocket:
    """Sends and receives whole messages; pings and closes are handled automatically.

    Iteration yields messages until the connection is gone for any reason. Only one task at a time
    may receive; any number may send.
    """

    def __init__(
        self, socket: WebSocketConnection, stream: WebSocketStreamAdapter, close_time: float
    ) -> None:
        self._socket = socket
        self._stream = stream
        self._close_time = close_time
        self._closing: Closing | None = None
        self.close_by = math.inf
        """The deadline of the closing handshake, on trio's clock."""

    @property
    def subprotocol(self) -> str | None:
        """The negotiated subprotocol."""
        return self._socket.subprotocol

    async def send(self, message: str | bytes) -> None:
        """Send one message; return when the socket has accepted it; the peer may not have.

        Raises `ConnectionGone`; the peer may have received the message then. If cancelled midway,
        the connection is unusable, since half a frame may have been sent.
        """
        try:
            await self._socket.send_message(message)
        except ConnectionClosed:
            raise self._gone() from None

    async def send_frame(self, frame: Frame) -> None:
        """Send a message that `message_frame` encoded for many connections.

        Otherwise as `send`.
        """
        if self._socket.closed is not None:
            raise self._gone()
        try:
            await self._stream.send_all(frame)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise self._gone() from None

    def offer_frame(self, frame: Frame) -> bool:
        """Send a message of `message_frame` if that is possible without waiting.

        Returns False if it was not sent, or only in part; the next send completes it first. Callers
        then send only their latest message later. Also returns False when the connection is gone.
        """
        return self._socket.closed is None and self._stream.offer(frame)

    async def receive(self) -> str | bytes:
        """Wait for the next message, which may be empty.

        Messages that arrived before the peer closed are still received; then raises
        `ConnectionGone`. Cancellation loses no message.
        """
        try:
            message = await self._socket.get_message()
        except ConnectionClosed:
            raise self._gone() from None
        self._stream.message_taken()
        return message

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close, and wait for the peer to close, at most for the close time.

        Args:
            code: 1000 to 1014, or 3000 to 4999 (RFC 6455 section 7.4), except codes that are never
                sent.
            reason: truncated to 123 bytes.

        Nothing is received any more. A second close does nothing. Raises `ValueError` for a code
        that must not be sent. When cancelled, the close frame may not have been sent.
        """
        if not may_be_sent(code):
            raise ValueError(f"{code} can't be sent as a close code")
        if self._closing is None and self._socket.closed is None:
            self._closing = Closing(code, reason)
        self._stream.leave()
        self.limit_close()
        with trio.CancelScope(deadline=self.close_by):
            await self._socket.aclose(code, reason)
            await self._stream.flush()

    def limit_close(self) -> None:
        """Start the close time, unless it has started."""
        self.close_by = min(self.close_by, trio.current_time() + self._close_time)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str | bytes:
        try:
            return await self.receive()
        except ConnectionGone:
            raise StopAsyncIteration from None

    def _gone(self) -> ConnectionGone:
        closed = self._socket.closed
        why = self._closing or self._stream.refusal
        if why is None:
            why = Closing(1006) if closed is None else Closing(closed.code, closed.reason or "")
        return ConnectionGone(why.code, why.reason)


def may_be_sent(code: int) -> bool:
    """Return whether a close frame may carry ``code`` (RFC 6455 section 7.4, IANA registry)."""
    return code in _REGISTERED or 3000 <= code <= 4999
