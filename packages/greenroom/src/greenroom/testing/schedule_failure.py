"""The failure of a scenario under a schedule, its report, and the token that replays it."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from greenroom.testing.schedules import MalformedSchedule, Schedule
from greenroom.testing.trio_scheduler import UnsupportedTrio

_CRASH = re.compile(r"/crash:(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ReplayToken:
    """A schedule, the pass at which to inject a crash, and the scenario's steps to run.

    Its text is that of the schedule, followed by the number of the pass if there is a crash, and by
    the indices of the steps if some are left out, as in ``pct:2:40:7/crash:12@0,3-5``.

    Attributes:
        schedule: the schedule.
        kept: the indices of the steps in ascending order; None keeps all.
        crash: at which pass of a fault point a crash is injected, from 0; None injects none.
    """

    schedule: Schedule
    kept: tuple[int, ...] | None = None
    crash: int | None = None

    @classmethod
    def parse(cls, token: str) -> Self:
        """Parse the text that ``str(replay_token)`` returns.

        Raises:
            MalformedSchedule: the token is malformed; the text says how.
        """
        run, at, kept = token.partition("@")
        schedule, slash, _ = run.partition("/")
        crash = _CRASH.fullmatch(run.removeprefix(schedule))
        if slash and crash is None:
            raise MalformedSchedule(token, "what follows / is not of the form crash:number")
        try:
            return cls(
                Schedule.parse(schedule),
                _parse_ranges(kept) if at else None,
                int(crash[1]) if crash else None,
            )
        except MalformedSchedule:
            raise
        except ValueError:
            raise MalformedSchedule(
                token, "the steps after @ are not ascending indices and ranges like 0,3-5"
            ) from None

    def require(self, available: int | None) -> None:
        """Raise unless the scenario has the steps that the token selects.

        Args:
            available: how many steps the scenario has; None if it takes none.

        Raises:
            ValueError: the token selects a step that the scenario does not have.
        """
        if self.kept is None:
            return
        if available is None:
            raise ValueError(f"{self} selects steps, but the scenario takes none")
        if max(self.kept, default=-1) >= available:
            raise ValueError(f"{self} selects more steps than the scenario's {available}")

    def __str__(self) -> str:
        crash = "" if self.crash is None else f"/crash:{self.crash}"
        kept = "" if self.kept is None else f"@{_ranges(self.kept)}"
        return f"{self.schedule}{crash}{kept}"


class ScheduleFailure(AssertionError):
    """A scenario failed under a schedule; the error that it raised is the ``__cause__``.

    Attributes:
        token: replays the failure: ``explore(..., replay=token)``.
        error: the error that the scenario raised.
        steps: the steps it ran with, shrunk; None if it takes none.
        command: the shell command that replays it, or the call if there is no such command.
        crash: where a crash was injected, as ``point of path``; None if there was none.
    """

    def __init__(
        self,
        token: str,
        error: BaseException,
        steps: Sequence[object] | None,
        command: str,
        details: Sequence[str] = (),
        crash: str | None = None,
    ) -> None:
        self.token = token
        self.error = error
        self.steps = None if steps is None else list(steps)
        self.command = command
        self.crash = crash
        lines = [_summary(error)]
        if self.steps is not None:
            lines.append(f"steps:    {len(self.steps)}")
            lines += [f"  {step!r}" for step in self.steps]
        if crash is not None:
            lines.append(f"crash:    {crash}")
        lines += [f"schedule: {token}", f"replay:   {command}", *details]
        super().__init__("\n  ".join(lines))


def ends_exploration(error: BaseException) -> bool:
    """Return whether an error is not a verdict on the scenario, but meant for its caller.

    Such errors are an interrupt, a skip of pytest, an unsatisfied assumption of hypothesis, and a
    trio that can't be controlled; alone or in a group.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(ends_exploration(inner) for inner in error.exceptions)
    control: list[type[BaseException]] = [
        KeyboardInterrupt,
        SystemExit,
        GeneratorExit,
        UnsupportedTrio,
    ]
    # Neither is a dependency; their exceptions can occur only after they have been imported.
    if pytest := sys.modules.get("pytest"):
        control += [getattr(pytest, name).Exception for name in ("skip", "xfail", "exit")]
    if errors := sys.modules.get("hypothesis.errors"):
        control += [errors.UnsatisfiedAssumption, errors.StopTest]
    return isinstance(error, tuple(control))


def signature(error: BaseException) -> frozenset[type[BaseException]]:
    """Return the type of an error, or those of a group's leaves; it identifies a failure."""
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
