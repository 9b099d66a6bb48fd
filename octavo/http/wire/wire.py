"""What all connections of one server share, and how each is let in and served."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import trio
from hypercorn.config import Config

from octavo.http.wire.admission import Admission
from octavo.http.wire.asgi import Application
from octavo.http.wire.connection import Connection, Http2Begins
from octavo.http.wire.containment import contained, only
from octavo.http.wire.forwarded import ForwardedHeader, Network, client_of, is_within
from octavo.http.wire.head import Headers
from octavo.http.wire.http2 import Http2Connection
from octavo.http.wire.limits import Limits
from octavo.http.wire.problem import MEDIA_TYPE, problem_document
from octavo.http.wire.refusal import ClientGone, Refusal
from octavo.http.wire.response import date_line, encode_head
from octavo.http.wire.scope import Address
from octavo.http.wire.transport import plain_transport, tls_transport
from octavo.http.wire.watchdog import Cut, Watchdog, Watched

_log = logging.getLogger(__name__)

Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of a connection, and how it came.

    ``client`` and ``server`` are addresses with ports, None on a Unix socket; ``trusted`` says
    that the peer is a proxy whose word on its own clients counts.
    """

    client: Address | None
    server: Address | None
    scheme: str
    trusted: bool


class Asked(Protocol):
    """What a request asked for, as far as a log tells."""

    @property
    def method(self) -> str:
        """Its method."""

    @property
    def path(self) -> str:
        """Its path, decoded."""

    @property
    def headers(self) -> Headers:
        """Its headers."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that the wire answered by itself, for the log.

    ``method`` and ``path`` are as far as they could be read; ``size`` is the body's of the
    answer, in bytes. ``seen`` says that the application had the request, and may have logged it.
    """

    request_id: str
    status: int
    code: str
    client: str | None
    size: int
    method: str = ""
    path: str = ""
    seen: bool = False


@dataclass(frozen=True, kw_only=True)
class WireOptions:
    """How a wire works, apart from what it serves.

    ``now`` tells the wall clock in seconds since 1970, ``new_id`` makes request ids. The
    networks of ``trusted_proxies`` are believed what ``proxy_header`` says of their clients.
    ``problem_base`` is the public address that the types of problems begin with. ``log_refused``
    is told of every request that the wire answers by itself.
    """

    now: Callable[[], float]
    new_id: Callable[[], str]
    limits: Limits
    trusted_proxies: Sequence[Network] = ()
    proxy_header: ForwardedHeader = "x-forwarded"
    problem_base: str = ""
    log_refused: Callable[[Refused], None] = field(default=lambda refused: None)


class Wire:
    """The connections of one server over one ``application``.

    `watch` has to run as long as connections are served. ``date`` is the line of the date
    header now.
    """

    def __init__(self, application: Application, options: WireOptions) -> None:
        limits = options.limits
        self.application = application
        self.limits = limits
        self.new_id = options.new_id
        self.stopping = trio.Event()
        self.state: Mapping[str, Any] = {}
        self._options = options
        self._admission = Admission(
            limits.connections, limits.connections_per_client, options.trusted_proxies
        )
        self.watchdog = Watchdog(limits, self._tell_time)
        self.date = b""

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
        for connection in self.watchdog.connections():
            if connection.idle and not connection.has_input():
                connection.cut(Cut.STOP)

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
            with trio.move_on_after(self.limits.head_time) as handshake:
                try:
                    await stream.do_handshake()
                except trio.BrokenResourceError as error:
                    _log.info("TLS failed with %s: %s", peer.client, error.__cause__ or "it left")
                    return
            if handshake.cancelled_caught:
                _log.info("TLS failed with %s: it took too long", peer.client)
                return
            transport = tls_transport(stream)
            modern = stream.selected_alpn_protocol() == "h2"
        else:
            transport = plain_transport(stream)
            modern = False
        received = b""
        if not modern:
            connection = Connection(self, transport, peer)
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
        refusal = Refusal(
            "too_many_connections",
            "Too many connections are open. Close some, or try again later.",
            headers=((b"retry-after", b"5"),),
        )
        self._tell_time()
        transport.send_now(self.refuse(refusal, peer))

    def refuse(
        self, refusal: Refusal, peer: Peer, asked: Asked | None = None, *, head_only: bool = False
    ) -> bytes:
        """Answer, as bytes for HTTP/1.1, the refusal of what no application saw; have it logged."""
        request_id = self.new_id()
        self.log_refused(refusal, request_id, peer, asked)
        return self.refusal_answer(refusal, request_id, head_only=head_only)

    def log_refused(
        self,
        refusal: Refusal,
        request_id: str,
        peer: Peer,
        head: Asked | None,
        *,
        seen: bool = False,
    ) -> None:
        """Have it logged that the wire answered ``refusal``, also in place of an application."""
        try:
            self._tell_refused(refusal, request_id, peer, head, seen=seen)
        except Exception as error:  # noqa: BLE001  # a log that fails costs no answer
            _log.error("the log of refusals failed for %s", request_id, exc_info=error)

    def _any_id(self) -> str:
        try:
            return self.new_id()
        except Exception:  # noqa: BLE001  # told at the border, past which nothing may raise
            return "without an id"

    def _tell_refused(
        self,
        refusal: Refusal,
        request_id: str,
        peer: Peer,
        head: Asked | None,
        *,
        seen: bool,
    ) -> None:
        client = peer.client if head is None else self.client_of(peer, head.headers)[0]
        self._options.log_refused(
            Refused(
                request_id,
                refusal.status,
                refusal.code,
                None if client is None else client[0],
                len(self.refusal_parts(refusal, request_id)[1]),
                "" if head is None else head.method,
                "" if head is None else head.path,
                seen,
            )
        )

    def refusal_answer(self, refusal: Refusal, request_id: str, *, head_only: bool) -> bytes:
        """Answer, as bytes for HTTP/1.1, what tells of ``refusal`` and of the close behind it."""
        headers, body = self.refusal_parts(refusal, request_id)
        head = encode_head(
            refusal.status,
            headers,
            self.date,
            head_only=head_only,
            modern=True,
            whole=len(body),
            close=True,
        )
        return head.data if head_only else head.data + body

    def refusal_parts(self, refusal: Refusal, request_id: str) -> tuple[Headers, bytes]:
        """Answer headers and body that tell of ``refusal``."""
        body = problem_document(
            refusal.status,
            refusal.code,
            refusal.detail,
            request_id,
            base=self._options.problem_base,
        )
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"cache-control", b"no-store"),
            (b"x-request-id", request_id.encode()),
            (b"x-content-type-options", b"nosniff"),
            *refusal.headers,
        ]
        return headers, body

    def client_of(self, peer: Peer, headers: Headers) -> tuple[Address | None, str]:
        """Answer who the client is and which scheme it speaks, by what trusted proxies say."""
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


def _socket(stream: Stream) -> trio.socket.SocketType:
    return (stream.transport_stream if isinstance(stream, trio.SSLStream) else stream).socket


def _address(name: object) -> Address | None:
    # A Unix socket has a path for a name.
    return (name[0], name[1]) if isinstance(name, tuple) else None
