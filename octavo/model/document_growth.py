"""How dear a document has become to load, counted when it may have become so."""

from collections.abc import Callable
from typing import NamedTuple

from octavo.model.integration import STEPS_MOST, loading

_BYTES_OF_A_PIECE = 6
"""The fewest that a piece of history takes in a state."""


class Growth(NamedTuple):
    """The pieces that a document had when it was counted, and those that came since, at most."""

    counted: int
    since: int

    @classmethod
    def unknown(cls, state: int, text: int) -> "Growth":
        """Answer that of a document of which only its bytes are known, and those of its text."""
        return cls(0, max(0, state - text) // _BYTES_OF_A_PIECE)

    def grown(self, pieces: int) -> "Growth":
        """Answer that behind an update with so many."""
        return Growth(self.counted, self.since + pieces)

    @property
    def doubtful(self) -> bool:
        """Whether it may be too dear by now; to count is dear itself."""
        return self.since * (self.counted + self.since) > 3 * STEPS_MOST

    def counted_anew(self, state: Callable[[], bytes]) -> "tuple[Growth, bool]":
        """Count; answer with it whether the document is too dear to be loaded again and again."""
        found = loading(state())
        return Growth(found.pieces, 0), found.steps > STEPS_MOST
