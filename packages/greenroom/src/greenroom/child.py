"""The children of a supervisor: one interface for actors, workers and subtrees."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from greenroom.cell import Cell
from greenroom.errors import NotExecuted
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
        rules: how it is started, restarted and stopped.
        launches: the number of incarnations so far.
        attempts: the number of consecutive restarts, for the backoff.
        drains_while_starting: whether it can be drained before it is ready; otherwise it is
            cancelled then.
    """

    drains_while_starting = False

    def __init__(self, name: str, rules: ChildRules) -> None:
        """Take the rules of supervision."""
        self.name = name
        self.rules = rules
        self.launches = 0
        self.attempts = 0

    @property
    def restarts(self) -> int:
        """The number of restarts."""
        return max(0, self.launches - 1)

    @property
    @abstractmethod
    def path(self) -> str:
        """Its path in the tree."""

    @property
    @abstractmethod
    def watchers(self) -> Watchers:
        """The watchers of its ends."""

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
        super().__init__(spec.name, rules)
        types = message_types_of(spec.factory)
        self.cell = Cell(parent, spec.name, spec.factory, spec, runtime, ActorStatistics(), types)

    @property
    def path(self) -> str:
        """Its path in the tree."""
        return self.cell.path

    @property
    def watchers(self) -> Watchers:
        """The watchers of its ends."""
        return self.cell.watchers

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
        path: its path in the tree.
        watchers: the watchers of its ends.
        reason: why its last incarnation ended.
        error: the error of a crash.
    """

    def __init__(self, name: str, parent: str | None, rules: ChildRules) -> None:
        """Take the path and the rules of supervision."""
        super().__init__(name, rules)
        self._path = name if parent is None else f"{parent}/{name}"
        self._watchers = Watchers()
        self.reason: StopReason = "drained"
        self.error: BaseException | None = None

    def __str__(self) -> str:
        """Return the path."""
        return self._path

    @property
    def path(self) -> str:
        """Its path in the tree."""
        return self._path

    @property
    def watchers(self) -> Watchers:
        """The watchers of its ends."""
        return self._watchers

    def down(self) -> None:
        """Notify the watchers."""
        self._watchers.notify(Down(self._path, self.reason, self.error, final=False))

    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """Notify the watchers."""
        self._watchers.notify(Down(self._path, self.reason, self.error, final=True))


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
        context = self._context = WorkerContext(self._path, ready)
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
