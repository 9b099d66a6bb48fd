"""Defects of trio-websocket alone: when a test fails here, its workaround can go.

Each names what `octavo.ws.websocket_stream_adapter` corrects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import outcome
import pytest
import trio
from trio.testing import MockClock, memory_stream_pair
from trio_websocket import WebSocketConnection, wrap_server_stream
from wsproto.utilities import LocalProtocolError

from tests.fakes.websocket_peer import BINARY, HEAD, PING, PONG, TEXT, Peer, close, frame

Talk = Callable[[Peer, WebSocketConnection], Awaitable[None]]


async def alone(talk: Talk, *, after_head: bytes = b"") -> outcome.Maybe[None]:
    """How a session over trio-websocket ends, without the adapter in between."""
    client, server = memory_stream_pair()
    peer = Peer(client)
    await peer.send(HEAD + after_head)

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            request = await wrap_server_stream(nursery, server, max_message_size=1000)
            socket = await request.accept()
            await peer.head()
            await talk(peer, socket)
            nursery.cancel_scope.cancel()

    return await outcome.acapture(run)


async def nothing_within(seconds: float, wait: Callable[[], Awaitable[object]]) -> bool:
    with trio.move_on_after(seconds):
        await wait()
        return False
    return True


async def test_frames_in_the_packet_of_the_request_are_lost(autojump_clock: MockClock) -> None:
    async def talk(peer: Peer, socket: WebSocketConnection) -> None:
        assert await nothing_within(60, socket.get_message)

    (await alone(talk, after_head=frame(TEXT, b"early"))).unwrap()


async def test_protocol_error_closes_without_a_close_frame(autojump_clock: MockClock) -> None:
    async def talk(peer: Peer, socket: WebSocketConnection) -> None:
        await peer.send(frame(3))
        assert await peer.frames() == []

    (await alone(talk)).unwrap()


async def test_announced_size_is_waited_for(autojump_clock: MockClock) -> None:
    async def talk(peer: Peer, socket: WebSocketConnection) -> None:
        await peer.send(frame(BINARY, length=1 << 40))
        assert await nothing_within(60, peer.frame)

    (await alone(talk)).unwrap()


async def test_ping_after_two_waiting_messages_gets_no_pong(
    autojump_clock: MockClock,
) -> None:
    async def talk(peer: Peer, socket: WebSocketConnection) -> None:
        await peer.send(frame(TEXT) * 2 + frame(PING))
        assert await nothing_within(60, peer.frame)
        await socket.get_message()
        assert await peer.frame() == (PONG, b"")

    (await alone(talk)).unwrap()


async def test_ping_after_the_own_close_ends_the_reader_with_an_error(
    autojump_clock: MockClock,
) -> None:
    async def talk(peer: Peer, socket: WebSocketConnection) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(socket.aclose)
            await peer.frame()
            await peer.send(frame(PING) + close(1000))

    with pytest.RaisesGroup(LocalProtocolError, flatten_subgroups=True):
        (await alone(talk)).unwrap()


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"notes.example", b"xn--a.example"), (b"other", b"\xc3\xa9")],
    ids=["host", "subprotocol"],
)
async def test_request_with_odd_headers_ends_the_reader_with_an_error(
    old: bytes, new: bytes
) -> None:
    client, server = memory_stream_pair()
    await client.send_all(HEAD.replace(old, new))
    with pytest.RaisesGroup(UnicodeError):
        async with trio.open_nursery() as nursery:
            await wrap_server_stream(nursery, server)
            nursery.cancel_scope.cancel()


async def test_refused_request_leaves_its_server_waiting(
    autojump_clock: MockClock,
) -> None:
    client, server = memory_stream_pair()
    await client.send_all(HEAD.replace(b"upgrade: websocket", b"upgrade: h2c"))
    async with trio.open_nursery() as nursery:
        assert await nothing_within(60, lambda: wrap_server_stream(nursery, server))
        nursery.cancel_scope.cancel()
