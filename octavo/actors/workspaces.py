"""The actors of all workspaces, each awake while somebody uses it."""

from collections.abc import Callable

from octavo.actors.core import DirectorySpec
from octavo.actors.documenting import Documenting
from octavo.actors.workspace import Announce, Workspace
from octavo.model.identity import WorkspaceId
from octavo.store import Store

IDLE_SECONDS = 300.0
MOST_AWAKE = 1000


def workspaces(
    store: Store,
    *,
    now: Callable[[], float],
    new_id: Callable[[], str],
    announce: Announce,
    shared: bool,
    documents: Documenting,
    purged: Callable[[], None] = lambda: None,
) -> DirectorySpec[WorkspaceId, Workspace]:
    """Answer what to put under supervision; the arguments are those of `Workspace`."""

    def workspace(workspace_id: WorkspaceId) -> Workspace:
        return Workspace(
            workspace_id,
            store,
            now=now,
            new_id=new_id,
            announce=announce,
            shared=shared,
            documents=documents,
            purged=purged,
        )

    return DirectorySpec("workspaces", workspace, idle_timeout=IDLE_SECONDS, max_awake=MOST_AWAKE)
