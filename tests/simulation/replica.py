"""A device's copy of the document of one note, which it edits without asking anybody."""

from random import Random

from pycrdt import Doc, Text

from octavo.model.documents.document import DocumentUpdate, StoredDocument
from octavo.model.identity import Epoch


class Replica:
    """A copy that is ahead of the service, behind it, or both.

    Args:
        document: as the service has it.
        client: the Yjs client that the device writes as.

    Attributes:
        added: the marks that were inserted here, and are not known to be kept.
        dropped: the marks that were deleted here, and are not known to be gone.
        is_ahead: whether anything was done here that is not known to be kept.
        epochs: the generations that it has had, this one last.
    """

    def __init__(self, document: StoredDocument, client: int) -> None:
        self._client = client
        self.epochs: list[Epoch] = []
        self.added: dict[str, None] = {}
        self.dropped: dict[str, None] = {}
        self.is_ahead = False
        self._load(document.epoch, document.state)

    def _load(self, epoch: Epoch, state: bytes) -> None:
        self.epochs.append(epoch)
        self._doc: Doc[Text] = Doc(client_id=self._client)
        self._written = self._doc.get("text", type=Text)
        self._doc.apply_update(state)
        # What the service has, as far as is known here.
        self._known = self.vector()

    @property
    def epoch(self) -> Epoch:
        return self.epochs[-1]

    @property
    def text(self) -> str:
        return str(self._written)

    def vector(self) -> bytes:
        return self._doc.get_state()

    def insert(self, mark: str, random: Random) -> None:
        """Insert a mark anywhere, with a space behind it now and then."""
        self._insert(random.randint(0, len(self.text)), mark + random.choice(["", " "]))
        self.added[mark] = None
        self.is_ahead = True

    def delete(self, marks: dict[str, None], random: Random) -> None:
        """Delete some characters anywhere; ``marks`` are those that may be among them."""
        text = self.text
        start = random.randint(0, len(text))
        gone = text[start : start + random.choice([1, 2, 5])]
        at = len(text[:start].encode())
        if gone:
            del self._written[at : at + len(gone.encode())]
            self.is_ahead = True
        # One that was never sent is simply no more.
        self.dropped |= {each: None for each in gone if each in marks}
        self.added = {each: None for each in self.added if each not in gone}

    def update(self) -> bytes:
        """Answer all that the service lacks, and more of it than that perhaps."""
        return self._doc.get_update(self._known)

    def spoilt(self, client: int, words: str) -> bytes:
        """Answer such an update with ``words`` in it, which the replica does not have itself."""
        other: Doc[Text] = Doc(client_id=client)
        written = other.get("text", type=Text)
        other.apply_update(self._doc.get_update())
        written.insert(0, words)
        return other.get_update(self._known)

    def saved(self) -> None:
        """All that is here was accepted."""
        self.added, self.dropped, self.is_ahead = {}, {}, False
        self._known = self.vector()

    def take(self, found: DocumentUpdate, random: Random) -> None:
        """Take in what is lacking; what another generation does not have is brought by hand."""
        if found.epoch == self.epoch:
            self._doc.apply_update(found.update)
            if not self.is_ahead:
                self._known = self.vector()
            return
        self._load(found.epoch, found.update)
        self.dropped = {}
        text = self.text
        self.added = {each: None for each in self.added if each not in text}
        self.is_ahead = bool(self.added)
        for mark in self.added:
            self._insert(random.randint(0, len(self.text)), mark)

    def _insert(self, at: int, text: str) -> None:
        self._written.insert(len(self.text[:at].encode()), text)
