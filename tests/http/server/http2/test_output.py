"""The queue of an HTTP/2 connection: bytes stay in order, and senders wait while it is full."""

import pytest
import trio
import trio.testing

from octavo.http.server.http2.frame_budget import FrameBudget
from octavo.http.server.http2.output import Http2Output
from octavo.http.server.limits import WRITE_SIZE
from octavo.http.server.rejection import ClientGone


class Socket:
    """A transport that accepts ``room`` bytes at once, and the rest when it is opened."""

    descriptor = -1
    eager = 0

    def __init__(self, room: int = 0) -> None:
        self.room = room
        self.sent = b""
        self.gone = False
        self.writable = trio.Event()

    def send_now(self, data: bytes) -> int:
        if self.gone:
            raise ClientGone
        accepted = data[: self.room]
        self.room -= len(accepted)
        self.sent += accepted
        return len(accepted)

    async def send(self, data: memoryview) -> None:
        await self.writable.wait()
        if self.gone:
            raise ClientGone
        self.sent += data

    def receive_now(self) -> bytes:
        raise NotImplementedError

    async def receive(self) -> bytes:
        raise NotImplementedError

    async def receive_later(self) -> bytes:
        raise NotImplementedError

    async def send_end(self) -> None:
        raise NotImplementedError

    async def linger(self, *, expecting: bool) -> None:
        raise NotImplementedError


def output_to(socket: Socket, rests: list[bool] | None = None) -> Http2Output:
    at_rest = (lambda: None) if rests is None else (lambda: rests.append(True))
    return Http2Output(socket, 5, FrameBudget(0.0), at_rest)


async def test_what_the_socket_accepts_is_written_at_once() -> None:
    rests: list[bool] = []
    socket = Socket(room=100)
    output = output_to(socket, rests)
    output.put(b"one")
    output.put(b"two")
    assert socket.sent == b""
    output.flush()
    assert (socket.sent, output.empty, rests) == (b"onetwo", True, [True])


@pytest.mark.parametrize("room", [0, 1, 4, WRITE_SIZE, WRITE_SIZE + 3])
async def test_bytes_are_written_in_order_whatever_the_socket_accepts(room: int) -> None:
    socket = Socket(room)
    output = output_to(socket)
    sent = b""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.run)
        for number in range(4):
            part = bytes([number]) * 50_000
            output.put(part)
            sent += part
            output.flush()
            await trio.testing.wait_all_tasks_blocked()
        assert not output.empty
        socket.writable.set()
        with trio.fail_after(5):
            await output.drain()
        nursery.cancel_scope.cancel()
    assert socket.sent == sent


async def test_what_is_queued_in_one_round_is_one_write() -> None:
    socket = Socket(room=100)
    output = output_to(socket)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.run)
        await trio.testing.wait_all_tasks_blocked()
        for part in (b"a", b"b", b"c"):
            output.put(part)
            output.flush_soon()
            assert socket.sent == b""
        await trio.testing.wait_all_tasks_blocked()
        assert socket.sent == b"abc"
        nursery.cancel_scope.cancel()


async def test_senders_wait_while_much_is_queued() -> None:
    socket = Socket()
    output = output_to(socket)
    output.put(bytes(WRITE_SIZE))
    assert output.full
    passed = trio.Event()

    async def sender() -> None:
        await output.room()
        passed.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.run)
        nursery.start_soon(sender)
        # The task that writes has taken these, and more are queued.
        await trio.testing.wait_all_tasks_blocked()
        output.put(bytes(WRITE_SIZE))
        nursery.start_soon(output.room)
        await trio.testing.wait_all_tasks_blocked()
        assert output.full
        socket.writable.set()
        with trio.fail_after(5):
            await passed.wait()
            await output.room()
        nursery.cancel_scope.cancel()


async def test_write_has_a_deadline_while_it_lasts() -> None:
    socket = Socket()
    output = output_to(socket)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.run)
        assert output.deadline == float("inf")
        output.put(b"a")
        output.flush()
        await trio.testing.wait_all_tasks_blocked()
        assert trio.current_time() < output.deadline < trio.current_time() + 5.1
        socket.writable.set()
        await trio.testing.wait_all_tasks_blocked()
        assert output.deadline == float("inf")
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("at_once", [True, False])
async def test_bytes_for_a_client_that_is_gone_are_dropped_and_nobody_waits(at_once: bool) -> None:
    socket = Socket()
    output = output_to(socket)
    socket.gone = at_once
    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.run)
        output.put(bytes(2 * WRITE_SIZE))
        output.flush()
        await trio.testing.wait_all_tasks_blocked()
        socket.gone = True
        socket.writable.set()
        with trio.fail_after(5):
            await output.drain()
        output.put(bytes(2 * WRITE_SIZE))
        assert not output.full
        nursery.cancel_scope.cancel()
    assert socket.sent == b""


async def test_sent_bytes_earn_budget() -> None:
    budget = FrameBudget(0.0)
    budget.spend(60_000, 0.0)
    Http2Output(Socket(), 5, budget, lambda: None).put(bytes(20_000))
    budget.spend(15_000, 0.0)
