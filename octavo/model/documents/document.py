"""The documents of notes, as planning needs them: each is the text of a note, made to be merged."""

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from octavo.model.files.content import NoteText
from octavo.model.identity import ContentId, Epoch, FileId


class KeptDocument(NamedTuple):
    """A document as it is stored.

    Attributes:
        epoch: its generation.
        state: a Yjs update (version 1) that makes all of it.
        vector: the state vector behind that.
    """

    epoch: Epoch
    state: bytes
    vector: bytes


class DocumentUpdate(NamedTuple):
    """An update (version 1) to a document of the generation ``epoch``.

    ``vector`` is the state vector of the document that it brings somebody to.
    """

    epoch: Epoch
    update: bytes
    vector: bytes


class Documents(Protocol):
    """The documents of the notes that changesets name, as those before left them."""

    def attempt(self) -> AbstractContextManager[None]:
        """Take back what was done within the block when a `Refusal` leaves it."""

    def made(self, file_id: FileId, content_id: ContentId, content: NoteText) -> None:
        """A note was made: its document is the insertion of its text."""

    def merge(
        self, file_id: FileId, epoch: Epoch, update: bytes, epoch_next: Epoch
    ) -> NoteText | None:
        """Apply an update to the document of a note, and answer its text; raises a `Refusal`.

        None: the document had all of it. One may change under the same text, too: what was
        inserted and deleted again is still named by later updates. When the history has grown too
        large, a new generation begins: ``epoch_next``.
        """

    def write(self, file_id: FileId, content: NoteText, epoch_next: Epoch) -> None:
        """Turn the text of the document into ``content``, by the smallest edits.

        ``epoch_next`` is that of `merge`.
        """

    def purged(self, file_id: FileId) -> None:
        """The file was purged, and its document with it."""
