"""Admit and serve the connections of one server, and hold the state that they share."""

import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from ipaddress import IPv4Address
from typing import Any

import trio

from antechamber.asgi import Application, SocketAddress
from antechamber.connection import HttpConnection
from antechamber.error_boundary import contained, only
from antechamber.head import Headers
from antechamber.limits import Limits, ServerUsage
from antechamber.network_prefix import network_prefix
from antechamber.network_turns import NetworkTurns
from antechamber.proxies import ForwardedHeader, Network, Peer, client_of, is_within, read_address
from antechamber.rejection import ClientGone, RequestRejected
from antechamber.rejection_writer import RejectedRequest, RejectionWriter
from antechamber.response import date_line
from antechamber.transport import plain_transport, tls_transport
from antechamber.watchdog import Watchdog


class AdmissionDenied(Enum):
    """Why a connection is not admitted."""

    TOTAL = "total"
    """The process has its maximum number of connections."""
    PER_CLIENT = "per_client"
    """The client has its maximum number of connections."""


class ConnectionAdmission:
    """Counts open connections and keeps no state of clients without one.

    A client is an IPv4 address, or the /64 network of an IPv6 address, the smallest that a
    subscriber gets (RFC 6177). Addresses in ``exempt``, such as proxies that carry many clients,
    count only towards the total; so do peers without an IP address, on a Unix socket.

    Args:
        total: maximum number of open connections.
        per_client: maximum number of open connections of one client.
        exempt: networks that the limit per client does not apply to.
    """

    def __init__(self, total: int, per_client: int, exempt: Sequence[Network] = ()) -> None:
        self._total = total
        self._per_client = per_client
        self._exempt = exempt
        self._open = 0
        self._counts: dict[IPv4Address | int | None, int] = {}

    @property
    def open(self) -> int:
        """The number of open connections."""
        return self._open

    def admit(self, address: str | None) -> AdmissionDenied | None:
        """Count a new connection from ``address``; return None when it is admitted.

        A connection that is not admitted is not counted and must not be released.
        """
        if self._open >= self._total:
            return AdmissionDenied.TOTAL
        client = self._client(address)
        mine = self._counts.get(client, 0)
        if client is not None and mine >= self._per_client:
            return AdmissionDenied.PER_CLIENT
        self._counts[client] = mine + 1
        self._open += 1
        return None

    def release(self, address: str | None) -> None:
        """Count an admitted connection from ``address`` as closed.

        Raises `ValueError`, and changes nothing, if there is no such connection.
        """
        client = self._client(address)
        mine = self._counts.pop(client, 0)
        if mine == 0:
            raise ValueError(f"no connection from {address} is open")
        if mine > 1:
            self._counts[client] = mine - 1
        self._open -= 1

    def _client(self, address: str | None) -> IPv4Address | int | None:
        known = None if address is None else read_address(address)
        if known is None or is_within(known, self._exempt):
            return None
        return known if isinstance(known, IPv4Address) else int(known) >> 64


_log = logging.getLogger(__name__)

Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """The options of a server, apart from the application.

    ``now`` returns the wall clock in seconds since 1970; ``new_id`` generates request ids. The
    header ``proxy_header`` is trusted from the networks of ``trusted_proxies``. ``problem_base`` is
    the public address that problem types begin with. ``log_rejected`` receives every request
    that the server itself rejects. ``usage`` tells what is used of the limits.
    """

    now: Callable[[], float]
    new_id: Callable[[], str]
    limits: Limits
    trusted_proxies: Sequence[Network] = ()
    proxy_header: ForwardedHeader = "x-forwarded"
    problem_base: str = ""
    log_rejected: Callable[[RejectedRequest], None] = field(default=lambda rejected: None)
    usage: ServerUsage = field(default_factory=ServerUsage)


class ConnectionHandler:
    """The connections of one server to one ``application``.

    `watch` must run while connections are served. ``date`` is the current line of the date header.
    """

    def __init__(self, application: Application, options: ServerOptions) -> None:
        limits = options.limits
        self.application = application
        self.limits = limits
        self.new_id = options.new_id
        self.stopping = trio.Event()
        self.is_stopping = False
        self.state: Mapping[str, Any] = {}
        self._options = options
        self._admission = ConnectionAdmission(
            limits.connections, limits.connections_per_client, options.trusted_proxies
        )
        self.watchdog = Watchdog(limits, self._update_date)
        options.usage.connections = lambda: self.open
        options.usage.most_connections = limits.connections
        self.turns = NetworkTurns(limits.requests_per_round_per_client)
        options.usage.requests_per_round = lambda: self.turns.limit
        self._handshakes: set[trio.CancelScope] = set()
        self.date = b""
        self.rejections = RejectionWriter(
            new_id=options.new_id,
            client_of=self.client_of,
            date=lambda: self.date,
            problem_base=options.problem_base,
            log_rejected=options.log_rejected,
        )

    @property
    def open(self) -> int:
        """The number of open connections."""
        return self._admission.open

    async def watch(self) -> None:
        """Enforce the deadlines of all connections, and pace requests, until cancelled."""
        trio.lowlevel.add_instrument(self.turns)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.watchdog.run)
                nursery.start_soon(self.turns.run)
        finally:
            trio.lowlevel.remove_instrument(self.turns)

    def stop(self) -> None:
        """Close idle connections, and the others after their current request.

        WebSockets see the event ``stopping``. A request that has already arrived on a connection is
        still served.
        """
        self.is_stopping = True
        self.stopping.set()
        soon = trio.current_time() + self.limits.linger_timeout
        for connection in self.watchdog.connections():
            connection.stop(soon)
        for handshake in self._handshakes:
            handshake.deadline = min(handshake.deadline, soon)

    async def serve(self, stream: Stream) -> None:
        """Serve one connection until it ends. Errors are logged, not raised.

        The stream is closed at the end. Cancellation aborts a request in progress.
        """
        # A TLS stream that was closed cleanly no longer references the transport stream.
        raw = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
        try:
            peer = self._admit(stream)
            if peer is not None:
                try:
                    if isinstance(stream, trio.SSLStream):
                        if not await self._shakes_hands(stream, peer):
                            return
                        transport = tls_transport(stream)
                    else:
                        transport = plain_transport(stream)
                    # Each request passes through every coroutine between trio and the loop of the
                    # connection: so they are few.
                    connection = HttpConnection(self, transport, peer)
                    self.watchdog.add(connection)
                    try:
                        await connection.run()
                    finally:
                        self.watchdog.remove(connection)
                finally:
                    self._admission.release(_host(peer))
        except BaseException as error:  # noqa: BLE001  # the border of the connection
            failure = contained(error)
            if not only(error, ClientGone):
                _log.error("connection %s failed", self._id_for_log(), exc_info=failure)
            # Its traceback refers to this frame.
            del failure
        finally:
            # Bytes already passed to the kernel are still delivered.
            await trio.aclose_forcefully(raw)

    def _admit(self, stream: Stream) -> Peer | None:
        """Return the client, whose connection is counted until it is released; None without one."""
        tls = isinstance(stream, trio.SSLStream)
        socket = _socket(stream)
        try:
            client, server = _address(socket.getpeername()), _address(socket.getsockname())
        except OSError:
            # The client disconnected before the connection was accepted.
            return None
        trusted = client is not None and is_within(client[0], self._options.trusted_proxies)
        peer = Peer(client, server, "https" if tls else "http", trusted)
        if self._admission.admit(_host(peer)) is not None:
            if not tls:
                self._reject_connection(stream, peer)
            return None
        return peer

    async def _shakes_hands(self, stream: "trio.SSLStream[trio.SocketStream]", peer: Peer) -> bool:
        """Return whether the TLS handshake has succeeded."""
        seconds = self.limits.linger_timeout if self.is_stopping else self.limits.header_timeout
        with trio.move_on_after(seconds) as handshake:
            self._handshakes.add(handshake)
            try:
                # It takes longer than most requests.
                await self.turns.begin(network_prefix(_host(peer)))
                await stream.do_handshake()
            except trio.BrokenResourceError as error:
                _log.info("TLS failed with %s: %s", _name(peer), _reason(error))
                return False
            finally:
                self._handshakes.remove(handshake)
        if handshake.cancelled_caught:
            _log.info("TLS failed with %s: handshake timeout", _name(peer))
        return not handshake.cancelled_caught

    def _reject_connection(self, stream: Stream, peer: Peer) -> None:
        """Send the error response for too many connections, without blocking."""
        assert isinstance(stream, trio.SocketStream)
        transport = plain_transport(stream)
        # Closing with unread bytes would reset the connection and discard the response.
        transport.receive_now()
        rejection = RequestRejected(
            "too_many_connections",
            "Too many connections are open. Close some, or try again later.",
            headers=((b"retry-after", b"5"),),
        )
        self._update_date()
        transport.send_now(self.rejections.reject(rejection, peer))

    def _id_for_log(self) -> str:
        try:
            return self.new_id()
        except Exception:  # noqa: BLE001  # called by the error boundary, which must not raise
            return "without an id"

    def client_of(self, peer: Peer, headers: Headers) -> tuple[SocketAddress | None, str]:
        """Return the client's address and scheme, according to trusted proxies."""
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

    def _update_date(self) -> None:
        self.date = date_line(int(self._options.now()))


def _host(peer: Peer) -> str | None:
    return None if peer.client is None else peer.client[0]


def _name(peer: Peer) -> str:
    return _host(peer) or "a client"


def _reason(error: trio.BrokenResourceError) -> str:
    cause = error.__cause__
    if isinstance(cause, ssl.SSLError) and cause.reason:
        return cause.reason.lower().replace("_", " ")
    return "the client disconnected"


def _socket(stream: Stream) -> trio.socket.SocketType:
    return (stream.transport_stream if isinstance(stream, trio.SSLStream) else stream).socket


def _address(name: object) -> SocketAddress | None:
    # The name of a Unix socket is a path.
    return (name[0], name[1]) if isinstance(name, tuple) else None
