"""The loop of a background job: small steps while there is work, then sleep until woken."""

import logging
from collections.abc import Awaitable, Callable

import trio

from octavo.store import StoreError

POLL_SECONDS = 600.0
"""Seconds between two searches for work that nobody announced."""
PAUSE = 0.01
"""Seconds between two steps, which leave the database to other work."""
FIRST_PAUSE = 1.0
"""Seconds to wait after a failure, doubled after each further one."""

_log = logging.getLogger(__name__)


class StepLoop:
    """Repeats a step until nothing is left, when woken and every `POLL_SECONDS`.

    Args:
        task: what the log says is postponed when a step fails.
        step: does some of the work, and returns whether there may be more.
        postponing: errors of a step after which it is repeated later, besides `StoreError`.
    """

    def __init__(
        self,
        task: str,
        step: Callable[[], Awaitable[bool]],
        *postponing: type[Exception],
    ) -> None:
        self._task = task
        self._step = step
        self._postponing: tuple[type[Exception], ...] = (StoreError, *postponing)
        self._wake = trio.Event()

    def wake(self) -> None:
        """Search for work immediately; after a failure, when its pause has ended."""
        self._wake.set()

    async def run(self) -> None:
        """Run steps until cancelled."""
        pause = FIRST_PAUSE
        while True:
            self._wake = trio.Event()
            try:
                more = await self._step()
            except self._postponing as error:
                _log.info("%s is postponed: %s", self._task, error)
                await trio.sleep(pause)
                pause = min(pause * 2, POLL_SECONDS)
                continue
            pause = FIRST_PAUSE
            if more:
                await trio.sleep(PAUSE)
                continue
            with trio.move_on_after(POLL_SECONDS):
                await self._wake.wait()
