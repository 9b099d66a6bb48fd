"""Workspaces, and the rights of their members."""

from dataclasses import dataclass
from typing import Literal

from octavo.model.identity import WorkspaceId

Role = Literal["owner", "administrator", "editor", "reader"]
Right = Literal["read", "write", "manage", "own"]
"""``write`` changes files, ``manage`` renames and manages members, ``own`` deletes."""

_RIGHTS: dict[Role, frozenset[Right]] = {
    "reader": frozenset({"read"}),
    "editor": frozenset({"read", "write"}),
    "administrator": frozenset({"read", "write", "manage"}),
    "owner": frozenset({"read", "write", "manage", "own"}),
}
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace as seen by a member; ``created_at`` is in milliseconds of Unix time."""

    workspace_id: WorkspaceId
    name: str
    role: Role
    created_at: int


def grants(role: Role, right: Right) -> bool:
    """Return whether a member with ``role`` has ``right``."""
    return right in _RIGHTS[role]
