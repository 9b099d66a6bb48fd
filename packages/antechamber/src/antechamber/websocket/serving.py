"""Serve the WebSockets of a server, each from its first frame to the end of the connection."""

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Generic, TypeVar

import outcome
import trio

from antechamber.websocket.connection import ConnectionGone, ServerWebSocket

T = TypeVar("T")

Handler = Callable[[ServerWebSocket], Awaitable[None]]

NORMAL = 1000
GOING_AWAY = 1001
INTERNAL_ERROR = NO_PONG = 1011
STOPPED_PER_TURN = 32
"""Connections that are closed before the loop yields to other tasks."""

CALLED_PER_TURN = 32
"""Items whose function is called before the loop yields to other tasks."""


class SharedTimer(Generic[T]):
    """Calls a function with each item, a fixed time after it was set, while `run` runs.

    Args:
        seconds: the delay; infinite for no calls.
        elapsed: called with each item after the delay. It must neither block nor raise.
    """

    def __init__(self, seconds: float, elapsed: Callable[[T], None]) -> None:
        self._seconds = seconds
        self._elapsed = elapsed
        # In the order of their times, since all have the same delay.
        self._times: OrderedDict[T, float] = OrderedDict()
        self._some = trio.Event()

    def set(self, item: T) -> None:
        """Start the delay of ``item``, anew if it was set already."""
        self.clear(item)
        self._times[item] = trio.current_time() + self._seconds
        self._some.set()

    def clear(self, item: T) -> bool:
        """Forget ``item``; return whether it was set."""
        return self._times.pop(item, None) is not None

    async def run(self) -> None:
        """Wait for items and call the function, until cancelled. Items that are set remain set."""
        times = self._times
        while True:
            while not times:
                self._some = trio.Event()
                await self._some.wait()
            await trio.sleep_until(next(iter(times.values())))
            passed = 0
            while times and next(iter(times.values())) <= trio.current_time():
                item, _ = times.popitem(last=False)
                self._elapsed(item)
                passed += 1
                if passed % CALLED_PER_TURN == 0:
                    await trio.lowlevel.checkpoint()


class KeepAlive:
    """Pings each connection ``interval`` seconds after its last pong; closes it without a pong.

    A pong may take ``pong_time`` seconds. While the handler of a connection does not receive, its
    pongs are not read and do not count as missing.

    Args:
        interval: in seconds; None sends no pings.
        pong_time: in seconds.
    """

    def __init__(self, interval: float | None, pong_time: float) -> None:
        self._next = SharedTimer(math.inf if interval is None else interval, self._ping)
        self._missing = SharedTimer(pong_time, self._miss)
        self._numbers = count()

    async def run(self) -> None:
        """Ping until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._next.run)
            nursery.start_soon(self._missing.run)

    def watch(self, connection: ServerWebSocket) -> None:
        """Ping a connection until it is left."""
        self._next.set(connection)

    def leave(self, connection: ServerWebSocket) -> None:
        """Ping a connection no more."""
        self._next.clear(connection)
        self._missing.clear(connection)

    def pong_received(self, connection: ServerWebSocket) -> None:
        """Record that a connection has answered its last ping."""
        if self._missing.clear(connection):
            self._next.set(connection)

    def _ping(self, connection: ServerWebSocket) -> None:
        connection.ping(next(self._numbers).to_bytes(8, "big"))
        self._missing.set(connection)

    def _miss(self, connection: ServerWebSocket) -> None:
        if connection.is_waiting:
            connection.refuse(NO_PONG, "no pong in time")
        else:
            self._next.set(connection)


class WebSockets:
    """The open WebSockets of a server, which one task keeps alive and stops.

    Args:
        max_message_size: maximum size in bytes of a message.
        close_time: seconds for the closing handshake.
        ping_interval: seconds between pings; None sends none.
        pong_time: seconds for the peer to respond to a ping.
    """

    def __init__(
        self,
        *,
        max_message_size: int,
        close_time: float,
        ping_interval: float | None = None,
        pong_time: float = 20.0,
    ) -> None:
        self._max_message_size = max_message_size
        self._close_time = close_time
        self._keep_alive = KeepAlive(ping_interval, pong_time)
        self._open: dict[ServerWebSocket, None] = {}
        self._stopping: trio.Event | None = None
        self._used = trio.Event()

    async def run(self) -> None:
        """Ping, and close with 1001 when the server stops; until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_alive.run)
            await self._used.wait()
            assert self._stopping is not None
            await self._stopping.wait()
            for count, connection in enumerate(tuple(self._open), start=1):
                connection.stop(GOING_AWAY)
                if count % STOPPED_PER_TURN == 0:
                    await trio.lowlevel.checkpoint()

    async def serve(
        self, stream: trio.abc.Stream, handler: Handler, *, stopping: trio.Event
    ) -> None:
        """Run ``handler`` on a stream that begins with the first frame, and close.

        Args:
            stream: closed at the end in any case. Its sends must have a deadline of their own.
            handler: receives the connection; `ConnectionGone` may propagate from it. It detects a
                disconnect only by receiving or sending, so one of its tasks should always receive.
            stopping: set when the server stops, the same for all of its connections. Closes the
                connection with 1001. The handler has until the end of the close to return; then it
                is cancelled.

        The close code is 1000 when the handler returned, 1011 when it raised or no pong arrived,
        and 1002, 1007 or 1009 when the peer violated the protocol or a limit. No extensions are
        supported, so nothing is compressed.

        Raises what the handler raised, unwrapped from groups that contain nothing else. When
        cancelled, the socket is closed immediately, without a close frame.
        """
        connection = ServerWebSocket(
            stream, self._max_message_size, self._close_time, self._keep_alive.pong_received
        )
        self._add(connection, stopping)
        try:
            result = await outcome.acapture(_handle, handler, connection)
        finally:
            del self._open[connection]
            self._keep_alive.leave(connection)
        try:
            failed = isinstance(result, outcome.Error)
            await connection.finish(INTERNAL_ERROR if failed else NORMAL, stopping)
        finally:
            try:
                await trio.aclose_forcefully(stream)
            finally:
                # Unwrapped last, so that a cancellation meanwhile does not hide the exception.
                if isinstance(result, outcome.Error):
                    raise _cause(result.error)

    def _add(self, connection: ServerWebSocket, stopping: trio.Event) -> None:
        if self._stopping is None:
            self._stopping = stopping
            self._used.set()
        assert stopping is self._stopping, "connections of another server"
        self._open[connection] = None
        self._keep_alive.watch(connection)
        if stopping.is_set():
            connection.stop(GOING_AWAY)


async def _handle(handler: Handler, connection: ServerWebSocket) -> None:
    with connection.handling:
        try:
            await handler(connection)
        except* ConnectionGone:
            pass


def _cause(error: BaseException) -> BaseException:
    if isinstance(error, BaseExceptionGroup):
        _, failures = error.split(trio.Cancelled)
        error = failures or error
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
