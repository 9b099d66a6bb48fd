"""One run of a supervised child, from launch to end, with its deadlines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import trio

from greenroom.child import Child
from greenroom.errors import StartTimeout, is_crash, unwrap


class Incarnation:
    """Runs ``child.run_once`` in a task of its supervisor.

    Attributes:
        child: what runs.
        error: the error of the crash that ended it.
        stopping: whether its supervisor asked it to end.
        leaving: whether the child is removed when it has ended.
        starter_waits: whether a caller waits for its first start to succeed.
        settled: set when it is ready or has ended.
        ended: set when it has ended.
    """

    def __init__(self, child: Child) -> None:
        """Prepare a run that has not been launched yet."""
        self.child = child
        self.error: BaseException | None = None
        self.stopping = False
        self.leaving = False
        self.starter_waits = False
        self.settled = trio.Event()
        self.ended = trio.Event()
        self.ready_at: float | None = None
        self._scope = trio.CancelScope()

    @property
    def state(self) -> Literal["starting", "running", "stopping"]:
        """The phase of its life."""
        if self.stopping:
            return "stopping"
        return "starting" if self.ready_at is None else "running"

    async def run(
        self, on_ready: Callable[[Incarnation], None], on_end: Callable[[Incarnation], None]
    ) -> None:
        """Run to the end. A crash is stored in `error`; only a cancellation propagates."""
        child = self.child

        def ready() -> None:
            if self.ready_at is None:
                self.ready_at = trio.current_time()
                if not self.stopping:
                    self._scope.deadline = float("inf")
                self.settled.set()
                on_ready(self)

        self._scope.deadline = trio.current_time() + child.rules.start_timeout
        try:
            with self._scope:
                await child.run_once(ready)
            if self._scope.cancelled_caught and not self.stopping:
                self.error = StartTimeout(
                    f"{child.path} did not report readiness within {child.rules.start_timeout:g} s"
                )
        except BaseException as error:
            if not is_crash(error):
                raise
            self.error = unwrap(error)
        finally:
            on_end(self)
            self.settled.set()
            self.ended.set()

    async def stop(self, *, keep_waiting: bool, reason: str) -> None:
        """Ask it to end, and cancel it after the child's ``drain_timeout``.

        Args:
            keep_waiting: retire (keep waiting messages for the next incarnation) instead of drain
                (handle them first).
            reason: the reason of the cancellation.
        """
        self.stopping = True
        if self.ready_at is not None or self.child.drains_while_starting:
            if keep_waiting:
                self.child.retire()
            else:
                self.child.drain()
            with trio.move_on_after(self.child.rules.drain_timeout):
                await self.ended.wait()
        if not self.ended.is_set():
            self.cancel(f"{reason}; it did not end within {self.child.rules.drain_timeout:g} s")
            await self.ended.wait()

    def cancel(self, reason: str) -> None:
        """Cancel it now."""
        self.stopping = True
        self._scope.cancel(reason=reason)
