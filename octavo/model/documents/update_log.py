"""The updates that are stored beside a document, instead of the whole document with each save."""

from collections.abc import Sequence

from octavo_rules.documents.varint import read_varint, write_varint
from octavo_rules.refusal import DocumentMalformed

from octavo.model.documents.integration import MAX_STEPS, UNITS_A_STEP

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
    return b"".join([part for each in updates for part in (write_varint(len(each)), each)])


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
