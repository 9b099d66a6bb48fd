"""What a supervisor supervises: one interface for actors, workers, subtrees."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from octavo.actors.core.backoff import Backoff
from octavo.actors.core.cell import Cell
from octavo.actors.core.errors import NotExecuted
from octavo.actors.core.monitor import Down, StopReason, Watchers
from octavo.actors.core.restart import Restart
from octavo.actors.core.runtime import Runtime
from octavo.actors.core.specs import ActorSpec, WorkerSpec
from octavo.actors.core.statistics import ActorStatistics
from octavo.actors.core.tree import TreeNode
from octavo.actors.core.waiting import Group


class Child(ABC):
    """Something that a supervisor starts, stops, and starts again.

    It lives over all its incarnations; `run_once` is one of them.

    Attributes:
        name: unique below its supervisor.
        restart: when it is started again.
        backoff: how long to wait before that.
        start_timeout: seconds from start to readiness.
        drain_timeout: seconds between being asked to stop and being cancelled.
        launches: how many incarnations there were.
        attempts: restarts in the present row, for the backoff.
        drains_while_starting: whether it can be drained before it is ready;
            otherwise it is cancelled then.
    """

    drains_while_starting = False

    def __init__(
        self,
        name: str,
        *,
        restart: Restart,
        backoff: Backoff,
        start_timeout: float,
        drain_timeout: float,
    ) -> None:
        """Take the rules of supervision."""
        self.name = name
        self.restart: Restart = restart
        self.backoff = backoff
        self.start_timeout = start_timeout
        self.drain_timeout = drain_timeout
        self.launches = 0
        self.attempts = 0

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return max(0, self.launches - 1)

    @property
    @abstractmethod
    def path(self) -> str:
        """Where it stands in the tree."""

    @property
    @abstractmethod
    def watchers(self) -> Watchers:
        """Those who want to hear of its end."""

    @abstractmethod
    async def run_once(self, ready: Callable[[], None]) -> None:
        """Run one incarnation; call ``ready`` when it is of use to others."""

    @abstractmethod
    def open(self) -> None:
        """Accept work; called before each incarnation."""

    @abstractmethod
    def drain(self) -> None:
        """Refuse new work, finish what waits, end. Step one of a shutdown."""

    @abstractmethod
    def retire(self) -> None:
        """End soon, keeping what waits for the next incarnation."""

    def restarts_with(self, group: Group) -> None:  # noqa: B027 - nobody waits for a worker
        """Learn that this child is down until all of ``group`` have ended.

        What one of them waits for from it is refused; others go on waiting.
        """

    @abstractmethod
    def down(self) -> None:
        """Learn that an incarnation ended and another one will come."""

    @abstractmethod
    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """Learn that there will be no more incarnation: refuse all that waits."""

    @abstractmethod
    def node(self, state: str) -> TreeNode:
        """A snapshot; ``state`` is the supervisor's view of it."""


class ActorChild(Child):
    """An actor in its cell."""

    def __init__(self, spec: ActorSpec[Any], parent: str, runtime: Runtime) -> None:
        """Make the cell; nothing runs yet."""
        super().__init__(
            spec.name,
            restart=spec.restart,
            backoff=spec.backoff,
            start_timeout=math.inf,  # the cell applies it itself
            drain_timeout=spec.drain_timeout,
        )
        self.cell = Cell(parent, spec.name, spec.factory, spec, runtime, ActorStatistics())

    @property
    def path(self) -> str:
        """Where it stands in the tree."""
        return self.cell.path

    @property
    def watchers(self) -> Watchers:
        """Those who want to hear of its end."""
        return self.cell.watchers

    async def run_once(self, ready: Callable[[], None]) -> None:
        """Run one incarnation of the actor."""
        await self.cell.run(ready)

    def open(self) -> None:
        """Accept messages."""
        self.cell.open()

    def drain(self) -> None:
        """Refuse new messages and end when none waits."""
        self.cell.drain()

    def retire(self) -> None:
        """End after the present message."""
        self.cell.retire("restarted")

    def restarts_with(self, group: Group) -> None:
        """Refuse what the group waits for."""
        self.cell.restarts_with(group)

    def down(self) -> None:
        """Tell the watchers."""
        self.cell.down()

    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """Refuse the waiting messages and tell the watchers."""
        self.cell.close(refusal)

    def node(self, state: str) -> TreeNode:
        """A snapshot."""
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
    """A child that keeps its own watchers; an actor's are its cell's.

    Attributes:
        path: where it stands in the tree.
        watchers: those who want to hear of its end.
        reason: why its last incarnation ended.
        error: the crash, if it was one.
    """

    def __init__(
        self,
        name: str,
        parent: str | None,
        *,
        restart: Restart,
        backoff: Backoff,
        start_timeout: float,
        drain_timeout: float,
    ) -> None:
        """Take the place in the tree and the rules of supervision."""
        super().__init__(
            name,
            restart=restart,
            backoff=backoff,
            start_timeout=start_timeout,
            drain_timeout=drain_timeout,
        )
        self._path = name if parent is None else f"{parent}/{name}"
        self._watchers = Watchers()
        self.reason: StopReason = "drained"
        self.error: BaseException | None = None

    def __str__(self) -> str:
        """The path."""
        return self._path

    @property
    def path(self) -> str:
        """Where it stands in the tree."""
        return self._path

    @property
    def watchers(self) -> Watchers:
        """Those who want to hear of its end."""
        return self._watchers

    def down(self) -> None:
        """Tell the watchers."""
        self._watchers.tell(Down(self._path, self.reason, self.error, final=False))

    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """Tell the watchers."""
        self._watchers.tell(Down(self._path, self.reason, self.error, final=True))


class WorkerContext:
    """What a worker is given: a way to say it is ready, and to hear it should stop.

    It can be passed on as the ``task_status`` of a function written for
    ``nursery.start``.

    Attributes:
        path: where the worker stands in the tree.
        stopping: set when the worker should finish what it has in hand. It is
            cancelled ``drain_timeout`` seconds later.
    """

    def __init__(self, path: str, ready: Callable[[], None]) -> None:
        """Serve one incarnation."""
        self.path = path
        self.stopping = trio.Event()
        self._ready = ready

    def started(self, value: object = None) -> None:
        """Report readiness: the supervisor goes on to the next child."""
        self._ready()


class WorkerChild(WatchedChild):
    """A task that is no actor: a server, a ticker."""

    def __init__(self, spec: WorkerSpec, parent: str) -> None:
        """Take the function; nothing runs yet."""
        super().__init__(
            spec.name,
            parent,
            restart=spec.restart,
            backoff=spec.backoff,
            start_timeout=spec.start_timeout,
            drain_timeout=spec.drain_timeout,
        )
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
        """A snapshot."""
        return TreeNode(name=self.name, kind="worker", state=state, restarts=self.restarts)
