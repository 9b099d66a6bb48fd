"""The updates that are stored beside a document, and the limits of what is loaded."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from octavo_rules.documents.encoding import read_varint, write_varint
from octavo_rules.problems import DocumentMalformed

from octavo.model.documents.integration import MAX_STEPS, UNITS_A_STEP, loading

MAX_UPDATES = 64
"""Merging one of a few words takes about 20 µs, each time that the document is loaded."""

FREE_BYTES = 4096
"""Updates of so many bytes are stored beside any document: one page of SQLite."""


MAX_MERGING_STEPS = MAX_STEPS // 4
"""Steps of merging all of them: 64 insertions into a text of 150 KB take about as many."""

_BYTES_OF_A_SPLIT = 3
"""The fewest bytes of an update for each text that it splits: a struct has six, and splits two."""


def outgrows(updates: Sequence[bytes], state: int, splits: int, most: int = MAX_UPDATES) -> bool:
    """Return whether a document of ``state`` bytes is to be stored whole, with its updates merged.

    There may be ``most`` of them. They may have half the size of the document: what is read stays
    in proportion. They split ``splits`` texts at most, each of which is scanned up to the place.
    """
    return (
        len(updates) > most
        or sum(map(len, updates)) > max(FREE_BYTES, state // 2)
        or splits * state // UNITS_A_STEP > MAX_MERGING_STEPS
    )


def splits_at_most(updates: Sequence[bytes]) -> int:
    """Return an upper bound of the texts that stored updates split."""
    return sum(map(len, updates)) // _BYTES_OF_A_SPLIT


def packed(updates: Sequence[bytes]) -> bytes:
    """Return ``updates`` in one piece: each follows its length."""
    return b"".join([part for update in updates for part in (write_varint(len(update)), update)])


def unpacked(data: bytes) -> tuple[bytes, ...]:
    """Return the updates that `packed` has packed; raise `DocumentMalformed` for anything else."""
    updates: list[bytes] = []
    at = 0
    try:
        while at < len(data):
            length, at = read_varint(data, at)
            updates.append(data[at : at + length])
            at += length
    except IndexError:
        at = -1
    if at != len(data):
        raise DocumentMalformed("The stored updates of the document are truncated.")
    return tuple(updates)


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
        cost = loading(state())
        return Growth(cost.pieces, 0), cost.steps > MAX_STEPS
