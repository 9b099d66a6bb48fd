"""One Yjs document in memory, with a text that devices and the server edit."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from octavo_rules.documents.document import ROOT, StoredDocument
from octavo_rules.documents.edits import Edit
from octavo_rules.documents.encoding import read_state_vector
from octavo_rules.problems import DocumentMalformed

if TYPE_CHECKING:
    pass

_NOBODY = 1
"""The client id for documents that are not edited."""
_NOT_APPLICABLE = "The bytes are not an applicable update."


class LiveDocument:
    """A document into which updates of devices and edits of the server are merged.

    Callers must validate each update first (`octavo.model.documents.update_check`): the library
    silently accepts updates that it does not understand.

    Args:
        stored: the document to load.
        client: the Yjs client id of the server's edits.
        updates: what was merged into it since.

    Attributes:
        epoch: its epoch.
    """

    __slots__ = ("_doc", "_text", "epoch")

    def __init__(self, stored: StoredDocument, client: int, updates: Sequence[bytes] = ()) -> None:
        # With the asyncio support that it brings, importing pycrdt takes longer than all the rules.
        from pycrdt import Doc, Text  # noqa: PLC0415

        self.epoch = stored.epoch
        self._doc: Doc[Text] = Doc(client_id=client)
        self._text = self._doc.get(ROOT, type=Text)
        self.apply(stored.state)
        for update in updates:
            self.apply(update)

    @property
    def text(self) -> str:
        """The current text."""
        return str(self._text)

    def vector(self) -> dict[int, int]:
        """Return the state vector: the next clock of each client."""
        return read_state_vector(self.vector_bytes())

    def vector_bytes(self) -> bytes:
        """Return the state vector in the encoding of Yjs."""
        return self._doc.get_state()

    def apply(self, update: bytes) -> None:
        """Merge ``update``; raises `DocumentMalformed`, and the document is unusable then."""
        with _contained():
            self._doc.apply_update(update)

    def edit(self, edits: Sequence[Edit]) -> None:
        """Apply ``edits``, whose positions refer to the text before the first of them.

        Raises `DocumentMalformed` where the text has none of them; the document is unusable then.
        """
        # In ascending order: each deletion walks the item that it falls into, which would be the
        # rest of the text in descending order.
        shifted = 0
        with _contained(), self._doc.transaction():
            for at, deleted, inserted in edits:
                place = at + shifted
                if deleted:
                    del self._text[place : place + deleted]
                if inserted:
                    self._text.insert(place, inserted)
                shifted += len(inserted.encode()) - deleted

    def state(self) -> bytes:
        """Return the whole document as one update."""
        return self._doc.get_update()

    def stored(self) -> StoredDocument:
        """Return the document in the form in which it is stored."""
        return StoredDocument(self.epoch, self.state(), self.vector_bytes())

    def update_since(self, vector: bytes) -> bytes:
        """Return the update that a copy with the state vector ``vector`` lacks."""
        with _contained():
            return self._doc.get_update(vector)


def merged(document: StoredDocument, updates: Sequence[bytes]) -> StoredDocument:
    """Return a document with the updates that are stored beside it.

    See `octavo_rules.documents.document.MergeUpdates`. Raises `DocumentMalformed` also for a
    document that would read differently: forged updates can depend on the order in which they are
    merged.
    """
    if not updates:
        return document
    live = LiveDocument(document, _NOBODY, updates)
    stored = live.stored()
    if LiveDocument(stored, _NOBODY).text != live.text:
        raise DocumentMalformed("The document reads differently with its updates merged.")
    return stored


@contextmanager
def _contained() -> Iterator[None]:
    """Convert every failure of the library to `DocumentMalformed`.

    A panic of the native code is not an `Exception` and would end the whole service.
    """
    try:
        yield
    except (ValueError, RuntimeError) as error:
        raise DocumentMalformed(_NOT_APPLICABLE) from error
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":
            raise
        raise DocumentMalformed(_NOT_APPLICABLE) from error
