"""One process that restores workspaces, without sockets."""

from random import Random
from typing import cast

import trio
from greenroom import Directory, WorkerContext, WorkerSpec
from octavo_rules.identity import WorkspaceId

from octavo.actors.workspace.messages import WorkspaceMessage
from octavo.features.history.job import RestorationPostponed, RestorationRunner, RestoringJob
from octavo.features.history.restorations import Restorations
from octavo.features.history.rules.restoration import BatchSizes
from tests.simulation.bare_process import AT_ONCE
from tests.simulation.disk import Disk
from tests.simulation.process import Process, ProcessOptions
from tests.simulation.unreliable_workspaces import UnreliableWorkspaces
from tests.simulation.weather import FaultSchedule

START = 1_790_000_000
KEPT = 30 * 86_400_000


class RestorationProcess(Process):
    """Restores the workspaces of a disk until it is stopped or killed.

    Attributes:
        restorations: the use case.
    """

    def __init__(
        self,
        name: str,
        disk: Disk,
        faults: FaultSchedule,
        random: Random,
        options: ProcessOptions,
        *,
        sizes: BatchSizes,
    ) -> None:
        super().__init__(name, disk, faults, random, options)
        asked = cast(
            Directory[WorkspaceId, WorkspaceMessage], UnreliableWorkspaces(self.directory, faults)
        )
        runner = RestorationRunner(self.store, asked, now=restoration_now, kept=KEPT, sizes=sizes)
        job = RestoringJob(
            self.store,
            runner,
            restoration_now,
            alone=not options.shared,
            postponing=(RestorationPostponed,),
        )

        async def run(worker: WorkerContext) -> None:
            await job.run()

        self._root.add(WorkerSpec("restorations", run, backoff=AT_ONCE))
        self.restorations = Restorations(self.store, job, now=restoration_now, kept=KEPT)


def restoration_now() -> float:
    """Return the time of restorations, in seconds of Unix time."""
    return START + trio.current_time()
