"""One Yjs document in memory: a text, and what its devices and the server did to it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pycrdt import Doc, Text

from octavo.model.documents.document import KeptDocument
from octavo.model.documents.edits import Edit
from octavo.model.documents.initial_document import ROOT
from octavo.model.documents.state_vector import read_state_vector
from octavo.model.refusal import DocumentMalformed


class LiveDocument:
    """A document that updates are merged into, and the server's own edits.

    Callers check first whether an update can be applied (`octavo.model.documents.update_check`):
    the library silently accepts what it does not understand.

    Args:
        kept: what it is made from.
        client: the Yjs client that the server's edits are of.

    Attributes:
        epoch: its generation.
    """

    __slots__ = ("_doc", "_text", "epoch")

    def __init__(self, kept: KeptDocument, client: int) -> None:
        self.epoch = kept.epoch
        self._doc: Doc[Text] = Doc(client_id=client)
        self._text = self._doc.get(ROOT, type=Text)
        self.apply(kept.state)

    @property
    def text(self) -> str:
        """The text as it stands."""
        return str(self._text)

    def vector(self) -> dict[int, int]:
        """Return how much of each client's work is in it."""
        return read_state_vector(self.vector_bytes())

    def vector_bytes(self) -> bytes:
        """Return the same as Yjs encodes it."""
        return self._doc.get_state()

    def apply(self, update: bytes) -> None:
        """Merge ``update``; raises `DocumentMalformed`, and the document is of no more use then."""
        with _contained():
            self._doc.apply_update(update)

    def edit(self, edits: Sequence[Edit]) -> None:
        """Do ``edits``, which tell places in the text before the first of them."""
        # From the front: each cut walks the piece of text that it falls into, which is the rest of
        # the whole from behind.
        shifted = 0
        with self._doc.transaction():
            for at, deleted, inserted in edits:
                place = at + shifted
                if deleted:
                    del self._text[place : place + deleted]
                if inserted:
                    self._text.insert(place, inserted)
                shifted += len(inserted.encode()) - deleted

    def state(self) -> bytes:
        """Return the update that makes the whole document."""
        return self._doc.get_update()

    def kept(self) -> KeptDocument:
        """Return the document as it is stored."""
        return KeptDocument(self.epoch, self.state(), self.vector_bytes())

    def lacking(self, vector: bytes) -> bytes:
        """Return the update with what somebody lacks who has ``vector``, which was checked."""
        with _contained():
            return self._doc.get_update(vector)


@contextmanager
def _contained() -> Iterator[None]:
    """Turn every failure of the library into a refusal.

    A panic of its native code is no Exception: it would end the whole service.
    """
    try:
        yield
    except (ValueError, RuntimeError) as error:
        raise DocumentMalformed("The bytes are no update that can be applied.") from error
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":
            raise
        raise DocumentMalformed("The bytes are no update that can be applied.") from error
