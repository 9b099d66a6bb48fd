"""Requests of devices: to one process or another, under injected faults, in bounded time."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

import trio

from octavo.actors.core import NotExecuted, OutcomeUnknown
from octavo.actors.workspace.messages import CommitFailed
from octavo.store import StoreUnavailable
from tests.simulation.bare_process import BareProcess
from tests.simulation.weather import FaultSchedule

NEVER = 3600.0
SECONDS = (0.1, 0.5, *[NEVER] * 12)
"""Seconds after which a device gives up."""
PATIENCE = 10
"""How often it looks for a running process."""

R = TypeVar("R")
P = TypeVar("P", bound=BareProcess)


class NothingDone(Exception):
    """The device learned that nothing was done."""


class Unsettled(Exception):
    """The outcome is unknown."""


@dataclass(frozen=True, slots=True)
class Asking(Generic[P]):
    """The connection of a device to the service.

    Args:
        pick: returns a running process, if there is one.
        faults: interrupt connections.
    """

    pick: Callable[[Random], P | None]
    faults: FaultSchedule

    async def ask(self, random: Random, ask: Callable[[P, float], Awaitable[R]]) -> R:
        """Send a request to a process; raise `NothingDone`, `Unsettled` or the refusal."""
        process = self.pick(random)
        for _ in range(PATIENCE):
            if process is None:
                await trio.sleep(0.1)
                process = self.pick(random)
        if process is None:
            raise NothingDone
        patience, limit = (random.choice(SECONDS) for _ in range(2))
        with (
            process.connected(),
            self.faults.cancellable(),
            trio.move_on_after(patience),
        ):
            try:
                return await ask(process, limit)
            except NotExecuted as error:
                raise NothingDone from error
            except OutcomeUnknown as error:
                raise Unsettled from error
            except CommitFailed as error:
                raise (Unsettled if error.error.outcome_unknown else NothingDone) from error
            except StoreUnavailable as error:
                raise (Unsettled if error.outcome_unknown else NothingDone) from error
        raise Unsettled
