"""What may be applied to the document of a note.

pycrdt takes in whatever it can read: it puts aside, without a word, what depends on things that are
not there, and takes other types than text in. So an update is decided about first. One that passes
brings pycrdt and Yjs to the same text and the same state vector, with nothing put aside, in a
document that both have taken in by the same updates.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

from octavo.model.documents.facts import Breaks, DocumentFacts, Pairs, Range
from octavo.model.documents.integration import STEPS_MOST, integration_steps, loading, steps_bound
from octavo.model.documents.state_vector import StateVector
from octavo.model.documents.structs import check_order
from octavo.model.documents.update_reader import UpdateReading
from octavo.model.refusal import DocumentTooLarge, DocumentUnsupported, InvalidContent

STRUCTS_MOST = 50_000
"""Structs in one update."""

RANGES_MOST = 20_000
"""Deleted ranges in one update."""

# So few never take long, whatever the document; so it need not be looked at.
_FEW = 5
_FEWER = "Send fewer edits at once, or copy the text into a new note."


class CheckedUpdate(NamedTuple):
    """What an update does that may be applied.

    Attributes:
        structs: how many structs stand in it, new or known.
        state_vector: what the document must have afterwards.
        changes: False when it surely brings nothing new: no new struct and no deletion.
        pieces: by how many structs the document grows at most, with those that are cut apart.
        facts: what is known of the document with the update.
    """

    structs: int
    state_vector: dict[int, int]
    changes: bool
    pieces: int
    facts: DocumentFacts


def check_update(
    update: bytes, have: StateVector, state: Callable[[], bytes], facts: DocumentFacts
) -> CheckedUpdate:
    """Decide whether ``update`` may be applied to the document whose state vector is ``have``.

    ``state`` answers the whole document as one accepted update, ``facts`` are what is known of it
    already. Time and memory are linear in the update; the state is asked for only where these do
    not decide: for an update that names a place in a document whose pairs are not known, for one
    that inserts between a client's later and earlier text, and for one of many structs or
    deletions. That one may take time for each of `STEPS_MOST` steps.

    One thing is left to whoever applies it. A forged update can name a place that no device could
    mean, though both ends are there; then the text depends on how the document was taken in, at
    once or update by update, then or with a later update. So it is to be compared with that of the
    stored document, and where they differ, a new generation has to begin.

    Raises `DocumentMalformed` for bytes that are no update, `DocumentUnsupported` for one that
    writes more than text, `InvalidContent` for text that a note can't hold,
    `DocumentDependencyMissing` where it names what neither the document nor the update holds, and
    `DocumentTooLarge` for more structs, ranges or steps than are taken at once.
    """
    reading = UpdateReading(update, have)
    if reading.structs > STRUCTS_MOST or len(reading.ranges) > RANGES_MOST:
        raise DocumentTooLarge(
            f"The update has {reading.structs} structs and {len(reading.ranges)} deleted ranges: "
            f"{STRUCTS_MOST} and {RANGES_MOST} are taken at most. {_FEWER}"
        )
    if reading.waits:
        check_order(reading.waits, reading.end)
    document = _Document(state, facts)
    if reading.inverted:
        _check_inverted(reading, document.breaks())
    brought = {client: frozenset(halves) for client, halves in reading.pairs.items()}
    _check_pairs(reading.cuts, brought)
    # What the document has of a client may end within a pair that the update holds whole.
    _check_pairs({client: [have.get(client, 0)] for client in brought}, brought)
    if reading.cuts:
        _check_pairs(reading.cuts, document.pairs())
    ranges = document.lacking(reading.ranges)
    _check_work(reading, ranges, update, document)
    # Each names two places at most, and each place cuts one struct in two.
    pieces = 3 * reading.new + 2 * ranges
    facts = document.facts.joined(brought, reading.ranges, reading.breaks)
    return CheckedUpdate(reading.structs, reading.end, reading.changes, pieces, facts)


class _Document:
    """The document that an update is for, read when that is needed, and once."""

    def __init__(self, state: Callable[[], bytes], facts: DocumentFacts) -> None:
        self.state = state
        self.facts = facts
        self._reading: UpdateReading | None = None

    def reading(self) -> UpdateReading:
        if self._reading is None:
            self._reading = reading = UpdateReading(self.state(), {})
            pairs = {client: frozenset(halves) for client, halves in reading.pairs.items()}
            self.facts = DocumentFacts(pairs, frozenset(reading.ranges), reading.breaks)
        return self._reading

    def pairs(self) -> Pairs:
        if self.facts.pairs is None:
            self.reading()
        return self.facts.pairs or {}

    def breaks(self) -> Breaks:
        if self.facts.breaks is None:
            self.reading()
        return self.facts.breaks or {}

    def lacking(self, ranges: Set[Range]) -> int:
        """Return how many of ``ranges`` are not known to be deleted; an update repeats the rest."""
        if self.facts.ranges is None and len(ranges) > _FEW:
            self.reading()
        return len(ranges - (self.facts.ranges or frozenset()))


def _check_work(reading: UpdateReading, ranges: int, update: bytes, document: _Document) -> None:
    """Refuse what takes too long to be put in, or to be loaded once it is in."""
    if reading.new + ranges <= _FEW:
        return
    state = document.state()
    if steps_bound(reading.new, ranges, len(state) + len(update)) <= STEPS_MOST:
        return
    if integration_steps(state, update) > STEPS_MOST or loading(state, update).steps > STEPS_MOST:
        raise DocumentTooLarge(
            "The edits of the update stand with too many others at one place, or cut the text too "
            f"often: it takes more than {STEPS_MOST} steps to bring them in. {_FEWER}"
        )


def _check_pairs(cuts: Mapping[int, Sequence[int]], pairs: Pairs) -> None:
    """Refuse a cut through a surrogate pair: Yjs makes two U+FFFD of it, pycrdt miscounts."""
    for client, halves in pairs.items():
        if client in cuts and not halves.isdisjoint(cuts[client]):
            raise InvalidContent(
                f"The update cuts a character of client {client} in half, one that UTF-16 codes "
                "as a pair: insert and delete whole characters."
            )


def _check_inverted(reading: UpdateReading, document: Breaks) -> None:
    """Refuse an item whose right origin surely stands at or before its origin.

    It does when each clock between the two follows its predecessor. No editor writes that; Yjs and
    pycrdt put it in different places, by how they happen to have cut their items.
    """
    for client, origin, right in reading.inverted:
        for breaks in (document.get(client, ()), reading.breaks.get(client, ())):
            at = bisect_right(breaks, right)
            if at < len(breaks) and breaks[at] <= origin:
                break
        else:
            raise DocumentUnsupported(
                f"The update inserts before clock {right} of client {client} and after clock "
                f"{origin}, which stands behind it: encode the document anew."
            )
