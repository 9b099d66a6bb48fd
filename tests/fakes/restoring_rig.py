"""The job that runs restorations, with small changesets."""

from collections.abc import Callable

from greenroom import Directory, Supervisor, WorkerContext, WorkerSpec
from octavo_rules.identity import WorkspaceId

from octavo.actors.workspace.messages import WorkspaceMessage
from octavo.features.history.job import RestorationPostponed, RestorationRunner, RestoringJob
from octavo.features.history.rules.restoration import BatchSizes
from octavo.store import Store

ALL_KEPT = 30 * 86_400_000
"""Milliseconds for which all revisions are kept."""
FEW_AT_ONCE = BatchSizes(only=8, step=3)
"""Restorations of more than eight files are several changesets, of three files each."""


def restoring_job(
    store: Store,
    workspaces: Directory[WorkspaceId, WorkspaceMessage],
    root: Supervisor,
    *,
    now: Callable[[], float],
) -> RestoringJob:
    """Build the job; it runs under ``root``."""
    runner = RestorationRunner(store, workspaces, now=now, kept=ALL_KEPT, sizes=FEW_AT_ONCE)
    job = RestoringJob(store, runner, now, alone=True, postponing=(RestorationPostponed,))

    async def restore(worker: WorkerContext) -> None:
        await job.run()

    root.add(WorkerSpec("restorations", restore))
    return job
