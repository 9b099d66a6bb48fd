"""Let a client network begin a few requests in each round of the scheduler.

A request passes through the event loop several times, and each time it waits for everything that
can run in the same round. A client with hundreds of connections, or with pipelined requests, would
make each round as long as all of its requests take. So it begins some of them in a round, and the
others in the next ones: the loop is as busy as before, but its rounds stay short for others.
"""

import time

import trio

ROUND_SECONDS = 0.005
"""Processor time of a round after which fewer requests are begun."""
MOST = 64
"""Requests of a network that are begun in one round, at most."""
CONTENDED_SECONDS = 1.0
"""Seconds after a round with requests of several networks in which fewer than `MOST` are begun."""


class RequestTurns(trio.abc.Instrument):
    """Counts the requests that each network begins in the present round.

    It must be an instrument of trio's run while `begin` is used. How many may be begun depends on
    how long rounds take while several networks are served: it is halved after a long one, and grows
    slowly otherwise.

    Attributes:
        limit: the requests that a network may begin in one round.
    """

    def __init__(self) -> None:
        self.limit = MOST
        self._begun: dict[str, int] = {}
        self._round_began = time.thread_time()
        self._contended_until = 0.0

    def after_io_wait(self, timeout: float) -> None:
        """Begin a round."""
        self._round_began = time.thread_time()

    def before_io_wait(self, timeout: float) -> None:
        """End a round."""
        begun = self._begun
        if begun:
            if len(begun) > 1:
                self._contended_until = trio.current_time() + CONTENDED_SECONDS
            begun.clear()
            if trio.current_time() > self._contended_until:
                self.limit = MOST
            elif time.thread_time() - self._round_began > ROUND_SECONDS:
                self.limit = max(1, self.limit // 2)
            elif self.limit < MOST:
                self.limit += 1

    def may_begin(self, network: str) -> bool:
        """Count a request of ``network``; return False when it has to wait for `begin`."""
        begun = self._begun.get(network, 0)
        if begun >= self.limit:
            return False
        self._begun[network] = begun + 1
        return True

    async def begin(self, network: str) -> None:
        """Wait until ``network`` may begin a request. Cancellation counts nothing."""
        while not self.may_begin(network):
            await trio.lowlevel.checkpoint()
