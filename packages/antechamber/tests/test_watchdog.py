"""Deadlines that pass together are enforced in portions, and other tasks run in between."""

import math
import socket
from dataclasses import dataclass

import pytest
import trio
from antechamber.limits import Limits
from antechamber.watchdog import CloseReason, ConnectionState, Watchdog

MANY = 1_000
PORTION = 16


@dataclass(eq=False)
class Connection:
    """A connection that has exceeded its deadline, or whose client has left."""

    descriptor: int
    deadline: float
    request: object
    terminated: list[CloseReason]
    state: ConnectionState = ConnectionState.HEAD
    request_deadline: float = math.inf
    write_deadline: float = math.inf
    seen_request: object = None
    left_at: float | None = None

    def terminate(self, reason: CloseReason) -> None:
        self.deadline = math.inf
        self.request = None
        self.terminated.append(reason)

    def client_left(self) -> bool:
        return True


@pytest.mark.parametrize("reason", [CloseReason.HEAD_TIMEOUT, CloseReason.CLIENT_LEFT])
async def test_connections_that_end_together_are_closed_in_portions(
    reason: CloseReason,
) -> None:
    terminated: list[CloseReason] = []
    watchdog = Watchdog(Limits(tick=0.01, half_close_timeout=0), lambda: None)
    pairs = [socket.socketpair() for _ in range(MANY if reason is CloseReason.CLIENT_LEFT else 1)]
    for number in range(MANY):
        timed_out = reason is CloseReason.HEAD_TIMEOUT
        connection = Connection(
            pairs[number % len(pairs)][0].fileno(),
            trio.current_time() if timed_out else math.inf,
            None if timed_out else object(),
            terminated,
        )
        watchdog.add(connection)  # type: ignore[arg-type]
    for _, client in pairs:
        client.close()
    portions: list[int] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watchdog.run)
        while len(terminated) < MANY:
            before = len(terminated)
            await trio.lowlevel.checkpoint()
            portions.append(len(terminated) - before)
        nursery.cancel_scope.cancel()
    for server, _ in pairs:
        server.close()
    assert set(terminated) == {reason}
    assert max(portions) <= 2 * PORTION
    assert len(portions) >= MANY / (2 * PORTION)
