"""One open WebSocket, as its handler sees it."""

from __future__ import annotations

import math
from typing import Self

import trio
from trio_websocket import ConnectionClosed, WebSocketConnection

from octavo.ws.frames import Frame
from octavo.ws.websocket_stream_adapter import Closing, WebSocketStreamAdapter

_REGISTERED = frozenset(range(1000, 1015)) - {1004, 1005, 1006}


class ConnectionGone(Exception):
    """The connection is closed; nothing more is received or sent.

    ``code`` and ``reason`` are those of whoever closed first; 1005 stands for a close without a
    code, 1006 for a peer that went without a close (RFC 6455 section 7.1.5).
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return f"closed with {self.code} {self.reason}".rstrip()


class ServerWebSocket:
    """Sends and receives whole messages; pings and closes of the peer are answered beside it.

    Iterating gives messages until the connection is gone, whatever the reason. One task at a time
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
        """Until when what follows a close may take, on trio's clock."""

    @property
    def subprotocol(self) -> str | None:
        """What both ends agreed to speak."""
        return self._socket.subprotocol

    async def send(self, message: str | bytes) -> None:
        """Send one message; returns when the socket took it, which is no receipt.

        Raises `ConnectionGone`; the peer may have got the message then. When cancelled midway, the
        connection can't be used any more, since half a frame may have gone out.
        """
        try:
            await self._socket.send_message(message)
        except ConnectionClosed:
            raise self._gone() from None

    async def send_frame(self, frame: Frame) -> None:
        """Send a message that `message_frame` made once for many connections.

        As `send` otherwise.
        """
        if self._socket.closed is not None:
            raise self._gone()
        try:
            await self._stream.send_all(frame)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise self._gone() from None

    def offer_frame(self, frame: Frame) -> bool:
        """Send a message of `message_frame` at once, if that needs no waiting.

        False: it was not sent, or only in part; the next send completes it first. So send the
        newest news then, in place of this one. A connection that is gone answers False, too.
        """
        return self._socket.closed is None and self._stream.offer(frame)

    async def receive(self) -> str | bytes:
        """Wait for the next message, which may be empty.

        What came before the peer closed is still received; then raises `ConnectionGone`. When
        cancelled, no message is lost.
        """
        try:
            message = await self._socket.get_message()
        except ConnectionClosed:
            raise self._gone() from None
        self._stream.message_taken()
        return message

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close, and wait for the peer to close too, at most as long as a close may take.

        Args:
            code: 1000 to 1014, or 3000 to 4999 (RFC 6455 section 7.4), but what is never sent.
            reason: cut to 123 bytes.

        Nothing is received any more. A second close does nothing. Raises `ValueError` for a code
        that must not be sent. Cancelled, the close frame may not have been sent.
        """
        if not may_be_sent(code):
            raise ValueError(f"{code} can't be sent as the code of a close")
        if self._closing is None and self._socket.closed is None:
            self._closing = Closing(code, reason)
        self._stream.leave()
        self.limit_close()
        with trio.CancelScope(deadline=self.close_by):
            await self._socket.aclose(code, reason)
            await self._stream.flush()

    def limit_close(self) -> None:
        """Let the time that a close may take begin now, if it has not begun."""
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
    """Whether a close frame may carry ``code`` (RFC 6455 section 7.4 and the IANA registry)."""
    return code in _REGISTERED or 3000 <= code <= 4999
