"""The part of the service that restores workspaces."""

from greenroom import Directory, Supervisor, WorkerContext, WorkerSpec
from octavo_rules.identity import WorkspaceId

from octavo.access.entropy import now
from octavo.actors.workspace.messages import WorkspaceMessage
from octavo.features.history.job import RestoringJob
from octavo.features.history.restorations import Restorations
from octavo.features.history.runner import RestorationPostponed, RestorationRunner
from octavo.service.retention import all_kept
from octavo.settings import Settings
from octavo.store import Store


def add_restorations(
    root: Supervisor,
    settings: Settings,
    store: Store,
    workspaces: Directory[WorkspaceId, WorkspaceMessage],
    *,
    shared: bool,
) -> Restorations:
    """Add the job of restorations, after the actors of the workspaces; nothing runs yet.

    ``shared`` says that other processes use the database.
    """
    kept = all_kept(settings)
    runner = RestorationRunner(store, workspaces, now=now, kept=kept)
    job = RestoringJob(store, runner, now, alone=not shared, postponing=(RestorationPostponed,))

    async def run(worker: WorkerContext) -> None:
        await job.run()

    root.add(WorkerSpec("restorations", run))
    return Restorations(store, job, now=now, kept=kept)
