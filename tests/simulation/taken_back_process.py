"""One process of which the database may be put back, and who listens to it."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random

from greenroom import QuarantineRule, WorkerContext, WorkerSpec
from greenroom.testing import note
from octavo_rules.documents.document import yjs_client_id_of
from octavo_rules.identity import START, AccountId, Cursor, WorkspaceId

from octavo.actors.notice_hub import NoticeHub
from octavo.actors.workspace.actor import WorkspaceActor, workspaces
from octavo.features.links.reading import link_sources
from octavo.store.queries.marks import cursor_of
from tests.fakes.inline_documents import inline_documents
from tests.simulation.audience import Frame
from tests.simulation.bare_process import AT_ONCE, BareProcess
from tests.simulation.disk import ANN, Disk
from tests.simulation.ledger import now
from tests.simulation.weather import FaultSchedule


class Listening:
    """Listens to a workspace as a device does.

    Attributes:
        cursor: that it was told last; an earlier position is only believed when it is certain.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.cursor = START

    @property
    def account_id(self) -> AccountId:
        return ANN

    def changed(
        self, workspace_id: WorkspaceId, cursor: Cursor, frame: Frame, *, certain: bool
    ) -> None:
        note(f"{self._name} is told {cursor}", workspace_id)
        if certain or cursor.position > self.cursor.position:
            self.cursor = cursor

    def gone(self, workspace_id: WorkspaceId) -> None:
        raise AssertionError(f"{workspace_id} was told to be gone")

    def recheck_access(self) -> None:
        raise AssertionError("rights were told to have changed")


class ProcessTakenBack(BareProcess):
    """Serves a workspace of a disk, as one of several processes.

    Attributes:
        directory: the actors of the workspaces.
        listening: listens from the start of the process on.
    """

    def __init__(
        self,
        name: str,
        disk: Disk,
        faults: FaultSchedule,
        random: Random,
        workspace_id: WorkspaceId,
        new_id: Callable[[], str],
    ) -> None:
        super().__init__(name, disk, faults, random)
        hub = NoticeHub[Frame](
            lambda each, cursor: (each, cursor), lambda each: self.store.read(cursor_of(each))
        )
        self._hub = hub
        self._root.add(WorkerSpec("notices", self._tell))
        self.listening = Listening(name)
        hub.subscribe(workspace_id, self.listening)
        spec = workspaces(
            partial(
                WorkspaceActor,
                store=self.store,
                links=link_sources(self.store),
                now=now,
                new_id=new_id,
                announce=hub.announce,
                shared=True,
                documents=inline_documents(client=yjs_client_id_of(new_id())),
            )
        )
        self.directory = self._root.add(
            replace(
                spec,
                idle_timeout=random.choice([0.5, math.inf]),
                batch_limit=random.choice([2, 64]),
                backoff=AT_ONCE,
                quarantine=QuarantineRule(crashes=1000, first=0.5),
                start_timeout=math.inf,
                drain_timeout=math.inf,
                stopping_timeout=math.inf,
            )
        )

    async def check(self, workspace_id: WorkspaceId) -> None:
        """Look into the store, as a stream of notices does from time to time."""
        cursor = await self.store.read(cursor_of(workspace_id))
        assert cursor is not None, "the workspace is gone"
        self._hub.announce(workspace_id, cursor)

    async def _tell(self, worker: WorkerContext) -> None:
        await self._hub.run()
