"""Decide whether an update may be applied to the document of a note.

pycrdt applies whatever it can parse: it silently sets aside changes whose dependencies are missing,
and accepts other types than text. Updates are therefore checked first. Applying a checked update
gives pycrdt and Yjs the same text and state vector, with nothing set aside, if both have applied
the same updates before.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

from octavo_rules.documents.facts import Breaks, DocumentFacts, Pairs, Range
from octavo_rules.documents.state_vector import StateVector
from octavo_rules.documents.structs import check_order
from octavo_rules.refusal import DocumentTooLarge, DocumentUnsupported, InvalidContent

from octavo.model.documents.integration import MAX_STEPS, integration_steps, loading, steps_bound
from octavo.model.documents.update_reader import UpdateReading

MAX_STRUCTS = 50_000
"""Structs in one update."""

MAX_RANGES = 20_000
"""Deleted ranges in one update."""

# So few are cheap in any document, so the document need not be read.
_FEW = 5
_FEWER = "Send fewer edits at once, or copy the text into a new note."


class CheckedUpdate(NamedTuple):
    """The effects of an acceptable update.

    Attributes:
        structs: the number of its structs, new or known.
        state_vector: the state vector of the document after the update.
        changes: False if it certainly adds nothing: no new struct and no deletion.
        pieces: an upper bound of the structs it adds, including those from splits.
        splits: an upper bound of the texts that it splits.
        facts: what is known of the document after the update.
    """

    structs: int
    state_vector: dict[int, int]
    changes: bool
    pieces: int
    splits: int
    facts: DocumentFacts


def check_update(
    update: bytes, have: StateVector, state: Callable[[], bytes], facts: DocumentFacts
) -> CheckedUpdate:
    """Check ``update`` for the document whose state vector is ``have``.

    ``state`` returns the whole document as one accepted update; ``facts`` are what is already
    known of it. Time and memory are linear in the update. The state is read only for an update
    that refers into a document with unknown surrogate pairs, one that inserts between a
    client's later and earlier text, and one with many structs or deletions. The last may take
    time for `MAX_STEPS` steps.

    One check is left to the caller. A forged update can refer to a position that no device
    would, although both of its ends exist; the text then depends on whether the document was
    loaded at once or update by update. Whoever stores or gives away the document as one update must
    compare the texts, and start a new epoch if they differ.

    Raises `DocumentMalformed` for bytes that are not an update, `DocumentUnsupported` for one
    that writes more than text, `InvalidContent` for text that a note can't have,
    `DocumentDependencyMissing` for one that refers to what neither the document nor the update
    has, and `DocumentTooLarge` for too many structs, ranges or steps.
    """
    reading = UpdateReading(update, have)
    if reading.structs > MAX_STRUCTS or len(reading.ranges) > MAX_RANGES:
        raise DocumentTooLarge(
            f"The update is too complex: structs {reading.structs}, at most {MAX_STRUCTS}; "
            f"deleted ranges {len(reading.ranges)}, at most {MAX_RANGES}. {_FEWER}"
        )
    if reading.waits:
        check_order(reading.waits, reading.end)
    document = _Document(state, facts)
    if reading.inverted:
        _check_inverted(reading, document.breaks())
    brought = {client: frozenset(halves) for client, halves in reading.pairs.items()}
    _check_pairs(reading.cuts, brought)
    # The document may have the first half only of a pair that the update has.
    _check_pairs({client: [have.get(client, 0)] for client in brought}, brought)
    if reading.cuts:
        _check_pairs(reading.cuts, document.pairs())
    ranges = document.lacking(reading.ranges)
    _check_work(reading, ranges, update, document)
    # Each struct refers to at most two positions, and each position splits one struct.
    splits = 2 * (reading.new + ranges)
    pieces = reading.new + splits
    facts = document.facts.joined(brought, reading.ranges, reading.breaks)
    return CheckedUpdate(reading.structs, reading.end, reading.changes, pieces, splits, facts)


class _Document:
    """The document that an update is for; read once, and only if needed."""

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
        """Return how many of ``ranges`` are new; updates repeat the deletions before them."""
        if self.facts.ranges is None and len(ranges) > _FEW:
            self.reading()
        return len(ranges - (self.facts.ranges or frozenset()))


def _check_work(reading: UpdateReading, ranges: int, update: bytes, document: _Document) -> None:
    """Refuse an update that is too expensive to apply, or to load afterwards."""
    if reading.new + ranges <= _FEW:
        return
    state = document.state()
    if steps_bound(reading.new, ranges, len(state) + len(update)) <= MAX_STEPS:
        return
    if integration_steps(state, update) > MAX_STEPS or loading(state, update).steps > MAX_STEPS:
        raise DocumentTooLarge(
            "The edits of the update conflict with too many others at one position, split the text "
            "too often, or come from too many clients that build on each other: applying them takes"
            f" more than {MAX_STEPS} steps. {_FEWER}"
        )


def _check_pairs(cuts: Mapping[int, Sequence[int]], pairs: Pairs) -> None:
    """Refuse to split a surrogate pair: Yjs makes two U+FFFD of it, pycrdt miscounts."""
    for client, halves in pairs.items():
        if client in cuts and not halves.isdisjoint(cuts[client]):
            raise InvalidContent(
                f"The update splits a character of client {client} that UTF-16 encodes as a "
                "surrogate pair: insert and delete whole characters."
            )


def _check_inverted(reading: UpdateReading, document: Breaks) -> None:
    """Refuse an item whose right origin certainly precedes or equals its origin.

    That is certain if each clock between the two follows its predecessor. No editor writes such
    an item; Yjs and pycrdt place it differently, depending on how their items are split.
    """
    for client, origin, right in reading.inverted:
        for breaks in (document.get(client, ()), reading.breaks.get(client, ())):
            at = bisect_right(breaks, right)
            if at < len(breaks) and breaks[at] <= origin:
                break
        else:
            raise DocumentUnsupported(
                f"The update inserts before clock {right} of client {client} and after clock "
                f"{origin}, which follows it: encode the document again."
            )
