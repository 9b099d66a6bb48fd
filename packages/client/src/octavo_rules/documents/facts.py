"""Facts about a document that update checks need, carried from one update to the next.

Reading them from the state takes time for every struct, and few updates change them.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

Pairs: TypeAlias = Mapping[int, frozenset[int]]
"""The clocks of the second halves of surrogate pairs, by client.

UTF-16 encodes characters above U+FFFF as such pairs."""

Breaks: TypeAlias = Mapping[int, Sequence[int]]
"""The clocks at which an item does not follow its predecessor, by client, in order."""

Range: TypeAlias = tuple[int, int, int]
"""A client, the first deleted clock, and the clock after the last."""

# In UTF-8, characters above U+FFFF start with one of these bytes; so may numbers in a state.
_LEADS = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
_NOTHING_DELETED = b"\0"
_MAX_RANGES = 40_000


class DocumentFacts(NamedTuple):
    """What is known of the content of a document; None for what is unknown.

    Attributes:
        pairs: the surrogate pairs of its text.
        ranges: the deleted ranges, as the updates listed them.
        breaks: the breaks of its items.
    """

    pairs: Pairs | None = None
    ranges: frozenset[Range] | None = None
    breaks: Breaks | None = None

    @property
    def held(self) -> int:
        """The number of recorded clocks and ranges, an estimate of the memory in use."""
        ranges = 0 if self.ranges is None else len(self.ranges)
        each = (*(self.pairs or {}).values(), *(self.breaks or {}).values())
        return ranges + sum(map(len, each))

    def joined(self, pairs: Pairs, ranges: Set[Range], breaks: Breaks) -> "DocumentFacts":
        """Return the facts after an update with these."""
        known, deleted, broken = self
        if pairs and known is not None:
            known = {
                **known,
                **{each: known.get(each, frozenset()) | pairs[each] for each in pairs},
            }
        if deleted is not None and not deleted.issuperset(ranges):
            deleted |= ranges
            # Ranges that grow with each update are recorded many times: drop and recompute them.
            deleted = None if len(deleted) > _MAX_RANGES else deleted
        if broken is not None:
            # A client's new items follow its previous ones.
            new = {each: (*broken.get(each, ()), *breaks[each]) for each in breaks if breaks[each]}
            broken = {**broken, **new} if new else broken
        return DocumentFacts(known, deleted, broken)

    def written(self, text: bytes) -> "DocumentFacts":
        """Return the facts after the server inserted UTF-8 text at unknown clocks."""
        return DocumentFacts(self.pairs if _no_pairs(text) else None, self.ranges, None)


def facts_at_sight(*updates: bytes) -> DocumentFacts:
    """Return the facts that a quick look at the bytes of a document's updates reveals."""
    return DocumentFacts(
        {} if all(map(_no_pairs, updates)) else None,
        # The delete set comes last, and only an empty one ends with zero.
        frozenset() if all(each.endswith(_NOTHING_DELETED) for each in updates) else None,
    )


def _no_pairs(encoded: bytes) -> bool:
    return not any(lead in encoded for lead in _LEADS)
