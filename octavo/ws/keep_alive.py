"""Server pings, which detect dead peers."""

import math
from itertools import count

import trio

from octavo.ws.connection import ServerWebSocket
from octavo.ws.shared_timer import SharedTimer

NO_PONG = 1011


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
