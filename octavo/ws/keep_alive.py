"""Server pings, which detect dead peers."""

import struct
from dataclasses import dataclass
from itertools import count

import trio
from trio_websocket import ConnectionClosed, WebSocketConnection

from octavo.ws.websocket_stream_adapter import WebSocketStreamAdapter

NO_PONG = 1011


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """Pings ``interval`` seconds after each pong; closes after ``pong_time`` without a pong.

    While reading is paused because too many messages wait for the handler, pongs are not read and
    do not count as missing.
    """

    stream: WebSocketStreamAdapter
    interval: float
    pong_time: float

    async def run(self, socket: WebSocketConnection) -> None:
        """Ping until the connection is closed.

        When cancelled, half a ping may have been sent, and the connection is unusable.
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
