"""The server's responses about accounts, workspaces, files and their changes.

The API document of the server describes each member under the same name.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from octavo_rules.identity import (
    AccountId,
    Epoch,
    FileId,
    MutationId,
    Position,
    RevisionId,
    Scope,
    WorkspaceId,
)
from pydantic import Field

from octavo_client.response_model import Base64, ResponseModel

Kind = Literal["note", "attachment"]
State = Literal["live", "deleted", "purged"]


@dataclass(frozen=True, slots=True)
class AccountInfo(ResponseModel):
    """An account after its registration."""

    id: AccountId
    address: str
    display_name: str


@dataclass(frozen=True, slots=True)
class NewKey(ResponseModel):
    """A new API key with its secret, which can't be read again."""

    id: str
    name: str
    created_at: datetime
    expires_at: datetime | None
    scopes: tuple[Scope, ...] | None
    workspace_ids: tuple[WorkspaceId, ...] | None
    folder: str | None
    secret: str


@dataclass(frozen=True, slots=True)
class WorkspaceInfo(ResponseModel):
    """A workspace as seen by the account."""

    id: WorkspaceId
    name: str
    role: Literal["owner", "administrator", "editor", "reader"]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RevisionInfo(ResponseModel):
    """A revision of a file."""

    id: RevisionId
    file_id: FileId
    position: Position
    kind: Kind
    path: str | None
    digest: str | None
    size: int
    media_type: str | None
    author: AccountId
    created_at: datetime
    mutation_id: MutationId
    origin: str


@dataclass(frozen=True, slots=True)
class FileChange(ResponseModel):
    """The result of a change to one file."""

    file_id: FileId
    outcome: Literal[
        "created", "updated", "merged", "unchanged", "deleted", "restored", "purged", "attached"
    ]
    revision: RevisionInfo
    position: Position
    path: str | None


@dataclass(frozen=True, slots=True)
class ChangesetResult(ResponseModel):
    """The result of a changeset."""

    mutation_id: MutationId
    position: Position
    mark: RevisionId
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class DocumentState(ResponseModel):
    """The Yjs document of a note."""

    epoch: Epoch
    state: Base64
    state_vector: Base64


@dataclass(frozen=True, slots=True)
class NoteSave(FileChange):
    """The result of a save, and the update that the device lacks."""

    epoch: Epoch
    update: Base64
    state_vector: Base64


@dataclass(frozen=True, slots=True)
class WorkspaceFileInfo(ResponseModel):
    """A file at its head, or at an earlier revision."""

    id: FileId
    path: str | None
    kind: Kind
    state: State
    head: RevisionInfo
    text: str | None
    document: DocumentState | None = None


@dataclass(frozen=True, slots=True)
class ListedFile(ResponseModel):
    """A file without its text."""

    id: FileId
    path: str
    kind: Kind
    state: Literal["live", "deleted"]
    head: RevisionInfo


@dataclass(frozen=True, slots=True)
class ReadFiles(ResponseModel):
    """The requested files that exist, and the ids of the others."""

    items: tuple[WorkspaceFileInfo, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FeedEntry(ResponseModel):
    """The present state of a file, at the position of its last change."""

    position: Position
    file_id: FileId
    path: str | None
    kind: Kind
    state: State
    revision_id: RevisionId
    digest: str | None
    size: int
    mutation_id: MutationId
    changed_at: datetime
    text: str | None = None


@dataclass(frozen=True, slots=True)
class FeedPage(ResponseModel):
    """A page of the feed; ``next`` is the position after which the next page starts.

    ``mark`` is the mark of ``position``, which is that of the workspace.
    """

    entries: tuple[FeedEntry, ...]
    next: Position
    next_mark: RevisionId
    position: Position
    mark: RevisionId
    more: bool


@dataclass(frozen=True, slots=True)
class SnapshotEnd(ResponseModel):
    """The last line of a snapshot."""

    position: Position
    mark: RevisionId
    files: int


@dataclass(frozen=True, slots=True)
class DiffLine(ResponseModel):
    """A line of a diff."""

    kind: Literal["context", "added", "removed"]
    text: str


@dataclass(frozen=True, slots=True)
class DiffHunk(ResponseModel):
    """A range of changed lines with their context."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class DiffPiece(ResponseModel):
    """A piece of text that both revisions have, or only one."""

    kind: Literal["equal", "added", "removed"]
    text: str


@dataclass(frozen=True, slots=True)
class Difference(ResponseModel):
    """The changes between two revisions, by lines or by words."""

    old: RevisionInfo | None
    new: RevisionInfo
    unified: str | None
    hunks: tuple[DiffHunk, ...] | None
    words: tuple[DiffPiece, ...] | None
    cut: bool


@dataclass(frozen=True, slots=True)
class Notice(ResponseModel):
    """A message of the notification stream; its members depend on its type."""

    type: str
    workspace_id: WorkspaceId | None = None
    position: Annotated[Position, Field(ge=0)] | None = None
    mark: RevisionId | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WorkspacePage(ResponseModel):
    """A page of workspaces; as in all pages, ``next`` is None on the last one."""

    items: tuple[WorkspaceInfo, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class FilePage(ResponseModel):
    """A page of files."""

    items: tuple[ListedFile, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class RevisionPage(ResponseModel):
    """A page of revisions."""

    items: tuple[RevisionInfo, ...]
    next: str | None
