"""One HTTP/2 connection: hypercorn's protocol under the deadlines and limits of this server.

Exceptions of the protocol are contained at the boundary of the connection.
"""

import math
from typing import TYPE_CHECKING

import trio
from hypercorn.config import Config
from hypercorn.events import Closed, RawData, Updated
from hypercorn.events import Event as IoEvent

from octavo.http.server.http2.frame_budget import Flooding, FrameBudget
from octavo.http.server.http2.frame_cutter import FrameCutter
from octavo.http.server.http2.output import Http2Output
from octavo.http.server.http2.pacing import Pacer, Share
from octavo.http.server.http2.protocol import GuardedProtocol
from octavo.http.server.rejection import ClientGone
from octavo.http.server.transport import Transport
from octavo.http.server.watchdog import CloseReason, ConnectionState

if TYPE_CHECKING:
    from octavo.http.server.connection_handler import ConnectionHandler
    from octavo.http.server.proxies import Peer


class Http2Connection:
    """A connection that uses HTTP/2."""

    request: None = None

    def __init__(
        self,
        handler: "ConnectionHandler",
        transport: Transport,
        peer: "Peer",
        config: Config,
        pacer: Pacer,
        share: Share,
    ) -> None:
        self.handler = handler
        self._peer = peer
        self.limits = handler.limits
        self.descriptor = transport.descriptor
        self.state = ConnectionState.IDLE
        # During a stop, the first request must be on its way already.
        limits = handler.limits
        seconds = limits.linger_time if handler.stopping.is_set() else limits.head_time
        self.deadline = trio.current_time() + seconds
        self.request_deadline = math.inf
        self.seen_request: object = None
        self.left_at: float | None = None
        self._transport = transport
        self._config = config
        self._pacer = pacer
        self._share = share
        self._protocol: GuardedProtocol | None = None
        self._scope = trio.CancelScope()
        self._close_reason: CloseReason | None = None
        self._budget = FrameBudget(trio.current_time())
        self._output = Http2Output(transport, limits.write_time, self._settle)

    async def run(self, received: bytes) -> None:
        """Serve the connection until it ends; ``received`` are its first bytes.

        The caller closes the socket. Cancellation aborts requests in progress.
        """
        with self._scope:
            async with trio.open_nursery() as writing:
                writing.start_soon(self._output.run)
                async with trio.open_nursery() as nursery:
                    await self._serve(nursery, received)
                writing.cancel_scope.cancel(reason="every sender has ended")
        if self._close_reason in (CloseReason.IDLE_TIMEOUT, CloseReason.SHUTDOWN):
            with trio.move_on_after(self.limits.linger_time):
                await self._send_goaway()

    async def _serve(self, nursery: trio.Nursery, received: bytes) -> None:
        pacer, share, cutter = self._pacer, self._share, FrameCutter()
        await pacer.turn(share)
        self._protocol = protocol = GuardedProtocol(
            self.handler,
            self._peer,
            self._config,
            nursery,
            self.send,
            self._leave,
            lambda: self._output.empty,
            self._budget,
            pacer,
            share,
        )
        try:
            await protocol.initiate()
            while True:
                data = received or await self._transport.receive()
                received = b""
                if not data:
                    break
                for portion, work in cutter.portions(data):
                    # A client that sends without pause must not monopolise the event loop.
                    await pacer.turn(share)
                    pacer.charge(share, work)
                    await protocol.handle(RawData(portion))
                    self._budget.spend(len(portion), trio.current_time())
        except (ClientGone, Flooding):
            pass
        await protocol.end()

    async def send(self, event: IoEvent) -> None:
        """Handle an event of the protocol; raise `ClientGone` when it closes the connection."""
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

    async def _send_goaway(self) -> None:
        if self._protocol is None or not self._output.empty:
            return
        try:
            await self._transport.send(memoryview(self._protocol.goaway()))
            await self._transport.linger(expecting=False)
        except ClientGone:
            return

    # Called by the watchdog and the connection handler.

    @property
    def write_deadline(self) -> float:
        """The deadline of the current write."""
        return self._output.deadline

    @property
    def idle(self) -> bool:
        """True while no request is in progress."""
        return self.state is ConnectionState.IDLE

    def has_input(self) -> bool:
        """Return False: after GOAWAY the client repeats what still arrives."""
        return False

    def shorten_deadline(self, deadline: float) -> None:
        """Do nothing: requests in progress continue, later ones are rejected."""

    def terminate(self, reason: CloseReason) -> None:
        """Close the connection for ``reason``. Calls after the first have no effect."""
        if self._close_reason is None:
            self._close_reason = reason
            self._scope.cancel(reason=reason.name)

    def client_left(self) -> bool:
        """Return False: the reading task detects the disconnect."""
        return False
