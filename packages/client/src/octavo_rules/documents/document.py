"""Documents of notes, as planning uses them: the text of a note in a form that can be merged."""

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from octavo_rules.content import NoteContent, NoteText
from octavo_rules.documents.encoding import write_state_vector, write_varint
from octavo_rules.identity import ContentId, Epoch, FileId


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

        Raises `octavo_rules.problems.DocumentMalformed` if they are damaged.
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
        """Roll back the changes made within the block if a `Problem` leaves it."""

    def created(self, file_id: FileId, content_id: ContentId, content: NoteContent) -> None:
        """Record a new note, whose document is the insertion of its text."""

    def merge(
        self, file_id: FileId, epoch: Epoch, update: bytes, epoch_next: Epoch
    ) -> NoteText | None:
        """Apply an update to the document of a note and return its text; raises a `Problem`.

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


ROOT = "text"
"""The name of the text in a document, its only root type."""

NOTHING = b"\0\0"
"""The empty update: no structs, no deletions."""

# One client with one item, at clock 0: a string without neighbours, whose parent is the root.
_ONE_ITEM = b"\1\1"
_STRING_IN_ROOT = b"\0\4\1" + write_varint(len(ROOT)) + ROOT.encode()
_NO_DELETIONS = b"\0"


def yjs_client_id_of(identifier: str) -> int:
    """Return the Yjs client id of an identifier, of 53 bits as in JavaScript."""
    return int.from_bytes(hashlib.sha256(identifier.encode()).digest()[:7], "big") >> 3


def initial(content_id: ContentId, text: str) -> StoredDocument:
    """Return the document that consists of the insertion of ``text``, in a new epoch.

    The client id of the insertion is derived from the content id, so the document is always and
    everywhere the same and need not be stored. The format is a Yjs update, version 1.
    """
    epoch = Epoch(content_id)
    if not text:
        return StoredDocument(epoch, NOTHING, write_state_vector({}))
    data = text.encode()
    length = len(text) if len(data) == len(text) else len(text.encode("utf-16-le")) // 2
    client = yjs_client_id_of(content_id)
    written = write_varint(len(data)) + data
    state = _ONE_ITEM + write_varint(client) + _STRING_IN_ROOT + written + _NO_DELETIONS
    return StoredDocument(epoch, state, write_state_vector({client: length}))
