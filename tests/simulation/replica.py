"""A device's copy of the document of one note, which it edits independently."""

from random import Random

from octavo_rules.documents.document import DocumentUpdate, StoredDocument
from octavo_rules.identity import Epoch
from pycrdt import Doc, Text


class Replica:
    """A copy that is ahead of the service, behind it, or both.

    Args:
        document: as the service has it.
        client: the Yjs client id of the device.

    Attributes:
        added: marks inserted here that may not be stored yet.
        dropped: marks deleted here that may still be stored.
        is_ahead: whether there are edits here that may not be stored yet.
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
        # The state of the service, as far as is known here.
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
        """Insert a mark anywhere, sometimes followed by a space."""
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
        # A mark that was never sent just disappears.
        self.dropped |= {each: None for each in gone if each in marks}
        self.added = {each: None for each in self.added if each not in gone}

    def update(self) -> bytes:
        """Return everything the service lacks, and possibly more."""
        return self._doc.get_update(self._known)

    def spoilt(self, client: int, words: str) -> bytes:
        """Return such an update with ``words`` in it, which are not in the replica itself."""
        other: Doc[Text] = Doc(client_id=client)
        written = other.get("text", type=Text)
        other.apply_update(self._doc.get_update())
        written.insert(0, words)
        return other.get_update(self._known)

    def saved(self) -> None:
        """All local edits were accepted."""
        self.added, self.dropped, self.is_ahead = {}, {}, False
        self._known = self.vector()

    def take(self, found: DocumentUpdate, random: Random) -> None:
        """Apply a missing update; edits that a new generation lacks are inserted again."""
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
