"""Check the deadlines of all connections, and whether their clients are connected, in one task.

A timer or a task per request would cost more than most requests. Connections only record their
deadlines; every tick this task checks them, and polls once for disconnects of all clients that wait
for a response.
"""

import math
import select
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING

import trio

from antechamber.limits import Limits

if TYPE_CHECKING:
    from antechamber.connection import HttpConnection

# Systems without POLLRDHUP report resets only, not a half-close.
_LEFT = getattr(select, "POLLRDHUP", select.POLLHUP)
# Connections terminated, or asked for a disconnect, before other tasks run. Each that times out
# sends and logs a problem, which takes about half a millisecond.
_TERMINATED = 16
_POLLED = 1_024
_BROKEN = select.POLLHUP | select.POLLERR


class ConnectionState(Enum):
    """The activity of a connection, which determines the meaning of its deadline."""

    IDLE = auto()  # between requests
    HEAD = auto()  # receiving the head of a request
    BODY = auto()  # receiving the body of a request
    REQUEST = auto()  # the application is serving a request
    DRAIN = auto()  # discarding the rest of a body that the application did not read
    LINGER = auto()  # waiting for the client to close after the last response


class CloseReason(Enum):
    """Why the server closes a connection."""

    IDLE_TIMEOUT = auto()
    HEAD_TIMEOUT = auto()
    BODY_TIMEOUT = auto()
    REQUEST_TIMEOUT = auto()
    WRITE_TIMEOUT = auto()  # the client did not read its response
    DRAIN_TIMEOUT = auto()
    LINGER_TIMEOUT = auto()
    CLIENT_LEFT = auto()  # the client disconnected before its response
    NO_ROOM = auto()  # others need the memory of a response that is not read
    SHUTDOWN = auto()  # the service stops and the connection was idle


_TIMEOUTS = {
    ConnectionState.IDLE: CloseReason.IDLE_TIMEOUT,
    ConnectionState.HEAD: CloseReason.HEAD_TIMEOUT,
    ConnectionState.BODY: CloseReason.BODY_TIMEOUT,
    ConnectionState.REQUEST: CloseReason.REQUEST_TIMEOUT,
    ConnectionState.DRAIN: CloseReason.DRAIN_TIMEOUT,
    ConnectionState.LINGER: CloseReason.LINGER_TIMEOUT,
}


class Watchdog:
    """Watches the connections added to it while `run` runs.

    ``now`` is trio's time at the last tick, at most a tick ago while a connection is watched;
    deadlines are computed from it, which saves clock reads. ``at_tick`` is called at each tick.
    """

    def __init__(self, limits: Limits, at_tick: Callable[[], None]) -> None:
        self._limits = limits
        self._at_tick = at_tick
        self._watched: set[HttpConnection] = set()
        self._work = trio.Event()
        self.now = -math.inf

    def add(self, connection: "HttpConnection") -> None:
        """Watch ``connection`` until it is removed."""
        if not self._watched:
            self._tick()
        self._watched.add(connection)
        self._work.set()

    def _tick(self) -> None:
        self.now = trio.current_time()
        self._at_tick()

    def remove(self, connection: "HttpConnection") -> None:
        """Stop watching ``connection``."""
        self._watched.discard(connection)
        # The request refers to its connection.
        connection.seen_request = None

    def connections(self) -> tuple["HttpConnection", ...]:
        """Return the watched connections."""
        return tuple(self._watched)

    async def run(self) -> None:
        """Check every connection each tick until cancelled; sleep while there is none."""
        while True:
            if not self._watched:
                self._work = trio.Event()
                await self._work.wait()
            await trio.sleep(self._limits.tick)
            self._tick()
            await self._check(self.now)

    async def _check(self, now: float) -> None:
        # Deadlines may have been computed from a time one tick earlier.
        late = now - self._limits.tick
        waiting: list[HttpConnection] = []
        terminated = 0
        for connection in tuple(self._watched):
            reason = _exceeded(connection, late)
            if reason is not None:
                connection.terminate(reason)
                terminated += 1
                if terminated % _TERMINATED == 0:
                    await self._give_way()
            elif connection.request is not None:
                # Most requests end before the next tick; only longer ones are polled.
                if connection.request is connection.seen_request:
                    waiting.append(connection)
                else:
                    connection.seen_request = connection.request
                    connection.left_at = None
        for at in range(0, len(waiting), _POLLED):
            if at:
                await self._give_way()
            # Others may have ended meanwhile, and their descriptors be those of new connections.
            part = [one for one in waiting[at : at + _POLLED] if one in self._watched]
            await self._check_disconnects({one.descriptor: one for one in part}, now)

    async def _give_way(self) -> None:
        """Let other tasks run, among them those of the connections that were terminated."""
        await trio.lowlevel.checkpoint()
        self._tick()

    async def _check_disconnects(self, waiting: dict[int, "HttpConnection"], now: float) -> None:
        terminated = 0
        poll = select.poll()
        for descriptor in waiting:
            poll.register(descriptor, _LEFT)
        for descriptor, event in poll.poll(0):
            connection = waiting[descriptor]
            if connection.left_at is None:
                connection.left_at = now
            gone = event & _BROKEN or now - connection.left_at >= self._limits.half_close_timeout
            if gone and connection.client_left():
                connection.terminate(CloseReason.CLIENT_LEFT)
                terminated += 1
                if terminated % _TERMINATED == 0:
                    await self._give_way()


def _exceeded(connection: "HttpConnection", late: float) -> CloseReason | None:
    """Return the deadline that ``connection`` has exceeded at ``late``."""
    if late >= connection.deadline:
        return _TIMEOUTS[connection.state]
    if late >= connection.write_deadline:
        return CloseReason.WRITE_TIMEOUT
    if late >= connection.request_deadline:
        return CloseReason.REQUEST_TIMEOUT
    return None
