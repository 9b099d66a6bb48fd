"""One process of the service, without sockets: its actors and its notices."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import NamedTuple

from greenroom import QuarantineRule, WorkerContext, WorkerSpec
from octavo_rules.documents.document import yjs_client_id_of
from octavo_rules.identity import WorkspaceId

from octavo.actors.notice_hub import NoticeHub
from octavo.actors.workspace.actor import WorkspaceActor, workspaces
from octavo.actors.workspace.current_files import CurrentFiles
from octavo.actors.workspace.messages import Push
from octavo.features.links.reading import link_sources
from octavo.model.documents.update_log import DocumentLimits
from octavo.model.files.changeset import Changeset
from octavo.model.files.plan import Receipt
from octavo.model.refusal import UnrenderableNote
from octavo.store.queries.files import StoredFile
from octavo.store.queries.marks import cursor_of
from tests.fakes.inline_documents import inline_documents
from tests.simulation.audience import Audience, Frame
from tests.simulation.bare_process import AT_ONCE, BareProcess, Violation
from tests.simulation.blob_disk import BlobDisk
from tests.simulation.disk import Disk
from tests.simulation.images import ProcessImages
from tests.simulation.late_reads import LateReads
from tests.simulation.ledger import POISON, now
from tests.simulation.searches import ProcessSearches
from tests.simulation.weather import FaultSchedule

MAX_FILES = 100
"""That a process remembers, more than a run has."""


def refuse_poison(text: str) -> None:
    """Refused like a note that can't be rendered."""
    if POISON in text:
        raise UnrenderableNote("It would be of no use.", limit="poison", maximum=0, found=1)


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
        disk: its disk.
        hub: sends the notices.
        audience: listens to everything.
        documents: those in memory.
        searches: those of notes.
        files: reads files at their heads.
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
        self.disk = disk
        new_id, blobs = options.new_id, options.blobs
        self.hub = NoticeHub[Frame](
            lambda workspace_id, cursor: (workspace_id, cursor),
            lambda each: self.store.read(cursor_of(each)),
        )
        self._root.add(WorkerSpec("notices", self._tell))
        self.audience = Audience(
            name, self.hub, disk, Random(random.getrandbits(32)), options.violated
        )
        self._images: ProcessImages | None = None
        if blobs is not None:
            self._images = ProcessImages(self._root, self.store, blobs, faults, random, new_id)
        self.searches = ProcessSearches(
            self.store, Random(random.getrandbits(32)), shared=options.shared
        )
        self.documents = inline_documents(
            limits=options.limits,
            client=yjs_client_id_of(new_id()),
            max_bytes=random.choice([0, 1 << 24]),
            check_text=refuse_poison,
        )
        spec = workspaces(
            partial(
                WorkspaceActor,
                store=self.store,
                links=link_sources(self.store),
                now=now,
                new_id=new_id,
                announce=self.audience.announce,
                shared=options.shared,
                documents=self.documents,
                purged=self._purged,
            )
        )
        rule = QuarantineRule(crashes=random.choice([1, 1, 3, 1000]), first=0.5)
        self.quarantines.rule, self.quarantines.violated = rule, options.violated
        self.directory = self._root.add(
            replace(
                spec,
                max_awake=random.choice([1, 3]),
                idle_timeout=0.5,
                mailbox_capacity=random.choice([1, 100]),
                batch_limit=random.choice([2, 4, 64]),
                backoff=AT_ONCE,
                quarantine=rule,
                start_timeout=math.inf,
                drain_timeout=math.inf,
                stopping_timeout=math.inf,
            )
        )
        self.files = CurrentFiles[StoredFile](
            self.directory,
            LateReads(self.store, Random(random.getrandbits(32))),
            lambda workspace_id, stored, caches: stored,
            lambda stored: 1,
            max_bytes=0 if options.shared else MAX_FILES,
        )

    @property
    def images(self) -> ProcessImages:
        """What receives and collects images, in runs with images."""
        assert self._images is not None, "the run is without images"
        return self._images

    async def push(
        self, workspace_id: WorkspaceId, changeset: Changeset, timeout: float
    ) -> Receipt:
        """Push a changeset, as an operation of the service does."""
        receipt = await self.directory.ask(workspace_id, Push(changeset), timeout=timeout)
        self.audience.require_announced(workspace_id, receipt.position)
        return receipt

    def _purged(self) -> None:
        self.searches.forget()
        self.files.forget()
        if self._images is not None:
            self._images.wake()

    async def _tell(self, worker: WorkerContext) -> None:
        await self.hub.run()
