"""The children of a supervisor: one interface for actors, workers and subtrees.

A `Child` exists across its restarts; an `Incarnation` is one of its runs, with its deadlines.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import trio

from greenroom.cell import Cell
from greenroom.errors import NotExecuted, StartTimeout, is_crash, unwrap
from greenroom.monitor import Down, StopReason, Watchers
from greenroom.restart import Backoff, Restart
from greenroom.runtime import Runtime
from greenroom.serving import run_incarnation
from greenroom.specs import ActorSpec, SupervisorSpec, WorkerContext, WorkerSpec, message_types_of
from greenroom.statistics import ActorStatistics
from greenroom.tree import TreeNode
from greenroom.waiting import Group


@dataclass(frozen=True, slots=True)
class ChildRules:
    """How a supervisor starts, restarts and stops a child.

    Attributes:
        restart: when it is restarted.
        backoff: how long to wait before a restart.
        start_timeout: seconds from start to readiness.
        drain_timeout: seconds between being asked to stop and being cancelled.
    """

    restart: Restart
    backoff: Backoff
    start_timeout: float
    drain_timeout: float

    @classmethod
    def of(cls, spec: WorkerSpec | SupervisorSpec) -> ChildRules:
        """Return the rules that ``spec`` has."""
        return cls(spec.restart, spec.backoff, spec.start_timeout, spec.drain_timeout)


class Child(ABC):
    """Something that a supervisor starts, stops, and restarts.

    It exists across all its incarnations; `run_once` runs one of them.

    Attributes:
        name: unique below its supervisor.
        path: its path in the tree.
        rules: how it is started, restarted and stopped.
        watchers: the watchers of its ends.
        launches: the number of incarnations so far.
        attempts: the number of consecutive restarts, for the backoff.
        drains_while_starting: whether it can be drained before it is ready; otherwise it is
            cancelled then.
    """

    drains_while_starting = False

    def __init__(self, name: str, path: str, rules: ChildRules, watchers: Watchers) -> None:
        """Take what the child keeps across its incarnations."""
        self.name = name
        self.path = path
        self.rules = rules
        self.watchers = watchers
        self.launches = 0
        self.attempts = 0

    @property
    def restarts(self) -> int:
        """The number of restarts."""
        return max(0, self.launches - 1)

    def __str__(self) -> str:
        """Return the path."""
        return self.path

    @abstractmethod
    async def run_once(self, ready: Callable[[], None]) -> None:
        """Run one incarnation; call ``ready`` when others can use it."""

    @abstractmethod
    def open(self) -> None:
        """Accept work; called before each incarnation."""

    @abstractmethod
    def drain(self) -> None:
        """Refuse new work, finish waiting work, and end: the first step of a shutdown."""

    @abstractmethod
    def retire(self) -> None:
        """End soon, and keep waiting work for the next incarnation."""

    def restarts_with(self, group: Group) -> None:  # noqa: B027 - no actor waits for a worker
        """Record that this child is down until all of ``group`` have ended.

        Asks from members of the group are refused; other askers continue to wait.
        """

    @abstractmethod
    def down(self) -> None:
        """Handle that an incarnation ended and another one will follow."""

    @abstractmethod
    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """Handle that no incarnation will follow: refuse all waiting messages."""

    @abstractmethod
    def node(self, state: str) -> TreeNode:
        """Return a snapshot; ``state`` is the supervisor's view of it."""


class ActorChild(Child):
    """An actor in its cell."""

    def __init__(self, spec: ActorSpec[Any], parent: str, runtime: Runtime) -> None:
        """Create the cell; nothing runs yet."""
        # The cell applies the start timeout itself.
        rules = ChildRules(spec.restart, spec.backoff, math.inf, spec.drain_timeout)
        types = message_types_of(spec.factory)
        self.cell = Cell(parent, spec.name, spec.factory, spec, runtime, ActorStatistics(), types)
        super().__init__(spec.name, self.cell.path, rules, self.cell.watchers)

    async def run_once(self, ready: Callable[[], None]) -> None:
        """Run one incarnation of the actor."""
        await run_incarnation(self.cell, ready)

    def open(self) -> None:
        """Accept messages."""
        self.cell.open()

    def drain(self) -> None:
        """Refuse new messages and end when the mailbox is empty."""
        self.cell.drain()

    def retire(self) -> None:
        """End after the current message."""
        self.cell.retire("restarted")

    def restarts_with(self, group: Group) -> None:
        """Refuse the asks of the group."""
        self.cell.restarts_with(group)

    def down(self) -> None:
        """Notify the watchers."""
        self.cell.down()

    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """Refuse the waiting messages and notify the watchers."""
        self.cell.close(refusal)

    def node(self, state: str) -> TreeNode:
        """Return a snapshot."""
        statistics = self.cell.statistics
        return TreeNode(
            name=self.name,
            kind="actor",
            state=state,
            restarts=self.restarts,
            mailbox=self.cell.mailbox_statistics(),
            wait=statistics.wait.snapshot(),
            handling=statistics.handling.snapshot(),
            details={"refused": statistics.refused} if statistics.refused else {},
        )


class WatchedChild(Child):
    """A child that has its own watchers; those of an actor belong to its cell.

    Attributes:
        reason: why its last incarnation ended.
        error: the error of a crash.
    """

    def __init__(self, name: str, parent: str | None, rules: ChildRules) -> None:
        """Take the path and the rules of supervision."""
        path = name if parent is None else f"{parent}/{name}"
        super().__init__(name, path, rules, Watchers())
        self.reason: StopReason = "drained"
        self.error: BaseException | None = None

    def down(self) -> None:
        """Notify the watchers."""
        self.watchers.notify(Down(self.path, self.reason, self.error, final=False))

    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """Notify the watchers."""
        self.watchers.notify(Down(self.path, self.reason, self.error, final=True))


class WorkerChild(WatchedChild):
    """A task that is not an actor, such as a server or a ticker."""

    def __init__(self, spec: WorkerSpec, parent: str) -> None:
        """Take the specification; nothing runs yet."""
        super().__init__(spec.name, parent, ChildRules.of(spec))
        self._function: Callable[[WorkerContext], Awaitable[None]] = spec.run
        self._reports_ready = spec.reports_ready
        self._context: WorkerContext | None = None

    async def run_once(self, ready: Callable[[], None]) -> None:
        """Call the worker's function."""
        context = self._context = WorkerContext(self.path, ready)
        self.error = None
        self.reason = "cancelled"
        try:
            if not self._reports_ready:
                ready()
            await self._function(context)
            self.reason = "drained" if context.stopping.is_set() else "finished"
        except Exception as error:
            self.reason, self.error = "crashed", error
            raise
        finally:
            self._context = None

    def open(self) -> None:
        """Do nothing: a worker has no mailbox."""

    def drain(self) -> None:
        """Ask the worker to stop."""
        if self._context is not None:
            self._context.stopping.set()

    def retire(self) -> None:
        """Ask the worker to stop."""
        self.drain()

    def node(self, state: str) -> TreeNode:
        """Return a snapshot."""
        return TreeNode(name=self.name, kind="worker", state=state, restarts=self.restarts)


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
                    self._scope.deadline = math.inf
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
