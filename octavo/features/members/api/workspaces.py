"""The workspaces of the account."""

from collections.abc import Callable
from typing import Annotated

import trio
from attrs import define
from octavo_rules.identity import READ, WorkspaceId
from octavo_rules.problems import InvalidRequest, NotFound
from octavo_rules.schemas import Workspace as WorkspaceSchema
from octavo_rules.schemas import WorkspaceList
from pydantic import Field

from octavo.access.workspaces import Access
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import WorkspacePath, label, workspace_document
from octavo.model.label import parse_label
from octavo.model.workspace import LONGEST_NAME, Workspace
from octavo.store import Store
from octavo.store.queries import workspaces

_LONGEST_BODY = 4_096


class WorkspaceNameInput(contract.Model):
    """The name of a workspace."""

    name: Annotated[str, Field(json_schema_extra=label(LONGEST_NAME))]
    """1 to 200 characters on one line."""


@define(eq=False)
class WorkspaceOperations:
    """Workspaces.

    Args:
        store: the store of workspaces.
        access: checks the members.
        now: the time, in seconds of Unix time.
        new_id: generates workspace ids.
        gone: called with each deleted workspace; must not wait.
        erased: called after each deletion, also after one that failed and may have been committed:
            caches may have content of the workspace. Must not wait.
    """

    _store: Store
    _access: Access
    _now: Callable[[], float]
    _new_id: Callable[[], str]
    _gone: Callable[[WorkspaceId], None]
    _erased: Callable[[], None]

    @contract.operation(
        id="listWorkspaces",
        method="GET",
        path="/api/workspaces",
        tag="workspaces",
        summary="List the workspaces that you belong to",
        scope=READ,
        confinable=True,
        locked=contract.Locked.ALLOWED,
    )
    async def list_workspaces(
        self, call: contract.Call, query: contract.PageQuery
    ) -> WorkspaceList:
        """Return a page of workspaces."""
        after = contract.read_cursor(query.after, 1, identifier=0)
        caller = caller_of(call)
        chosen = None if caller.limits is None else caller.limits.workspaces
        first = after[0] if after else ""
        if chosen is None:
            script = workspaces.list_of(caller.account_id, first, query.limit + 1)
        else:
            rest = sorted(workspace_id for workspace_id in chosen if workspace_id > first)
            script = workspaces.chosen_of(caller.account_id, rest)
        listed = await self._store.read(script)
        page, following = contract.split_page(
            listed, query.limit, lambda workspace: (workspace.workspace_id,)
        )
        return WorkspaceList(items=tuple(map(workspace_document, page)), next=following)

    @contract.operation(
        id="createWorkspace",
        method="POST",
        path="/api/workspaces",
        tag="workspaces",
        summary="Create a workspace",
        description="You become its owner and only member. An account owns at most 1,000 "
        "workspaces.",
        status=201,
        body=contract.json_body(WorkspaceNameInput, limit=_LONGEST_BODY),
    )
    async def create_workspace(
        self, call: contract.Call, body: WorkspaceNameInput
    ) -> WorkspaceSchema:
        """Create a workspace."""
        account_id = caller_of(call).account_id
        now = int(self._now() * 1000)
        made = Workspace(WorkspaceId(self._new_id()), _name(body), "owner", now)
        await self._store.write(workspaces.create(made.workspace_id, made.name, account_id, now))
        return workspace_document(made)

    @contract.operation(
        id="getWorkspace",
        method="GET",
        path="/api/workspaces/{workspaceId}",
        tag="workspaces",
        summary="Get a workspace",
        scope=READ,
        confinable=True,
        problems=(NotFound,),
    )
    async def get_workspace(self, call: contract.Call, path: WorkspacePath) -> WorkspaceSchema:
        """Return a workspace."""
        workspace_id = path.workspace_id
        return workspace_document(await self._access.seen(caller_of(call), workspace_id))

    @contract.operation(
        id="updateWorkspace",
        method="PUT",
        path="/api/workspaces/{workspaceId}",
        tag="workspaces",
        summary="Rename a workspace",
        description="Requires the owner, or an administrator of the workspace.",
        problems=(NotFound,),
        body=contract.json_body(WorkspaceNameInput, limit=_LONGEST_BODY),
    )
    async def update_workspace(
        self, call: contract.Call, path: WorkspacePath, body: WorkspaceNameInput
    ) -> WorkspaceSchema:
        """Rename a workspace."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "manage")
        await self._store.write(workspaces.rename(workspace_id, _name(body)))
        return workspace_document(await self._access.seen(caller_of(call), workspace_id))

    @contract.operation(
        id="deleteWorkspace",
        method="DELETE",
        path="/api/workspaces/{workspaceId}",
        tag="workspaces",
        summary="Delete a workspace and its content",
        description="Requires the owner. Its files and their history are erased permanently.",
        locked=contract.Locked.ALLOWED,
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def delete_workspace(self, call: contract.Call, path: WorkspacePath) -> contract.Removed:
        """Delete a workspace."""
        workspace_id = await self._access.workspace(caller_of(call), path.workspace_id, "own")
        try:
            # A cancelled write may still be committed: what is read until then would stay cached.
            with trio.CancelScope(shield=True):
                await self._store.write(workspaces.delete(workspace_id))
        finally:
            # A write that failed may have been committed.
            self._access.forget(workspace_id)
            self._erased()
        self._gone(workspace_id)
        return contract.REMOVED


def _name(body: WorkspaceNameInput) -> str:
    try:
        return parse_label(body.name, LONGEST_NAME)
    except ValueError as error:
        raise InvalidRequest(errors=[("/name", str(error))]) from None
