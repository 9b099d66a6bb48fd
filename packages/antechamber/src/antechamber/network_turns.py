"""Let a client site begin a few requests or messages in each round of the scheduler.

A request passes through the event loop several times, and each time it waits for everything that
can run in the same round. A client with hundreds of connections, or with pipelined requests, would
make each round as long as all of its requests take. So it begins some of them in a round, and the
others in the next ones: the loop is as busy as before, but its rounds stay short for others.
Messages from WebSockets and handshakes of TLS count like requests. The networks of one site share
what it may begin, in turn: a subscriber with thousands of networks would pass as many clients.
"""

import time
from collections import OrderedDict

import trio

from antechamber.network_prefix import site_prefix

ROUND_SECONDS = 0.002
"""Processor time of a round after which fewer are begun. A save takes tens of rounds."""
CONTENDED_SECONDS = 1.0
"""Seconds after a round with several sites in which fewer than the most are begun."""

_Waiting = OrderedDict[trio.lowlevel.Task, None]


class NetworkTurns(trio.abc.Instrument):
    """Counts what each site begins in the present round; the rest waits in order.

    It must be an instrument of trio's run, and `run` must run, while `begin` is used. How many may
    be begun depends on how long rounds take while several sites are served: it is halved after a
    long one, and grows slowly otherwise. While one site alone is served, and nothing of it waits,
    rounds are not timed: the processor time of a thread takes a system call.

    Args:
        most: the requests and messages that a site may begin in one round, at most.

    Attributes:
        limit: how many it may begin at present.
    """

    def __init__(self, most: int) -> None:
        self.limit = self._most = most
        self._begun: dict[str, int] = {}
        # 0 while one site alone is served, and the limit is not lowered.
        self._contended_until = 0.0
        # In processor time, in which nobody waits between two rounds; 0 if it was not timed.
        self._last_round_ended = 0.0
        # By site and network: in the order in which networks have their turns, and those of a
        # network begin.
        self._waiting: dict[str, OrderedDict[str, _Waiting]] = {}
        self._wake = trio.Event()

    def before_io_wait(self, timeout: float) -> None:
        """End a round."""
        contended, sites = self._contended_until != 0.0, len(self._begun)
        if not contended and sites < 2 and not self._waiting:
            self._begun.clear()
            self._last_round_ended = 0.0
            return
        began, self._last_round_ended = self._last_round_ended, time.thread_time()
        if not sites:
            return
        self._begun.clear()
        if sites > 1:
            self._contended_until = trio.current_time() + CONTENDED_SECONDS
        elif not contended:
            return
        if trio.current_time() > self._contended_until:
            self.limit = self._most
            self._contended_until = 0.0
        elif began and self._last_round_ended - began > ROUND_SECONDS:
            self.limit = max(1, self.limit // 2)
        elif self.limit < self._most:
            self.limit += 1

    def may_begin(self, network: str) -> bool:
        """Count a request of ``network``; return False when it has to wait for `begin`."""
        site = site_prefix(network)
        begun = self._begun.get(site, 0)
        if begun >= self.limit or site in self._waiting:
            return False
        self._begun[site] = begun + 1
        return True

    async def begin(self, network: str) -> None:
        """Wait until ``network`` may begin a request. Cancellation counts nothing.

        The requests of a network begin in the order of their arrival.
        """
        if self.may_begin(network):
            return
        site = site_prefix(network)
        networks = self._waiting.get(site)
        if networks is None:
            networks = self._waiting[site] = OrderedDict()
            self._wake.set()
        queue = networks.get(network)
        if queue is None:
            queue = networks[network] = OrderedDict()
        task = trio.lowlevel.current_task()
        queue[task] = None

        def leave(_raise_cancel: object) -> trio.lowlevel.Abort:
            # An empty queue is removed when it has its turn.
            del queue[task]
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(leave)

    async def run(self) -> None:
        """Start what waits, in each round as much as the limit allows, until cancelled.

        A waiting task is woken only for its turn: hundreds that check again in every round would
        make the rounds long.
        """
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            while self._waiting:
                # The next round.
                await trio.lowlevel.checkpoint()
                for site, networks in tuple(self._waiting.items()):
                    self._let_begin(site, networks)

    def _let_begin(self, site: str, networks: OrderedDict[str, _Waiting]) -> None:
        begun = self._begun.get(site, 0)
        while networks and begun < self.limit:
            network, queue = networks.popitem(last=False)
            if not queue:
                continue
            task, _ = queue.popitem(last=False)
            trio.lowlevel.reschedule(task)
            begun += 1
            if queue:
                # After the other networks of the site.
                networks[network] = queue
        if begun:
            self._begun[site] = begun
        if not networks:
            del self._waiting[site]
