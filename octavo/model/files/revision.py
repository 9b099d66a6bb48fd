"""Revisions: the immutable states of a file. The newest one is its head."""

from dataclasses import dataclass
from typing import Literal

from octavo_rules.identity import (
    AccountId,
    ContentId,
    Digest,
    FileId,
    MutationId,
    Position,
    ProgramNumber,
    RevisionId,
)

from octavo.model.files.path import Kind

State = Literal["live", "deleted", "purged"]
Origin = Literal["device", "page", "key", "import", "mcp", "restore"]
"""The source of a revision: a signed-in device, the pages in a browser, a personal API key, an
import, the MCP endpoint, or the restoration of an earlier revision."""


@dataclass(frozen=True, slots=True)
class Revision:
    """The immutable state of a file after one changeset.

    Every accepted change of a file creates one, including its deletion and its purge. A deleted
    file keeps path and content for a restore; a purged one keeps its id only: path and digest
    are empty, the size is 0.

    Attributes:
        content_id: the id of the revision that introduced the content.
        size: the size of the content, in bytes.
        created_at: Unix time in milliseconds.
        program: the program that made it by the MCP endpoint; None for any other origin.
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
    program: ProgramNumber | None = None
