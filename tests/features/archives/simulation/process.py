"""One process that imports archives, without sockets and worker processes."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from random import Random
from typing import cast

import trio
from greenroom import Directory, WorkerContext, WorkerSpec
from greenroom.testing import InjectedCrash
from octavo_rules.identity import WorkspaceId

from octavo.actors.workspace.messages import WorkspaceMessage
from octavo.features.archives.archive_check import ArchiveWork
from octavo.features.archives.import_commits import CommitServices
from octavo.features.archives.import_run import ImportRunner
from octavo.features.archives.imports import Imports
from octavo.features.archives.job import ArchiveJobs, RecentWrites, free_slots_left
from octavo.features.images.blob_writer import BlobWriter
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.service.features import blob_collection
from octavo.store.blobs import BlobKey, BlobsUnavailable, Staging
from tests.fakes.inline_work import run_inline
from tests.fakes.memory_blobs import MemoryBlobs
from tests.simulation.bare_process import AT_ONCE
from tests.simulation.disk import Disk
from tests.simulation.process import Process, ProcessOptions
from tests.simulation.unreliable_workspaces import UnreliableWorkspaces
from tests.simulation.weather import FaultSchedule

START = 1_790_000_000


class UnreliableBlobs:
    """Blobs that outlive a process, as it uses them: with failures before and after an effect."""

    def __init__(self, blobs: MemoryBlobs, faults: FaultSchedule, random: Random) -> None:
        self._blobs = blobs
        self._faults = faults
        self._random = random

    async def put(self, key: BlobKey, source: Path) -> None:
        await self._reach("blobs.before_put", "import")
        # A thread would take real time.
        self._blobs.blobs[key] = source.read_bytes()  # noqa: ASYNC240
        await self._reach("blobs.stored", "import")

    async def read(
        self, key: BlobKey, start: int = 0, stop: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        await self._reach("blobs.reading", "content")
        async with aclosing(self._blobs.read(key, start, stop)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def fetch(self, key: BlobKey, target: Path) -> None:
        await self._reach("blobs.reading", "content")
        await self._blobs.fetch(key, target)

    async def delete(self, key: BlobKey) -> None:
        await self._reach("blobs.before_delete", "collection")
        await self._blobs.delete(key)
        await self._reach("blobs.deleted", "collection")

    async def is_intact(self, key: BlobKey) -> bool:
        await self._reach("blobs.reading", "content")
        return await self._blobs.is_intact(key)

    async def check(self) -> None:
        await trio.lowlevel.checkpoint()

    async def _reach(self, point: str, subject: str) -> None:
        await trio.lowlevel.checkpoint()
        try:
            await self._faults.reach(point, subject)
        except InjectedCrash as crash:
            # It ends one of several tasks of the import.
            raise BlobsUnavailable(f"injected at {point}") from crash
        if self._faults.armed and self._random.random() < self._faults.storms:
            raise BlobsUnavailable(f"injected at {point}")


class SometimesOthers(RecentWrites):
    """Says at random that others write, so that changesets have any size."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self._often = random.choice([0.0, 0.5, 1.0])

    def recent(self) -> bool:
        return self._random.random() < self._often


class ImportProcess(Process):
    """Imports into the workspaces of a disk until it is stopped or killed.

    Attributes:
        imports: the use case.
        collection: deletes the blobs that nothing names.
    """

    def __init__(
        self,
        name: str,
        disk: Disk,
        faults: FaultSchedule,
        random: Random,
        options: ProcessOptions,
        *,
        blobs: MemoryBlobs,
        folder: Path,
    ) -> None:
        super().__init__(name, disk, faults, random, options)
        random = Random(random.getrandbits(32))
        kept = UnreliableBlobs(blobs, faults, random)
        writer = BlobWriter(
            self.store,
            kept,
            now=import_now,
            new_entropy=lambda: random.randbytes(4),
            meter=UsageMeter(self.store, now=import_now, writer_id=options.new_id()),
        )
        storage = StorageQuota(self.store, shared=True)
        staging = Staging(folder)
        jobs = ArchiveJobs(self.store, import_now, 2)

        async def run_jobs() -> None:
            if not options.shared:
                await free_slots_left(self.store)
            await jobs.run()

        self.collection = blob_collection(self.store, kept, import_now)
        others = SometimesOthers(random)
        workspaces = UnreliableWorkspaces(self.directory, faults)
        runner = ImportRunner(
            CommitServices(
                self.store,
                writer,
                cast(Directory[WorkspaceId, WorkspaceMessage], workspaces),
                import_now,
                storage,
                others,
            ),
            kept,
            staging,
            ArchiveWork(run_inline, at_once=2, removes_metadata=False),
            removed=self.collection.wake,
        )
        self.imports = Imports(
            self.store,
            writer,
            staging,
            jobs,
            runner,
            now=import_now,
            new_id=options.new_id,
            prepare=lambda: None,
        )
        self._root.add(WorkerSpec("archive_jobs", _worker(run_jobs), backoff=AT_ONCE))
        self._root.add(WorkerSpec("blobs", _worker(self.collection.run), backoff=AT_ONCE))


def import_now() -> float:
    """Return the time of imports, in seconds of Unix time."""
    return START + trio.current_time()


def _worker(run: Callable[[], Awaitable[None]]) -> Callable[[WorkerContext], Awaitable[None]]:
    async def work(worker: WorkerContext) -> None:
        await run()

    return work
