"""One process of the service, without sockets: its actors and its notices."""

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import NamedTuple

import trio

from octavo.actors.core import QuarantineRule, WorkerContext, WorkerSpec
from octavo.actors.notice_hub import NoticeHub
from octavo.actors.testing import note
from octavo.actors.workspace.actor import workspaces
from octavo.model.documents.initial_document import client_of
from octavo.model.documents.limits import DocumentLimits
from octavo.model.identity import AccountId, Position, WorkspaceId
from octavo.model.refusal import UnrenderableNote
from tests.fakes.inline_documents import inline_documents
from tests.simulation.bare_process import AT_ONCE, BareProcess
from tests.simulation.blob_disk import BlobDisk
from tests.simulation.disk import ANN, Disk
from tests.simulation.images import ProcessImages
from tests.simulation.ledger import POISON
from tests.simulation.weather import FaultSchedule

Frame = tuple[WorkspaceId, Position]
Violation = Callable[[str], None]


def refuse_poison(text: str) -> None:
    """Refused like a note that can't be rendered."""
    if POISON in text:
        raise UnrenderableNote("It would be of no use.", limit="poison", maximum=0, found=1)


class Watcher:
    """Listens to workspaces from the start of a process, and checks its notices against the disk.

    Attributes:
        told: the newest position of each workspace that it knows of.
    """

    def __init__(self, name: str, disk: Disk, violated: Violation) -> None:
        self._name = name
        self._disk = disk
        self._violated = violated
        self.told = dict(disk.committed)

    @property
    def account_id(self) -> AccountId:
        return ANN

    def changed(self, workspace_id: WorkspaceId, position: Position, frame: Frame) -> None:
        note(f"{self._name} is told {workspace_id} at {position}", f"{self._name}/{workspace_id}")
        if frame != (workspace_id, position):
            self._violated(f"{frame} was told for {workspace_id} at {position}")
        if position > self._disk.committed[workspace_id]:
            self._violated(f"{workspace_id} was told at {position} before it was committed")
        self.told[workspace_id] = max(position, self.told[workspace_id])

    def gone(self, workspace_id: WorkspaceId) -> None:
        self._violated(f"{workspace_id} was told to be gone")

    def recheck_access(self) -> None:
        self._violated("rights were told to have changed")


class ProcessOptions(NamedTuple):
    """How a process serves workspaces.

    Attributes:
        new_id: returns identifiers.
        shared: whether other processes use the disk, too.
        violated: called with each violation.
        limits: those of documents.
        blobs: has the images; None in runs without images.
    """

    new_id: Callable[[], str]
    shared: bool
    violated: Violation
    limits: DocumentLimits = DocumentLimits()
    blobs: BlobDisk | None = None


class Process(BareProcess):
    """Serves the workspaces of a disk until it is stopped or killed.

    Attributes:
        directory: the actors of the workspaces.
        hub: sends the notices.
        watcher: listens to everything.
    """

    def __init__(
        self,
        name: str,
        disk: Disk,
        faults: FaultSchedule,
        random: Random,
        options: ProcessOptions,
    ) -> None:
        super().__init__(name, disk, faults, random)
        new_id, blobs = options.new_id, options.blobs
        self.hub = NoticeHub[Frame](lambda workspace_id, position: (workspace_id, position))
        self._root.add(WorkerSpec("notices", self._tell))
        self._images: ProcessImages | None = None
        if blobs is not None:
            self._images = ProcessImages(self._root, self.store, blobs, faults, random, new_id)
        spec = workspaces(
            self.store,
            now=lambda: 1_790_000_000 + trio.current_time(),
            new_id=new_id,
            announce=self.hub.announce,
            shared=options.shared,
            documents=inline_documents(
                limits=options.limits,
                client=client_of(new_id()),
                max_bytes=random.choice([0, 1 << 24]),
                check_text=refuse_poison,
            ),
            purged=self._wake,
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
        self.watcher = Watcher(name, disk, options.violated)
        for workspace_id in disk.committed:
            self.hub.subscribe(workspace_id, self.watcher)

    @property
    def images(self) -> ProcessImages:
        """What receives and collects images, in runs with images."""
        assert self._images is not None, "the run is without images"
        return self._images

    def _wake(self) -> None:
        if self._images is not None:
            self._images.wake()

    async def _tell(self, worker: WorkerContext) -> None:
        await self.hub.run()
