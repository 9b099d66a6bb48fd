"""The actors of workspaces as jobs ask them."""

from greenroom import Directory, OutcomeUnknown
from octavo_rules.identity import WorkspaceId

from octavo.actors.workspace.messages import Push, WorkspaceMessage
from octavo.model.files.plan import Receipt
from tests.simulation.weather import FaultSchedule


class UnreliableWorkspaces:
    """The actors of the workspaces as a job asks them: responses are lost now and then."""

    def __init__(
        self, workspaces: Directory[WorkspaceId, WorkspaceMessage], faults: FaultSchedule
    ) -> None:
        self._workspaces = workspaces
        self._faults = faults

    async def ask(self, workspace_id: WorkspaceId, push: Push) -> Receipt:
        with self._faults.cancellable():
            return await self._workspaces.ask(workspace_id, push)
        raise OutcomeUnknown("the response was lost")
