"""Let a client network begin a few requests or messages in each round of the scheduler.

A request passes through the event loop several times, and each time it waits for everything that
can run in the same round. A client with hundreds of connections, or with pipelined requests, would
make each round as long as all of its requests take. So it begins some of them in a round, and the
others in the next ones: the loop is as busy as before, but its rounds stay short for others.
Messages from WebSockets and handshakes of TLS count like requests.
"""

import time
from collections import OrderedDict

import trio

ROUND_SECONDS = 0.002
"""Processor time of a round after which fewer are begun. A save takes tens of rounds."""
CONTENDED_SECONDS = 1.0
"""Seconds after a round with several networks in which fewer than the most are begun."""


class NetworkTurns(trio.abc.Instrument):
    """Counts what each network begins in the present round; the rest waits in order.

    It must be an instrument of trio's run, and `run` must run, while `begin` is used. How many may
    be begun depends on how long rounds take while several networks are served: it is halved after a
    long one, and grows slowly otherwise.

    Args:
        most: the requests and messages that a network may begin in one round, at most.

    Attributes:
        limit: how many it may begin at present.
    """

    def __init__(self, most: int) -> None:
        self.limit = self._most = most
        self._begun: dict[str, int] = {}
        # In processor time, in which nobody waits between two rounds.
        self._last_round_ended = time.thread_time()
        # 0 when the limit is not lowered.
        self._contended_until = 0.0
        # In the order in which they begin.
        self._waiting: dict[str, OrderedDict[trio.lowlevel.Task, None]] = {}
        self._wake = trio.Event()

    def before_io_wait(self, timeout: float) -> None:
        """End a round."""
        began, self._last_round_ended = self._last_round_ended, time.thread_time()
        begun = self._begun
        if begun:
            if len(begun) > 1:
                self._contended_until = trio.current_time() + CONTENDED_SECONDS
            begun.clear()
            if not self._contended_until:
                return
            if trio.current_time() > self._contended_until:
                self.limit = self._most
                self._contended_until = 0.0
            elif self._last_round_ended - began > ROUND_SECONDS:
                self.limit = max(1, self.limit // 2)
            elif self.limit < self._most:
                self.limit += 1

    def may_begin(self, network: str) -> bool:
        """Count a request of ``network``; return False when it has to wait for `begin`."""
        begun = self._begun.get(network, 0)
        if begun >= self.limit or network in self._waiting:
            return False
        self._begun[network] = begun + 1
        return True

    async def begin(self, network: str) -> None:
        """Wait until ``network`` may begin a request. Cancellation counts nothing.

        Those of a network begin in the order in which they came.
        """
        if self.may_begin(network):
            return
        queue = self._waiting.get(network)
        if queue is None:
            queue = self._waiting[network] = OrderedDict()
            self._wake.set()
        task = trio.lowlevel.current_task()
        queue[task] = None

        def leave(_raise_cancel: object) -> trio.lowlevel.Abort:
            del queue[task]
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(leave)

    async def run(self) -> None:
        """Let those begin that wait, in each round as many as may, until cancelled.

        They don't run in the rounds before: hundreds that each asked again would make these long.
        """
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            while self._waiting:
                # The next round.
                await trio.lowlevel.checkpoint()
                for network, queue in tuple(self._waiting.items()):
                    self._let_begin(network, queue)

    def _let_begin(self, network: str, queue: OrderedDict[trio.lowlevel.Task, None]) -> None:
        begun = self._begun.get(network, 0)
        while queue and begun < self.limit:
            task, _ = queue.popitem(last=False)
            trio.lowlevel.reschedule(task)
            begun += 1
            self._begun[network] = begun
        if not queue:
            del self._waiting[network]
