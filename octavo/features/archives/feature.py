"""The parts of the service that import and export archives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.access.entropy import elapsed, new_id, now
from octavo.features.archives import sql
from octavo.features.archives.api.exports import ExportOperations
from octavo.features.archives.api.imports import ImportOperations
from octavo.features.archives.archive_check import ArchiveWork, archive_workers
from octavo.features.archives.exports import Exports
from octavo.features.archives.import_commits import CommitServices
from octavo.features.archives.import_run import ImportRunner
from octavo.features.archives.imports import Imports
from octavo.features.archives.job import ArchiveJobs, RecentWrites
from octavo.features.archives.settings import ArchiveSettings
from octavo.features.files.api.changeset_submission import Workspaces
from octavo.kernel import Feature, Kernel, Parts, worker
from octavo.store.transaction import Listeners

if TYPE_CHECKING:
    from octavo.features.accounts.feature import Accounts
    from octavo.features.images.feature import Images
    from octavo.features.legal.feature import Legal
    from octavo.features.usage.feature import Usage

FEATURE = Feature(
    "archives",
    operations=[ImportOperations, ExportOperations],
    listeners=Listeners(
        workspace_deleted=[sql.end_imports_of_workspace],
        account_removing=[sql.end_imports_of_account],
    ),
    expired_blobs=[sql.expire_imports],
)


def archives_feature(
    kernel: Kernel,
    settings: ArchiveSettings,
    legal: Legal,
    usage: Usage,
    accounts: Accounts,
    images: Images,
    workspaces: Workspaces,
) -> Parts:
    """Return the feature; nothing runs yet."""
    store, staging = kernel.store, kernel.staging
    others = RecentWrites(elapsed)
    kernel.after.committed.listen(others.committed)
    workers = archive_workers(staging.path)
    jobs = ArchiveJobs(store, now, settings.archive_jobs)
    runner = ImportRunner(
        CommitServices(store, images.writer, workspaces, now, usage.storage, others),
        kernel.blobs,
        staging,
        ArchiveWork(
            workers.run, at_once=workers.size, removes_metadata=settings.remove_image_metadata
        ),
        removed=kernel.collection.wake,
    )
    imports = Imports(
        store,
        images.writer,
        staging,
        jobs,
        runner,
        now=now,
        new_id=new_id,
        prepare=workers.prepare,
    )
    exports = Exports(store, kernel.blobs, jobs, others, new_id=new_id)
    return Parts(
        operations=[
            ImportOperations(imports, kernel.access),
            ExportOperations(
                exports,
                kernel.access,
                accounts.authenticator,
                usage.metering,
                now=now,
                legal=legal.documents,
            ),
        ],
        workers=[worker("archive_workers", workers.serve), worker("archive_jobs", jobs.run)],
    )
