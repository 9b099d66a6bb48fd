"""One task that watches the deadlines of all connections, and whether their clients are there.

A timer or a task for each request would cost more than most requests do. So a connection only
notes its deadlines, and every tick this task looks through them; it also asks the system, with
one call, which of the clients that wait for an answer have left.
"""

import math
import select
from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

import trio

from octavo.http.server.limits import Limits

# Where the system can't tell that a peer only closed its sending side, it tells of a reset.
_LEFT = getattr(select, "POLLRDHUP", select.POLLHUP)
_BROKEN = select.POLLHUP | select.POLLERR


class ConnectionState(Enum):
    """What a connection is doing, and so what its deadline limits."""

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
    CLIENT_LEFT = auto()  # the client closed before it had its response
    SHUTDOWN = auto()  # the service stops, and the connection was idle


_TIMEOUTS = {
    ConnectionState.IDLE: CloseReason.IDLE_TIMEOUT,
    ConnectionState.HEAD: CloseReason.HEAD_TIMEOUT,
    ConnectionState.BODY: CloseReason.BODY_TIMEOUT,
    ConnectionState.REQUEST: CloseReason.REQUEST_TIMEOUT,
    ConnectionState.DRAIN: CloseReason.DRAIN_TIMEOUT,
    ConnectionState.LINGER: CloseReason.LINGER_TIMEOUT,
}


class Watched(Protocol):
    """What the watchdog knows of a connection.

    The deadlines are on trio's clock, ``math.inf`` for none. ``seen_request`` and
    ``left_at`` are the watchdog's own notes: what it saw last, and when it saw the client go.
    """

    descriptor: int
    state: ConnectionState
    deadline: float
    request_deadline: float
    seen_request: object
    left_at: float | None

    @property
    def write_deadline(self) -> float:
        """When the client must have taken what is being sent to it."""

    @property
    def request(self) -> object:
        """The request whose answer a client waits for, or None."""

    def terminate(self, reason: CloseReason) -> None:
        """Close the connection for ``reason``. Calls after the first have no effect."""

    @property
    def idle(self) -> bool:
        """True while no request is there, not even a part of one."""

    def has_input(self) -> bool:
        """Return whether bytes have arrived that nobody has read yet."""

    def shorten_deadline(self, deadline: float) -> None:
        """Wait at most until ``deadline`` for input that the client need not send."""

    def client_left(self) -> bool:
        """Learn that the client left; return whether that ends the connection."""


class Watchdog:
    """Watches the connections that are added to it, while `run` runs.

    ``now`` is trio's time of the last tick, never more than a tick ago while anything is
    watched: a deadline counted from it spares the clock. ``at_tick`` is called whenever it moves.
    """

    def __init__(self, limits: Limits, at_tick: Callable[[], None]) -> None:
        self._limits = limits
        self._at_tick = at_tick
        self._watched: set[Watched] = set()
        self._work = trio.Event()
        self.now = -math.inf

    def add(self, connection: Watched) -> None:
        """Watch ``connection`` until it is removed."""
        if not self._watched:
            self._tick()
        self._watched.add(connection)
        self._work.set()

    def _tick(self) -> None:
        self.now = trio.current_time()
        self._at_tick()

    def remove(self, connection: Watched) -> None:
        """Watch ``connection`` no longer."""
        self._watched.discard(connection)

    def connections(self) -> tuple[Watched, ...]:
        """Return the connections watched now."""
        return tuple(self._watched)

    async def run(self) -> None:
        """Look at every connection each tick, until cancelled; sleep while there is none."""
        while True:
            if not self._watched:
                self._work = trio.Event()
                await self._work.wait()
            await trio.sleep(self._limits.tick)
            self._tick()
            self._look(self.now)

    def _look(self, now: float) -> None:
        # The tick that a deadline was counted from may have been that much ago.
        late = now - self._limits.tick
        waiting: dict[int, Watched] = {}
        for connection in tuple(self._watched):
            if late >= connection.deadline:
                connection.terminate(_TIMEOUTS[connection.state])
            elif late >= connection.write_deadline:
                connection.terminate(CloseReason.WRITE_TIMEOUT)
            elif late >= connection.request_deadline:
                connection.terminate(CloseReason.REQUEST_TIMEOUT)
            elif connection.request is not None:
                # Most requests are over before the next tick: only the others are asked about.
                if connection.request is connection.seen_request:
                    waiting[connection.descriptor] = connection
                else:
                    connection.seen_request = connection.request
                    connection.left_at = None
        if waiting:
            self._look_for_leavers(waiting, now)

    def _look_for_leavers(self, waiting: dict[int, Watched], now: float) -> None:
        poll = select.poll()
        for descriptor in waiting:
            poll.register(descriptor, _LEFT)
        for descriptor, event in poll.poll(0):
            connection = waiting[descriptor]
            if connection.left_at is None:
                connection.left_at = now
            gone = event & _BROKEN or now - connection.left_at >= self._limits.half_close_time
            if gone and connection.client_left():
                connection.terminate(CloseReason.CLIENT_LEFT)
