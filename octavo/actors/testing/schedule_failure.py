"""The failure of a schedule: what was raised, under which interleaving, and how to see it again."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from octavo.actors.testing.schedules import MalformedSchedule, Schedule
from octavo.actors.testing.trio_scheduler import UnsupportedTrio


@dataclass(frozen=True, slots=True)
class ReplayToken:
    """A schedule, and which of the scenario's steps it is to run with.

    Its text is the schedule's, followed by the indices of the steps where some are left out, as in
    ``pct:2:40:7@0,3-5``.

    Attributes:
        schedule: the schedule.
        kept: the indices of the steps in ascending order; None keeps all.
    """

    schedule: Schedule
    kept: tuple[int, ...] | None = None

    @classmethod
    def parse(cls, token: str) -> Self:
        """Read back what ``str(replay_token)`` gave.

        Raises:
            MalformedSchedule: saying what is wrong with the token.
        """
        schedule, at, kept = token.partition("@")
        try:
            return cls(Schedule.parse(schedule), _parse_ranges(kept) if at else None)
        except MalformedSchedule:
            raise
        except ValueError:
            raise MalformedSchedule(
                token, "the steps after @ are not ascending indices and ranges like 0,3-5"
            ) from None

    def require(self, available: int | None) -> None:
        """Refuse to choose from steps that are not there.

        Args:
            available: how many steps the scenario has; None if it takes none.

        Raises:
            ValueError: the token keeps a step that the scenario does not have.
        """
        if self.kept is None:
            return
        if available is None:
            raise ValueError(f"{self} speaks of steps, and the scenario takes none")
        if max(self.kept, default=-1) >= available:
            raise ValueError(f"{self} speaks of more steps than the scenario's {available}")

    def __str__(self) -> str:
        return str(self.schedule) if self.kept is None else f"{self.schedule}@{_ranges(self.kept)}"


class ScheduleFailure(AssertionError):
    """A scenario failed under a schedule; what it raised is the ``__cause__``.

    Attributes:
        token: replays the failure: ``explore(..., replay=token)``.
        error: what the scenario raised.
        steps: the steps it ran with, shrunk; None if it takes none.
        command: the shell command that replays it, or the call where there is no such command.
    """

    def __init__(
        self,
        token: str,
        error: BaseException,
        steps: Sequence[object] | None,
        command: str,
        details: Sequence[str] = (),
    ) -> None:
        self.token = token
        self.error = error
        self.steps = None if steps is None else list(steps)
        self.command = command
        lines = [f"{_summary(error)}", f"schedule: {token}", f"replay:   {command}", *details]
        if self.steps is not None:
            lines.append(f"steps:    {len(self.steps)}")
            lines += [f"  {step!r}" for step in self.steps]
        super().__init__("\n  ".join(lines))


def ends_exploration(error: BaseException) -> bool:
    """Whether an error is no verdict on the scenario, but is meant for whoever runs it.

    Such are an interrupt, a skip of pytest's, an assumption of hypothesis's that does not hold, and
    a trio that cannot be controlled; alone or in a group.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(ends_exploration(inner) for inner in error.exceptions)
    control: list[type[BaseException]] = [
        KeyboardInterrupt,
        SystemExit,
        GeneratorExit,
        UnsupportedTrio,
    ]
    # Neither is a dependency; an exception of theirs exists only where they have been imported.
    if pytest := sys.modules.get("pytest"):
        control += [getattr(pytest, name).Exception for name in ("skip", "xfail", "exit")]
    if errors := sys.modules.get("hypothesis.errors"):
        control += [errors.UnsatisfiedAssumption, errors.StopTest]
    return isinstance(error, tuple(control))


def signature(error: BaseException) -> frozenset[type[BaseException]]:
    """The types of an error, of a group those of its leaves: what makes two failures the same."""
    if isinstance(error, BaseExceptionGroup):
        return frozenset[type[BaseException]]().union(*map(signature, error.exceptions))
    return frozenset({type(error)})


def _summary(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _ranges(indices: Sequence[int]) -> str:
    ranges: list[list[int]] = []
    for index in indices:
        if ranges and ranges[-1][1] == index - 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ",".join(f"{a}-{b}" if a < b else str(a) for a, b in ranges)


def _parse_ranges(text: str) -> tuple[int, ...]:
    indices: list[int] = []
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        indices += range(int(first), int(last if dash else first) + 1)
    if indices != sorted(set(indices)) or min(indices, default=0) < 0:
        raise ValueError(text)
    return tuple(indices)
