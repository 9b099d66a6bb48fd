"""The paths of workspaces, and the one that a page is about."""

from octavo_rules.problems import NotFound
from octavo_rules.schemas import Workspace, WorkspaceList

from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME

LIST = "/api/workspaces"


def path_of(workspace_id: str) -> str:
    """Return the path of the pages of a workspace."""
    return f"{HOME}/{workspace_id}"


async def workspace_of(visitor: Visitor, workspace_id: str) -> Workspace:
    """Return a workspace of the visitor. Raises `NotFound`."""
    return await visitor.api.get(Workspace, f"{LIST}/{workspace_id}")


async def listed_workspace(visitor: Visitor, workspace_id: str) -> Workspace:
    """Return a workspace of the visitor from the list, which a locked account can read, too."""
    workspace = await visitor.api.find(
        WorkspaceList, LIST, lambda listed: listed.id == workspace_id
    )
    if workspace is None:
        raise NotFound
    return workspace
