"""Share what HTTP/2 may cost fairly between client networks, whatever connections they use.

Frames are cheap to send and expensive to handle, and a limit for each connection is renewed by a
new one. So each network has a budget of work that refills with time, and a number of connections
and of open streams. A connection handles a few frames in its turn: one turn is given in a round of
the scheduler, to networks in rotation, and only while the budgets of the network and of all
together last. A client that exceeds its budget is not refused but waits, since its bytes stay in
its socket.

The unit of work is a request without a body.
"""

import heapq
from collections import OrderedDict, deque
from itertools import count

import trio

from octavo.http.server.client_network import client_network
from octavo.http.server.limits import Limits

CONNECTION_COST = 4.0
"""The work of a new connection, in requests."""
BURST_SECONDS = 2.0
"""Seconds of its rate that a network may use at once, after a pause."""
# Seconds after a turn until another is given without a round of the scheduler.
_QUIET = 0.00025


class _Bucket:
    """Work that may be done, refilled at a rate."""

    __slots__ = ("_at", "_left", "_most", "_rate")

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._most = self._left = rate * BURST_SECONDS
        self._at = now

    def charge(self, work: float, now: float) -> None:
        """Take ``work``; the debt is limited to a burst."""
        left = min(self._left + (now - self._at) * self._rate, self._most)
        self._at = now
        self._left = max(left - work, -self._most)

    def ready_at(self, now: float) -> float:
        """Return when work may be done: ``now`` or later."""
        left = self._left = min(self._left + (now - self._at) * self._rate, self._most)
        self._at = now
        return now if left > 0 else now + (1 - left) / self._rate

    def is_full(self, now: float) -> bool:
        """Return whether nothing of it was used lately."""
        return self._left + (now - self._at) * self._rate >= self._most


class Share:
    """What one client network uses.

    Attributes:
        connections: its open HTTP/2 connections.
        streams: its requests in progress.
    """

    __slots__ = ("bucket", "connections", "network", "queued", "streams", "waiting")

    def __init__(self, network: str | None, bucket: _Bucket | None) -> None:
        self.network = network
        self.connections = self.streams = 0
        self.bucket = bucket
        self.waiting: deque[trio.Event] = deque()
        self.queued = False


class Pacer:
    """Gives turns to the HTTP/2 connections of one server while `run` runs.

    Trusted proxies, and peers without an address, carry many clients: only the limits for all
    apply to them.

    Attributes:
        streams: the number of requests in progress.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._all = _Bucket(limits.http2_requests_per_second, trio.current_time())
        self.streams = 0
        self._shares: dict[str | None, Share] = {}
        # Without a connection, kept until they have nothing to pay for.
        self._left: OrderedDict[str | None, Share] = OrderedDict()
        # Shares with a waiting connection: in the order of their turns, and by their time.
        self._ready: deque[Share] = deque()
        self._later: list[tuple[float, int, Share]] = []
        self._order = count()
        self._work = trio.Event()
        self._quiet_at = 0.0

    @property
    def networks(self) -> int:
        """The number of networks that something is known of."""
        return len(self._shares)

    def enter(self, client: str | None, *, trusted: bool) -> Share | None:
        """Count a connection of the address ``client``; return None when it has too many."""
        now = trio.current_time()
        self._forget(now)
        network = None if trusted or client is None else client_network(client)
        share = self._shares.get(network)
        if share is None:
            rate = self._limits.http2_requests_per_second_per_client
            share = Share(network, None if network is None else _Bucket(rate, now))
            self._shares[network] = share
        most = self._limits.http2_connections_per_client
        if network is not None and share.connections >= most:
            return None
        share.connections += 1
        self._left.pop(network, None)
        self.charge(share, CONNECTION_COST, now)
        return share

    def leave(self, share: Share) -> None:
        """Count a connection of ``share`` as closed."""
        share.connections -= 1
        if not share.connections:
            self._left[share.network] = share

    def has_room(self, share: Share) -> bool:
        """Return whether another request of ``share`` may be in progress."""
        limits = self._limits
        if self.streams >= limits.http2_streams:
            return False
        return share.network is None or share.streams < limits.http2_streams_per_client

    def open_stream(self, share: Share) -> None:
        """Count a request in progress."""
        self.streams += 1
        share.streams += 1

    def close_stream(self, share: Share) -> None:
        """Count a request as ended."""
        self.streams -= 1
        share.streams -= 1

    def charge(self, share: Share, work: float, now: float) -> None:
        """Charge ``work`` that was done for ``share``; ``now`` is trio's time."""
        self._quiet_at = now + _QUIET
        self._all.charge(work, now)
        if share.bucket is not None:
            share.bucket.charge(work, now)

    async def turn(self, share: Share) -> None:
        """Wait for the turn of a connection of ``share``; charge its work before the next one.

        While nobody has a turn it returns at once, which saves two task switches.
        """
        if self._is_quiet(share):
            return
        granted = trio.Event()
        share.waiting.append(granted)
        if not share.queued:
            share.queued = True
            self._ready.append(share)
        self._work.set()
        try:
            await granted.wait()
        except trio.Cancelled:
            if not granted.is_set():
                share.waiting.remove(granted)
            raise

    def _is_quiet(self, share: Share) -> bool:
        """Return whether ``share`` may have a turn outside the rotation, as the only one."""
        if self._ready or share.waiting:
            return False
        now = trio.current_time()
        if now < self._quiet_at or self._all.ready_at(now) > now:
            return False
        return share.bucket is None or share.bucket.ready_at(now) <= now

    async def run(self) -> None:
        """Give the turns until cancelled."""
        while True:
            now = trio.current_time()
            while self._later and self._later[0][0] <= now:
                self._ready.append(heapq.heappop(self._later)[2])
            due = self._all.ready_at(now)
            if self._ready and due <= now:
                self._grant(self._ready.popleft(), now)
                await trio.lowlevel.checkpoint()
                continue
            if not self._ready:
                due = max(due, self._later[0][0]) if self._later else float("inf")
                self._work = trio.Event()
                with trio.move_on_at(due):
                    await self._work.wait()
            else:
                await trio.sleep_until(due)

    def _grant(self, share: Share, now: float) -> None:
        if not share.waiting:
            # The one that waited was cancelled.
            share.queued = False
            return
        ready = now if share.bucket is None else share.bucket.ready_at(now)
        if ready > now:
            heapq.heappush(self._later, (ready, next(self._order), share))
            return
        share.waiting.popleft().set()
        if share.waiting:
            self._ready.append(share)
        else:
            share.queued = False

    def _forget(self, now: float) -> None:
        while self._left:
            network, share = next(iter(self._left.items()))
            if share.streams or not (share.bucket is None or share.bucket.is_full(now)):
                return
            del self._left[network], self._shares[network]
