"""Every deadline and limit, over a real socket; slow clients that block no other."""

import gc
import time
import tracemalloc
from contextlib import suppress
from dataclasses import replace

import pytest
import trio
from antechamber.asgi import Receive, Scope, Send

from .http_server import QUICK, Server, respond, routed, serving

GET = b"GET / HTTP/1.1\r\nhost: a\r\n"
POST = b"POST / HTTP/1.1\r\nhost: a\r\n"
GET_SLOW = b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n"
SMALL = replace(
    QUICK,
    head_size=1000,
    header_count=10,
    target_length=100,
    connections=5,
    connections_per_client=3,
    requests_per_connection=3,
    drain_size=1000,
    request_timeout=0.8,
    idle_timeout=0.6,
)


async def sleepy(scope: Scope, receive: Receive, send: Send) -> None:
    await trio.sleep_forever()


async def slow(scope: Scope, receive: Receive, send: Send) -> None:
    await trio.sleep(1.5 * max(QUICK.header_timeout, QUICK.body_timeout))
    await respond(send, b"slow")


async def early(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, b"early", 413)


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})


APPLICATION = routed({"/sleepy": sleepy, "/slow": slow, "/early": early, "/endless": endless})


async def problem_of(data: bytes) -> tuple[int, bytes]:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        problem = await client.ask(data)
        assert problem["content-type"] == "application/problem+json"
        assert problem["connection"] == "close"
        assert await client.is_closed()
        return problem.status, problem.body


def head_of(size: int) -> bytes:
    rest = size - len(GET + b"a: \r\n\r\n")
    return GET + b"a: " + b"b" * rest + b"\r\n\r\n"


async def test_head_up_to_its_limit_is_accepted_and_a_byte_more_is_refused() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        assert (await client.ask(head_of(1000))).status == 200
        assert (await client.ask(head_of(1001))).status == 431


async def test_endless_head_is_refused_at_its_limit() -> None:
    status, body = await problem_of(GET + b"a: " + b"b" * 100_000)
    assert status == 431
    assert b"1000 bytes" in body


async def test_headers_up_to_their_number_are_accepted_and_one_more_is_refused() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        assert (await client.ask(GET + b"a: b\r\n" * 9 + b"\r\n")).status == 200
        assert (await client.ask(GET + b"a: b\r\n" * 10 + b"\r\n")).status == 431


async def test_target_up_to_its_length_is_accepted_and_a_byte_more_is_refused() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        line = b"GET /%b HTTP/1.1\r\nhost: a\r\n\r\n"
        assert (await client.ask(line % (b"a" * 99))).status == 200
        assert (await client.ask(line % (b"a" * 100))).status == 414


async def test_endless_target_is_refused_at_its_limit() -> None:
    assert (await problem_of(b"GET /" + b"a" * 100_000))[0] == 414


@pytest.mark.parametrize("data", [b"G", GET, b"\r\nG"])
async def test_stalled_head_gets_408(data: bytes) -> None:
    status, body = await problem_of(data)
    assert status == 408
    assert b"head_timeout" in body


async def test_head_that_trickles_gets_408_at_the_deadline() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        begun = trio.current_time()
        async with trio.open_nursery() as nursery:

            async def trickle() -> None:
                while True:
                    await client.send(b"a")
                    await trio.sleep(0.05)

            nursery.start_soon(trickle)
            assert (await client.read_response()).status == 408
            nursery.cancel_scope.cancel()
        assert trio.current_time() - begun < 2 * SMALL.header_timeout + 1


@pytest.mark.parametrize(
    ("begun", "rest", "statuses"),
    [
        (GET_SLOW[:20], GET_SLOW[20:], [200]),
        (
            b"POST /early HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\na",
            b"b" + GET_SLOW,
            [413, 200],
        ),
    ],
    ids=["a head", "a body that nobody reads"],
)
async def test_deadline_of_what_arrives_in_parts_ends_with_it(
    begun: bytes, rest: bytes, statuses: list[int]
) -> None:
    async with serving(APPLICATION, QUICK) as server, server.client() as client:
        await client.send(begun)
        await trio.sleep(2 * QUICK.tick)
        await client.send(rest)
        assert [(await client.read_response()).status for _ in statuses] == statuses


async def test_silent_client_is_disconnected() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        assert await client.is_closed()


async def test_idle_connection_is_closed_silently() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        assert (await client.ask(GET + b"\r\n")).status == 200
        assert await client.is_closed()
        assert server.refused == []


@pytest.mark.parametrize(
    "data",
    [b"content-length: 5\r\n\r\nhel", b"transfer-encoding: chunked\r\n\r\n5\r\nhel"],
    ids=["length", "chunks"],
)
async def test_stalled_body_gets_408(data: bytes) -> None:
    status, body = await problem_of(POST + data)
    assert status == 408
    assert b"body_timeout" in body


async def test_problem_from_the_server_echoes_the_request_id_of_the_client() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        problem = await client.ask(POST + b"x-request-id: mine\r\ncontent-length: 5\r\n\r\nhel")
        assert (problem.status, problem["x-request-id"]) == (408, "mine")


async def test_request_timeout_gets_503_with_an_unknown_outcome() -> None:
    status, body = await problem_of(b"GET /sleepy HTTP/1.1\r\nhost: a\r\n\r\n")
    assert status == 503
    assert b"may have been completed" in body


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_request_timeout_with_an_unread_body_has_an_unknown_outcome(
    method: str,
) -> None:
    # Clients and proxies would repeat a 408 by themselves.
    data = f"{method} /sleepy HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc"
    status, body = await problem_of(data.encode())
    assert status == 503
    assert b"may have been completed" in body


async def test_trickling_body_ends_with_the_request_timeout() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        await client.send(POST + b"content-length: 1000\r\n\r\n")
        async with trio.open_nursery() as nursery:

            async def trickle() -> None:
                while True:
                    await client.send(b"a")
                    await trio.sleep(0.1)

            nursery.start_soon(trickle)
            assert (await client.read_response()).status == 408
            nursery.cancel_scope.cancel()


async def test_stalled_reader_is_cut_off() -> None:
    limits = replace(SMALL, request_timeout=60)
    async with serving(APPLICATION, limits) as server, server.client() as client:
        await client.send(b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n")
        begun = trio.current_time()
        await trio.sleep(SMALL.write_timeout + 4 * SMALL.tick)
        received = await client.rest()
        # What was already sent arrives; the response is cut off, not ended.
        assert not received.endswith(b"0\r\n\r\n")
        assert trio.current_time() - begun < 5


async def test_last_request_of_a_connection_gets_connection_close() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        for _ in range(2):
            assert "connection" not in await client.ask(GET + b"\r\n")
        assert (await client.ask(GET + b"\r\n"))["connection"] == "close"
        assert await client.is_closed()


async def test_connections_over_the_limit_per_client_are_refused_and_the_others_continue() -> None:
    async with serving(APPLICATION, SMALL) as server:
        async with server.client() as first, server.client() as second, server.client() as third:
            for client in (first, second, third):
                assert (await client.ask(GET + b"\r\n")).status == 200
            async with server.client() as fourth:
                problem = await fourth.read_response()
                assert problem.status == 503
                assert problem["retry-after"] == "5"
                assert b"too_many_connections" in problem.body
            assert (await first.ask(GET + b"\r\n")).status == 200
        assert await server.is_well()


async def test_connections_over_the_total_limit_are_refused() -> None:
    limits = replace(SMALL, connections=1)
    async with serving(APPLICATION, limits) as server:
        async with server.client() as first:
            assert (await first.ask(GET + b"\r\n")).status == 200
            async with server.client() as second:
                assert (await second.read_response()).status == 503
        assert await server.is_well()


@pytest.mark.parametrize("framing", [b"content-length: 500", b"transfer-encoding: chunked"])
async def test_early_response_to_a_small_body_arrives_complete(framing: bytes) -> None:
    body = b"a" * 500 if b"length" in framing else b"1f4\r\n" + b"a" * 500 + b"\r\n0\r\n\r\n"
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        await client.send(b"POST /early HTTP/1.1\r\nhost: a\r\n" + framing + b"\r\n\r\n")
        early = await client.read_response()
        assert early.status == 413
        await client.send(body)
        if "connection" in early:
            assert await client.is_closed()
        else:
            assert (await client.ask(GET + b"\r\n")).body == b"GET / "


async def test_early_response_to_a_large_body_closes_and_arrives() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        await client.send(b"POST /early HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n")
        await client.send(b"a" * 1500)
        early = await client.read_response()
        assert (early.status, early["connection"]) == (413, "close")
        assert await client.is_closed()


async def test_stalled_unread_body_blocks_nobody() -> None:
    async with serving(APPLICATION, SMALL) as server, server.client() as client:
        await client.send(b"POST /early HTTP/1.1\r\nhost: a\r\ncontent-length: 500\r\n\r\nabc")
        assert (await client.read_response()).status == 413
        assert await client.is_closed()


SLOW = replace(
    QUICK,
    header_timeout=30,
    body_timeout=30,
    write_timeout=30,
    request_timeout=60,
    connections=2000,
    connections_per_client=2000,
)
OPENINGS = {
    "heads": GET + b"a: b",
    "bodies": POST + b"content-length: 100000\r\n\r\nabc",
    "chunks": POST + b"transfer-encoding: chunked\r\n\r\n5\r\nhe",
    "readers": b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n",
}


@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS)
async def test_a_thousand_slow_clients_block_nobody_and_use_little_memory(opening: bytes) -> None:
    async with serving(APPLICATION, SLOW) as server:
        assert await server.is_well()
        streams: list[trio.SocketStream] = []
        for _ in range(1000):
            stream = await trio.open_tcp_stream("127.0.0.1", server.port)
            await stream.send_all(opening)
            streams.append(stream)
        gc.collect()
        # Traced, each connection would take several times as long to open.
        tracemalloc.start()
        try:
            await keep_slow(streams, opening, server)
            held = tracemalloc.get_traced_memory()[0]
            await keep_slow(streams, opening, server)
            grown = tracemalloc.get_traced_memory()[0] - held
        finally:
            tracemalloc.stop()
        begun = time.perf_counter()
        for _ in range(20):
            assert await server.is_well()
        assert time.perf_counter() - begun < 10
        # Per round in which each of them made a little progress: less than 1 KiB for each.
        assert grown < 1000 * 1024
        for stream in streams:
            await trio.aclose_forcefully(stream)


async def keep_slow(streams: list[trio.SocketStream], opening: bytes, server: Server) -> None:
    """Let each slow client advance by a byte, three times."""
    for _ in range(3):
        for stream in streams:
            if b"/endless" in opening:
                await stream.receive_some(1)
            else:
                await stream.send_all(b"b" if b"chunked" not in opening else b"")
        assert await server.is_well()


async def test_trickling_unread_body_meets_one_deadline() -> None:
    limits = replace(QUICK, body_timeout=0.8)
    async with serving(routed({"/early": early}), limits) as server, server.client() as client:
        begun = trio.current_time()
        await client.send(b"POST /early HTTP/1.1\r\nhost: a\r\ncontent-length: 5000\r\n\r\n")
        assert (await client.read_response()).body == b"early"
        async with trio.open_nursery() as nursery:

            async def drip() -> None:
                with suppress(trio.BrokenResourceError):
                    while True:
                        await client.send(b"a")
                        await trio.sleep(0.1)

            nursery.start_soon(drip)
            assert await client.is_closed()
            nursery.cancel_scope.cancel()
        assert trio.current_time() - begun < 4
