"""The parts of the service that import and export archives."""

from typing import NamedTuple

from greenroom import Directory, Supervisor, WorkerContext, WorkerSpec
from octavo_rules.identity import WorkspaceId

from octavo.access.entropy import new_id, now
from octavo.actors.workspace.messages import WorkspaceMessage
from octavo.features.archives.archive_work import ArchiveWork, archive_workers
from octavo.features.archives.exports import Exports
from octavo.features.archives.import_commits import CommitServices
from octavo.features.archives.import_run import ImportRunner
from octavo.features.archives.imports import Imports
from octavo.features.archives.job import ArchiveJobs
from octavo.features.archives.recent_writes import RecentWrites
from octavo.features.images.feature import Attachments
from octavo.features.usage.storage import StorageQuota
from octavo.settings import Settings
from octavo.store import Store


class Archives(NamedTuple):
    """The use cases of archives."""

    imports: Imports
    exports: Exports


def add_archives(
    root: Supervisor,
    settings: Settings,
    store: Store,
    attachments: Attachments,
    workspaces: Directory[WorkspaceId, WorkspaceMessage],
    storage: StorageQuota,
    others: RecentWrites,
) -> Archives:
    """Add the jobs of imports and exports, and their workers; nothing runs yet."""
    workers = archive_workers(attachments.staging.path)
    jobs = ArchiveJobs(store, now, settings.archive_jobs)

    async def run_workers(worker: WorkerContext) -> None:
        await workers.serve()

    async def run_jobs(worker: WorkerContext) -> None:
        await jobs.run()

    root.add(WorkerSpec("archive_workers", run_workers))
    root.add(WorkerSpec("archive_jobs", run_jobs))
    runner = ImportRunner(
        CommitServices(store, attachments.writer, workspaces, now, storage, others),
        attachments.blobs,
        attachments.staging,
        ArchiveWork(
            workers.run, at_once=workers.size, removes_metadata=settings.remove_image_metadata
        ),
        removed=attachments.collection.wake,
    )
    imports = Imports(
        store,
        attachments.writer,
        attachments.staging,
        jobs,
        runner,
        now=now,
        new_id=new_id,
        prepare=workers.prepare,
    )
    exports = Exports(store, attachments.blobs, jobs, others, new_id=new_id)
    return Archives(imports, exports)
