"""What may be applied to the document of a note.

pycrdt takes in whatever it can read: it puts aside, without a word, what depends on things that are
not there, and takes other types than text in. So an update is decided about first. One that passes
brings pycrdt and Yjs to the same text and the same state vector, with nothing put aside.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from octavo.model.causal_order import check_order
from octavo.model.integration import STEPS_MOST, integration_steps, loading, steps_bound
from octavo.model.refusal import DocumentTooLarge, DocumentUnsupported, InvalidContent
from octavo.model.state_vector import StateVector
from octavo.model.update_reading import UpdateReading

STRUCTS_MOST = 50_000
"""Structs in one update."""

RANGES_MOST = 20_000
"""Deleted ranges in one update."""

_LEADS = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")

# So few never take long, whatever the document; so it need not be looked at.
_FEW = 5
_FEWER = "Send fewer edits at once, or copy the text into a new note."


Pairs = Mapping[int, frozenset[int]]
"""The clocks of the second halves of surrogate pairs, which UTF-16 codes characters past U+FFFF as,
by client."""


class CheckedUpdate(NamedTuple):
    """What an update does that may be applied.

    Attributes:
        structs: how many structs stand in it, new or known.
        state_vector: what the document must have afterwards.
        changes: False when it surely brings nothing new: no new struct and no deletion.
        pieces: by how many structs the document grows at most, with those that are cut apart.
        pairs: what the document holds afterwards, and may have held before; None: not known.
    """

    structs: int
    state_vector: dict[int, int]
    changes: bool
    pieces: int
    pairs: Pairs | None


def pairs_at_sight(encoded: bytes) -> Pairs | None:
    """Answer that a text in UTF-8, or the state of a document, holds no pair; None: it may.

    Characters past U+FFFF begin with one of these bytes; numbers in a state do, too.
    """
    if any(lead in encoded for lead in _LEADS):
        return None
    return {}


def check_update(
    update: bytes, have: StateVector, state: Callable[[], bytes], *, pairs: Pairs | None
) -> CheckedUpdate:
    """Decide whether ``update`` may be applied to the document whose state vector is ``have``.

    ``state`` answers the whole document as one accepted update, ``pairs`` are those that it holds,
    and may have held; None: not known. Time and memory are linear in the update; the state is
    asked for only where ids alone do not decide: for an update that names a place in a document
    whose pairs are not known, for one that inserts between a client's later and earlier text, and
    for one of many structs. That one may take time for each of `STEPS_MOST` steps.

    One thing is left to whoever applies it. A forged update can name a place that no device could
    mean, though both ends are there; the text is then another one once the document was stored and
    loaded, and the same in both libraries. So the text to go by is that of the loaded document.

    Raises `DocumentMalformed` for bytes that are no update, `DocumentUnsupported` for one that
    writes more than text, `InvalidContent` for text that a note can't hold,
    `DocumentDependencyMissing` where it names what neither the document nor the update holds, and
    `DocumentTooLarge` for more structs, ranges or steps than are taken at once.
    """
    reading = UpdateReading(update, have)
    if reading.structs > STRUCTS_MOST or reading.ranges > RANGES_MOST:
        raise DocumentTooLarge(
            f"The update has {reading.structs} structs and {reading.ranges} deleted ranges: "
            f"{STRUCTS_MOST} and {RANGES_MOST} are taken at most. {_FEWER}"
        )
    if reading.waits:
        check_order(reading.waits, reading.end)
    document: UpdateReading | None = None
    if reading.inverted or (reading.cuts and pairs is None):
        document = UpdateReading(state(), {})
        if pairs is None:
            pairs = _frozen(document.pairs)
    if pairs:
        _check_pairs(reading.cuts, pairs)
    if reading.pairs:
        brought = _frozen(reading.pairs)
        _check_pairs(reading.cuts, brought)
        # What the document has of a client may end within a pair that the update holds whole.
        _check_pairs({client: [have.get(client, 0)] for client in brought}, brought)
        if pairs is not None:
            pairs = {
                **pairs,
                **{each: halves | pairs.get(each, frozenset()) for each, halves in brought.items()},
            }
    if document is not None and reading.inverted:
        _check_inverted(reading, document)
    if reading.new > _FEW:
        _check_work(reading, update, state())
    # Each names two places at most, and each place cuts one struct in two.
    pieces = 3 * reading.new + 2 * reading.ranges
    return CheckedUpdate(reading.structs, reading.end, reading.changes, pieces, pairs)


def _frozen(pairs: Mapping[int, Sequence[int]]) -> Pairs:
    return {client: frozenset(halves) for client, halves in pairs.items()}


def _check_work(reading: UpdateReading, update: bytes, state: bytes) -> None:
    """Refuse what takes too long to be put in, or to be loaded once it is in."""
    if steps_bound(reading.new, len(state) + len(update)) <= STEPS_MOST:
        return
    if integration_steps(state, update) > STEPS_MOST or loading(state, update).steps > STEPS_MOST:
        raise DocumentTooLarge(
            "The edits of the update stand with too many others at one place, or cut the text too "
            f"often from behind: it takes more than {STEPS_MOST} steps to bring them in. {_FEWER}"
        )


def _check_pairs(cuts: Mapping[int, Sequence[int]], pairs: Pairs) -> None:
    """Refuse a cut through a surrogate pair: Yjs makes two U+FFFD of it, pycrdt miscounts."""
    for client, halves in pairs.items():
        if client in cuts and not halves.isdisjoint(cuts[client]):
            raise InvalidContent(
                f"The update cuts a character of client {client} in half, one that UTF-16 codes "
                "as a pair: insert and delete whole characters."
            )


def _check_inverted(reading: UpdateReading, document: UpdateReading) -> None:
    """Refuse an item whose right origin surely stands at or before its origin.

    It does when each clock between the two follows its predecessor. No editor writes that; Yjs and
    pycrdt put it in different places, by how they happen to have cut their items.
    """
    for client, origin, right in reading.inverted:
        for breaks in (document.breaks.get(client, ()), reading.breaks.get(client, ())):
            at = bisect_right(breaks, right)
            if at < len(breaks) and breaks[at] <= origin:
                break
        else:
            raise DocumentUnsupported(
                f"The update inserts before clock {right} of client {client} and after clock "
                f"{origin}, which stands behind it: encode the document anew."
            )
