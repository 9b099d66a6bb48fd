"""A client that sends or reads without pause gets its share of the loop, and no more."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import trio
from antechamber.asgi import Receive, Scope, Send
from antechamber.limits import READ_SIZE
from antechamber.transport import MAX_EAGER, plain_transport

from .http_server import QUICK, Rounds, routed, serving


async def parts(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": bytes(500), "more_body": True})


FLOODS = {
    "empty lines": (b"", b"\r\n" * 100_000),
    "chunks": (
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
        b"1\r\na\r\n" * 50_000,
    ),
    "requests": (b"", b"GET / HTTP/1.1\r\nhost: a\r\n\r\n" * 5_000),
    "a body": (
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999\r\n\r\n",
        bytes(1_000_000),
    ),
    "what follows a refusal": (b"GET / HTTP/1.1\r\n\r\n", bytes(1_000_000)),
    "reads": (b"GET /parts HTTP/1.1\r\nhost: a\r\n\r\n", b""),
}


@contextmanager
def flooding(port: int, begin: bytes, again: bytes) -> Iterator[None]:
    """Send, or read, as fast as a thread can, until the block ends or the server disconnects."""
    over = threading.Event()

    def flood() -> None:
        with socket.create_connection(("127.0.0.1", port)) as client:
            try:
                client.sendall(begin)
                client.settimeout(0.2)
                while not over.is_set():
                    if again:
                        client.sendall(again)
                    elif not client.recv(65536):
                        return
            except OSError:
                return

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize(("begin", "again"), FLOODS.values(), ids=FLOODS)
async def test_flood_leaves_others_their_turn(begin: bytes, again: bytes) -> None:
    limits = replace(
        QUICK, header_timeout=10, body_timeout=10, request_timeout=10, write_timeout=10
    )
    async with serving(routed({"/parts": parts}), limits) as server:
        with flooding(server.port, begin, again), trio.fail_after(10):
            for _ in range(20):
                assert await server.is_well()


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_SEQPACKET], ids=["much", "bits"])
async def test_reads_that_never_block_let_others_run(kind: int) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    rounds = Rounds()
    with theirs, trio.socket.from_stdlib_socket(ours) as reading:
        theirs.setblocking(False)
        transport = plain_transport(Reading(reading))  # type: ignore[arg-type]
        trio.lowlevel.add_instrument(rounds)
        for _ in range(10):
            for _ in range(MAX_EAGER):
                theirs.send(bytes(READ_SIZE) if kind == socket.SOCK_STREAM else b"a")
                assert await transport.receive()
        trio.lowlevel.remove_instrument(rounds)
    assert rounds.count >= (10 * MAX_EAGER if kind == socket.SOCK_STREAM else 10) - 1


class Reading:
    """As much of a stream as a transport needs to read."""

    def __init__(self, reading: trio.socket.SocketType) -> None:
        self.socket = reading
