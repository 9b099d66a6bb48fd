"""What is found out about a document where an update is decided about, carried to the next one.

To read it from the state takes time for each struct there, and nearly no update changes any of it.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

Pairs: TypeAlias = Mapping[int, frozenset[int]]
"""The clocks of the second halves of surrogate pairs, by client.

UTF-16 codes characters past U+FFFF as such pairs."""

Breaks: TypeAlias = Mapping[int, Sequence[int]]
"""The clocks at which an item stands elsewhere than after its predecessor, by client, in order."""

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
        breaks: those of its items.
    """

    pairs: Pairs | None = None
    ranges: frozenset[Range] | None = None
    breaks: Breaks | None = None

    @property
    def held(self) -> int:
        """How many single things are known, each of which takes memory."""
        ranges = 0 if self.ranges is None else len(self.ranges)
        each = (*(self.pairs or {}).values(), *(self.breaks or {}).values())
        return ranges + sum(map(len, each))

    def joined(self, pairs: Pairs, ranges: Set[Range], breaks: Breaks) -> "DocumentFacts":
        """Return them after an update that brings these."""
        held, deleted, broken = self
        if pairs and held is not None:
            held = {**held, **{each: held.get(each, frozenset()) | pairs[each] for each in pairs}}
        if deleted is not None and not deleted.issuperset(ranges):
            deleted |= ranges
            # What was told of one place again and again, each time a bit more, is told once again.
            deleted = None if len(deleted) > _MOST_RANGES else deleted
        if broken is not None:
            # A client's new items come behind those that it had.
            new = {each: (*broken.get(each, ()), *breaks[each]) for each in breaks if breaks[each]}
            broken = {**broken, **new} if new else broken
        return DocumentFacts(held, deleted, broken)

    def written(self, text: bytes) -> "DocumentFacts":
        """Return them after an insertion of UTF-8, whose clocks nobody told."""
        return DocumentFacts(self.pairs if _no_pairs(text) else None, self.ranges, None)


def facts_at_sight(state: bytes) -> DocumentFacts:
    """Return what the bytes of a state show at once."""
    return DocumentFacts(
        {} if _no_pairs(state) else None,
        # The deletions come last, and no other list of them ends with zero.
        frozenset() if state.endswith(_NOTHING_DELETED) else None,
    )


def _no_pairs(encoded: bytes) -> bool:
    return not any(lead in encoded for lead in _LEADS)
