"""Frames of a client whose stream takes turns begin when it says so, and no sooner."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import outcome
import trio
from antechamber.websocket import ServerWebSocket, WebSockets
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from ..websocket_peer import (
    CLOSE,
    OPTIONS,
    PING,
    PONG,
    TEXT,
    Handler,
    Immediate,
    MemoryStream,
    Peer,
    close,
    echo,
    frame,
)


class Paced(Immediate):
    """A connection whose client has as many turns as it was given."""

    turns = 0
    taken = 0

    def __init__(self, stream: MemoryStream, peer: MemoryStream) -> None:
        super().__init__(stream, peer)
        self.given = trio.Event()

    def may_begin(self) -> bool:
        if not self.turns:
            return False
        self.turns -= 1
        self.taken += 1
        return True

    async def begin(self) -> None:
        while not self.may_begin():
            await self.given.wait()

    async def give(self, turns: int) -> None:
        self.turns += turns
        self.given.set()
        self.given = trio.Event()
        await wait_all_tasks_blocked()


class Talk:
    """A connection with its client, and the event that stops the server."""

    def __init__(self, peer: Peer, paced: Paced) -> None:
        self.peer = peer
        self.paced = paced
        self.stopping = trio.Event()
        self.result: outcome.Maybe[None] | None = None


@asynccontextmanager
async def talking(handler: Handler = echo) -> AsyncIterator[Talk]:
    client, socket = memory_stream_pair()
    talk = Talk(Peer(client), Paced(socket, client))

    sockets = WebSockets(**OPTIONS)

    async def serve() -> None:
        talk.result = await outcome.acapture(_serve)

    async def _serve() -> None:
        await sockets.serve(talk.paced, handler, stopping=talk.stopping)

    with trio.fail_after(1000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sockets.run)
            nursery.start_soon(serve)
            yield talk
            nursery.cancel_scope.cancel()


async def test_each_frame_waits_for_its_turn(autojump_clock: MockClock) -> None:
    async with talking() as talk:
        await talk.peer.send(frame(PING, b"1") + frame(TEXT, b"2") + frame(PING, b"3"))
        received: list[tuple[int, bytes]] = []

        async def receive() -> None:
            while True:
                received.append(await talk.peer.frame())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive)
            await wait_all_tasks_blocked()
            assert received == []
            await talk.paced.give(1)
            assert received == [(PONG, b"1")]
            await talk.paced.give(2)
            assert sorted(received) == [(TEXT, b"2"), (PONG, b"1"), (PONG, b"3")]
            assert (talk.paced.turns, talk.paced.taken) == (0, 3)
            nursery.cancel_scope.cancel()


async def test_frame_that_waits_when_this_side_closes_is_dropped(autojump_clock: MockClock) -> None:
    received: list[str | bytes] = []

    async def record(connection: ServerWebSocket) -> None:
        while True:
            received.append(await connection.receive())

    async with talking(record) as talk:
        await talk.peer.send(frame(TEXT, b"1") + frame(PING, b"2"))
        await wait_all_tasks_blocked()
        talk.stopping.set()
        assert await talk.peer.frame() == (CLOSE, (1001).to_bytes(2))
        begun = trio.current_time()
        await talk.peer.send(close(1001))
        await talk.paced.give(100)
        await talk.peer.stream.aclose()
        await wait_all_tasks_blocked()
        assert received == []
        assert talk.result == outcome.Value(None)
        assert trio.current_time() == begun


async def test_close_that_waits_when_this_side_closes_ends_the_connection(
    autojump_clock: MockClock,
) -> None:
    async with talking() as talk:
        await talk.peer.send(close(1000))
        await wait_all_tasks_blocked()
        talk.stopping.set()
        assert await talk.peer.frame() == (CLOSE, (1001).to_bytes(2))
        begun = trio.current_time()
        await talk.paced.give(100)
        await talk.peer.stream.aclose()
        await wait_all_tasks_blocked()
        assert talk.result == outcome.Value(None)
        assert trio.current_time() == begun


async def test_frames_after_the_close_are_skipped_in_turns(autojump_clock: MockClock) -> None:
    async with talking() as talk:
        talk.stopping.set()
        assert await talk.peer.frame() == (CLOSE, (1001).to_bytes(2))
        # The read that waited when this side closed takes what it can.
        await talk.peer.send(frame(PING))
        await talk.paced.give(1_000_000)
        before = talk.paced.taken
        sent = frame(PING) * 10_000
        await talk.peer.send(sent)
        await wait_all_tasks_blocked()
        assert talk.paced.taken - before >= len(sent) // 4096
