"""Revisions: what each accepted change made of a file. The newest one is the file's head."""

from dataclasses import dataclass
from typing import Literal

from octavo.model.files.path import Kind
from octavo.model.identity import (
    AccountId,
    ContentId,
    Digest,
    FileId,
    MutationId,
    Position,
    RevisionId,
)

State = Literal["live", "deleted", "purged"]
Origin = Literal["device", "key", "import", "mcp", "restore"]
"""By which way a revision came: a device that is signed in, a personal API key, an import, the MCP
endpoint, or the restoring of an earlier revision."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A file as one changeset left it; never changed afterwards.

    Every accepted change of a file makes one, its deletion and its purge among them. A deleted
    file keeps path and content for whoever restores it; a purged one has kept nothing but its
    id: path and digest are empty, the size is 0.

    Attributes:
        content_id: names the content, which is that of the revision with this id.
        size: of the content, in bytes.
        created_at: milliseconds of Unix time.
    """

    file_id: FileId
    state: State
    kind: Kind
    path: str
    revision_id: RevisionId
    position: Position
    content_id: ContentId
    digest: Digest
    size: int
    media_type: str
    author: AccountId
    mutation_id: MutationId
    created_at: int
    origin: Origin = "device"
