"""Workspaces in their API form."""

from typing import Annotated

from octavo_rules.identity import WorkspaceId

from octavo.http.contract.contract_model import (
    IN_PATH,
    ContractModel,
    Identifier,
    Timestamp,
    timestamp,
)
from octavo.http.contract.paging import ListPage
from octavo.model.workspace import Role, Workspace


class WorkspacePath(ContractModel):
    """One workspace."""

    workspace_id: Annotated[WorkspaceId, IN_PATH]


class WorkspaceSchema(ContractModel):
    """A workspace as the account sees it."""

    id: Identifier
    name: str
    role: Role
    """The role of the account in it."""
    created_at: Timestamp


class WorkspaceList(ListPage[WorkspaceSchema]):
    """A page of workspaces, oldest first."""


def workspace_document(workspace: Workspace) -> WorkspaceSchema:
    """Return a workspace in its API form."""
    return WorkspaceSchema(
        id=workspace.workspace_id,
        name=workspace.name,
        role=workspace.role,
        created_at=timestamp(workspace.created_at),
    )
