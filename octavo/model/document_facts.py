"""What is found out about a document where an update is decided about, carried to the next one.

To read it from the state takes time for each struct there, and nearly no update changes any of it.
"""

from collections.abc import Mapping, Set
from typing import NamedTuple, TypeAlias

Pairs: TypeAlias = Mapping[int, frozenset[int]]
"""The clocks of the second halves of surrogate pairs, by client.

UTF-16 codes characters past U+FFFF as such pairs."""

Range: TypeAlias = tuple[int, int, int]
"""A client, the first clock that was deleted, and the one behind the last."""

# Characters past U+FFFF begin with one of these in UTF-8; numbers in a state do, too.
_LEADS = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
_NOTHING_DELETED = b"\0"
_MOST_RANGES = 40_000


class DocumentFacts(NamedTuple):
    """What a document holds, and may have held; None for what is not known.

    Attributes:
        pairs: those of its text.
        ranges: what was deleted, as the updates that brought it told.
    """

    pairs: Pairs | None = None
    ranges: frozenset[Range] | None = None

    @property
    def held(self) -> int:
        """How many halves and ranges are known, each of which takes memory."""
        pairs = 0 if self.pairs is None else sum(map(len, self.pairs.values()))
        return pairs + (0 if self.ranges is None else len(self.ranges))

    def joined(self, pairs: Pairs, ranges: Set[Range]) -> "DocumentFacts":
        """Answer them after an update that brings these."""
        held, deleted = self
        if pairs and held is not None:
            # A client's new text comes behind what it wrote before.
            held = {**held, **{each: held.get(each, frozenset()) | pairs[each] for each in pairs}}
        if deleted is not None and not deleted.issuperset(ranges):
            deleted |= ranges
            # What was told of one place again and again, each time a bit more, is told once again.
            deleted = None if len(deleted) > _MOST_RANGES else deleted
        return DocumentFacts(held, deleted)

    def inserted(self, text: bytes) -> "DocumentFacts":
        """Answer them after an insertion of UTF-8, whose clocks nobody told."""
        return self if _no_pairs(text) else self._replace(pairs=None)


def facts_at_sight(state: bytes) -> DocumentFacts:
    """Answer what the bytes of a state show at once."""
    return DocumentFacts(
        {} if _no_pairs(state) else None,
        # The deletions come last, and no other list of them ends with zero.
        frozenset() if state.endswith(_NOTHING_DELETED) else None,
    )


def _no_pairs(encoded: bytes) -> bool:
    return not any(lead in encoded for lead in _LEADS)
