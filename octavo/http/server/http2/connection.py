"""One HTTP/2 connection: hypercorn's protocol, held to the deadlines and bounds of the wire.

Whatever the protocol raises all the same ends at the border of the connection.
"""

import math
from typing import TYPE_CHECKING

import trio
from hypercorn.config import Config
from hypercorn.events import Closed, RawData, Updated
from hypercorn.events import Event as IoEvent

from octavo.http.server.http2.frame_budget import Flooding, FrameBudget
from octavo.http.server.http2.output import Http2Output
from octavo.http.server.http2.protocol import GuardedProtocol
from octavo.http.server.rejection import ClientGone
from octavo.http.server.transport import Transport
from octavo.http.server.watchdog import CloseReason, ConnectionState

if TYPE_CHECKING:
    from octavo.http.server.connection_handler import ConnectionHandler
    from octavo.http.server.proxies import Peer


# Of what was read, handled before other tasks get a turn: two hundred empty frames.
_SLICE = 2 * 1024


class Http2Connection:
    """A connection over which HTTP/2 is spoken."""

    request: None = None

    def __init__(
        self, wire: "ConnectionHandler", transport: Transport, peer: "Peer", config: Config
    ) -> None:
        self.wire = wire
        self._peer = peer
        self.limits = wire.limits
        self.descriptor = transport.descriptor
        self.state = ConnectionState.IDLE
        # One that comes while the service stops has its request on its way, or none.
        limits = wire.limits
        seconds = limits.linger_time if wire.stopping.is_set() else limits.head_time
        self.deadline = trio.current_time() + seconds
        self.request_deadline = math.inf
        self.seen_request: object = None
        self.left_at: float | None = None
        self._transport = transport
        self._config = config
        self._protocol: GuardedProtocol | None = None
        self._scope = trio.CancelScope()
        self._close_reason: CloseReason | None = None
        self._budget = FrameBudget(trio.current_time())
        self._output = Http2Output(transport, limits.write_time, self._settle)

    async def run(self, received: bytes) -> None:
        """Serve the connection, on which ``received`` came already, until it ends.

        Closing the socket is up to the caller. When cancelled, what is in flight is cut off.
        """
        with self._scope:
            async with trio.open_nursery() as writing:
                writing.start_soon(self._output.run)
                async with trio.open_nursery() as nursery:
                    await self._serve(nursery, received)
                writing.cancel_scope.cancel(reason="nobody sends any more")
        if self._close_reason in (CloseReason.IDLE_TIMEOUT, CloseReason.SHUTDOWN):
            with trio.move_on_after(self.limits.linger_time):
                await self._say_goodbye()

    async def _serve(self, nursery: trio.Nursery, received: bytes) -> None:
        self._protocol = protocol = GuardedProtocol(
            self.wire, self._peer, self._config, nursery, self.send, self._leave, self._budget
        )
        try:
            await protocol.initiate()
            while True:
                data = received or await self._transport.receive()
                received = b""
                if not data:
                    break
                for at in range(0, len(data), _SLICE):
                    part = data[at : at + _SLICE]
                    await protocol.handle(RawData(part))
                    self._budget.spend(len(part), trio.current_time())
                    # A client that sends without pause must not have the loop to itself.
                    await trio.lowlevel.checkpoint()
        except (ClientGone, Flooding):
            pass
        await protocol.end()

    async def send(self, event: IoEvent) -> None:
        """Take what the protocol sends; raise `ClientGone` when it ends the connection."""
        if isinstance(event, RawData):
            self._budget.earn_sent(len(event.data))
            await self._output.send(event.data)
        elif isinstance(event, Closed):
            raise ClientGone
        elif isinstance(event, Updated):
            self.state = ConnectionState.IDLE if event.idle else ConnectionState.REQUEST
            self.deadline = trio.current_time() + self.limits.idle_time if event.idle else math.inf
            if event.idle:
                self._settle()

    def _settle(self) -> None:
        if self._protocol is not None:
            self._protocol.settle()

    def _leave(self) -> None:
        if self._output.empty:
            self.terminate(CloseReason.SHUTDOWN)

    async def _say_goodbye(self) -> None:
        if self._protocol is None or not self._output.empty:
            return
        try:
            await self._transport.send(memoryview(self._protocol.goodbye()))
            await self._transport.linger(expecting=False)
        except ClientGone:
            return

    # What the watchdog and the wire call.

    @property
    def write_deadline(self) -> float:
        """When the client must have taken what is being written."""
        return self._output.deadline

    @property
    def idle(self) -> bool:
        """True while no request is there."""
        return self.state is ConnectionState.IDLE

    def has_input(self) -> bool:
        """Return False: what arrives after the goodbye is for the client to send again."""
        return False

    def shorten_deadline(self, deadline: float) -> None:
        """Do nothing: what is in flight is a request, and late ones are refused."""

    def terminate(self, reason: CloseReason) -> None:
        """End the connection, for this reason; more than once is once."""
        if self._close_reason is None:
            self._close_reason = reason
            self._scope.cancel(reason=reason.name)

    def client_left(self) -> bool:
        """Return False: the reading task notices by itself."""
        return False
