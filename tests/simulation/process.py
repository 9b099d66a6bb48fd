"""One process of the service, without sockets: its actors, its notices, and how it ends."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random

import trio

from octavo.actors.core import (
    Backoff,
    Intensity,
    Observer,
    QuarantineRule,
    Runtime,
    Supervisor,
    WorkerContext,
    WorkerSpec,
)
from octavo.actors.group_commit import GroupCommit, storage_spec
from octavo.actors.notice_hub import NoticeHub
from octavo.actors.workspace.actor import workspaces
from octavo.model.documents.initial_document import client_of
from octavo.model.documents.limits import DocumentLimits
from octavo.model.identity import AccountId, Position, WorkspaceId
from octavo.model.refusal import UnrenderableNote
from tests.fakes.inline_documents import inline_documents
from tests.simulation.disk import ANN, Disk, Unreliable
from tests.simulation.ledger import POISON
from tests.simulation.weather import FaultSchedule

Frame = tuple[WorkspaceId, Position]
Violation = Callable[[str], None]
AT_ONCE = Backoff(first=0, jitter=0)


class Quiet(Observer):
    """Does not log the injected crashes."""

    def crashed(self, path: str, error: BaseException) -> None:
        pass

    def restarting(self, path: str, delay: float) -> None:
        pass

    def quarantined(self, path: str, retry_after: float) -> None:
        pass

    def recovered(self, path: str) -> None:
        pass


def refuse_poison(text: str) -> None:
    """Refused like a note that can't be rendered."""
    if POISON in text:
        raise UnrenderableNote("It would be of no use.", limit="poison", maximum=0, found=1)


class Watcher:
    """Listens to workspaces from the start of a process, and checks its notices against the disk.

    Attributes:
        told: the newest position of each workspace that it knows of.
    """

    def __init__(self, disk: Disk, violated: Violation) -> None:
        self._disk = disk
        self._violated = violated
        self.told = dict(disk.committed)

    @property
    def account_id(self) -> AccountId:
        return ANN

    def changed(self, workspace_id: WorkspaceId, position: Position, frame: Frame) -> None:
        if frame != (workspace_id, position):
            self._violated(f"{frame} was told for {workspace_id} at {position}")
        if position > self._disk.committed[workspace_id]:
            self._violated(f"{workspace_id} was told at {position} before it was committed")
        self.told[workspace_id] = max(position, self.told[workspace_id])

    def gone(self, workspace_id: WorkspaceId) -> None:
        self._violated(f"{workspace_id} was told to be gone")

    def recheck_access(self) -> None:
        self._violated("rights were told to have changed")


class Process:
    """Serves the workspaces of a disk until it is stopped or killed.

    Attributes:
        directory: the actors of the workspaces.
        hub: sends the notices.
        store: reads and writes as the operations of the service do.
        watcher: listens to everything.
        ended: set when all of it has ended.
    """

    def __init__(
        self,
        name: str,
        disk: Disk,
        faults: FaultSchedule,
        random: Random,
        *,
        new_id: Callable[[], str],
        shared: bool,
        limits: DocumentLimits,
        violated: Violation,
    ) -> None:
        self.name = name
        engine = Unreliable(disk, faults, random)
        self._root = Supervisor(
            name,
            intensity=Intensity(restarts=100_000, period=1),
            runtime=Runtime(faults=faults, observer=Quiet()),
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
        self.hub = NoticeHub[Frame](lambda workspace_id, position: (workspace_id, position))
        self._root.add(WorkerSpec("notices", self._tell))
        spec = workspaces(
            self.store,
            now=lambda: 1_790_000_000 + trio.current_time(),
            new_id=new_id,
            announce=self.hub.announce,
            shared=shared,
            documents=inline_documents(
                limits=limits,
                client=client_of(new_id()),
                max_bytes=random.choice([0, 1 << 24]),
                check_text=refuse_poison,
            ),
        )
        self.directory = self._root.add(
            replace(
                spec,
                max_awake=random.choice([1, 3]),
                idle_timeout=0.5,
                mailbox_capacity=random.choice([1, 100]),
                batch_limit=random.choice([2, 64]),
                backoff=AT_ONCE,
                quarantine=QuarantineRule(crashes=random.choice([3, 1000]), first=0.5),
                start_timeout=math.inf,
                drain_timeout=math.inf,
                stopping_timeout=math.inf,
            )
        )
        self.watcher = Watcher(disk, violated)
        for workspace_id in disk.committed:
            self.hub.subscribe(workspace_id, self.watcher)
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

    @contextmanager
    def connected(self) -> Iterator[trio.CancelScope]:
        """A block that is cancelled when the process is killed, immediately if it already was."""
        with trio.CancelScope() as scope:
            self._calls[scope] = None
            if self._scope.cancel_called:
                scope.cancel(reason="the process is gone")
            try:
                yield scope
            finally:
                del self._calls[scope]

    async def _tell(self, worker: WorkerContext) -> None:
        await self.hub.run()
