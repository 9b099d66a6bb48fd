"""What a limited credential may do of what its account may: scopes, workspaces, one folder."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from octavo_rules.identity import READ, SCOPES, Scope, WorkspaceId

from octavo.model.files.confinement import Confinement


@dataclass(frozen=True, slots=True)
class AccessLimits:
    """The limits of a key or a token; the current rights of its account limit it further.

    Attributes:
        scopes: what it may do; `READ` is always among them.
        workspaces: the workspaces that exist for it; None for all.
        folder: the folder, without a slash at its end, of the one workspace, that it is limited
            to; None for all files.
    """

    scopes: frozenset[Scope]
    workspaces: frozenset[WorkspaceId] | None = None
    folder: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a folder without its one workspace, and for scopes without read."""
        if READ not in self.scopes:
            raise ValueError(f"{READ} is part of every access")
        if self.workspaces is not None and not self.workspaces:
            raise ValueError("choose at least one workspace")
        if self.folder is not None and (self.workspaces is None or len(self.workspaces) != 1):
            raise ValueError("a folder belongs to exactly one workspace")

    def sees(self, workspace_id: WorkspaceId) -> bool:
        """Return whether the workspace exists for the credential."""
        return self.workspaces is None or workspace_id in self.workspaces

    @property
    def confinement(self) -> Confinement | None:
        """The limitation to the folder; None for all files."""
        return None if self.folder is None else Confinement(self.folder)

    def covers(self, path: str) -> bool:
        """Return whether a file at ``path`` is within the folder."""
        return self.folder is None or Confinement(self.folder).covers(path)


def parse_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes of these names, with `READ`. Raises ValueError for an unknown one."""
    given = set(names)
    if unknown := sorted(given - set(SCOPES)):
        raise ValueError(f"unknown scope {unknown[0]!r}: use {' or '.join(SCOPES)}")
    return frozenset(cast("set[Scope]", given)) | {READ}
