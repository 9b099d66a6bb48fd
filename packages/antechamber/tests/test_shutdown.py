"""A stop: requests in flight finish, idle connections end, and nothing outlasts the timeout."""

from dataclasses import replace

import pytest
import trio
import trio.testing
from antechamber.asgi import Receive, Scope, Send

from .conftest import Authority
from .http_server import QUICK, Server, respond, routed, serving
from .test_error_boundary import UPGRADE

GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
PATIENT = replace(QUICK, write_timeout=60, idle_timeout=60, request_timeout=60, body_timeout=60)


async def early(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, b"early")


class Held:
    """A handler that responds when it is released."""

    def __init__(self) -> None:
        self.started, self.go_on = trio.Event(), trio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.started.set()
        await self.go_on.wait()
        await respond(send, b"held")


async def ends_within(server: Server, seconds: float) -> None:
    with trio.fail_after(seconds):
        await server.ended.wait()


async def test_idle_connections_end_immediately() -> None:
    async with (
        serving(limits=PATIENT, shutdown_timeout=30) as server,
        server.client() as idle,
        server.client() as fresh,
    ):
        await idle.ask(GET)
        await server.is_well()
        server.shutdown.set()
        await ends_within(server, 2)
        assert await idle.is_closed()
        assert await fresh.is_closed()


async def test_request_in_flight_finishes_with_connection_close() -> None:
    held = Held()
    async with serving(routed({"/held": held}), PATIENT, shutdown_timeout=30) as server:
        async with server.client() as client:
            await client.send(b"GET /held HTTP/1.1\r\nhost: a\r\n\r\n")
            await held.started.wait()
            server.shutdown.set()
            await trio.testing.wait_all_tasks_blocked()
            assert not server.ended.is_set()
            held.go_on.set()
            found = await client.read_response()
            assert (found.body, found["connection"]) == (b"held", "close")
            assert await client.is_closed()
        await ends_within(server, 2)


async def test_nobody_is_accepted_any_more() -> None:
    held = Held()
    async with serving(routed({"/held": held}), PATIENT, shutdown_timeout=30) as server:
        async with server.client() as client:
            await client.send(b"GET /held HTTP/1.1\r\nhost: a\r\n\r\n")
            await held.started.wait()
            server.shutdown.set()
            await trio.testing.wait_all_tasks_blocked()
            async with server.client() as late:
                await late.send(GET)
                with trio.move_on_after(0.3) as waiting:
                    await late.read_response()
                assert waiting.cancelled_caught
            held.go_on.set()
            assert (await client.read_response()).body == b"held"
        await ends_within(server, 2)


@pytest.mark.parametrize(
    "data",
    [
        b"GET /held HTTP/1.1\r\nhost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhello",
        b"GET / HTTP/1.1\r\n",
    ],
    ids=["handler", "body", "head"],
)
async def test_unfinished_requests_are_cut_off_after_the_grace(data: bytes) -> None:
    limits = replace(PATIENT, header_timeout=60)
    application = routed({"/held": Held()})
    async with (
        serving(application, limits, shutdown_timeout=0.5) as server,
        server.client() as client,
    ):
        await client.send(data)
        assert await server.is_well()
        begun = trio.current_time()
        server.shutdown.set()
        await ends_within(server, 2)
        assert trio.current_time() - begun >= 0.4


async def test_upgraded_stream_is_notified_of_the_stop() -> None:
    taken = trio.Event()

    async def take(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = scope["extensions"]["antechamber"]

        async def tell(stream: trio.abc.Stream) -> None:
            taken.set()
            await exchange.stopping.wait()
            await stream.send_all(b"told")

        exchange.upgrade(tell)

    async with serving(routed({"/ws": take}), PATIENT, shutdown_timeout=30) as server:
        async with server.client() as client:
            await client.send(UPGRADE)
            await taken.wait()
            server.shutdown.set()
            assert (await client.rest()).endswith(b"\r\n\r\ntold")
        await ends_within(server, 2)


async def test_upgraded_stream_begins_after_the_head() -> None:
    async def take(scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"]["antechamber"].upgrade(repeat)

    async def repeat(stream: trio.abc.Stream) -> None:
        received = b""
        while not received.endswith(b"end"):
            received += await stream.receive_some(7)
        await stream.send_all(received)

    async with serving(routed({"/ws": take})) as server, server.client() as client:
        await client.send(UPGRADE + b"early")
        await client.send(b" and late end")
        response = await client.rest()
        assert response.startswith(b"HTTP/1.1 101 ")
        assert response.endswith(b"\r\n\r\nearly and late end")


async def test_stop_during_a_tls_handshake_ends_soon(authority: Authority) -> None:
    limits = replace(PATIENT, header_timeout=60)
    async with (
        serving(
            limits=limits,
            shutdown_timeout=30,
            certificate=authority.certificate,
            tls=authority.context(),
        ) as server,
        server.client() as late,
    ):
        # Whoever connected first was accepted first.
        assert await server.is_well()
        server.shutdown.set()
        await trio.testing.wait_all_tasks_blocked()
        assert isinstance(late.stream, trio.SSLStream)
        await late.stream.do_handshake()
        await ends_within(server, 3)


@pytest.mark.parametrize(
    "data",
    [b"G", b"GET / HTTP/1.1\r\nhost: a", b"POST /early HTTP/1.1\r\nhost: a\r\ncontent-length: 9"],
    ids=["a letter", "half a head", "a body that nobody reads"],
)
async def test_stalled_client_does_not_delay_a_stop(data: bytes) -> None:
    limits = replace(PATIENT, header_timeout=60)
    application = routed({"/early": early})
    async with (
        serving(application, limits, shutdown_timeout=30) as server,
        server.client() as client,
    ):
        end = b"\r\n\r\n" if data.startswith(b"POST") else b""
        await client.send(data + end)
        if end:
            assert (await client.read_response()).body == b"early"
        await trio.testing.wait_all_tasks_blocked()
        server.shutdown.set()
        with trio.fail_after(5):
            await server.ended.wait()


async def test_stalled_tls_handshake_does_not_delay_a_stop(authority: Authority) -> None:
    limits = replace(PATIENT, header_timeout=60)
    tls = authority.context()
    async with (
        serving(
            limits=limits, certificate=authority.certificate, tls=tls, shutdown_timeout=30
        ) as server,
        await trio.open_tcp_stream("127.0.0.1", server.port),
    ):
        await trio.testing.wait_all_tasks_blocked()
        server.shutdown.set()
        with trio.fail_after(5):
            await server.ended.wait()
