"""The messages that a workspace actor accepts, and its refusals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from greenroom import Message
from greenroom import Refusal as ActorRefusal
from octavo_rules.documents.document import DocumentUpdate
from octavo_rules.identity import Epoch, FileId
from octavo_rules.problems import Problem

from octavo.model.files.changeset import Changeset
from octavo.model.files.plan import Receipt
from octavo.model.files.revision import Revision
from octavo.store import StoreUnavailable

if TYPE_CHECKING:
    from octavo.actors.workspace.actor import WorkspaceActor  # noqa: F401  # used in annotations


@dataclass(frozen=True, slots=True)
class Push(Message[Receipt]):
    """Accept a changeset; refused with `ChangesetRefused`, `CommitFailed` or `NoWorkspace`."""

    changeset: Changeset


@dataclass(frozen=True, slots=True)
class HeadOf(Message[Revision | None]):
    """Return the head of a file in any state, or None for an unknown file."""

    file_id: FileId


@dataclass(frozen=True, slots=True)
class GetUpdateSince(Message[DocumentUpdate | None]):
    """Return the update that a device's copy of a note's document lacks.

    ``epoch`` is that of the copy: if the document has another one, the reply is the whole document.
    ``vector`` is the state vector of the copy, which must be validated. None means that the note
    has no document.
    """

    file_id: FileId
    epoch: Epoch
    vector: bytes


@dataclass(frozen=True, slots=True)
class RebuildDocuments(Message[None]):
    """Bring the documents of notes up to date with their texts, before they are read.

    The documents are stored whole, with the updates that were stored beside them. From then on,
    documents of the workspace may be read: they keep their epochs when texts are replaced.
    """

    file_ids: tuple[FileId, ...]


def documents_in(message: GetUpdateSince | RebuildDocuments) -> int:
    """Return how many documents a message requests."""
    return len(message.file_ids) if isinstance(message, RebuildDocuments) else 1


@dataclass(frozen=True, slots=True)
class FindUnplaceable(Message[frozenset[FileId]]):
    """Return the files of ``heads`` that could not have their paths if all were accepted."""

    heads: tuple[Revision, ...]


WorkspaceMessage = Push | HeadOf | GetUpdateSince | RebuildDocuments | FindUnplaceable
"""The messages that the actor of a workspace handles."""


class ChangesetRefused(ActorRefusal):
    """The changeset was rejected and not applied; ``refusal`` gives the reason."""

    def __init__(self, refusal: Problem) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


class CommitFailed(ActorRefusal):
    """The store failed; ``error`` says whether the changeset may have been committed."""

    def __init__(self, error: StoreUnavailable) -> None:
        super().__init__(str(error))
        self.error = error


class NoWorkspace(ActorRefusal):
    """The workspace does not exist."""
