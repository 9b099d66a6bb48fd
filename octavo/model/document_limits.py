"""What documents may grow to."""

from typing import NamedTuple


class DocumentLimits(NamedTuple):
    """The bounds of documents.

    Attributes:
        update: bytes of one update.
        state: bytes of a whole document, as it is stored.
        history: how many times the bytes of its text a document may have before a new generation
            begins without its history.
        history_free: bytes that a document may have in any case.
        history_most: bytes that a document may have beside its text, however long that is. A
            document is loaded behind each batch of updates, and that holds up everybody.
    """

    update: int = 2 * 1024 * 1024
    state: int = 16 * 1024 * 1024
    history: int = 8
    history_free: int = 65_536
    history_most: int = 524_288

    def outgrown(self, state: int, text: int) -> bool:
        """Answer whether a document of ``state`` bytes sheds its history, with ``text`` bytes."""
        if state <= self.history_free:
            return False
        return state > self.history * text or state - text > self.history_most
