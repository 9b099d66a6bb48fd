"""The server survives, and keeps serving, each known way to end the bare stack."""

import gc
import logging
import struct
import sys
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import pytest
import trio
import trio.testing
from antechamber.asgi import Receive, Scope, Send
from antechamber.connection import HttpConnection
from antechamber.error_boundary import contained
from antechamber.websocket import WebSockets

from .http_server import QUICK, respond, routed, serving
from .websocket_peer import echo

UPGRADE = (
    b"GET /ws HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


async def refuse_socket(scope: Scope, receive: Receive, send: Send) -> None:
    assert scope["type"] == "websocket"
    start = {"type": "websocket.http.response.start", "status": 404, "headers": []}
    await send(start)
    await send({"type": "websocket.http.response.body", "body": b"no socket here"})


async def early(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, b"early", 404)


async def boom(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("a bug of the application")


class Panic(BaseException):
    """The error that Rust extensions raise when they panic."""


async def panic(scope: Scope, receive: Receive, send: Send) -> None:
    raise Panic("in an extension")


async def leave(scope: Scope, receive: Receive, send: Send) -> None:
    sys.exit(3)


async def group(scope: Scope, receive: Receive, send: Send) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(boom, scope, receive, send)
        nursery.start_soon(panic, scope, receive, send)


async def half(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"half", "more_body": True})
    raise RuntimeError("in the middle of a response")


async def silent(scope: Scope, receive: Receive, send: Send) -> None:
    return


async def split(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"x-name", b"a\r\nset-cookie: stolen")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"never seen"})


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})


async def long(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-length", b"3")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"longer"})


APPLICATION = routed(
    {
        "/ws": refuse_socket,
        "/early": early,
        "/boom": boom,
        "/panic": panic,
        "/group": group,
        "/leave": leave,
        "/half": half,
        "/silent": silent,
        "/split": split,
        "/long": long,
        "/endless": endless,
    }
)


async def test_upgrade_followed_by_a_stray_byte_leaves_the_server_alive() -> None:
    # hypercorn issue 225: this ends the whole process of a bare server.
    async with serving(APPLICATION) as server:
        async with server.client() as client:
            refusal = await client.ask(UPGRADE + b"x")
            assert (refusal.status, refusal.body) == (404, b"no socket here")
        assert await server.is_well()


async def test_malformed_chunk_in_the_packet_of_its_head_gets_one_response() -> None:
    async with serving(APPLICATION) as server:
        async with server.client() as client:
            refusal = await client.ask(
                b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"
            )
            assert (refusal.status, refusal["connection"]) == (400, "close")
            assert await client.is_closed()
        assert await server.is_well()


async def test_stalled_reader_blocks_neither_others_nor_shutdown() -> None:
    # A bare server sends under a shield without a deadline: it never ends.
    async with serving(APPLICATION, shutdown_timeout=0.5) as server, server.client() as client:
        await client.send(b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n")
        await client.stream.receive_some(1)
        assert await server.is_well()
        server.shutdown.set()
        with trio.fail_after(2):
            await server.ended.wait()


@pytest.mark.parametrize(
    "path", ["/boom", "/panic", "/group", "/split", "/silent", "/long", "/leave"]
)
async def test_failure_of_the_application_is_a_problem_and_is_logged_once(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(APPLICATION) as server:
        async with server.client() as client:
            problem = await client.ask(f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
            assert problem.status == 500
            assert problem["content-type"] == "application/problem+json"
            assert b"bug" not in problem.body
            assert await client.is_closed()
        assert await server.is_well()
    [record] = [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert problem["x-request-id"] in record.getMessage()


async def test_failure_within_a_response_never_looks_complete(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving(APPLICATION) as server:
        async with server.client() as client:
            await client.send(b"GET /half HTTP/1.1\r\nhost: a\r\n\r\n")
            received = await client.rest()
            assert received.endswith(b"4\r\nhalf\r\n")
        assert await server.is_well()
    assert [r for r in caplog.records if r.levelno >= logging.ERROR]


async def test_client_that_resets_midway_leaves_no_trace() -> None:
    async with serving(APPLICATION) as server:
        for data in (b"GE", b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhi", UPGRADE):
            async with server.client() as client:
                await client.send(data)
                assert isinstance(client.stream, trio.SocketStream)
                linger = struct.pack("ii", 1, 0)
                client.stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, linger)
        assert await server.is_well()


async def test_early_response_leaves_the_next_request_its_turn() -> None:
    async with serving(APPLICATION) as server, server.client() as client:
        await client.send(
            b"POST /early HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello"
            b"GET /next HTTP/1.1\r\nhost: a\r\n\r\n"
        )
        assert (await client.read_response()).body == b"early"
        assert (await client.read_response()).body == b"GET /next "


def test_keyboard_interrupt_passes_the_boundary_next_to_failures() -> None:
    both = BaseExceptionGroup("both", [KeyboardInterrupt(), ValueError()])
    with pytest.raises(BaseExceptionGroup):
        contained(both)
    with pytest.raises(KeyboardInterrupt):
        contained(KeyboardInterrupt())
    assert isinstance(contained(SystemExit()), SystemExit)


async def test_failing_log_of_refusals_costs_no_response(caplog: pytest.LogCaptureFixture) -> None:
    def fails(refused: object) -> None:
        raise OSError("the disk is full")

    async with serving(APPLICATION, log_rejected=fails) as server:
        async with server.client() as client:
            assert (await client.ask(b"BAD\r\n\r\n")).status == 501
        assert await server.is_well()
    assert "the rejection log failed" in caplog.text


async def test_failing_id_generation_ends_only_its_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    working = False

    def fails() -> str:
        if working:
            return "made"
        raise OSError("no randomness")

    async with serving(APPLICATION, new_id=fails) as server:
        for sent in (b"BAD\r\n\r\n", b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"):
            async with server.client() as client:
                await client.send(sent)
                assert await client.is_closed()
        working = True
        assert await server.is_well()
    assert "without an id" in caplog.text


class Text(str):
    """A text that can be referred to weakly."""

    __slots__ = ("__weakref__",)


async def hold(kept: Text, receive: Receive, send: Send) -> None:
    await trio.sleep_forever()


async def hold_in_a_nursery(kept: Text, receive: Receive, send: Send) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)


async def answer_late(kept: Text, receive: Receive, send: Send) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    await respond(send, bytes(1_000_000))


async def answer_much(kept: Text, receive: Receive, send: Send) -> None:
    await respond(send, bytes(50_000_000))


async def fail(kept: Text, receive: Receive, send: Send) -> None:
    raise RuntimeError(kept)


async def fail_late(kept: Text, receive: Receive, send: Send) -> None:
    await answer_late(kept, receive, send)
    raise RuntimeError(kept)


Handler = Callable[[Text, Receive, Send], Awaitable[None]]


@pytest.mark.parametrize("ends", ["left", "timed out", "stopped"])
@pytest.mark.parametrize(
    "handler", [hold, hold_in_a_nursery, answer_late, answer_much, fail, fail_late]
)
async def test_texts_of_a_request_that_ends_in_any_way_are_freed_at_once(
    handler: Handler, ends: str
) -> None:
    references: list[weakref.ref[Text]] = []
    started, freed = trio.Event(), trio.Event()

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        text = Text("secret")
        references.append(weakref.ref(text, lambda _: freed.set()))
        started.set()
        await handler(text, receive, send)

    limits = replace(QUICK, request_timeout=0.1 if ends == "timed out" else 5)
    gc.collect()
    gc.disable()
    # The log of the tests would keep the exceptions.
    logging.disable()
    try:
        async with (
            serving(routed({"/kept": handle}), limits, shutdown_timeout=0.1) as server,
            server.client() as client,
        ):
            await client.send(b"GET /kept HTTP/1.1\r\nhost: a\r\n\r\n")
            await started.wait()
            await trio.testing.wait_all_tasks_blocked()
            if ends == "stopped":
                server.shutdown.set()
            elif ends == "left":
                await trio.aclose_forcefully(client.stream)
            with trio.fail_after(5):
                await freed.wait()
    finally:
        logging.disable(logging.NOTSET)
        gc.enable()


async def accept_socket(scope: Scope, receive: Receive, send: Send) -> None:
    exchange = scope["extensions"]["antechamber"]
    sockets = WebSockets(max_message_size=100, close_time=0.3)
    exchange.upgrade(partial(sockets.serve, handler=echo, stopping=exchange.stopping), None)


async def answer_after_a_tick(scope: Scope, receive: Receive, send: Send) -> None:
    await trio.sleep(5 * QUICK.tick)
    await respond(send, b"late")


async def hold_the_request(scope: Scope, receive: Receive, send: Send) -> None:
    await trio.sleep_forever()


@pytest.mark.parametrize("kind", ["answered", "left", "timed out", "rejected", "upgraded"])
async def test_connection_that_ended_is_freed_at_once(kind: str) -> None:
    late, held = ("/late", answer_after_a_tick), ("/held", hold_the_request)
    application = routed(dict((late, held, ("/ws", accept_socket))))
    asked = {
        "answered": b"POST /late HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\r\n"
        + bytes(50_000),
        "left": b"GET /held HTTP/1.1\r\nhost: a\r\n\r\n",
        "timed out": b"GET /held HTTP/1.1\r\nhost: a\r\n\r\n",
        "rejected": b"GET / HTTP/1.1\r\n\r\n",
        "upgraded": UPGRADE,
    }
    gc.collect()
    gc.disable()
    try:
        async with serving(application, replace(QUICK, request_timeout=0.3)) as server:
            async with server.client() as client:
                await client.send(asked[kind])
                await trio.sleep(QUICK.tick)
                assert connections()
                # The watchdog sees the request.
                await trio.sleep(9 * QUICK.tick)
                if kind != "left":
                    await client.stream.receive_some()
            for _ in range(100):
                await trio.sleep(QUICK.tick)
                if not connections():
                    break
            assert connections() == []
    finally:
        gc.enable()


def connections() -> list[object]:
    """The connections in memory."""
    return [each for each in gc.get_objects() if isinstance(each, HttpConnection)]
