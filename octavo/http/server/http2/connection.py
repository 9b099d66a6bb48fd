"""One HTTP/2 connection under the deadlines and limits of this server.

One task reads and handles frames, one writes what the socket does not accept at once, and each
request has one. Exceptions of the protocol are contained at the boundary of the connection.
"""

import math
from typing import TYPE_CHECKING

import trio

from octavo.http.server.asgi import Scope
from octavo.http.server.http1.head import PartialHead
from octavo.http.server.http2.exchange import Http2Exchange
from octavo.http.server.http2.frame_budget import Flooding, FrameBudget
from octavo.http.server.http2.frame_reader import FrameReader, work_of
from octavo.http.server.http2.frames import ErrorCode, Http2Error
from octavo.http.server.http2.header_decoder import Field
from octavo.http.server.http2.output import Http2Output
from octavo.http.server.http2.pacing import Pacer, Share
from octavo.http.server.http2.protocol import MOST_STREAMS, Http2Protocol
from octavo.http.server.http2.request_head import RequestFields, fill_scope, partial_head
from octavo.http.server.http2.stream import Http2Stream
from octavo.http.server.rejection import ClientGone, RequestRejected
from octavo.http.server.transport import MAX_EAGER, Transport
from octavo.http.server.watchdog import CloseReason, ConnectionState

if TYPE_CHECKING:
    from octavo.http.server.connection_handler import ConnectionHandler
    from octavo.http.server.http2.connections import Http2Connections
    from octavo.http.server.proxies import Peer

# A client may cancel requests, but not most of them: starting them is expensive (CVE-2023-44487,
# rapid reset). The same goes for requests that it makes the server reset (CVE-2025-8671).
_RESETS = 100
# The work of a frame of a response, in requests.
_SENT_FRAME_COST = 1 / 8
# The work and the bytes that are handled in one turn; at least one frame.
_TURN_WORK = 4.0
_TURN_SIZE = 16 * 1024


class Http2Connection:
    """A connection that uses HTTP/2."""

    request: None = None

    def __init__(
        self,
        connections: "Http2Connections",
        transport: Transport,
        peer: "Peer",
        share: Share,
    ) -> None:
        self.handler: ConnectionHandler = connections.handler
        self.peer = peer
        self.limits = limits = self.handler.limits
        self.descriptor = transport.descriptor
        self.state = ConnectionState.IDLE
        # During a stop, the first request must be on its way already.
        seconds = limits.linger_time if self.handler.is_stopping else limits.head_time
        self.deadline = trio.current_time() + seconds
        self.request_deadline = math.inf
        self.seen_request: object = None
        self.left_at: float | None = None
        self._connections = connections
        self._transport = transport
        self._pacer: Pacer = connections.pacer
        self._share = share
        self._scope = trio.CancelScope()
        self._close_reason: CloseReason | None = None
        self._failure: ErrorCode | None = None
        self._budget = FrameBudget(trio.current_time())
        self.output = Http2Output(transport, limits.write_time, self._budget, self._settle)
        self.protocol = Http2Protocol(limits, self, self.output.put)
        self.exchanges: set[Http2Exchange] = set()
        self._nursery: trio.Nursery | None = None
        self._requests = self._resets = 0
        self._goaway_received = False
        self._sent_work = 0.0

    async def run(self, received: bytes) -> None:
        """Serve the connection until it ends; ``received`` are its first bytes.

        The caller closes the socket. Cancellation aborts requests in progress.
        """
        with self._scope:
            async with trio.open_nursery() as writing:
                writing.start_soon(self.output.run)
                async with trio.open_nursery() as nursery:
                    self._nursery = nursery
                    await self._serve(received)
                if self._failure is not None:
                    with trio.move_on_after(self.limits.linger_time):
                        await self.output.drain()
                        await self._transport.linger(expecting=True)
                writing.cancel_scope.cancel(reason="every sender has ended")
        if self._close_reason in (CloseReason.IDLE_TIMEOUT, CloseReason.SHUTDOWN):
            with trio.move_on_after(self.limits.linger_time):
                await self._send_goaway()

    def release(self) -> None:
        """Let go of what refers to this, which would keep it in memory; it has ended."""
        self.output.release()
        del self.protocol
        self._nursery = None

    async def _serve(self, received: bytes) -> None:
        reader = FrameReader()
        try:
            await self._pacer.turn(self._share)
            self.protocol.begin()
            self.output.flush()
            while True:
                data = received or await self._transport.receive_later()
                received = b""
                if not data:
                    break
                await self._handle(reader, data)
        except Http2Error as error:
            self._failure = error.code
            self.protocol.goaway(error.code)
        except Flooding:
            self.protocol.goaway(ErrorCode.ENHANCE_YOUR_CALM)
        except ClientGone:
            pass
        self.output.flush()
        for exchange in tuple(self.exchanges):
            exchange.client_left()

    async def _handle(self, reader: FrameReader, data: bytes) -> None:
        """Handle the frames that ``data`` completes, a turn after the other."""
        pacer, share, protocol = self._pacer, self._share, self.protocol
        reader.feed(data)
        left = len(data)
        more = True
        while more:
            # A client that sends without pause must not monopolise the event loop.
            await pacer.turn(share)
            work, size = self._sent_work, 0
            self._sent_work = 0.0
            while work < _TURN_WORK and size < _TURN_SIZE:
                frame = reader.next()
                if frame is None:
                    more = False
                    break
                size += len(frame.payload) + 9
                work += work_of(frame, len(protocol.streams))
                protocol.receive(frame)
            now = trio.current_time()
            pacer.charge(share, work, now)
            spent = min(size, left) if more else left
            left -= spent
            self._budget.spend(spent, now)
            if self.exchanges:
                self.output.flush_soon()
            else:
                self.output.flush()
            if self.output.full:
                await self.output.room()

    # Called by the protocol.

    def accepts_request(self) -> bool:
        """Return whether another request is accepted."""
        # A request may outlast its stream.
        if self._leaving or len(self.exchanges) >= MOST_STREAMS:
            return False
        return self._pacer.has_room(self._share)

    def begin_request(
        self, stream: Http2Stream, request: RequestFields, fields: list[Field]
    ) -> None:
        """Start the application for a request, or the response to one that is refused."""
        self._requests += 1
        self._budget.earn_request()
        handler, peer = self.handler, self.peer
        client, scheme = peer.client, peer.scheme
        if peer.trusted:
            client, scheme = handler.client_of(peer, request.headers)
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "2",
            "method": "",
            "scheme": scheme,
            "path": "",
            "raw_path": b"",
            "query_string": b"",
            "root_path": "",
            "headers": request.headers,
            "client": client,
            "server": peer.server,
            "state": dict(handler.state),
        }
        rejection = None
        try:
            fill_scope(scope, request, fields, self.limits)
            head = PartialHead(scope["method"], scope["path"], request.headers)
        except RequestRejected as found:
            # Its traceback would refer to the exchange.
            rejection = found.with_traceback(None)
            head = partial_head(request)
        expects = request.expect is not None
        exchange = Http2Exchange(self, stream, head, rejection, expects=expects)
        scope["extensions"] = {"octavo": exchange}
        exchange.deadline = handler.watchdog.now + self.limits.request_time
        stream.exchange = exchange
        if not self.exchanges:
            self.state = ConnectionState.REQUEST
            self.deadline = math.inf
        self.exchanges.add(exchange)
        self._pacer.open_stream(self._share)
        assert self._nursery is not None
        self._nursery.start_soon(self._run, exchange, scope)

    def content_received(self, size: int) -> None:
        """Earn the budget of content."""
        self._budget.earn_content(size)

    def stream_aborted(self, stream: Http2Stream | None) -> None:
        """Cancel the request of a stream. Raises `Flooding` when there are too many of these."""
        self._resets += 1
        if self._resets > _RESETS + self._requests // 2:
            raise Flooding
        if stream is not None and stream.exchange is not None:
            stream.exchange.client_left()

    def goaway_received(self, code: int) -> None:
        """Let requests in progress finish, or end the connection that the client gave up."""
        if code != ErrorCode.NO_ERROR:
            raise ClientGone
        # Open streams continue (RFC 9113 section 6.8).
        self._goaway_received = True
        self._settle()

    # Called by the exchanges.

    @property
    def date(self) -> tuple[bytes, bytes]:
        """The date header."""
        return self._connections.date

    def take(self, stream: Http2Stream, size: int) -> None:
        """Let the client send as much as the application took."""
        self.protocol.take(stream, size)
        self.output.flush_soon()

    def count_sent(self) -> None:
        """Count a frame of a response, to be paid for in the next turn."""
        self._sent_work += _SENT_FRAME_COST

    async def flush(self) -> None:
        """Write what is queued.

        What several requests queue in one round of the scheduler is written together.
        """
        output, transport = self.output, self._transport
        if len(self.exchanges) > 1:
            output.flush_soon()
        else:
            output.flush()
        transport.eager += 1
        if transport.eager > MAX_EAGER:
            transport.eager = 0
            await trio.lowlevel.checkpoint()

    async def _run(self, exchange: Http2Exchange, scope: Scope) -> None:
        stream = exchange.stream
        whole = False
        try:
            whole = await exchange.run(scope)
        finally:
            stream.exchange = None
            self.exchanges.discard(exchange)
            self._pacer.close_stream(self._share)
            if not self.exchanges:
                self.state = ConnectionState.IDLE
                self.deadline = self.handler.watchdog.now + self.limits.idle_time
        if not whole:
            self.protocol.reset(stream, ErrorCode.INTERNAL_ERROR)
        unread = stream.body.drop()
        if unread:
            self.protocol.take(stream, unread)
        if self.exchanges:
            self.output.flush_soon()
        else:
            self.output.flush()
            self._settle()

    @property
    def _leaving(self) -> bool:
        """True when no more requests are accepted."""
        exhausted = self._requests >= self.limits.requests_per_connection
        return exhausted or self._goaway_received or self.handler.is_stopping

    def _settle(self) -> None:
        """Close the connection once no more requests are accepted and everything was sent."""
        if not self.exchanges and self._leaving and self.output.empty:
            self.terminate(CloseReason.SHUTDOWN)

    async def _send_goaway(self) -> None:
        if self._failure is not None or not self.output.empty:
            return
        self.protocol.goaway(ErrorCode.NO_ERROR)
        try:
            await self.output.send_last()
            await self._transport.linger(expecting=False)
        except ClientGone:
            return

    # Called by the watchdog and the connection handler.

    def check_requests(self, late: float) -> None:
        """Cancel the requests whose deadline is before ``late``."""
        for exchange in tuple(self.exchanges):
            if late >= exchange.deadline:
                exchange.time_out()

    @property
    def write_deadline(self) -> float:
        """The deadline of the current write."""
        return self.output.deadline

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
