"""Serve one WebSocket, from its parsed request to the end of the connection."""

from collections.abc import Awaitable, Callable, Sequence

import outcome
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_server_stream

from octavo.ws.connection import ConnectionGone, ServerWebSocket
from octavo.ws.keep_alive import KeepAlive
from octavo.ws.websocket_stream_adapter import MAX_WAITING, Closing, WebSocketStreamAdapter

Handler = Callable[[ServerWebSocket], Awaitable[None]]

NORMAL = 1000
GOING_AWAY = 1001
INTERNAL_ERROR = 1011
LINGER_AT_STOP = 1.0
"""Seconds that a stopping server waits for a peer that does not close after a close frame."""


async def serve_websocket(
    stream: trio.abc.Stream,
    handler: Handler,
    *,
    subprotocol: str | None,
    stopping: trio.Event,
    max_message_size: int,
    close_time: float,
    ping_interval: float | None = None,
    pong_time: float = 20.0,
    headers: Sequence[tuple[bytes, bytes]] = (),
) -> None:
    """Accept the request that ``stream`` begins with, run ``handler``, and close.

    Args:
        stream: begins with the whole request. It is closed at the end in any case. Its sends must
            have a deadline of their own.
        handler: receives the connection; `ConnectionGone` may propagate from it. It detects a
            disconnect only by receiving or sending, so one of its tasks should always receive.
        subprotocol: one of those that the request offers, or None.
        stopping: closes the connection with 1001. The handler has until the end of the close to
            return; then it is cancelled.
        max_message_size: maximum size in bytes of a message.
        close_time: seconds for the closing handshake; also for sending the response to the request.
        ping_interval: seconds between pings; None sends none.
        pong_time: seconds for the peer to respond to a ping.
        headers: added to the response to the request.

    The close code is 1000 when the handler returned, 1011 when it raised or no pong arrived, and
    1002, 1007 or 1009 when the peer violated the protocol or a limit. A request that is not a
    WebSocket handshake (RFC 6455 section 4.2.1) is refused, and the handler is not run. No
    extensions are negotiated, so nothing is compressed.

    Raises what the handler raised, unwrapped from groups that contain nothing else. When cancelled,
    the socket is closed immediately, without a close frame.
    """
    adapter = WebSocketStreamAdapter(stream, max_message_size)
    pings = None if ping_interval is None else KeepAlive(adapter, ping_interval, pong_time)
    session = _Session(adapter, handler, stopping, close_time, pings)
    result = await outcome.acapture(session.run, subprotocol, list(headers))
    try:
        await session.linger()
    finally:
        try:
            await trio.aclose_forcefully(stream)
        finally:
            # Unwrapped last, so that a cancellation meanwhile does not hide the exception.
            if isinstance(result, outcome.Error):
                raise _cause(result.error)


class _Session:
    """The state that the tasks of one connection share."""

    def __init__(
        self,
        stream: WebSocketStreamAdapter,
        handler: Handler,
        stopping: trio.Event,
        close_time: float,
        pings: KeepAlive | None,
    ) -> None:
        self._stream = stream
        self._handler = handler
        self._stopping = stopping
        self._close_time = close_time
        self._pings = pings
        self._connection: ServerWebSocket | None = None

    async def run(self, subprotocol: str | None, headers: list[tuple[bytes, bytes]]) -> None:
        async with trio.open_nursery() as reading:
            socket = await self._accept(reading, subprotocol, headers)
            if socket is not None:
                self._connection = connection = ServerWebSocket(
                    socket, self._stream, self._close_time
                )
                result = await outcome.acapture(self._handle, connection, socket)
                failed = isinstance(result, outcome.Error)
                try:
                    await connection.close(INTERNAL_ERROR if failed else NORMAL)
                finally:
                    result.unwrap()
            reading.cancel_scope.cancel()

    async def linger(self) -> None:
        """Wait for the peer to close, within the close time."""
        if self._connection is not None:
            deadline = self._connection.close_by
            if self._stopping.is_set():
                # Everything was sent; some libraries keep the socket open while the process waits.
                deadline = min(deadline, trio.current_time() + LINGER_AT_STOP)
            with trio.CancelScope(deadline=deadline):
                await self._stream.linger()

    async def _accept(
        self,
        reading: trio.Nursery,
        subprotocol: str | None,
        headers: list[tuple[bytes, bytes]],
    ) -> WebSocketConnection | None:
        handshake = self._stream.handshake
        handshake.deadline = trio.current_time() + self._close_time
        with handshake:
            try:
                request = await wrap_server_stream(
                    reading,
                    self._stream,
                    message_queue_size=MAX_WAITING + 1,
                    max_message_size=self._stream.max_message_size,
                )
                socket = await request.accept(subprotocol=subprotocol, extra_headers=headers)
            except ConnectionClosed:
                return None
            self._stream.open(lambda: _reason(socket))
            return socket
        return None

    async def _handle(self, connection: ServerWebSocket, socket: WebSocketConnection) -> None:
        async with trio.open_nursery() as closing, trio.open_nursery() as watching:
            watching.start_soon(self._close_on_stop, connection, closing)
            if self._pings is not None:
                watching.start_soon(self._pings.run, socket)
            try:
                await self._handler(connection)
            except* ConnectionGone:
                pass
            # A close in progress continues: it belongs to the outer nursery.
            watching.cancel_scope.cancel()

    async def _close_on_stop(self, connection: ServerWebSocket, closing: trio.Nursery) -> None:
        await self._stopping.wait()
        connection.limit_close()
        closing.cancel_scope.deadline = connection.close_by
        closing.start_soon(connection.close, GOING_AWAY)


def _reason(socket: WebSocketConnection) -> Closing:
    closed = socket.closed
    return Closing() if closed is None else Closing(closed.code, closed.reason or "")


def _cause(error: BaseException) -> BaseException:
    if isinstance(error, BaseExceptionGroup):
        _, failures = error.split(trio.Cancelled)
        error = failures or error
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
