"""A device that holds the document of one note, and edits it independently."""

from base64 import b64decode, b64encode
from typing import Any, Self

from octavo_rules.documents.document import StoredDocument
from pycrdt import Doc, Text

Json = dict[str, Any]


class Device:
    """A copy of a note's document; ``client`` is its Yjs client id."""

    def __init__(self, document: Json, client: int) -> None:
        self.client = client
        self._load(document)

    def _load(self, document: Json) -> None:
        self.epoch: str = document["epoch"]
        self.doc: Doc[Text] = Doc(client_id=self.client)
        self.written = self.doc.get("text", type=Text)
        self.doc.apply_update(b64decode(document["state"]))
        # The state of the server, as far as the device knows.
        self.known = self.vector()

    @classmethod
    def of(cls, file: Json, client: int = 7) -> Self:
        """A device that has just read ``file``."""
        return cls(file["document"], client)

    @classmethod
    def kept(cls, document: StoredDocument, client: int) -> Self:
        """A device with the document from the store."""
        state = b64encode(document.state).decode()
        return cls({"epoch": document.epoch, "state": state}, client)

    @property
    def text(self) -> str:
        return str(self.written)

    def vector(self) -> bytes:
        return self.doc.get_state()

    def insert(self, at: int, text: str) -> None:
        """Insert at an offset in the text, counted in characters."""
        self.written.insert(len(self.text[:at].encode()), text)

    def delete(self, start: int, end: int) -> None:
        text = self.text
        del self.written[len(text[:start].encode()) : len(text[:end].encode())]

    def save(self, **more: str) -> Json:
        """Return the update to send: everything the server lacks."""
        update = self.doc.get_update(self.known)
        return {
            "epoch": self.epoch,
            "update": b64encode(update).decode(),
            "stateVector": b64encode(self.vector()).decode(),
            **more,
        }

    def take(self, saved: Json) -> None:
        """Apply the server's response to a save."""
        if saved["epoch"] != self.epoch:
            self._load({"epoch": saved["epoch"], "state": saved["update"]})
            return
        self.doc.apply_update(b64decode(saved["update"]))
        self.known = self.vector()
