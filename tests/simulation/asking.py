"""Requests of devices: to one process or another, under injected faults, in bounded time."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, NamedTuple, TypeVar

import trio
from greenroom import ActorQuarantined, MailboxFull, NotExecuted, OutcomeUnknown
from greenroom.testing import current_schedule, note

from octavo.actors.jobs.indexing import CATCH_UP_SECONDS
from octavo.actors.workspace.messages import CommitFailed
from octavo.store import StoreUnavailable
from octavo.store.queries.blobs import BlobCollected
from tests.simulation.bare_process import BareProcess
from tests.simulation.weather import FaultSchedule

NEVER = 3600.0
SECONDS = (0.1, 0.5, *[NEVER] * 12)
"""Seconds after which a device gives up."""
PATIENCE = 10
"""How often it looks for a running process."""
LONGEST = 30.0
"""Seconds within which every request ends, whatever happens."""

R = TypeVar("R")
P = TypeVar("P", bound=BareProcess)


class NothingDone(Exception):
    """The device learned that nothing was done."""


class Unsettled(Exception):
    """The outcome is unknown."""


def _accept(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Asking(Generic[P]):
    """The connection of a device to the service.

    Args:
        pick: returns a running process, if there is one.
        faults: interrupt connections.
        violated: called with each request that fails without a reason, or takes too long.
    """

    pick: Callable[[Random], P | None]
    faults: FaultSchedule
    violated: Callable[[str], None] = _accept

    async def ask(
        self,
        random: Random,
        ask: Callable[[P, float], Awaitable[R]],
        what: object,
        *about: str,
    ) -> R:
        """Send a request to a process; raise `NothingDone`, `Unsettled` or the refusal.

        ``what`` it is and what it is ``about`` are for reports. The beginning of one that is not a
        text is noted by the caller, as by a `History`.
        """
        process = self.pick(random)
        for _ in range(PATIENCE):
            if process is None:
                await trio.sleep(0.1)
                process = self.pick(random)
        if process is None:
            raise NothingDone
        patience, limit = (random.choice(SECONDS) for _ in range(2))
        if isinstance(what, str):
            note(_Event(what, f"is sent to {process.name}"), *about)
        begun, harm = trio.current_time(), self.faults.harm
        try:
            return await self._exchange(process, ask, patience, limit)
        except (NothingDone, Unsettled) as failure:
            cause = failure.__cause__
            took = trio.current_time() - begun
            end = "the outcome is unknown" if isinstance(failure, Unsettled) else "nothing is done"
            note(_Event(what, end, process.name, took, cause), *about)
            if isinstance(cause, ActorQuarantined):
                process.quarantines.require_ended(str(cause).split()[0], cause.retry_after)
            elif not (
                isinstance(failure, _Interrupted)
                or isinstance(cause, BlobCollected)
                or process.ending
                or self.faults.harm != harm
                or took > min(patience, limit) - 1e-6
                or _took_long(cause, took)
                or _is_full(cause)
            ):
                where = _where(what, about, process.name)
                self.violated(f"{where} failed without a fault: {failure!r} of {cause!r}")
            raise
        finally:
            took = trio.current_time() - begun
            # Time may leap over any limit when it passes early.
            if took > LONGEST and not current_schedule().early_time:
                self.violated(f"{_where(what, about, process.name)} took {took:g} s")

    async def _exchange(
        self, process: P, ask: Callable[[P, float], Awaitable[R]], patience: float, limit: float
    ) -> R:
        """Send a request, and wait for ``patience`` seconds at most."""
        # One scope for all that ends it: a run has many requests.
        with self.faults.cancellable(trio.current_time() + patience) as connection:
            process.connect(connection)
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
            finally:
                process.disconnect(connection)
        ended = process.ending or trio.current_time() >= connection.deadline
        raise Unsettled if ended else _Interrupted


class _Event(NamedTuple):
    """What becomes of a request; the text is composed when a report needs it."""

    what: object
    happens: str
    place: str = ""
    seconds: float = 0.0
    cause: BaseException | None = None

    def __str__(self) -> str:
        if not self.place:
            return f"{self.what}: {self.happens}"
        why = "" if self.cause is None else f", {self.cause!r}"
        return f"{self.what}: {self.happens} at {self.place} after {self.seconds:g} s{why}"


def _where(what: object, about: Sequence[str], place: str) -> str:
    """Name a request in a violation, with what it concerns."""
    concerned = f" of {', '.join(about)}" if about else ""
    return f"a request{concerned} ({what}) at {place}"


class _Interrupted(Unsettled):
    """The device lost the connection."""


def _took_long(error: BaseException | None, seconds: float) -> bool:
    """Return whether a query has waited for the indexes as long as it may."""
    return isinstance(error, StoreUnavailable | CommitFailed) and seconds > CATCH_UP_SECONDS - 1e-6


def _is_full(error: BaseException | None) -> bool:
    """Return whether a mailbox had no room in time, that of a workspace or that of the storage."""
    while error is not None and not isinstance(error, MailboxFull):
        error = error.error if isinstance(error, CommitFailed) else error.__cause__
    return error is not None
