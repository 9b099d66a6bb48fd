"""One HTTP/1.1 connection: request after request, in order, in one task.

Nothing is started for a request: no task, nursery, channel or timer. The deadlines are plain
numbers that the `Watchdog` looks at, and one cancel scope a connection is what it ends.
"""

import logging
import math
import select
from typing import TYPE_CHECKING

import trio

from octavo.http.server.asgi import asgi_scope
from octavo.http.server.error_boundary import contained, only
from octavo.http.server.http1.body import request_body
from octavo.http.server.http1.exchange import Http1Exchange
from octavo.http.server.http1.head import END, parse_head, read_partial_head
from octavo.http.server.http1.head_buffer import gather_head, split_head, without_empty_lines
from octavo.http.server.http1.upgrade import HandedStream, check_handshake
from octavo.http.server.rejection import ClientGone, RequestRejected, body_stopped, request_too_slow
from octavo.http.server.transport import PATIENCE, Transport
from octavo.http.server.watchdog import CloseReason, ConnectionState

if TYPE_CHECKING:
    from octavo.http.server.connection_handler import ConnectionHandler
    from octavo.http.server.proxies import Peer

_log = logging.getLogger(__name__)

# What HTTP/2 begins with (RFC 9113 section 3.4) reads like a head of HTTP/1.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\n"


class Http2Begins(Exception):
    """The client speaks HTTP/2; ``received`` are its bytes so far."""

    def __init__(self, received: bytes) -> None:
        super().__init__()
        self.received = received


class Http1Connection:
    """A connection over which HTTP/1.1 is spoken, or HTTP/1.0."""

    __slots__ = (
        "_buffer",
        "_close_reason",
        "_peer",
        "_raw",
        "_requests",
        "_scope",
        "_transport",
        "_watchdog",
        "_wire",
        "deadline",
        "descriptor",
        "left_at",
        "limits",
        "request",
        "request_deadline",
        "seen_request",
        "state",
        "write_deadline",
    )

    def __init__(self, wire: "ConnectionHandler", transport: Transport, peer: "Peer") -> None:
        self._wire = wire
        self._watchdog = wire.watchdog
        self._transport = transport
        self._peer = peer
        self._buffer = b""
        self._raw = b""
        self._requests = 0
        self._scope = trio.CancelScope()
        self._close_reason: CloseReason | None = None
        self.limits = wire.limits
        self.descriptor = transport.descriptor
        self.state = ConnectionState.REQUEST
        self.deadline = self.request_deadline = self.write_deadline = math.inf
        self.request: Http1Exchange | None = None
        self.seen_request: object = None
        self.left_at: float | None = None

    async def run(self) -> None:
        """Serve the connection until it ends, whoever ends it.

        Raises `Http2Begins` when the client turns out to speak HTTP/2. Closing the socket is up
        to the caller; when cancelled, what is in flight is cut off.
        """
        with self._scope:
            try:
                await self._serve()
            except RequestRejected as refusal:
                await self._refuse(refusal)
            except ClientGone:
                return
        if self._scope.cancelled_caught and self._close_reason is not None:
            with trio.move_on_after(self.limits.linger_time):
                await self._farewell(self._close_reason)

    # What the watchdog calls.

    def terminate(self, reason: CloseReason) -> None:
        """Close the connection for ``reason``. Calls after the first have no effect."""
        if self._close_reason is None:
            self._close_reason = reason
            exchange = self.request
            if exchange is not None and exchange.refusal is None:
                exchange.refusal = _refusal_of(
                    reason, waiting_for_body=self.state is ConnectionState.BODY
                )
            self._scope.cancel(reason=reason.name)

    def client_left(self) -> bool:
        """Learn that the client left; return whether that ends the connection."""
        exchange = self.request
        if exchange is None or exchange.begun:
            # While the answer is sent, the socket itself tells.
            return False
        exchange.gone = True
        if exchange.leaves is not None:
            exchange.leaves.set()
        return not exchange.finishes

    # What the exchange calls.

    async def receive_body(self) -> bytes:
        """Wait for bytes of the body, for so long as bodies may pause."""
        data = self._buffer
        if data:
            self._buffer = b""
            return data
        return await self._receive(ConnectionState.BODY, self.limits.body_idle_time)

    def put_back(self, rest: bytes) -> None:
        """Keep what was received beyond the body."""
        self._buffer = rest

    async def send(self, data: bytes) -> None:
        """Send all of ``data``, for so long as a client may take for it."""
        transport = self._transport
        sent = transport.send_now(data)
        if sent == len(data):
            transport.eager += 1
            if transport.eager > PATIENCE:
                transport.eager = 0
                await trio.lowlevel.checkpoint()
        else:
            self.write_deadline = self._watchdog.now + self.limits.write_time
            try:
                await transport.send(memoryview(data)[sent:])
            finally:
                self.write_deadline = math.inf

    def send_now(self, data: bytes) -> int:
        """Send what can be sent without waiting, and answer how many bytes that was."""
        return self._transport.send_now(data)

    async def receive(self) -> bytes:
        """Wait for bytes without a deadline."""
        return await self._transport.receive()

    async def send_end(self) -> None:
        """Tell the client that no more comes."""
        await self._transport.send_end()

    def allow(self, seconds: float) -> None:
        """Let the whole request take ``seconds`` from now."""
        self.request_deadline = trio.current_time() + seconds

    @property
    def date(self) -> bytes:
        """The line of the date header."""
        return self._wire.date

    def new_id(self) -> str:
        """Make an identifier."""
        return self._wire.new_id()

    @property
    def closes(self) -> bool:
        """True when the connection closes after this request, whatever it is."""
        return self._wire.stopping.is_set() or self._requests >= self.limits.requests_per_connection

    @property
    def stopping(self) -> trio.Event:
        """The event that is set when the service stops."""
        return self._wire.stopping

    @property
    def idle(self) -> bool:
        """True while no request is there, not even a part of one."""
        return self.state is ConnectionState.IDLE

    def has_input(self) -> bool:
        """Return whether bytes have arrived that nobody has read yet."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def shorten_deadline(self, deadline: float) -> None:
        """Wait at most until ``deadline`` for the rest of a head, or of a body to be discarded."""
        if self.state in (ConnectionState.HEAD, ConnectionState.DRAIN):
            self.deadline = min(self.deadline, deadline)

    def take_over(self) -> trio.abc.HalfCloseableStream:
        """Return the rest of the connection as a stream that begins with the request's head."""
        replayed, self._buffer = self._raw + self._buffer, b""
        self.request_deadline = math.inf
        self.request = None
        return HandedStream(self, replayed)

    # How it goes.

    async def _serve(self) -> None:
        while True:
            self._raw = b""
            raw = await self._read_head()
            if not raw:
                return
            self.request_deadline = self._watchdog.now + self.limits.request_time
            if raw == _PREFACE and not self._requests:
                if not self._wire.http2:
                    raise RequestRejected(
                        "http_version_not_supported", "Use HTTP/1.1: HTTP/2 is off."
                    )
                raise Http2Begins(raw + self._buffer)
            self._requests += 1
            self._raw = raw
            head = parse_head(raw, self.limits)
            exchange = Http1Exchange(self, head, request_body(head.length, self.limits))
            if head.websocket and not await self._agrees(exchange):
                return
            await self._answer(exchange)
            self.request_deadline = math.inf
            if exchange.close or self.stopping.is_set() or not await self._drain(exchange):
                if not exchange.taken:
                    await self._linger(expecting=not exchange.body.complete)
                return

    async def _read_head(self) -> bytes:
        """Wait for a whole head; ``b""`` when the client ends the connection instead."""
        data, self._buffer = self._buffer, b""
        if data[:2] == b"\r\n":
            data = without_empty_lines(data)
        if not data:
            data = await self._wait_for_request()
            if not data:
                return data
        end = data.find(END)
        if end == len(data) - len(END) and 0 < end <= self.limits.head_size - len(END):
            return data
        if end > 0:
            raw, self._buffer = split_head(data, end, self.limits)
            return raw
        self.state = ConnectionState.HEAD
        self.deadline = self._watchdog.now + self.limits.head_time
        self._raw = data
        raw, self._buffer = await gather_head(data, self._receive_head, self.limits)
        self.deadline = math.inf
        self.state = ConnectionState.REQUEST
        return raw

    async def _receive_head(self) -> bytes:
        data = await self._transport.receive()
        if len(self._raw) <= self.limits.target_length:
            # A refusal tells what was asked for, as far as that is known.
            self._raw += data
        return data

    async def _wait_for_request(self) -> bytes:
        """Wait for the begin of a request, without empty lines before it."""
        limits = self.limits
        seconds = limits.idle_time if self._requests else limits.head_time
        if self._wire.stopping.is_set():
            # It came while the service stops: what it wants must be on its way.
            seconds = min(seconds, limits.linger_time)
        self.state = ConnectionState.IDLE
        self.deadline = self._watchdog.now + seconds
        while True:
            data = await self._transport.receive_later()
            if data[:2] == b"\r\n":
                data = without_empty_lines(data)
                if not data:
                    continue
            self.deadline = math.inf
            self.state = ConnectionState.REQUEST
            return data

    async def _receive(self, state: ConnectionState, seconds: float) -> bytes:
        self.state = state
        self.deadline = self._watchdog.now + seconds
        try:
            return await self._transport.receive()
        finally:
            self.deadline = math.inf
            self.state = ConnectionState.REQUEST

    async def _answer(self, exchange: Http1Exchange) -> None:
        wire, peer = self._wire, self._peer
        client, scheme = peer.client, peer.scheme
        if peer.trusted:
            client, scheme = wire.client_of(peer, exchange.head.headers)
        scope = asgi_scope(exchange.head, client, peer.server, scheme, wire.state, exchange)
        self.request = exchange
        failure: BaseException | None = None
        try:
            await wire.application(scope, exchange.receive, exchange.send)
        except BaseException as error:  # noqa: BLE001  # the border of the connection
            failure = contained(error)
        if failure is not None and not (exchange.gone and only(failure, ClientGone)):
            _log.error(
                "the application failed in request %s", exchange.request_id, exc_info=failure
            )
        elif not (exchange.done or exchange.gone):
            _log.error(
                "the application ended request %s without a whole answer", exchange.request_id
            )
        if self._close_reason is not None:
            # An application that made something else of its cancellation ends all the same.
            await trio.lowlevel.checkpoint_if_cancelled()
        self.request = None
        if exchange.done:
            # The answer stands, whatever came behind it.
            exchange.close = exchange.close or exchange.gone or failure is not None
        elif exchange.refusal is not None:
            await self._end(exchange, exchange.refusal)
        elif exchange.gone:
            raise ClientGone
        else:
            await self._end(
                exchange,
                RequestRejected(
                    "internal_error", "The service failed. Its log has the request id."
                ),
            )

    async def _drain(self, exchange: Http1Exchange) -> bool:
        """Take the rest of a body that nobody read; False when it doesn't come."""
        if exchange.body.complete:
            return True
        body = exchange.body
        self.state = ConnectionState.DRAIN
        # One deadline for all of it: a client that drips would never meet one of each byte.
        self.deadline = self._watchdog.now + self.limits.body_idle_time
        while not body.complete:
            data, self._buffer = self._buffer, b""
            if not data:
                data = await self._transport.receive()
            if not data:
                return False
            _, self._buffer = body.feed(data)
        self.deadline = math.inf
        self.state = ConnectionState.REQUEST
        return True

    async def _agrees(self, exchange: Http1Exchange) -> bool:
        """Return whether a WebSocket can be opened; say why not."""
        try:
            check_handshake(exchange.head)
        except RequestRejected as refusal:
            self._wire.refusals.log(refusal, exchange.request_id, self._peer, exchange.head)
            await self._end(exchange, refusal)
            await self._linger(expecting=True)
            return False
        return True

    async def _refuse(self, refusal: RequestRejected) -> None:
        """Return what could not be read, and let it arrive."""
        asked = read_partial_head(self._raw)
        head_only = asked.method == "HEAD"
        await self.send(
            self._wire.refusals.answer_unseen(refusal, self._peer, asked, head_only=head_only)
        )
        await self._linger(expecting=True)

    async def _end(self, exchange: Http1Exchange, refusal: RequestRejected) -> None:
        """Return ``refusal`` in place of the application, and let it arrive."""
        if exchange.begun:
            # What was sent must not look like a whole answer.
            raise ClientGone
        if exchange.refusal is not None:
            self._wire.refusals.log(
                refusal, exchange.request_id, self._peer, exchange.head, seen=True
            )
        head_only = exchange.head.method == "HEAD"
        answer = self._wire.refusals.answer(refusal, exchange.request_id, head_only=head_only)
        await self.send(answer)
        exchange.close = True

    async def _farewell(self, reason: CloseReason) -> None:
        """Tell the client why its connection ends, where that is of use to it."""
        exchange = self.request
        try:
            if exchange is not None and exchange.refusal is not None:
                await self._end(exchange, exchange.refusal)
                await self._linger(expecting=not exchange.body.complete)
            elif exchange is None and reason is CloseReason.HEAD_TIMEOUT:
                await self._refuse(
                    RequestRejected("head_timeout", "The head of the request stopped arriving.")
                )
            elif exchange is None and reason is CloseReason.DRAIN_TIMEOUT:
                await self._linger(expecting=True)
        except ClientGone:
            return

    async def _linger(self, *, expecting: bool) -> None:
        """Wait until the client has seen the end, so that no reset takes the answer from it."""
        self.state = ConnectionState.LINGER
        self.deadline = self._watchdog.now + self.limits.linger_time
        await self._transport.linger(expecting=expecting)


def _refusal_of(reason: CloseReason, *, waiting_for_body: bool) -> RequestRejected | None:
    """Return what a client is told whose request is cut off, unless it is gone."""
    if reason is CloseReason.BODY_TIMEOUT:
        return body_stopped()
    if reason is not CloseReason.REQUEST_TIMEOUT:
        return None
    return request_too_slow(waiting_for_body=waiting_for_body)
