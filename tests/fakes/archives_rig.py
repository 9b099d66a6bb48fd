"""The use cases of archives, without worker processes."""

from collections.abc import Callable
from typing import NamedTuple

from greenroom import Directory, Supervisor, WorkerContext, WorkerSpec
from octavo_rules.identity import WorkspaceId

from octavo.actors.workspace.messages import WorkspaceMessage
from octavo.features.archives.archive_check import ArchiveWork
from octavo.features.archives.exports import Exports
from octavo.features.archives.import_commits import CommitServices
from octavo.features.archives.import_run import ImportRunner
from octavo.features.archives.imports import Imports
from octavo.features.archives.job import ArchiveJobs, RecentWrites
from octavo.features.usage.storage import StorageQuota
from octavo.store import Store
from tests.fakes.images_rig import ImagesRig
from tests.fakes.inline_work import run_inline


class ArchivesRig(NamedTuple):
    """The parts.

    Attributes:
        work: its setting may be changed.
        removals: has an item for each time that parts were to be collected.
    """

    jobs: ArchiveJobs
    imports: Imports
    exports: Exports
    removals: list[None]
    work: ArchiveWork


def archives_rig(
    store: Store,
    images: ImagesRig,
    workspaces: Directory[WorkspaceId, WorkspaceMessage],
    storage: StorageQuota,
    others: RecentWrites,
    root: Supervisor,
    *,
    now: Callable[[], float],
    new_id: Callable[[], str],
) -> ArchivesRig:
    """Build the parts; the jobs run under ``root``."""
    jobs = ArchiveJobs(store, now, 2)
    removals: list[None] = []
    work = ArchiveWork(run_inline, at_once=2, removes_metadata=False)

    async def run_jobs(worker: WorkerContext) -> None:
        await jobs.run()

    root.add(WorkerSpec("archive_jobs", run_jobs))
    runner = ImportRunner(
        CommitServices(store, images.writer, workspaces, now, storage, others),
        images.blobs,
        images.staging,
        work,
        removed=lambda: removals.append(None),
    )
    imports = Imports(
        store,
        images.writer,
        images.staging,
        jobs,
        runner,
        now=now,
        new_id=new_id,
        prepare=lambda: None,
    )
    exports = Exports(store, images.blobs, jobs, others, new_id=new_id)
    return ArchivesRig(jobs, imports, exports, removals, work)
