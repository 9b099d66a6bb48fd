"""Pings of the server, which find out whether the peer is still there."""

import struct
from dataclasses import dataclass
from itertools import count

import trio
from trio_websocket import ConnectionClosed, WebSocketConnection

from octavo.ws.websocket_stream_adapter import WebSocketStreamAdapter

NO_PONG = 1011


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """Pings ``interval`` seconds after each pong; refuses a peer that takes over ``pong_time``.

    A pong can't be seen while so many messages wait for the handler that nothing is read: then
    the peer isn't blamed.
    """

    stream: WebSocketStreamAdapter
    interval: float
    pong_time: float

    async def run(self, socket: WebSocketConnection) -> None:
        """Ping until the connection is closed.

        Cancelled, it may leave a ping half sent, and the connection fit for nothing more.
        """
        for number in count():
            await trio.sleep(self.interval)
            pauses = self.stream.pauses
            if self.stream.paused:
                continue
            try:
                with trio.move_on_after(self.pong_time):
                    await socket.ping(struct.pack("!Q", number))
                    continue
            except ConnectionClosed:
                return
            if not self.stream.paused and self.stream.pauses == pauses:
                await self.stream.refuse(NO_PONG, "no pong in time")
                return
