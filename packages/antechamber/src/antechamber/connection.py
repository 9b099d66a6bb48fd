"""One HTTP/1.1 connection, whose requests are served sequentially in one task.

A request starts no task, nursery, channel or timer. Deadlines are plain numbers that the `Watchdog`
checks, and each connection has one cancel scope.
"""

import logging
import math
import select
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from antechamber.asgi import asgi_scope
from antechamber.body import NO_BODY, Body, request_body
from antechamber.error_boundary import contained, only
from antechamber.exchange import HttpExchange
from antechamber.head import (
    END,
    Head,
    gather_head,
    parse_head,
    read_partial_head,
    skip_empty_lines,
    split_head,
)
from antechamber.network_prefix import network_prefix
from antechamber.rejection import ClientGone, RequestRejected
from antechamber.transport import MAX_EAGER, Transport
from antechamber.upgrade import Upgrade, UpgradedStream, check_handshake
from antechamber.watchdog import CloseReason, ConnectionState

if TYPE_CHECKING:
    from antechamber.connection_handler import ConnectionHandler
    from antechamber.proxies import Peer

_log = logging.getLogger(__name__)
_FAILED = "the application failed in request %s"

LONGEST_KNOWN = 2_048
"""Bytes of a request head that is kept for the next request of its connection."""


class HttpConnection:
    """A connection over which a client speaks HTTP/1.1 or HTTP/1.0.

    Deadlines are on trio's clock; ``math.inf`` means none.

    Attributes:
        handler: that of the server, which its connections share.
        limits: those of the server.
        last_request: whether the connection closes after the present request.
        descriptor: the file descriptor of the socket.
        state: the activity, which determines the meaning of ``deadline``.
        deadline: that of the activity.
        request_deadline: that of the request in progress.
        write_deadline: that of the current write.
        request: the request in progress that the client waits for, or None.
        seen_request: the request at the last tick; set by the watchdog.
        left_at: the time of the disconnect; set by the watchdog.
    """

    __slots__ = (
        "_buffer",
        "_close_reason",
        "_known",
        "_network",
        "_peer",
        "_raw",
        "_requests",
        "_scope",
        "_transport",
        "_upgrade",
        "_watchdog",
        "deadline",
        "descriptor",
        "handler",
        "last_request",
        "left_at",
        "limits",
        "request",
        "request_deadline",
        "seen_request",
        "state",
        "write_deadline",
    )

    def __init__(self, handler: "ConnectionHandler", transport: Transport, peer: "Peer") -> None:
        self.handler = handler
        self._watchdog = handler.watchdog
        self._transport = transport
        self._peer = peer
        self._network = ""
        self._buffer = b""
        self._raw = b""
        self._known: tuple[bytes, Head] | None = None
        self._upgrade: Upgrade | None = None
        self._requests = 0
        self.last_request = False
        self._scope = trio.CancelScope()
        self._close_reason: CloseReason | None = None
        self.limits = handler.limits
        self.descriptor = transport.descriptor
        self.state = ConnectionState.REQUEST
        self.deadline = self.request_deadline = self.write_deadline = math.inf
        self.request: HttpExchange | None = None
        self.seen_request: object = None
        self.left_at: float | None = None

    async def run(self) -> None:
        """Serve the connection until either side ends it. The caller closes the socket.

        Cancellation aborts a request in progress.
        """
        with self._scope:
            # A request passes through all coroutines between trio and this loop: so they are few.
            try:
                while True:
                    self._raw = b""
                    data, self._buffer = self._buffer, b""
                    if data[:2] == b"\r\n":
                        data = skip_empty_lines(data)
                    if not data:
                        limits = self.limits
                        seconds = limits.idle_timeout if self._requests else limits.header_timeout
                        if self.handler.is_stopping:
                            # The connection was accepted during the stop: its request must arrive
                            # soon.
                            seconds = min(seconds, limits.linger_timeout)
                        self.state = ConnectionState.IDLE
                        self.deadline = self._watchdog.now + seconds
                        data = await self._transport.receive_later()
                        while data[:2] == b"\r\n":
                            data = skip_empty_lines(data) or await self._transport.receive_later()
                        self.deadline = math.inf
                        self.state = ConnectionState.REQUEST
                        if not data:
                            return
                    end = len(data) - len(END)
                    if data.find(END) != end or not 0 < end <= self.limits.head_size - len(END):
                        data = await self._read_head(data)
                    if not await self._serve(data):
                        break
                if self._upgrade is not None:
                    # A WebSocket lasts long: keep nothing of its request.
                    data, self._raw, self._known = b"", b"", None
                    await self._serve_upgraded(self._upgrade)
            except RequestRejected as rejection:
                await self._reject(rejection)
            except ClientGone:
                return
        if self._scope.cancelled_caught and self._close_reason is not None:
            with trio.move_on_after(self.limits.linger_timeout):
                await self._send_close_reason(self._close_reason)
        # A reference cycle would keep the connection in memory, with the last request.
        self.request = None

    # Called by the watchdog, and by the handler at a stop.

    def terminate(self, reason: CloseReason) -> None:
        """Close the connection for ``reason``. Calls after the first have no effect."""
        if self._close_reason is None:
            self._close_reason = reason
            exchange = self.request
            if exchange is not None and exchange.rejection is None:
                exchange.rejection = _rejection_for(
                    reason, waiting_for_body=self.state is ConnectionState.BODY
                )
            self._scope.cancel(reason=reason.name)

    def stop(self, deadline: float) -> None:
        """Close the connection if it is idle; otherwise don't wait for input beyond ``deadline``.

        The deadline applies to the rest of a head, and to the rest of a body that is discarded.
        """
        if self.state is ConnectionState.IDLE and not self._has_input():
            self.terminate(CloseReason.SHUTDOWN)
        elif self.state in (ConnectionState.HEAD, ConnectionState.DRAIN):
            self.deadline = min(self.deadline, deadline)

    def _has_input(self) -> bool:
        """Return whether the socket has unread bytes."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def client_left(self) -> bool:
        """Record that the client disconnected; return whether that ends the connection."""
        exchange = self.request
        if exchange is None or exchange.started:
            # While the response is sent, the socket reports the disconnect.
            return False
        exchange.gone = True
        if exchange.disconnected is not None:
            exchange.disconnected.set()
        return not exchange.finishes

    # Called by the exchange, and by the upgraded stream.

    async def receive_body(self) -> bytes:
        """Wait for bytes of the body, at most ``body_timeout`` seconds.

        Returns ``b""`` at the end of input.
        """
        data = self._buffer
        if data:
            self._buffer = b""
            return data
        return await self._receive(ConnectionState.BODY, self.limits.body_timeout)

    def put_back(self, rest: bytes) -> None:
        """Return bytes received after the end of the body to the buffer."""
        self._buffer = rest

    async def send(self, data: bytes) -> None:
        """Send all of ``data``, at most `WRITE_SIZE` bytes, in at most ``write_timeout`` seconds.

        Raises `ClientGone`.
        """
        transport = self._transport
        sent = transport.send_now(data)
        if sent == len(data):
            transport.eager += 1
            if transport.eager > MAX_EAGER:
                transport.eager = 0
                await trio.lowlevel.checkpoint()
        else:
            self.write_deadline = self._watchdog.now + self.limits.write_timeout
            try:
                await transport.send(memoryview(data)[sent:])
            finally:
                self.write_deadline = math.inf

    async def receive(self) -> bytes:
        """Wait for bytes without a deadline; return ``b""`` at the end of input."""
        return await self._transport.receive()

    async def send_end(self) -> None:
        """Shut down the sending side. Raises `ClientGone`."""
        await self._transport.send_end()

    def may_begin(self) -> bool:
        """Count a message of the client; return False when it has to wait for `begin`."""
        return self.handler.turns.may_begin(self._network)

    async def begin(self) -> None:
        """Wait until the client may begin a message. Cancellation counts nothing."""
        await self.handler.turns.begin(self._network)

    def allow(self, seconds: float) -> None:
        """Set the deadline of the whole request to ``seconds`` from now."""
        self.request_deadline = trio.current_time() + seconds

    def progressed_at(self) -> float:
        """Return when the current write began, or now."""
        if self.write_deadline == math.inf:
            return trio.current_time()
        return self.write_deadline - self.limits.write_timeout

    def abort(self) -> None:
        """Close the connection without waiting for the client."""
        self.terminate(CloseReason.NO_ROOM)

    # The request loop.

    async def _serve(self, raw: bytes) -> bool:
        """Serve the request whose head is ``raw``; return whether another one may follow."""
        self.request_deadline = self._watchdog.now + self.limits.request_timeout
        self._requests += 1
        self.last_request = self._requests >= self.limits.requests_per_connection
        self._raw = raw
        # Clients that poll or check repeat one head.
        known = self._known
        if known is not None and known[0] == raw:
            head = known[1]
        else:
            head = parse_head(raw, self.limits)
            self._known = (raw, head) if len(raw) <= LONGEST_KNOWN else None
        body = request_body(head.length, self.limits) if head.length != 0 else NO_BODY
        exchange = HttpExchange(self, head, body)
        if head.websocket and not await self._accepts_handshake(exchange):
            return False
        handler, peer = self.handler, self._peer
        client, scheme = peer.client, peer.scheme
        if peer.trusted:
            client, scheme = handler.client_of(peer, head.headers)
        scope = asgi_scope(head, client, peer.server, scheme, handler.state, exchange)
        self._network = network = network_prefix(client[0] if client else None)
        if not handler.turns.may_begin(network):
            await handler.turns.begin(network)
        self.request = exchange
        failure: BaseException | None = None
        try:
            await handler.application(scope, exchange.receive, exchange.send)
        except BaseException as error:  # noqa: BLE001  # the border of the connection
            failure = contained(error)
        if failure is None and exchange.done and self._close_reason is None:
            # What `_conclude` does for nearly every request.
            self.request = None
            exchange.close = exchange.close or exchange.gone
        else:
            failed = failure is not None
            if failure is not None and not (exchange.gone and only(failure, ClientGone)):
                _log.error(_FAILED, exchange.request_id, exc_info=failure)
            # Its traceback refers to this frame: a cycle would keep the request in memory.
            failure = None
            await self._conclude(exchange, failed=failed)
        # Not kept while the rest of a body is discarded, or the client closes.
        del scope
        self.request_deadline = math.inf
        if self._upgrade is not None:
            return False
        if not (exchange.close or self.handler.is_stopping) and (
            body.complete or await self._drain(body)
        ):
            return True
        await self._linger(expecting=not body.complete)
        return False

    async def _serve_upgraded(self, upgrade: Upgrade) -> None:
        try:
            try:
                # If the client is gone, `serve` finds the stream broken.
                with suppress(ClientGone):
                    if upgrade.response:
                        await self.send(upgrade.response)
            finally:
                # Called when this is cancelled, too, so that it can clean up.
                received, self._buffer = upgrade.request + self._buffer, b""
                await upgrade.serve(UpgradedStream(self, self._transport.send_now, received))
        except BaseException as error:  # noqa: BLE001  # the border of the connection
            failure = contained(error)
            if not only(failure, ClientGone):
                _log.error(_FAILED, upgrade.request_id, exc_info=failure)
            del failure

    async def _read_head(self, data: bytes) -> bytes:
        """Return the first head, of which ``data`` is the beginning, or which it goes beyond."""
        end = data.find(END)
        if end > 0:
            raw, self._buffer = split_head(data, end, self.limits)
            return raw
        self.state = ConnectionState.HEAD
        self.deadline = self._watchdog.now + self.limits.header_timeout
        self._raw = data
        raw, self._buffer = await gather_head(data, self._receive_head, self.limits)
        self.deadline = math.inf
        self.state = ConnectionState.REQUEST
        return raw

    async def _receive_head(self) -> bytes:
        data = await self._transport.receive()
        if len(self._raw) <= self.limits.target_length:
            # The rejection logs the request line as far as it arrived.
            self._raw += data
        return data

    async def _receive(self, state: ConnectionState, seconds: float) -> bytes:
        self.state = state
        self.deadline = self._watchdog.now + seconds
        try:
            return await self._transport.receive()
        finally:
            self.deadline = math.inf
            self.state = ConnectionState.REQUEST

    async def _conclude(self, exchange: HttpExchange, *, failed: bool) -> None:
        """Send what is to be sent instead of a response that the application did not complete."""
        done = exchange.done
        if not failed and exchange.upgraded is not None:
            self._upgrade = exchange.upgraded
            done = True
        elif not (failed or done or exchange.gone):
            _log.error(
                "the application ended request %s without a complete response", exchange.request_id
            )
        if self._close_reason is not None and self._upgrade is None:
            # The connection ends even if the application swallowed its cancellation.
            await trio.lowlevel.checkpoint_if_cancelled()
        self.request = None
        if done:
            # The response is complete, whatever failed after it.
            exchange.close = exchange.close or exchange.gone or failed
        elif exchange.rejection is not None:
            await self._end(exchange, exchange.rejection)
        elif exchange.gone:
            raise ClientGone
        else:
            await self._end(
                exchange,
                RequestRejected(
                    "internal_error",
                    "The service failed. Its log has details under the request id.",
                ),
            )

    async def _drain(self, body: Body) -> bool:
        """Discard the rest of an unread body; return False when it doesn't arrive."""
        self.state = ConnectionState.DRAIN
        # One deadline for the whole rest: a slow trickle would never exceed one per byte.
        self.deadline = self._watchdog.now + self.limits.body_timeout
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

    async def _accepts_handshake(self, exchange: HttpExchange) -> bool:
        """Return whether the WebSocket handshake is valid; otherwise send the rejection."""
        try:
            check_handshake(exchange.head)
        except RequestRejected as rejection:
            self.handler.rejections.log(rejection, exchange.request_id, self._peer, exchange.head)
            await self._end(exchange, rejection)
            await self._linger(expecting=True)
            return False
        return True

    async def _reject(self, rejection: RequestRejected) -> None:
        """Send the rejection of a request that could not be parsed, and linger."""
        requested = read_partial_head(self._raw)
        head_only = requested.method == "HEAD"
        await self.send(
            self.handler.rejections.reject(rejection, self._peer, requested, head_only=head_only)
        )
        await self._linger(expecting=True)

    async def _end(self, exchange: HttpExchange, rejection: RequestRejected) -> None:
        """Send ``rejection`` instead of the application's response."""
        if exchange.started:
            # A truncated response must not look complete.
            raise ClientGone
        if exchange.rejection is not None:
            self.handler.rejections.log(
                rejection, exchange.request_id, self._peer, exchange.head, seen=True
            )
        head_only = exchange.head.method == "HEAD"
        response = self.handler.rejections.response(
            rejection, exchange.request_id, head_only=head_only
        )
        await self.send(response)
        exchange.close = True

    async def _send_close_reason(self, reason: CloseReason) -> None:
        """Send the reason of the close where the client can still receive it."""
        exchange = self.request
        try:
            if exchange is not None and exchange.rejection is not None:
                await self._end(exchange, exchange.rejection)
                await self._linger(expecting=not exchange.body.complete)
            elif exchange is None and reason is CloseReason.HEAD_TIMEOUT:
                await self._reject(
                    RequestRejected("head_timeout", "The head of the request stopped arriving.")
                )
            elif exchange is None and reason is CloseReason.DRAIN_TIMEOUT:
                await self._linger(expecting=True)
        except ClientGone:
            return

    async def _linger(self, *, expecting: bool) -> None:
        """Wait until the client closes, since a reset could discard the response."""
        self.state = ConnectionState.LINGER
        self.deadline = self._watchdog.now + self.limits.linger_timeout
        await self._transport.linger(expecting=expecting)


def _rejection_for(reason: CloseReason, *, waiting_for_body: bool) -> RequestRejected | None:
    """Return the rejection of a request closed for ``reason``; None when the client is gone.

    It is certain that nothing was done only if the application still waited for the body. Clients
    and proxies repeat a request after a 408 without asking.
    """
    if reason is CloseReason.BODY_TIMEOUT:
        return RequestRejected(
            "body_timeout", "The body of the request stopped arriving; nothing was done."
        )
    if reason is not CloseReason.REQUEST_TIMEOUT:
        return None
    if waiting_for_body:
        return RequestRejected("body_timeout", "The body of the request took too long to arrive.")
    return RequestRejected(
        "request_timeout",
        "The request took too long. It may have been completed: check before you repeat it.",
        headers=((b"retry-after", b"5"),),
    )
