"""Cancellation at each checkpoint in turn, to test what a cancelled call leaves behind."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeVar

import trio

from greenroom.testing.deterministic import MAX_STEPS, Seed, as_schedule, run_deterministic

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Interruption(Generic[T]):
    """The end of a call that was cancelled at one of its checkpoints.

    Attributes:
        value: what it returned; None if it was cancelled.
        cancelled: whether the cancellation ended it. A call may return nevertheless, if it did not
            reach the checkpoint, or if its last checkpoint was not cancellable.
        checkpoints: how often its task yielded to the scheduler until it ended.
    """

    value: T | None
    cancelled: bool
    checkpoints: int


class _Interrupter(trio.abc.Instrument):
    """Counts the steps of one task and cancels a scope at one of them."""

    def __init__(self, checkpoint: int, scope: trio.CancelScope, *, woken: bool) -> None:
        self.checkpoints = 0
        self._checkpoint = checkpoint
        self._scope = scope
        self._woken = woken
        self._task = trio.lowlevel.current_task()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self._task:
            self.checkpoints += 1
            if not self._woken:
                self._cancel_if_there()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if self._woken and task is self._task:
            self._cancel_if_there()

    def _cancel_if_there(self) -> None:
        if self.checkpoints == self._checkpoint:
            self._scope.cancel(f"interrupted at checkpoint {self._checkpoint}")


async def cancel_at_checkpoint(
    checkpoint: int, async_fn: Callable[[], Awaitable[T]], *, woken: bool = False
) -> Interruption[T]:
    """Call ``async_fn`` in the current task and cancel it at one of its checkpoints.

    Checkpoint 0 is before the call; checkpoint n is where the task yields to the scheduler for the
    n-th time. If it is shielded or not cancellable, the cancellation takes effect at the next one.
    Cancellation from outside works as usual.

    Args:
        checkpoint: the number of the checkpoint.
        async_fn: takes no arguments. Tasks that it starts in its own nurseries are cancelled with
            it, but their checkpoints do not count.
        woken: cancel just before the task continues instead of when it begins to wait: what it
            waited for has happened, and the cancellation takes effect at the next checkpoint.

    Raises:
        ValueError: ``checkpoint`` is negative.
        BaseException: whatever ``async_fn`` raises, except this cancellation.
    """
    if checkpoint < 0:
        raise ValueError(f"checkpoints are counted from 0, not {checkpoint}")
    value = None
    scope = trio.CancelScope()
    interrupter = _Interrupter(checkpoint, scope, woken=woken)
    with scope:
        if checkpoint == 0:
            scope.cancel("interrupted before the call")
        trio.lowlevel.add_instrument(interrupter)
        try:
            value = await async_fn()
        finally:
            trio.lowlevel.remove_instrument(interrupter)
    return Interruption(value, scope.cancelled_caught, interrupter.checkpoints)


def cancel_at_every_checkpoint(
    fn: Callable[[], Awaitable[object]],
    *,
    seed: Seed = 0,
    max_checkpoints: int = 1_000,
    max_steps: int = MAX_STEPS,
) -> int:
    """Run ``fn`` once for each of its checkpoints, cancelled there, and once to its end.

    Every checkpoint is tried twice: cancelled when the task begins to wait, and when it is woken.
    All runs use the same schedule. ``fn`` itself asserts what must hold of a cancelled call, in a
    ``finally`` block, or around the part that it passes to `cancel_at_checkpoint`.

    Args:
        fn: takes no arguments, creates all state it works on, and ends if it is not cancelled.
        seed: the same as for `run_deterministic`.
        max_checkpoints: how many checkpoints ``fn`` may have.
        max_steps: how many task steps each run may take.

    Returns:
        How many checkpoints ``fn`` has in its own task if it is not cancelled.

    Raises:
        AssertionError: ``fn`` has more checkpoints than ``max_checkpoints``.
        BaseException: whatever a run raises, `Deadlock` and `Livelock` included, with a note that
            says where it was cancelled.
    """
    schedule = as_schedule(seed)
    for checkpoint in count():
        if checkpoint > max_checkpoints:
            raise AssertionError(f"the call did not end after {max_checkpoints} checkpoints")
        for woken in (False, True) if checkpoint else (False,):
            # Default values bind the loop variables of this iteration.
            async def interrupted(
                checkpoint: int = checkpoint, woken: bool = woken
            ) -> Interruption[object]:
                return await cancel_at_checkpoint(checkpoint, fn, woken=woken)

            try:
                outcome = run_deterministic(interrupted, seed=schedule, max_steps=max_steps).value
            except BaseException as error:
                moment = "when woken" if woken else "when it began to wait"
                error.add_note(f"cancelled at checkpoint {checkpoint} {moment}; {schedule}")
                raise
            if outcome.checkpoints < checkpoint:
                return outcome.checkpoints
    raise AssertionError("unreachable: counting has no end")
