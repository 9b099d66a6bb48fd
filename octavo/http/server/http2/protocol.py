"""hypercorn's HTTP/2 protocol with flow control on responses and checks on incoming events.

A client must not be able to block others through it, or to make the process grow or fail.
"""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Updated
from hypercorn.events import Event as IoEvent
from hypercorn.protocol.events import Body, InformationalResponse
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.protocol.http_stream import ASGIHTTPState
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState

from octavo.http.server.asgi import Event, Scope
from octavo.http.server.http1.head import Headers
from octavo.http.server.http2.body import Http2Body
from octavo.http.server.http2.exchange import FRAME_SIZE, Http2Exchange
from octavo.http.server.http2.frame_budget import Flooding, FrameBudget
from octavo.http.server.http2.pacing import Pacer, Share
from octavo.http.server.rejection import RequestRejected, malformed
from octavo.http.server.target import check_host, read_target

if TYPE_CHECKING:
    from octavo.http.server.connection_handler import ConnectionHandler
    from octavo.http.server.proxies import Peer


class WaitingProtocol(H2Protocol):
    """hypercorn's protocol with bounded response buffers.

    hypercorn's own buffer accepts more data whenever the client's window is closed.
    """

    async def stream_send(self, event: StreamEvent) -> None:
        """Send a part of a response; return once little of it is queued.

        Cancellation does not remove what was queued.
        """
        await super().stream_send(event)
        if isinstance(event, Body):
            buffer = self.stream_buffers.get(event.stream_id)
            if buffer is not None and len(buffer.buffer) >= FRAME_SIZE:
                await buffer.drain()


# A client may cancel requests, but not most of them: starting them is expensive (CVE-2023-44487,
# rapid reset).
_RESETS = 100
# The work of a frame of a response, in requests.
_SENT_FRAME_COST = 1 / 8
# The stream limit that h2 itself enforces.
_H2_STREAM_LIMIT = 2**31 - 1
_METHOD = re.compile(rb"[A-Z-]{1,32}")


class GuardedProtocol(WaitingProtocol):
    """hypercorn's protocol with checks on incoming events."""

    def __init__(
        self,
        handler: "ConnectionHandler",
        peer: "Peer",
        config: Config,
        nursery: trio.Nursery,
        send: Callable[[IoEvent], Awaitable[None]],
        leave: Callable[[], None],
        at_rest: Callable[[], bool],
        budget: FrameBudget,
        pacer: Pacer,
        share: Share,
    ) -> None:
        self._leave = leave
        self._at_rest = at_rest
        self._budget = budget
        self._share = share
        self._pacer = pacer
        self._goaway_received = False
        self._handler = handler
        self._peer = peer
        self._nursery = nursery
        self._requests = self._resets = 0
        self._most_streams = config.h2_max_concurrent_streams
        self._exchanges: dict[int, Http2Exchange] = {}
        self._opening: tuple[int, RequestRejected | None, str] = (0, None, "")
        super().__init__(
            _unused_application,  # type: ignore[arg-type]
            config,
            # Without a limit of its own: hypercorn would close the connection before its last
            # response.
            WorkerContext(None),
            self,  # type: ignore[arg-type]  # `spawn` and `spawn_app` are all it uses
            ConnectionState(dict(handler.state)),
            peer.scheme == "https",
            peer.client,
            peer.server,
            send,
        )
        settings = h2.settings.SettingCodes
        self.connection.local_settings = h2.settings.Settings(
            client=False,
            initial_values={
                settings.MAX_CONCURRENT_STREAMS: config.h2_max_concurrent_streams,
                settings.MAX_HEADER_LIST_SIZE: config.h2_max_header_list_size,
                # WebSockets use connections of their own.
                settings.ENABLE_CONNECT_PROTOCOL: 0,
            },
        )

    async def initiate(
        self, headers: list[tuple[bytes, bytes]] | None = None, settings: bytes | None = None
    ) -> None:
        """Send the preface and the settings."""
        await super().initiate(headers, settings)
        # h2 would close the connection of a client that exceeds the limit before it received the
        # setting. The guard refuses each such stream alone (RFC 9113 section 5.1.2).
        self.connection.local_settings.max_concurrent_streams = _H2_STREAM_LIMIT
        self.connection.local_settings.acknowledge()

    @property
    def leaving(self) -> bool:
        """True when no more requests are accepted."""
        exhausted = self._requests >= self._handler.limits.requests_per_connection
        return exhausted or self._goaway_received or self._handler.stopping.is_set()

    def settle(self) -> None:
        """Close the connection once no more requests are accepted and everything was sent."""
        if self.leaving and not self.streams and not self.stream_buffers:
            self._leave()

    async def _send_data(self, stream_id: int) -> None:
        await super()._send_data(stream_id)
        self._pacer.charge(self._share, _SENT_FRAME_COST)
        self.settle()
        # Many frames are sent without a wait.
        await trio.lowlevel.checkpoint()

    async def end(self) -> None:
        """Cancel the requests in progress, except those that must finish, and wake all senders."""
        for exchange in tuple(self._exchanges.values()):
            exchange.client_left()
        for buffer in tuple(self.stream_buffers.values()):
            await buffer.close()
        await self.handle(Closed())

    def goaway(self) -> bytes:
        """Return the GOAWAY frame for an orderly close."""
        try:
            self.connection.close_connection()
        except h2.exceptions.ProtocolError:
            return b""
        return self.connection.data_to_send()

    # The task group interface of hypercorn's protocol.

    def spawn(self, task: Callable[[], Awaitable[None]]) -> None:
        """Start a task of the connection."""
        self._nursery.start_soon(task)

    async def spawn_app(
        self,
        app: AppWrapper,
        config: Config,
        scope: Scope,
        send: Callable[[Event | None], Awaitable[None]],
    ) -> Callable[[Event], Awaitable[None]]:
        """Start the application for one request; return the receiver of its events."""
        stream_id, rejection, requested = self._opening
        body = Http2Body()
        proceed = partial(
            self.stream_send,
            InformationalResponse(stream_id=stream_id, headers=[], status_code=100),
        )
        if rejection is not None:
            # hypercorn was given a placeholder path.
            scope["path"] = requested
        acknowledge = partial(self._acknowledge, stream_id)
        complete = partial(self._complete, stream_id)
        exchange = Http2Exchange(
            self._handler, self._peer, scope, body, acknowledge, send, proceed, complete, rejection
        )
        self._exchanges[stream_id] = exchange
        self._pacer.open_stream(self._share)
        self._nursery.start_soon(self._run, stream_id, exchange)

        async def put(event: Event) -> None:
            body.put(event)

        return put

    async def _complete(self, stream_id: int, status: int, headers: Headers, body: bytes) -> bool:
        """Send a whole response of one frame of content; return False where it may have to wait.

        Otherwise the sending task of the protocol sends its head, its content and its end one by
        one, which takes two thirds of the time of a small response.
        """
        stream = self.streams.get(stream_id)
        if stream is None or stream_id not in self.stream_buffers or not self._at_rest():
            return False
        connection = self.connection
        every = [(b":status", b"%d" % status), *headers, *self.config.response_headers("h2")]
        try:
            if connection.local_flow_control_window(stream_id) < len(body):
                return False
            connection.send_headers(stream_id, every, end_stream=not body)
            if body:
                connection.send_data(stream_id, body, end_stream=True)
        except (h2.exceptions.ProtocolError, KeyError):
            # The client has closed the stream.
            return False
        # As the sending task and the stream do at the end of a response.
        del self.stream_buffers[stream_id]
        self.priority.remove_stream(stream_id)
        stream.state = ASGIHTTPState.CLOSED
        self._pacer.charge(self._share, _SENT_FRAME_COST)
        await self._flush()
        return True

    async def _acknowledge(self, stream_id: int, size: int) -> None:
        """Replenish the window by the bytes that the application took."""
        try:
            self.connection.acknowledge_received_data(size, stream_id)
        except h2.exceptions.ProtocolError:
            # The stream or the connection has ended meanwhile.
            return
        await self._flush()

    async def _run(self, stream_id: int, exchange: Http2Exchange) -> None:
        whole = False
        try:
            whole = await exchange.run()
        finally:
            del self._exchanges[stream_id]
            self._pacer.close_stream(self._share)
        await exchange.drop_body()
        if not whole:
            await self._reset_response(stream_id)

    async def _reset_response(self, stream_id: int) -> None:
        """Reset a stream whose response cannot be completed, and discard its buffer."""
        self._reset(stream_id, h2.errors.ErrorCodes.INTERNAL_ERROR)
        buffer = self.stream_buffers.get(stream_id)
        if buffer is not None:
            # The sending task removes the buffer of a closed stream.
            await buffer.close()
            self.priority.unblock(stream_id)
            await self.has_data.set()
        await self._close_stream(stream_id)
        await self._flush()
        await self.send(Updated(idle=not self.streams))

    def _reset(self, stream_id: int, code: h2.errors.ErrorCodes) -> None:
        try:
            self.connection.reset_stream(stream_id, code)
        except (h2.exceptions.ProtocolError, KeyError):
            # The stream is closed already.
            return

    # Incoming events.

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        for event in events:
            if isinstance(event, h2.events.DataReceived):
                self._budget.earn_content(len(event.data))
            if isinstance(event, h2.events.DataReceived) and event.stream_id not in self.streams:
                # The response was sent before the whole body arrived. RFC 9113 section 8.1 permits
                # a reset, but common clients then lose the response. The body is discarded instead,
                # at most for the idle time of the connection.
                self.connection.acknowledge_received_data(
                    event.flow_controlled_length, event.stream_id
                )
            elif isinstance(event, h2.events.DataReceived):
                await self.streams[event.stream_id].handle(
                    Body(stream_id=event.stream_id, data=event.data)
                )
                padding = event.flow_controlled_length - len(event.data)
                if padding:
                    self.connection.acknowledge_received_data(padding, event.stream_id)
            elif isinstance(event, h2.events.PriorityUpdated):
                # Deprecated (RFC 9113 section 5.3.2), and open to abuse.
                continue
            elif isinstance(event, h2.events.ConnectionTerminated) and not event.error_code:
                self._drain_after_goaway()
            elif isinstance(event, h2.events.StreamReset):
                self._resets += 1
                if self._resets > _RESETS + self._requests // 2:
                    raise Flooding
                await super()._handle_events([event])
            elif isinstance(event, h2.events.RequestReceived):
                await self._open(event)
            else:
                await super()._handle_events([event])
        await self._flush()

    def _drain_after_goaway(self) -> None:
        """Let requests in progress finish after the client sent GOAWAY."""
        self._goaway_received = True
        # h2 treats the client's GOAWAY as the end, but open streams continue (RFC 9113 section
        # 6.8).
        self.connection.state_machine.state = h2.connection.ConnectionState.SERVER_OPEN
        self.settle()

    async def _open(self, event: h2.events.RequestReceived) -> None:
        if (
            self.leaving
            or len(self._exchanges) >= self._most_streams
            or not self._pacer.has_room(self._share)
        ):
            # The request was not processed, so the client may repeat it on another connection.
            self._reset(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
            return
        self._requests += 1
        self._budget.earn_request()
        headers = dict(event.headers)
        if headers[b":method"] == b"CONNECT":
            self._reset(event.stream_id, h2.errors.ErrorCodes.HTTP_1_1_REQUIRED)
            return
        rejection, requested = None, ""
        try:
            self._check(event, headers)
        except RequestRejected as found:
            rejection = found
            requested = headers[b":path"].partition(b"?")[0][:512].decode("latin-1")
            # hypercorn must be able to decode rejected requests too.
            plain = {b":path": b"/", b":method": b"GET"}
            event.headers = [(name, plain.get(name, value)) for name, value in event.headers]
        self._opening = event.stream_id, rejection, requested
        await super()._handle_events([event])

    def _check(self, event: h2.events.RequestReceived, headers: dict[bytes, bytes]) -> None:
        limits = self._handler.limits
        if len(event.headers) > limits.header_count:
            raise RequestRejected(
                "head_too_large", f"The head may have at most {limits.header_count} header fields."
            )
        # Counted as in the HTTP/2 settings (RFC 9113 section 6.5.2).
        if sum(len(name) + len(value) + 32 for name, value in event.headers) > limits.head_size:
            raise RequestRejected(
                "head_too_large", f"The head may have at most {limits.head_size} bytes."
            )
        path = headers[b":path"]
        if len(path) > limits.target_length:
            raise RequestRejected(
                "target_too_long", f"Path and query may have at most {limits.target_length} bytes."
            )
        method = headers[b":method"]
        # Methods are case-sensitive, but hypercorn converts them to upper case (RFC 9110 section
        # 9.1).
        if not _METHOD.fullmatch(method):
            raise RequestRejected("not_implemented", "The method of the request is not supported.")
        if read_target(path, of_options=method == b"OPTIONS").authority is not None:
            raise malformed("The path must start with '/'.")
        host = headers.get(b":authority", headers.get(b"host"))
        if host is None:
            raise malformed("The request has no host.")
        check_host(host)

    async def _close_stream(self, stream_id: int) -> None:
        exchange = self._exchanges.get(stream_id)
        if exchange is not None:
            exchange.client_left()
        await super()._close_stream(stream_id)


async def _unused_application() -> None:
    raise NotImplementedError("the protocol starts its application with spawn_app")
