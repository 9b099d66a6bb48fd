"""A process without its actors: the supervisor, the writes to a disk, and how it ends."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random

import trio
from greenroom import Backoff, Intensity, Runtime, Supervisor

from octavo.actors.group_commit import GroupCommit, storage_spec
from tests.simulation.disk import Disk, Unreliable
from tests.simulation.quarantines import QuarantineObserver
from tests.simulation.weather import FaultSchedule

Violation = Callable[[str], None]
AT_ONCE = Backoff(first=0, jitter=0)


class BareProcess:
    """Writes to a disk in groups until it is stopped or killed.

    Attributes:
        store: reads and writes as the operations of the service do.
        quarantines: those of its actors.
        ended: set when all of it has ended.
    """

    def __init__(self, name: str, disk: Disk, faults: FaultSchedule, random: Random) -> None:
        self.name = name
        self.quarantines = QuarantineObserver()
        engine = Unreliable(disk, faults, random)
        self._root = Supervisor(
            name,
            intensity=Intensity(restarts=100_000, period=1),
            runtime=Runtime(faults=faults, observer=self.quarantines),
        )
        actor = self._root.add(
            replace(
                storage_spec(engine),
                backoff=AT_ONCE,
                mailbox_capacity=random.choice([1, 100]),
                drain_timeout=math.inf,
            )
        )
        self.store = GroupCommit(actor, engine)
        self.ended = trio.Event()
        self._scope = trio.CancelScope()
        self._stop = trio.Event()
        self._calls: dict[trio.CancelScope, None] = {}

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until `stop` or `cut`."""
        try:
            with self._scope:
                async with self._root.running():
                    task_status.started()
                    await self._stop.wait()
        finally:
            self.ended.set()

    def stop(self) -> None:
        """Shut down, as on SIGTERM."""
        self._stop.set()

    def cut(self) -> None:
        """End immediately, as on SIGKILL: pending requests get no response."""
        for scope in self._calls:
            scope.cancel(reason="the process is gone")
        self._scope.cancel(reason="the process is gone")

    @property
    def ending(self) -> bool:
        """Whether it was asked to end, or killed."""
        return self._stop.is_set() or self._scope.cancel_called

    @contextmanager
    def connected(self) -> Iterator[trio.CancelScope]:
        """A block that is cancelled when the process is killed, immediately if it already was."""
        with trio.CancelScope() as scope:
            self.connect(scope)
            try:
                yield scope
            finally:
                self.disconnect(scope)

    def connect(self, scope: trio.CancelScope) -> None:
        """Cancel ``scope`` when the process is killed, immediately if it already was."""
        self._calls[scope] = None
        if self._scope.cancel_called:
            scope.cancel(reason="the process is gone")

    def disconnect(self, scope: trio.CancelScope) -> None:
        """End what `connect` began."""
        del self._calls[scope]
