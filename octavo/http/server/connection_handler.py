"""What all connections of one server share, and how each is let in and served."""

import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import trio
from hypercorn.config import Config

from octavo.http.server.admission import ConnectionAdmission
from octavo.http.server.asgi import Application, SocketAddress
from octavo.http.server.error_boundary import contained, only
from octavo.http.server.http1.connection import Http1Connection, Http2Begins
from octavo.http.server.http1.head import Headers
from octavo.http.server.http2.connection import Http2Connection
from octavo.http.server.limits import Limits
from octavo.http.server.proxies import ForwardedHeader, Network, Peer, client_of, is_within
from octavo.http.server.rejection import ClientGone, RequestRejected
from octavo.http.server.rejection_writer import RejectedRequest, RejectionWriter
from octavo.http.server.response import date_line
from octavo.http.server.transport import plain_transport, tls_transport
from octavo.http.server.watchdog import CloseReason, Watchdog, Watched

_log = logging.getLogger(__name__)

Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a wire works, apart from what it serves.

    ``now`` tells the wall clock in seconds since 1970, ``new_id`` makes request ids. The
    networks of ``trusted_proxies`` are believed what ``proxy_header`` says of their clients.
    ``problem_base`` is the public address that the types of problems begin with. ``log_refused``
    receives every request that the wire refuses by itself. Without ``http2`` HTTP/1 alone is
    served.
    """

    now: Callable[[], float]
    new_id: Callable[[], str]
    limits: Limits
    trusted_proxies: Sequence[Network] = ()
    proxy_header: ForwardedHeader = "x-forwarded"
    problem_base: str = ""
    http2: bool = False
    log_refused: Callable[[RejectedRequest], None] = field(default=lambda refused: None)


class ConnectionHandler:
    """The connections of one server over one ``application``.

    `watch` has to run as long as connections are served. ``date`` is the line of the date
    header now.
    """

    def __init__(self, application: Application, options: ServerOptions) -> None:
        limits = options.limits
        self.application = application
        self.limits = limits
        self.new_id = options.new_id
        self.http2 = options.http2
        self.stopping = trio.Event()
        self.state: Mapping[str, Any] = {}
        self._options = options
        self._admission = ConnectionAdmission(
            limits.connections, limits.connections_per_client, options.trusted_proxies
        )
        self.watchdog = Watchdog(limits, self._tell_time)
        self._handshakes: set[trio.CancelScope] = set()
        self.date = b""
        self.refusals = RejectionWriter(
            new_id=options.new_id,
            client_of=self.client_of,
            date=lambda: self.date,
            problem_base=options.problem_base,
            log_refused=options.log_refused,
        )

    @property
    def open(self) -> int:
        """How many connections are open."""
        return self._admission.open

    async def watch(self) -> None:
        """Watch the deadlines of all connections, until cancelled."""
        await self.watchdog.run()

    def stop(self) -> None:
        """Let no connection outlast its request: idle ones end now, WebSockets are told.

        A connection on which the next request has arrived already still gets its answer.
        """
        self.stopping.set()
        soon = trio.current_time() + self.limits.linger_time
        for connection in self.watchdog.connections():
            if connection.idle and not connection.has_input():
                connection.terminate(CloseReason.SHUTDOWN)
            else:
                connection.shorten_deadline(soon)
        for handshake in self._handshakes:
            handshake.deadline = min(handshake.deadline, soon)

    async def serve(self, stream: Stream, config: Config) -> None:
        """Serve one connection until it ends; whatever goes wrong with it stays with it.

        The stream is closed at the end. When cancelled, what is in flight is cut off.
        """
        # A stream of TLS that ended in order has let go of the one below it.
        raw = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
        try:
            await self._serve(stream, config)
        except BaseException as error:  # noqa: BLE001  # the border of the connection
            failure = contained(error)
            if not only(error, ClientGone):
                _log.error("connection %s failed", self._any_id(), exc_info=failure)
        finally:
            # What was sent is the system's: this takes nothing of it back.
            await trio.aclose_forcefully(raw)

    async def _serve(self, stream: Stream, config: Config) -> None:
        tls = isinstance(stream, trio.SSLStream)
        socket = _socket(stream)
        try:
            client, server = _address(socket.getpeername()), _address(socket.getsockname())
        except OSError:
            # It went before it was looked at.
            return
        address = None if client is None else client[0]
        trusted = client is not None and is_within(client[0], self._options.trusted_proxies)
        peer = Peer(client, server, "https" if tls else "http", trusted)
        if self._admission.admit(address) is not None:
            if not tls:
                self._turn_away(stream, peer)
            return
        try:
            await self._speak(stream, peer, config)
        finally:
            self._admission.release(address)

    async def _speak(self, stream: Stream, peer: Peer, config: Config) -> None:
        if isinstance(stream, trio.SSLStream):
            seconds = self.limits.linger_time if self.stopping.is_set() else self.limits.head_time
            with trio.move_on_after(seconds) as handshake:
                self._handshakes.add(handshake)
                try:
                    await stream.do_handshake()
                except trio.BrokenResourceError as error:
                    _log.info("TLS failed with %s: %s", _name(peer), _reason(error))
                    return
                finally:
                    self._handshakes.remove(handshake)
            if handshake.cancelled_caught:
                _log.info("TLS failed with %s: it took too long", _name(peer))
                return
            transport = tls_transport(stream)
            modern = stream.selected_alpn_protocol() == "h2"
        else:
            transport = plain_transport(stream)
            modern = False
        received = b""
        if not modern:
            connection = Http1Connection(self, transport, peer)
            try:
                await self._watched(connection, connection.run)
            except Http2Begins as begins:
                received = begins.received
            else:
                return
        http2 = Http2Connection(self, transport, peer, config)
        await self._watched(http2, lambda: http2.run(received))

    async def _watched(self, connection: Watched, run: Callable[[], Any]) -> None:
        self.watchdog.add(connection)
        try:
            await run()
        finally:
            self.watchdog.remove(connection)

    def _turn_away(self, stream: Stream, peer: Peer) -> None:
        """Say that there are too many connections, as far as that takes no waiting."""
        assert isinstance(stream, trio.SocketStream)
        transport = plain_transport(stream)
        # Bytes left unread would turn the close into a reset, which takes the answer away.
        transport.receive_now()
        refusal = RequestRejected(
            "too_many_connections",
            "Too many connections are open. Close some, or try again later.",
            headers=((b"retry-after", b"5"),),
        )
        self._tell_time()
        transport.send_now(self.refusals.answer_unseen(refusal, peer))

    def _any_id(self) -> str:
        try:
            return self.new_id()
        except Exception:  # noqa: BLE001  # told at the border, past which nothing may raise
            return "without an id"

    def client_of(self, peer: Peer, headers: Headers) -> tuple[SocketAddress | None, str]:
        """Return who the client is and which scheme it speaks, by what trusted proxies say."""
        if not peer.trusted or peer.client is None:
            return peer.client, peer.scheme
        address, scheme = client_of(
            peer.client[0],
            peer.scheme,
            headers,
            trusted=self._options.trusted_proxies,
            header=self._options.proxy_header,
        )
        return (peer.client if address == peer.client[0] else (address, 0)), scheme

    def _tell_time(self) -> None:
        self.date = date_line(int(self._options.now()))


def _name(peer: Peer) -> str:
    return "a client" if peer.client is None else peer.client[0]


def _reason(error: trio.BrokenResourceError) -> str:
    cause = error.__cause__
    if isinstance(cause, ssl.SSLError) and cause.reason:
        return cause.reason.lower().replace("_", " ")
    return "it left"


def _socket(stream: Stream) -> trio.socket.SocketType:
    return (stream.transport_stream if isinstance(stream, trio.SSLStream) else stream).socket


def _address(name: object) -> SocketAddress | None:
    # A Unix socket has a path for a name.
    return (name[0], name[1]) if isinstance(name, tuple) else None
