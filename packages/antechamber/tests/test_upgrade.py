"""WebSockets from the socket to the handler, as `antechamber.websocket` serves them."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial

import pytest
import trio
import trio.testing
import trio_websocket
from antechamber.asgi import Application, Receive, Scope, Send
from antechamber.connection import HttpConnection
from antechamber.limits import Limits
from antechamber.network_turns import NetworkTurns
from antechamber.response import InvalidResponse
from antechamber.websocket import ConnectionGone, Handler, ServerWebSocket, WebSockets

from .conftest import Authority
from .http_server import QUICK, Client, Server, routed, serving
from .test_error_boundary import refuse_socket
from .websocket_peer import (
    BINARY,
    CLOSE,
    CONTINUATION,
    HEAD,
    PING,
    PONG,
    SUBPROTOCOL,
    TEXT,
    Peer,
    close,
    echo,
    frame,
)

MAX = 1 << 20
# Ticks so far apart that all tasks can be observed waiting.
PATIENT = replace(QUICK, write_timeout=60, tick=0.5)


def websocket(handler: Handler, close_time: float) -> tuple[WebSockets, Application]:
    sockets = WebSockets(max_message_size=MAX, close_time=close_time)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = scope["extensions"]["antechamber"]
        serve = partial(sockets.serve, handler=handler, stopping=exchange.stopping)
        exchange.upgrade(serve, SUBPROTOCOL if SUBPROTOCOL in scope["subprotocols"] else None)

    return sockets, application


class Place:
    """Where WebSockets are served: plain or under TLS."""

    def __init__(self, authority: Authority | None) -> None:
        self._authority = authority

    @asynccontextmanager
    async def serving(
        self,
        handler: Handler = echo,
        limits: Limits = QUICK,
        *,
        close_time: float = 5.0,
        shutdown_timeout: float = 5.0,
    ) -> AsyncIterator[Server]:
        """Serve ``handler`` at /notices; the server still works afterwards, unless stopped."""
        trust = self._authority
        sockets, application = websocket(handler, close_time)
        async with (
            trio.open_nursery() as nursery,
            serving(
                routed({"/notices": application, "/refused": refuse_socket}),
                limits,
                shutdown_timeout=shutdown_timeout,
                certificate=None if trust is None else trust.certificate,
                tls=None if trust is None else trust.context(),
            ) as server,
        ):
            nursery.start_soon(sockets.run)
            yield server
            nursery.cancel_scope.cancel()
            if not server.shutdown.is_set():
                assert await server.is_well()


async def connect(
    nursery: trio.Nursery, client: Client, path: str = "/notices"
) -> trio_websocket.WebSocketConnection:
    """Open a WebSocket with the client of trio-websocket."""
    assert isinstance(client.stream, trio.SocketStream | trio.SSLStream)
    return await trio_websocket.wrap_client_stream(
        nursery, client.stream, "localhost", path, subprotocols=[SUBPROTOCOL]
    )


@asynccontextmanager
async def foreign(server: Server) -> AsyncIterator[trio_websocket.WebSocketConnection]:
    """Open a WebSocket with the client of trio-websocket, and drop it without a close."""
    async with server.client() as client, trio.open_nursery() as nursery:
        yield await connect(nursery, client)
        nursery.cancel_scope.cancel()


@pytest.fixture(params=["plain", "tls"])
def place(request: pytest.FixtureRequest, authority: Authority) -> Place:
    return Place(authority if request.param == "tls" else None)


@asynccontextmanager
async def opened(server: Server, *more: bytes, head: bytes = HEAD) -> AsyncIterator[Peer]:
    """Open a WebSocket by hand, with ``more`` in the packet of the handshake."""
    async with server.client() as client:
        await client.send(head + b"".join(more))
        peer = Peer(client.stream)
        assert (await peer.head()).startswith(b"HTTP/1.1 101 ")
        yield peer


@pytest.mark.parametrize(
    "message", ["", b"", "one", b"\0\xff", "é" * 1000, "*" * MAX, bytes(MAX)], ids=range(7)
)
async def test_message_is_echoed_to_a_foreign_client(place: Place, message: str | bytes) -> None:
    async with place.serving() as server, foreign(server) as client:
        assert client.subprotocol == SUBPROTOCOL
        for _ in range(2):
            await client.send_message(message)
            assert await client.get_message() == message


async def test_fragments_with_interleaved_pings_are_one_message(place: Place) -> None:
    async with place.serving() as server, opened(server) as peer:
        await peer.send(
            frame(TEXT, b"a" * 70_000, fin=False)
            + frame(PING, b"first")
            + frame(CONTINUATION, b"b", fin=False)
            + frame(PING, b"second")
        )
        assert await peer.frame() == (PONG, b"first")
        assert await peer.frame() == (PONG, b"second")
        await peer.send(frame(CONTINUATION, b"c"))
        assert await peer.frame() == (TEXT, b"a" * 70_000 + b"bc")


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(frame(TEXT, b"\xff"), 1007, id="bad-utf8"),
        pytest.param(frame(TEXT, b"x", masked=False), 1002, id="unmasked"),
        pytest.param(frame(TEXT, b"x", reserved=4), 1002, id="reserved-bit"),
        pytest.param(frame(BINARY, bytes(MAX + 1)), 1009, id="oversize"),
        pytest.param(frame(BINARY, length=1 << 40), 1009, id="announced"),
        pytest.param(frame(BINARY, bytes(200_000), length=1 << 40), 1009, id="announced-and-begun"),
    ],
)
async def test_forbidden_frame_is_reported_before_the_close(
    place: Place, sent: bytes, code: int
) -> None:
    async with place.serving() as server, opened(server) as peer:
        await peer.send(sent)
        assert await peer.close_code() == code


@pytest.mark.parametrize("split", [0, 3, len(frame(TEXT, b"early"))])
async def test_frame_in_the_packet_of_the_handshake_is_not_lost(place: Place, split: int) -> None:
    early = frame(TEXT, b"early")
    async with place.serving() as server, opened(server, early[:split]) as peer:
        await peer.send(early[split:])
        assert await peer.frame() == (TEXT, b"early")


async def test_stray_byte_in_the_packet_of_the_handshake_ends_only_that_connection(
    place: Place,
) -> None:
    async with place.serving() as server, opened(server) as other:
        async with opened(server, b"x") as peer:
            await peer.send(b"y" * 10)
            assert await peer.close_code() == 1002
        await other.send(frame(TEXT, b"still here"))
        assert await other.frame() == (TEXT, b"still here")


async def test_close_of_the_client_is_acknowledged_and_ends_the_connection(place: Place) -> None:
    async with place.serving() as server, opened(server) as peer:
        await peer.send(frame(TEXT, b"last") + close(3001, b"done"))
        assert await peer.frames() == [(TEXT, b"last"), (CLOSE, b"\x0b\xb9done")]


async def test_close_of_the_handler_reaches_a_foreign_client(place: Place) -> None:
    async def sign_out(connection: ServerWebSocket) -> None:
        await connection.close(1008, "signed out")

    async with place.serving(sign_out) as server, foreign(server) as client:
        with pytest.raises(trio_websocket.ConnectionClosed):
            await client.get_message()
        assert client.closed is not None
        assert (client.closed.code, client.closed.reason) == (1008, "signed out")


async def test_crashing_handler_closes_1011_and_is_logged_once_with_the_id(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async def crash(connection: ServerWebSocket) -> None:
        await connection.receive()
        raise LookupError("a bug of the handler")

    head = HEAD.replace(b"host:", b"x-request-id: mine\r\nhost:")
    with caplog.at_level(logging.INFO):
        async with (
            place.serving(crash, close_time=0.5) as server,
            opened(server, head=head) as peer,
        ):
            await peer.send(frame(TEXT, b"now"))
            assert await peer.close_code() == 1011
    [record] = caplog.records
    assert (record.levelname, record.name) == ("ERROR", "antechamber.connection")
    assert record.getMessage() == "the application failed in request mine"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], LookupError)


async def test_client_that_vanishes_ends_the_handler_and_is_not_logged(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    codes: list[int] = []
    ended = trio.Event()

    async def watch(connection: ServerWebSocket) -> None:
        try:
            await connection.receive()
        except ConnectionGone as gone:
            codes.append(gone.code)
        ended.set()

    async with place.serving(watch) as server:
        async with opened(server):
            pass
        with trio.fail_after(5):
            await ended.wait()
    assert codes == [1006]
    assert not caplog.records


class Flood:
    """A handler that sends without end, and its outcome."""

    def __init__(self) -> None:
        self.began = self.ended = 0
        self.over = trio.Event()

    async def __call__(self, connection: ServerWebSocket) -> None:
        self.began += 1
        try:
            while True:
                await connection.send(bytes(65536))
        finally:
            self.ended += 1
            self.over.set()


async def test_client_that_reads_nothing_is_cut_off_in_time(place: Place) -> None:
    flood = Flood()
    async with place.serving(flood) as server, opened(server):
        with trio.fail_after(5):
            await flood.over.wait()


async def test_deadlines_of_requests_do_not_end_a_websocket(place: Place) -> None:
    brief = replace(
        QUICK, request_timeout=0.3, idle_timeout=0.3, header_timeout=0.3, body_timeout=0.3
    )
    async with place.serving(limits=brief) as server, opened(server) as peer:
        with trio.move_on_after(1) as waiting:
            await peer.frame()
        assert waiting.cancelled_caught
        await peer.send(frame(TEXT, b"still here"))
        assert await peer.frame() == (TEXT, b"still here")


async def test_stop_sends_1001_to_a_foreign_client(place: Place) -> None:
    async with place.serving() as server:
        async with foreign(server) as client:
            await client.send_message("open")
            assert await client.get_message() == "open"
            server.shutdown.set()
            with pytest.raises(trio_websocket.ConnectionClosed):
                await client.get_message()
            assert client.closed is not None
            assert client.closed.code == 1001
        with trio.fail_after(3):
            await server.ended.wait()


@pytest.mark.parametrize(
    ("close_time", "shutdown_timeout"),
    [(0.5, 60), (60, 0.5)],
    ids=["by the close", "by the shutdown_timeout"],
)
async def test_stop_with_many_clients_some_not_reading_ends_in_time(
    place: Place, close_time: float, shutdown_timeout: float
) -> None:
    flood = Flood()

    async def by_order(connection: ServerWebSocket) -> None:
        await (flood if await connection.receive() == "flood" else echo)(connection)

    async with (
        place.serving(
            by_order, PATIENT, close_time=close_time, shutdown_timeout=shutdown_timeout
        ) as server,
        AsyncExitStack() as stack,
    ):
        peers = [await stack.enter_async_context(opened(server)) for _ in range(50)]
        deaf, listening = peers[:20], peers[20:]
        for peer in deaf:
            await peer.send(frame(TEXT, b"flood"))
        for peer in listening:
            await peer.send(frame(TEXT, b"echo"))
        # Until nobody can send any more.
        await trio.testing.wait_all_tasks_blocked(0.2)
        assert flood.began == len(deaf)
        assert flood.ended == 0
        server.shutdown.set()
        with trio.fail_after(4):
            for peer in listening:
                assert await peer.close_code() == 1001
                await trio.aclose_forcefully(peer.stream)
            await server.ended.wait()
        assert flood.ended == len(deaf)


async def leave(stream: trio.abc.HalfCloseableStream) -> None:
    await trio.lowlevel.checkpoint()


async def test_application_that_fails_after_its_upgrade_sends_a_500(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"]["antechamber"].upgrade(leave)
        raise LookupError("a bug of the application")

    async with serving(routed({"/notices": fail})) as server, server.client() as client:
        assert (await client.ask(HEAD)).status == 500
        assert await client.is_closed()
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_connection_that_is_cut_off_in_the_handshake_is_served_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that the end of a stream is logged in any case."""
    ended = trio.Event()

    async def stay(stream: trio.abc.HalfCloseableStream) -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    async def upgrade(scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"]["antechamber"].upgrade(stay)
        monkeypatch.setattr(HttpConnection, "send", cut_off)

    async def cut_off(connection: HttpConnection, _: bytes) -> None:
        connection.abort()
        await trio.sleep_forever()

    async with serving(routed({"/notices": upgrade})) as server, server.client() as client:
        await client.send(HEAD)
        with trio.fail_after(5):
            assert await client.is_closed()
            await ended.wait()
        monkeypatch.undo()


async def test_accepted_handshake_has_what_the_protocol_asks_for_and_no_extension() -> None:
    async def accept(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = scope["extensions"]["antechamber"]
        for header in [(b"x-a", b"1\r\nx-b: 2"), (b"connection", b"close")]:
            with pytest.raises(InvalidResponse):
                exchange.upgrade(leave, None, [header])
        exchange.upgrade(leave, SUBPROTOCOL, [(b"x-request-id", b"mine")])
        with pytest.raises(InvalidResponse):
            exchange.upgrade(leave)
        with pytest.raises(InvalidResponse):
            await refuse_socket(scope, receive, send)

    async with serving(routed({"/notices": accept})) as server, server.client() as client:
        await client.send(HEAD)
        assert await client.rest() == (
            b"HTTP/1.1 101 Switching Protocols\r\n"
            b"upgrade: websocket\r\n"
            b"connection: upgrade\r\n"
            # The example of RFC 6455 section 1.3.
            b"sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
            b"sec-websocket-protocol: antechamber.test\r\n"
            b"x-request-id: mine\r\n\r\n"
        )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"host: notes.example", b"host: a..example"),
        (b"host: notes.example", b"host: " + b"a" * 64 + b".example"),
        (b"host: notes.example", b"host: xn--a.example"),
        (b"other, antechamber.test", b"\xc3\xa9, antechamber.test"),
        (b"permessage-deflate", b"\xff"),
        (b"upgrade: ", b"cookie: a=\xc3\xa9\r\nupgrade: "),
    ],
)
async def test_handshake_with_odd_headers_is_accepted(place: Place, old: bytes, new: bytes) -> None:
    async with place.serving() as server, opened(server, head=HEAD.replace(old, new)) as peer:
        await peer.send(frame(PING, b"?"))
        assert await peer.frame() == (PONG, b"?")


@pytest.mark.parametrize(
    "key", [b"", b"x", b"dGhlIHNhbXBsZSBub25jZQ", b"dGhlIHNhbXBsZSBub25jZWQ=", b"\xff" * 24]
)
async def test_handshake_with_an_invalid_key_is_refused(place: Place, key: bytes) -> None:
    async with place.serving() as server, server.client() as client:
        refusal = await client.ask(HEAD.replace(b"dGhlIHNhbXBsZSBub25jZQ==", key))
        assert refusal.status == 400
        assert await client.is_closed()


async def test_path_without_a_websocket_sends_a_foreign_client_its_response(
    place: Place,
) -> None:
    async with place.serving() as server, server.client() as client:
        with pytest.RaisesGroup(trio_websocket.ConnectionRejected) as caught:
            async with trio.open_nursery() as nursery:
                await connect(nursery, client, "/refused")
    [rejected] = caught.value.exceptions
    assert isinstance(rejected, trio_websocket.ConnectionRejected)
    assert (rejected.status_code, rejected.body) == (404, b"no socket here")


async def test_unsupported_version_is_refused_with_the_supported_one(place: Place) -> None:
    async with place.serving() as server, server.client() as client:
        refusal = await client.ask(HEAD.replace(b"version: 13", b"version: 8"))
        assert (refusal.status, refusal["sec-websocket-version"]) == (426, "13")
        assert await client.is_closed()


async def test_messages_take_turns_with_the_requests_of_their_network(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    class Recorded(NetworkTurns):
        def may_begin(self, network: str) -> bool:
            return False

        async def begin(self, network: str) -> None:
            await trio.lowlevel.checkpoint()
            begun.append(network)

    monkeypatch.setattr("antechamber.connection_handler.NetworkTurns", Recorded)
    async with place.serving() as server, opened(server) as peer:
        begun.clear()
        for sent in (b"a", b"b"):
            await peer.send(frame(PING, sent))
            assert await peer.frame() == (PONG, sent)
        assert begun == ["127.0.0.1"] * 2
