"""What documents may grow to.

How dear a document has become to load, counted when it may have become so.
"""

from collections.abc import Callable
from typing import NamedTuple

from octavo.model.documents.integration import STEPS_MOST, loading


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
        """Return whether a document of ``state`` bytes sheds its history, with ``text`` bytes."""
        if state <= self.history_free:
            return False
        return state > self.history * text or state - text > self.history_most


_BYTES_OF_A_PIECE = 6
"""The fewest that a piece of history takes in a state."""


class Growth(NamedTuple):
    """The pieces that a document had when it was counted, and those that came since, at most."""

    counted: int
    since: int

    @classmethod
    def unknown(cls, state: int, text: int) -> "Growth":
        """Return that of a document of which only its bytes are known, and those of its text."""
        return cls(0, max(0, state - text) // _BYTES_OF_A_PIECE)

    def grown(self, pieces: int) -> "Growth":
        """Return that behind an update with so many."""
        return Growth(self.counted, self.since + pieces)

    @property
    def doubtful(self) -> bool:
        """Whether it may be too dear by now; to count is dear itself."""
        return self.since * (self.counted + self.since) > 3 * STEPS_MOST

    def counted_anew(self, state: Callable[[], bytes]) -> "tuple[Growth, bool]":
        """Count; answer with it whether the document is too dear to be loaded again and again."""
        found = loading(state())
        return Growth(found.pieces, 0), found.steps > STEPS_MOST
