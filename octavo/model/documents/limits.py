"""Limits of documents: their size, and the cost of loading them, which is counted when in doubt."""

from collections.abc import Callable
from typing import NamedTuple

from octavo.model.documents.integration import MAX_STEPS, loading
from octavo.model.documents.update_log import MAX_UPDATES


class DocumentLimits(NamedTuple):
    """The size limits of documents.

    Attributes:
        update: bytes of one update.
        state: bytes of a whole document, as it is stored.
        history: maximum size of a document as a multiple of its text size; past it, a new
            epoch starts without history.
        history_free: bytes below which a document keeps its history in any case.
        max_history: maximum bytes of a document in addition to its text. Loading one
            blocks the process.
        logged: maximum number of updates that are stored beside a document.
    """

    update: int = 2 * 1024 * 1024
    state: int = 16 * 1024 * 1024
    history: int = 8
    history_free: int = 65_536
    max_history: int = 524_288
    logged: int = MAX_UPDATES

    def outgrown(self, state: int, text: int) -> bool:
        """Return whether a document of ``state`` bytes, ``text`` of them text, drops history."""
        if state <= self.history_free:
            return False
        return state > self.history * text or state - text > self.max_history


_BYTES_OF_A_PIECE = 6
"""The minimum size of a piece of history in a state."""


class Growth(NamedTuple):
    """The pieces of a document at the last count, and an upper bound of those added since."""

    counted: int
    since: int

    @classmethod
    def unknown(cls, state: int, text: int) -> "Growth":
        """Return the estimate for a document of which only the sizes in bytes are known."""
        return cls(0, max(0, state - text) // _BYTES_OF_A_PIECE)

    def grown(self, pieces: int) -> "Growth":
        """Return the estimate after an update that adds ``pieces``."""
        return Growth(self.counted, self.since + pieces)

    @property
    def doubtful(self) -> bool:
        """Whether loading may be too expensive by now; counting is expensive, too."""
        return self.since * (self.counted + self.since) > 3 * MAX_STEPS

    def recounted(self, state: Callable[[], bytes]) -> "tuple[Growth, bool]":
        """Count the pieces; also return whether the document is too expensive to load."""
        found = loading(state())
        return Growth(found.pieces, 0), found.steps > MAX_STEPS
