"""Mutated input gets complete, valid responses or a close, and affects no other client.

The number of cases comes from ``ANTECHAMBER_FUZZ_CASES``. Each case is a function of its number, by
which a failing one can be repeated.
"""

import logging
import os
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import trio
from antechamber.asgi import Receive, Scope, Send
from antechamber.websocket import ServerWebSocket, WebSockets

from .http_server import QUICK, Client, Server, lifespan, serving
from .request_mutation import mutate
from .strict_client import METHOD, InvalidResponse, check_websocket_frames, read_responses
from .test_error_boundary import UPGRADE
from .test_strictness import REFUSED, TAKEN

CASES = int(os.environ.get("ANTECHAMBER_FUZZ_CASES", "10000"))
AT_ONCE = 50
# No client here is slow on purpose: each ends its sending side immediately.
LIMITS = replace(
    QUICK,
    header_timeout=10,
    body_timeout=10,
    write_timeout=10,
    half_close_timeout=5,
    linger_timeout=5,
    connections_per_client=1000,
    head_size=4000,
)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond in each of the possible ways, chosen by the path."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["type"] == "websocket":
        await socket(scope)
    else:
        await respond(scope, receive, send)


async def socket(scope: Scope) -> None:
    async def echo(connection: ServerWebSocket) -> None:
        async for message in connection:
            await connection.send(message)

    exchange = scope["extensions"]["antechamber"]
    sockets = WebSockets(max_message_size=1000, close_time=2)
    exchange.upgrade(partial(sockets.serve, handler=echo, stopping=exchange.stopping))


async def respond(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(METHOD, scope["method"].encode())]
    start = {"type": "http.response.start", "status": 200, "headers": headers}
    if not scope["path"].startswith("/unread"):
        event = await receive()
        while event.get("more_body"):
            event = await receive()
        if event["type"] == "http.disconnect":
            return
    await send(start)
    if scope["path"].startswith("/stream"):
        for part in (b"one", b"two"):
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"end"})


def request_seeds() -> list[bytes]:
    seeds = [data for data, _ in (*REFUSED.values(), *TAKEN.values()) if len(data) < 3000]
    for path in (b"/", b"/stream", b"/unread"):
        lines = (b"GET %b HTTP/1.1", b"HEAD %b HTTP/1.1", b"GET %b HTTP/1.0")
        seeds += [line % path + b"\r\nhost: a\r\n\r\n" for line in lines]
        post = b"POST %b HTTP/1.1\r\nhost: a\r\n" % path
        seeds.append(post + b"content-length: 5\r\n\r\nhello")
        seeds.append(post + b"expect: 100-continue\r\ncontent-length: 5\r\n\r\nhello")
        seeds.append(post + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n")
    return [*seeds, *(a + b for a, b in zip(seeds[::3], seeds[1::3], strict=False))]


def websocket_seeds() -> list[bytes]:
    def frame(first: int, payload: bytes) -> bytes:
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        return bytes([first]) + length + b"\0\0\0\0" + payload

    text, ping, close = frame(0x81, b"hello"), frame(0x89, b"ping"), frame(0x88, b"\x03\xe8bye")
    parts = frame(0x01, b"hel") + ping + frame(0x80, b"lo")
    long = frame(0x82, b"x" * 900)
    sessions = (text, parts, long, ping, text + close, parts + long + text + close)
    return [UPGRADE + session for session in sessions]


def judge(received: bytes, sent: bytes = b"") -> None:
    _, behind = read_responses(received, heads=b"HEAD " in sent)
    check_websocket_frames(behind)


async def talk(client: Client, data: bytes) -> None:
    try:
        await client.send(data)
        assert isinstance(client.stream, trio.SocketStream)
        await client.stream.send_eof()
    except trio.BrokenResourceError:
        # It was refused before it was completely sent.
        pass
    received = await client.rest()
    try:
        judge(received, data)
    except Exception as error:
        error.add_note(f"answered {received!r}")
        raise


KINDS: dict[str, tuple[Callable[[], list[bytes]], float]] = {
    "request": (request_seeds, 0.8),
    "websocket": (websocket_seeds, 0.2),
}


@pytest.mark.parametrize(("seeds_of", "share"), KINDS.values(), ids=KINDS)
async def test_mutated_bytes_get_complete_valid_responses_or_a_close(
    seeds_of: Callable[[], list[bytes]],
    share: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seeds = seeds_of()
    judged = 0

    async def one(server: Server, number: int, slots: trio.Semaphore) -> None:
        nonlocal judged
        rng = random.Random(number)
        data = mutate(rng.choice(seeds), seeds, rng)
        try:
            async with slots, server.client() as client:
                await talk(client, data)
        except Exception as error:
            error.add_note(f"case {number}: {data!r}")
            raise
        judged += 1

    async with serving(application, LIMITS) as server:
        slots = trio.Semaphore(AT_ONCE)
        for thousand in range(0, int(CASES * share), 1000):
            async with trio.open_nursery() as nursery:
                for number in range(thousand, thousand + 1000):
                    nursery.start_soon(one, server, number, slots)
            async with server.client() as client:
                found = await client.ask(b"GET /unread HTTP/1.1\r\nhost: a\r\n\r\n")
                assert (found.status, found.body) == (200, b"end")
    assert judged >= int(CASES * share)
    assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(
    "received",
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nset cookie: 1\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x05abc",
        b"hello",
    ],
)
def test_judge_of_the_fuzzer_rejects_incomplete_or_invalid_responses(received: bytes) -> None:
    with pytest.raises(InvalidResponse):
        judge(received)
