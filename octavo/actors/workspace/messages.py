"""What the actor of a workspace is asked, and how it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.actors.core import Message
from octavo.actors.core import Refusal as Answer
from octavo.model.documents.document import DocumentUpdate
from octavo.model.files.changeset import Changeset
from octavo.model.files.receipt import Receipt
from octavo.model.files.revision import Revision
from octavo.model.identity import Epoch, FileId
from octavo.model.refusal import DomainError
from octavo.store import StoreUnavailable

if TYPE_CHECKING:
    from octavo.actors.workspace.actor import WorkspaceActor  # noqa: F401  # named as text below


@dataclass(frozen=True, slots=True)
class Push(Message["WorkspaceActor", Receipt]):
    """Accept a changeset; refused with `NotAccepted`, `NotKept` or `NoWorkspace`."""

    changeset: Changeset


@dataclass(frozen=True, slots=True)
class HeadOf(Message["WorkspaceActor", Revision | None]):
    """Return the head of a file, whatever its state; None for an unknown one."""

    file_id: FileId


@dataclass(frozen=True, slots=True)
class MissingUpdate(Message["WorkspaceActor", DocumentUpdate | None]):
    """Return the generation of a note's document, and what somebody lacks of it.

    That is the whole of it for whoever has another generation than ``epoch``. ``vector`` is the
    state vector of what they have, checked before. None: there is no document, or no more.
    """

    file_id: FileId
    epoch: Epoch
    vector: bytes


class NotAccepted(Answer):
    """The changeset can't be accepted; ``refusal`` says why. Nothing of it was done."""

    def __init__(self, refusal: DomainError) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal


class NotKept(Answer):
    """The store failed; ``error`` says whether the changeset may have been kept all the same."""

    def __init__(self, error: StoreUnavailable) -> None:
        super().__init__(str(error))
        self.error = error


class NoWorkspace(Answer):
    """There is no such workspace."""
