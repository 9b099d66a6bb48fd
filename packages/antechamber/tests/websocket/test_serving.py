"""How a connection ends: what each side learns, and how long it may take."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import outcome
import pytest
import trio
from antechamber.websocket import ConnectionGone, ServerWebSocket, WebSockets, message_frame
from antechamber.websocket.connection import LINGER_AT_STOP
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from ..websocket_peer import (
    BINARY,
    CLOSE,
    OPTIONS,
    PING,
    PONG,
    TEXT,
    Handler,
    Immediate,
    Peer,
    Upgraded,
    close,
    echo,
    frame,
    served,
)

BIG = b"*" * 100_000


class Talk:
    """One connection in memory, on a clock that jumps to the next event."""

    def __init__(self, peer: Peer, stopping: trio.Event, scope: trio.CancelScope) -> None:
        self.peer = peer
        self.stopping = stopping
        self.scope = scope
        self.result: outcome.Maybe[None] = outcome.Value(None)
        self.over = trio.Event()

    async def ended(self) -> float:
        """Wait for the end of serving; raise its error, or return its time."""
        await self.over.wait()
        self.result.unwrap()
        return trio.current_time()


@asynccontextmanager
async def talking(
    handler: Handler = echo,
    *,
    immediate: bool = True,
    **options: Any,  # noqa: ANN401
) -> AsyncIterator[Talk]:
    """Serve one connection; ``immediate``: its stream sends without waiting if it can."""
    client, socket = memory_stream_pair()
    talk = Talk(Peer(client), trio.Event(), trio.CancelScope())
    stream = Immediate(socket, client) if immediate else Upgraded(socket)
    sockets = WebSockets(**{**OPTIONS, **options})

    async def serve() -> None:
        talk.result = await outcome.acapture(_serve)
        assert stream.closed.is_set()
        talk.over.set()

    async def _serve() -> None:
        with talk.scope:
            await sockets.serve(stream, handler, stopping=talk.stopping)

    with trio.fail_after(1000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sockets.run)
            nursery.start_soon(serve)
            await wait_all_tasks_blocked()
            yield talk
            nursery.cancel_scope.cancel()


class Whole(trio.abc.Stream):
    """A stream whose directions end together, as under TLS."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self.stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self.stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        return await self.stream.receive_some(max_bytes)

    async def aclose(self) -> None:
        await self.stream.aclose()


class Gone:
    """A handler that receives until the connection is gone, and records the outcome."""

    def __init__(self) -> None:
        self.messages: list[str | bytes] = []
        self.codes: list[int] = []
        self.reasons: list[str] = []

    async def __call__(self, connection: ServerWebSocket) -> None:
        try:
            while True:
                self.messages.append(await connection.receive())
        except ConnectionGone as gone:
            self.codes.append(gone.code)
            self.reasons.append(gone.reason)
            with pytest.raises(ConnectionGone):
                await connection.send("too late")
            raise


async def wait_forever(connection: ServerWebSocket) -> None:
    await trio.sleep_forever()


async def flood(connection: ServerWebSocket) -> None:
    while True:
        await connection.send(BIG)


async def test_handler_that_returns_closes_1000(autojump_clock: MockClock) -> None:
    async def farewell(connection: ServerWebSocket) -> None:
        await connection.send("bye")

    async with talking(farewell) as talk:
        assert await talk.peer.frame() == (TEXT, b"bye")
        assert await talk.peer.frame() == (CLOSE, b"\x03\xe8")
        await talk.peer.send(close(1000))
        await talk.peer.stream.aclose()
        assert await talk.ended() == 0


@pytest.mark.parametrize("grouped", [0, 1, 2])
async def test_handler_that_raises_closes_1011_and_only_its_error_is_raised(
    grouped: int, autojump_clock: MockClock
) -> None:
    async def crash(connection: ServerWebSocket) -> None:
        error: Exception = LookupError("lost")
        for _ in range(grouped):
            error = ExceptionGroup("wrapped", [error])
        raise error

    async with talking(crash) as talk:
        assert await talk.peer.frame() == (CLOSE, b"\x03\xf3")
        with pytest.raises(LookupError, match="lost"):
            await talk.ended()


async def test_handler_that_raises_several_errors_loses_none(autojump_clock: MockClock) -> None:
    async def crash(connection: ServerWebSocket) -> None:
        raise ExceptionGroup("both", [LookupError("one"), ConnectionGone(1, ""), KeyError("two")])

    async with talking(crash) as talk:
        await talk.peer.stream.aclose()
        with pytest.raises(ExceptionGroup) as caught:
            await talk.ended()
        assert [type(error) for error in caught.value.exceptions] == [LookupError, KeyError]


async def test_error_of_a_handler_is_not_hidden_by_a_cancelled_close(
    autojump_clock: MockClock,
) -> None:
    async def crash(connection: ServerWebSocket) -> None:
        raise LookupError("lost")

    async with talking(crash) as talk:
        await talk.peer.frame()
        talk.scope.cancel()
        with pytest.raises(LookupError, match="lost"):
            await talk.ended()
        assert trio.current_time() == 0


@pytest.mark.parametrize("code", [1000, 1001, 3999])
async def test_peer_that_closes_gives_the_handler_its_code(
    code: int, autojump_clock: MockClock
) -> None:
    gone = Gone()
    async with talking(gone) as talk:
        await talk.peer.send(frame(TEXT, b"last") + close(code, b"why"))
        assert await talk.peer.close_code() == code
        await talk.peer.stream.aclose()
        assert await talk.ended() == 0
    assert (gone.messages, gone.codes, gone.reasons) == (["last"], [code], ["why"])


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (frame(3), 1002),
        (frame(TEXT, b"\xff"), 1007),
        (frame(BINARY, length=1 << 40), 1009),
        (close(None), 1005),
        (b"", 1006),
        (frame(TEXT, b"half")[:-1], 1006),
    ],
)
async def test_peer_that_errs_or_vanishes_gives_the_handler_the_reason(
    sent: bytes, code: int, autojump_clock: MockClock
) -> None:
    gone = Gone()
    async with talking(gone) as talk:
        await talk.peer.send(sent)
        await talk.peer.stream.aclose()
        assert await talk.ended() == 0
    assert gone.codes == [code]


async def test_iteration_ends_with_the_connection(autojump_clock: MockClock) -> None:
    messages = []

    async def collect(connection: ServerWebSocket) -> None:
        messages.extend([message async for message in connection])

    async with talking(collect) as talk:
        await talk.peer.send(frame(TEXT) + frame(BINARY) + frame(TEXT, b"x"))
        await talk.peer.stream.aclose()
        await talk.ended()
    assert messages == ["", b"", "x"]


async def test_handler_that_closes_notifies_the_peer(autojump_clock: MockClock) -> None:
    async def refuse(connection: ServerWebSocket) -> None:
        with pytest.raises(ValueError, match="1006"):
            await connection.close(1006)
        await connection.close(1008, "signed out")
        with pytest.raises(ConnectionGone, match="closed with 1008 signed out"):
            await connection.receive()
        await connection.close(1000)

    async with talking(refuse) as talk:
        assert await talk.peer.frame() == (CLOSE, b"\x03\xf0signed out")
        await talk.peer.send(frame(TEXT, b"late") + frame(PING) + close(1008))
        await talk.peer.stream.aclose()
        assert await talk.ended() == 0


async def test_stop_closes_1001_and_the_handler_is_notified(autojump_clock: MockClock) -> None:
    gone = Gone()
    async with talking(gone) as talk:
        talk.stopping.set()
        assert await talk.peer.frame() == (CLOSE, b"\x03\xe9")
        await talk.peer.send(frame(PING) + frame(TEXT, b"late") + close(1001))
        await talk.peer.stream.aclose()
        assert await talk.ended() == 0
    assert (gone.messages, gone.codes) == ([], [1001])


async def test_stop_waits_a_moment_for_a_peer_that_acknowledges_but_stays(
    autojump_clock: MockClock,
) -> None:
    async with talking(Gone()) as talk:
        talk.stopping.set()
        assert await talk.peer.frame() == (CLOSE, b"\x03\xe9")
        await talk.peer.send(close(1001))
        assert await talk.ended() == LINGER_AT_STOP


@pytest.mark.parametrize(
    ("handler", "immediate"), [(echo, True), (echo, False), (wait_forever, True)]
)
@pytest.mark.parametrize(
    "response",
    [b"", frame(PING) * 3, frame(TEXT, b"x")[:-1], frame(BINARY, length=1 << 40), frame(3)],
    ids=["silent", "pings", "half-a-frame", "endless-frame", "broken"],
)
async def test_stop_ends_in_time_whatever_the_peer_sends(
    handler: Handler, immediate: bool, response: bytes, autojump_clock: MockClock
) -> None:
    async with talking(handler, immediate=immediate) as talk:
        talk.stopping.set()
        assert await talk.peer.frame() == (CLOSE, b"\x03\xe9")
        await talk.peer.send(response)
        assert await talk.ended() == OPTIONS["close_time"]


async def test_stop_is_told_at_the_end_by_a_handler_that_never_receives(
    autojump_clock: MockClock,
) -> None:
    async with talking(wait_forever, immediate=False) as talk:
        talk.stopping.set()
        assert await talk.peer.frame() == (CLOSE, b"\x03\xe9")
        assert trio.current_time() == OPTIONS["close_time"]
        await talk.ended()


async def test_stop_gives_the_handler_until_the_end_of_the_close(
    autojump_clock: MockClock,
) -> None:
    done = []

    async def tidy(connection: ServerWebSocket) -> None:
        async for _ in connection:
            pass
        await trio.sleep(3)
        done.append(trio.current_time())

    async with talking(tidy) as talk:
        talk.stopping.set()
        assert await talk.ended() == OPTIONS["close_time"]
    assert done == [3]


async def test_cancelled_serving_ends_immediately(autojump_clock: MockClock) -> None:
    async with talking(wait_forever) as talk:
        talk.scope.cancel()
        assert await talk.ended() == 0
        assert await talk.peer.frames() == []


async def test_what_the_handler_does_not_receive_is_left_in_the_socket(
    autojump_clock: MockClock,
) -> None:
    taken = []

    async def take_late(connection: ServerWebSocket) -> None:
        await trio.sleep(10)
        taken.extend([message async for message in connection])

    async with talking(take_late, max_message_size=10) as talk:
        await talk.peer.send(frame(TEXT, b"x") * 200 + frame(PING, b"?") + close(1001))
        assert await talk.peer.frame() == (PONG, b"?")
        assert trio.current_time() == 10
        assert await talk.peer.frame() == (CLOSE, b"\x03\xe9")
        await talk.peer.stream.aclose()
        await talk.ended()
    assert taken == ["x"] * 200


async def test_wake_interrupts_the_wait_and_loses_no_message(autojump_clock: MockClock) -> None:
    received: list[str | bytes | None] = []
    connections = []

    async def take(connection: ServerWebSocket) -> None:
        connections.append(connection)
        while True:
            received.append(await connection.receive_or_wake())

    async with talking(take) as talk:
        await wait_all_tasks_blocked()
        [connection] = connections
        connection.wake()
        connection.wake()
        await wait_all_tasks_blocked()
        assert received == [None]
        # Half a message is kept; a wake comes before the messages that have arrived.
        await talk.peer.send(frame(TEXT, b"half")[:-1])
        await wait_all_tasks_blocked()
        connection.wake()
        await talk.peer.send(frame(TEXT, b"half")[-1:] + frame(TEXT, b"more"))
        await wait_all_tasks_blocked()
        assert received == [None, None, "half", "more"]


@pytest.mark.parametrize("immediate", [True, False])
@pytest.mark.parametrize("passes", range(4))
async def test_what_is_due_right_after_a_message_is_not_overlooked(
    passes: int, immediate: bool, autojump_clock: MockClock
) -> None:
    received: list[str | bytes | None] = []
    connections = []

    async def take(connection: ServerWebSocket) -> None:
        connections.append(connection)
        while True:
            received.append(await connection.receive_or_wake())

    async with talking(take, immediate=immediate) as talk:
        await talk.peer.send(frame(TEXT, b"x"))
        while not received:
            await trio.lowlevel.checkpoint()
        for _ in range(passes):
            await trio.lowlevel.checkpoint()
        connections[0].wake()
        connections[0].ping(b"?")
        assert await talk.peer.frame() == (PING, b"?")
        await wait_all_tasks_blocked()
        assert received == ["x", None]
        assert trio.current_time() == 0


async def test_patience_ends_a_wait_and_no_send(autojump_clock: MockClock) -> None:
    received: list[str | bytes | None] = []

    async def take(connection: ServerWebSocket) -> None:
        received.extend([await connection.receive_or_wake(1.0) for _ in range(3)])

    client, socket = memory_stream_pair()
    peer = Peer(client)

    pump = socket.send_stream.send_all_hook
    assert pump is not None

    async def send_slowly() -> None:
        await pump()
        # Longer than the patience.
        await trio.sleep(3)

    socket.send_stream.send_all_hook = send_slowly
    await peer.send(frame(PING, b"?"))
    async with trio.open_nursery() as nursery:
        sockets = WebSockets(**OPTIONS)
        nursery.start_soon(partial(sockets.serve, Upgraded(socket), take, stopping=trio.Event()))
        assert await peer.frame() == (PONG, b"?")
        await peer.send(frame(TEXT, b"x"))
        assert await peer.close_code() == 1000
        await peer.stream.aclose()
    assert received == [None, "x", None]


async def test_handler_that_was_interrupted_does_not_wait(autojump_clock: MockClock) -> None:
    waiting = []

    async def leave(connection: ServerWebSocket) -> None:
        with trio.move_on_after(1):
            await connection.receive()
        waiting.append(connection.is_waiting)

    async with talking(leave) as talk:
        assert await talk.peer.frame() == (CLOSE, b"\x03\xe8")
    assert waiting == [False]


async def test_nothing_follows_a_frame_that_was_sent_in_part(autojump_clock: MockClock) -> None:
    connections = []

    async def cut(connection: ServerWebSocket) -> None:
        connections.append(connection)
        with trio.move_on_after(5):
            await connection.send("cut off")
        await trio.sleep(5)

    client, socket = memory_stream_pair()
    peer = Peer(client)
    pump = socket.send_stream.send_all_hook
    assert pump is not None

    async def send_in_part() -> None:
        await pump()
        await trio.sleep_forever()

    socket.send_stream.send_all_hook = send_in_part
    async with trio.open_nursery() as nursery:
        sockets = WebSockets(**OPTIONS)
        nursery.start_soon(partial(sockets.serve, Upgraded(socket, 60), cut, stopping=trio.Event()))
        await trio.sleep(1)
        # While the frame is sent.
        connections[0].ping(b"?")
        connections[0].stop(1001)
        await trio.sleep(10)
        assert await peer.frames() == [(TEXT, b"cut off")]


async def test_one_message_after_another_lets_others_run(autojump_clock: MockClock) -> None:
    taken = 0

    async def take(connection: ServerWebSocket) -> None:
        nonlocal taken
        async for _ in connection:
            taken += 1

    async with talking(take) as talk:
        await talk.peer.send(frame(PONG) * 100 + frame(TEXT, b"x") * 100)
        passes = 0
        while taken < 100:
            await trio.lowlevel.checkpoint()
            passes += 1
        assert passes >= 200


@pytest.mark.parametrize("immediate", [True, False])
async def test_pings_are_sent_at_their_interval_and_each_expects_its_pong(
    immediate: bool, autojump_clock: MockClock
) -> None:
    gone = Gone()
    async with talking(gone, immediate=immediate, ping_interval=30, pong_time=10) as talk:
        for number in range(3):
            opcode, payload = await talk.peer.frame()
            assert (opcode, trio.current_time()) == (PING, 30 * (number + 1))
            await talk.peer.send(frame(PONG, payload))
        assert (await talk.peer.frame())[0] == PING
        assert await talk.peer.close_code() == 1011
        assert trio.current_time() == 4 * 30 + 10
        await talk.peer.stream.aclose()
        await talk.ended()
    assert (gone.codes, gone.reasons) == ([1011], ["no pong in time"])


async def test_pong_after_unreceived_messages_is_not_missed(
    autojump_clock: MockClock,
) -> None:
    async with talking(wait_forever, ping_interval=30, pong_time=10) as talk:
        assert (await talk.peer.frame())[0] == PING
        await talk.peer.send(frame(TEXT) * 65)
        await trio.sleep(500)
        talk.stopping.set()
        assert await talk.peer.close_code() == 1001


async def test_200_sockets_are_closed_1001_immediately_on_stop() -> None:
    codes: list[int] = []

    async def follow(peer: Peer) -> None:
        opcode, payload = await peer.frame()
        assert opcode == CLOSE
        await peer.send(close(1001))
        assert await peer.frames() == []
        await peer.stream.aclose()
        codes.append(int.from_bytes(payload, "big"))

    async with served(close_time=60) as server:
        peers = [await server.open() for _ in range(200)]
        begun = trio.current_time()
        server.stopping.set()
        async with trio.open_nursery() as nursery:
            for peer in peers:
                nursery.start_soon(follow, peer)
        for _ in peers:
            (await server.done.receive()).unwrap()
        assert trio.current_time() - begun < 10
    assert codes == [1001] * 200


async def test_stop_with_a_peer_that_does_not_read_ends_in_time() -> None:
    async with served(flood, close_time=0.2) as server:
        await server.open()
        await wait_all_tasks_blocked(0.05)
        begun = trio.current_time()
        server.stopping.set()
        (await server.done.receive()).unwrap()
        assert trio.current_time() - begun < 2


async def test_send_to_a_peer_that_does_not_read_ends_with_the_connection_gone() -> None:
    codes = []

    async def note(connection: ServerWebSocket) -> None:
        try:
            await flood(connection)
        except ConnectionGone as gone:
            codes.append(gone.code)
            raise

    async with served(note, send_time=0.1) as server:
        await server.open()
        (await server.done.receive()).unwrap()
    assert codes == [1006]


@pytest.mark.parametrize("message", ["", "né", b"\xff", "*" * 126, "*" * 65536])
async def test_prebuilt_frame_is_sent_like_its_message(
    message: str | bytes, autojump_clock: MockClock
) -> None:
    made = message_frame(message)

    async def send(connection: ServerWebSocket) -> None:
        await connection.send(message)
        await connection.send_frame(made)
        await connection.close()
        with pytest.raises(ConnectionGone):
            await connection.send_frame(made)

    async with talking(send) as talk:
        assert await talk.peer.frame() == await talk.peer.frame()
        assert await talk.peer.close_code() == 1000


async def test_send_cancelled_midway_ends_sending_without_a_broken_frame() -> None:
    async def shorten(connection: ServerWebSocket) -> None:
        with trio.move_on_after(0.05):
            await flood(connection)
        with pytest.raises(ConnectionGone):
            await connection.send("next")

    async with served(shorten) as server:
        peer = await server.open()
        (await server.done.receive()).unwrap()
        with contextlib.suppress(EOFError):
            while True:
                assert await peer.frame() == (BINARY, BIG)


async def test_close_frame_reaches_a_peer_that_is_still_sending() -> None:
    async with served(max_message_size=1000) as server:
        peer = await server.open()
        await peer.send(frame(BINARY, b"*" * 4_000_000))
        assert await peer.close_code() == 1009


async def test_stream_that_cannot_be_half_closed_is_closed_after_the_close_frame(
    autojump_clock: MockClock,
) -> None:
    client, socket = memory_stream_pair()
    peer = Peer(client)
    await peer.send(frame(3))
    await WebSockets(**OPTIONS).serve(Whole(socket), echo, stopping=trio.Event())
    assert await peer.close_code() == 1002
    assert trio.current_time() == 0
