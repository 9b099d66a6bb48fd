"""Documents of notes, as planning uses them: the text of a note in a form that can be merged."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from octavo.model.files.content import NoteContent, NoteText
from octavo.model.identity import ContentId, Epoch, FileId


class StoredDocument(NamedTuple):
    """A document in the form in which it is stored.

    Attributes:
        epoch: its epoch.
        state: the whole document as one Yjs update (version 1).
        vector: the state vector of the document.
    """

    epoch: Epoch
    state: bytes
    vector: bytes


class TextDocument(NamedTuple):
    """The document of a note, and the content whose text it has.

    Attributes:
        updates: what was merged since into ``document``, in this order; it is stored beside it.
    """

    document: StoredDocument
    content_id: ContentId
    updates: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """The bytes that are loaded of it."""
        return len(self.document.state) + sum(map(len, self.updates))


class ChangedDocument(NamedTuple):
    """A document to store.

    Attributes:
        file_id: the note.
        new: the document.
        followed: the content that the stored document names if it was behind its note: it must
            still be stored as it was. None if the position of the workspace protects it.
        appended: the last of its updates, if all that precedes them is stored. Otherwise none, and
            the whole document is to be stored.
    """

    file_id: FileId
    new: TextDocument
    followed: ContentId | None
    appended: tuple[bytes, ...] = ()


class MergeUpdates(Protocol):
    """Merges updates into a document."""

    def __call__(self, document: StoredDocument, updates: Sequence[bytes]) -> StoredDocument:
        """Return ``document`` with ``updates``, which were merged into it before, in their order.

        Raises `octavo.model.refusal.DocumentMalformed` if they are damaged.
        """


class DocumentUpdate(NamedTuple):
    """A Yjs update (version 1) for a document with the epoch ``epoch``.

    ``vector`` is the state vector of the document after the update.
    """

    epoch: Epoch
    update: bytes
    vector: bytes


class Documents(Protocol):
    """The documents of the notes that a batch changes, with the changes planned so far."""

    def attempt(self) -> AbstractContextManager[None]:
        """Roll back the changes made within the block if a `DomainError` leaves it."""

    def created(self, file_id: FileId, content_id: ContentId, content: NoteContent) -> None:
        """Record a new note, whose document is the insertion of its text."""

    def merge(
        self, file_id: FileId, epoch: Epoch, update: bytes, epoch_next: Epoch
    ) -> NoteText | None:
        """Apply an update to the document of a note and return its text; raises a `DomainError`.

        Returns None if the update contained nothing new. The text may be the same after a change:
        text that was inserted and deleted again is still referred to by later updates. If the
        history has grown too large, the document starts a new epoch, ``epoch_next``.
        """

    def write(self, file_id: FileId, content_id: ContentId, content: NoteContent) -> None:
        """Record that the note gets a new text.

        If the batch has the document, its text changes by minimal edits; otherwise it follows the
        note later. ``content_id`` names the epoch that may begin with it.
        """

    def purged(self, file_id: FileId) -> None:
        """Record that the file was purged, and its document with it."""
