"""One HTTP/2 connection: hypercorn's protocol, held to the deadlines and bounds of the wire.

Whatever the protocol raises all the same ends at the border of the connection.
"""

import math
from typing import TYPE_CHECKING

import trio
from hypercorn.config import Config
from hypercorn.events import Closed, RawData, Updated
from hypercorn.events import Event as IoEvent

from octavo.http.wire.http2_protocol import GuardedProtocol, TooManyResets
from octavo.http.wire.limits import WRITE_SIZE
from octavo.http.wire.refusal import ClientGone
from octavo.http.wire.transport import Transport
from octavo.http.wire.watchdog import Cut

if TYPE_CHECKING:
    from octavo.http.wire.wire import Peer, Wire


class Http2Connection:
    """A connection over which HTTP/2 is spoken."""

    request: None = None

    def __init__(self, wire: "Wire", transport: Transport, peer: "Peer", config: Config) -> None:
        self.wire = wire
        self._peer = peer
        self.limits = wire.limits
        self.descriptor = transport.descriptor
        self.phase = Cut.IDLE
        # One that comes while the service stops has its request on its way, or none.
        limits = wire.limits
        seconds = limits.linger_time if wire.stopping.is_set() else limits.idle_time
        self.deadline = trio.current_time() + seconds
        self.request_deadline = self.write_deadline = math.inf
        self.seen_request: object = None
        self.left_at: float | None = None
        self._transport = transport
        self._config = config
        self._protocol: GuardedProtocol | None = None
        self._scope = trio.CancelScope()
        self._why: Cut | None = None
        self._sending = trio.Lock()

    async def run(self, received: bytes) -> None:
        """Serve the connection, on which ``received`` came already, until it ends.

        Closing the socket is up to the caller. When cancelled, what is in flight is cut off.
        """
        with self._scope:
            async with trio.open_nursery() as nursery:
                protocol = GuardedProtocol(
                    self.wire, self._peer, self._config, nursery, self.send, self._leave
                )
                self._protocol = protocol
                try:
                    await protocol.initiate()
                    while True:
                        data = received or await self._transport.receive()
                        received = b""
                        if not data:
                            break
                        await protocol.handle(RawData(data))
                except (ClientGone, TooManyResets):
                    pass
                await protocol.end()
        if self._why in (Cut.IDLE, Cut.STOP):
            with trio.move_on_after(self.limits.linger_time):
                await self._say_goodbye(protocol)

    async def send(self, event: IoEvent) -> None:
        """Take what the protocol sends; raise `ClientGone` when it ends the connection."""
        if isinstance(event, RawData):
            async with self._sending:
                data = event.data
                try:
                    for at in range(0, len(data), WRITE_SIZE):
                        await self._send(data[at : at + WRITE_SIZE])
                except ClientGone:
                    # The reading task learns of it, and ends every request in its own way.
                    return
        elif isinstance(event, Closed):
            raise ClientGone
        elif isinstance(event, Updated):
            self.phase = Cut.IDLE if event.idle else Cut.REQUEST
            self.deadline = trio.current_time() + self.limits.idle_time if event.idle else math.inf
            if event.idle and self._protocol is not None:
                self._protocol.settle()

    def _leave(self) -> None:
        self.cut(Cut.STOP)

    async def _send(self, data: bytes) -> None:
        sent = self._transport.send_now(data)
        if sent < len(data):
            self.write_deadline = trio.current_time() + self.limits.write_time
            try:
                await self._transport.send(memoryview(data)[sent:])
            finally:
                self.write_deadline = math.inf

    async def _say_goodbye(self, protocol: GuardedProtocol) -> None:
        try:
            await self._send(protocol.goodbye())
            await self._transport.linger(expecting=False)
        except ClientGone:
            return

    # What the watchdog and the wire call.

    @property
    def idle(self) -> bool:
        """True while no request is there."""
        return self.phase is Cut.IDLE

    def has_input(self) -> bool:
        """Answer False: what arrives after the goodbye is for the client to send again."""
        return False

    def cut(self, why: Cut) -> None:
        """End the connection, for this reason; more than once is once."""
        if self._why is None:
            self._why = why
            self._scope.cancel(reason=why.name)

    def client_left(self) -> bool:
        """Answer False: the reading task notices by itself."""
        return False
