"""Parse an update of Yjs, and decide whether it may be applied to the document of a note.

pycrdt applies whatever it can parse: it silently sets aside changes whose dependencies are missing,
and accepts other types than text. Updates are therefore checked first. Applying a checked update
gives pycrdt and Yjs the same text and state vector, with nothing set aside, if both have applied
the same updates before.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

from octavo_rules.documents.document import ROOT
from octavo_rules.documents.encoding import CLOCK_BOUND, StateVector, read_varint
from octavo_rules.documents.structs import (
    Breaks,
    DocumentFacts,
    Pairs,
    Range,
    Wait,
    check_order,
    dependency_missing,
)
from octavo_rules.problems import (
    DocumentDependencyMissing,
    DocumentMalformed,
    DocumentTooLarge,
    DocumentUnsupported,
    InvalidContent,
)

from octavo.model.documents.integration import MAX_STEPS, integration_steps, loading, steps_bound

_GC, _DELETED, _STRING, _SKIP = 0, 1, 4, 10
_HAS_ORIGIN, _HAS_RIGHT_ORIGIN, _HAS_KEY, _KIND = 0x80, 0x40, 0x20, 0x1F
_BY_ID, _BY_NAME = 0, 1
_IN_ROOT = bytes([_BY_NAME, len(ROOT)]) + ROOT.encode()
_OTHERS = {
    _GC: "the remains of another shared type",
    2: "JSON",
    3: "binary data",
    5: "an embedded object",
    6: "a format",
    7: "a shared type",
    8: "a value",
    9: "a document",
}
_ALONE = 'a note\'s document has only the text "text".'
_RESEND = "send what the Yjs library encoded, unchanged."
_MAX_SHOWN = 50
_PAIR = re.compile("[\U00010000-\U0010ffff]")


class Inverted(NamedTuple):
    """An item whose right origin, clock ``right``, is at or before its origin, clock ``origin``."""

    client: int
    origin: int
    right: int


class UpdateReading:
    """The contents of an update for a document whose state vector is ``have``.

    Attributes:
        structs: the number of structs.
        new: the number of structs with something new.
        ranges: the deleted ranges.
        end: the state vector of the document after the update.
        changes: whether there is a new struct or a deletion.
        cuts: the clocks before which items are split, by client.
        waits: the dependencies of structs within the update, by client, in order.
        breaks: the clocks at which a new item does not follow its predecessor, by client, in
            order.
        pairs: the clocks of the second halves of surrogate pairs in new text, by client.
        inverted: items that are valid only if the order of the document permits them.

    Raises `DocumentMalformed`, `DocumentUnsupported` or `InvalidContent` for bytes that are not
    an update of a note's text, and `DocumentDependencyMissing` for a gap in a client's clocks.
    """

    def __init__(self, update: bytes, have: StateVector) -> None:
        self.structs = self.new = 0
        self.ranges: set[Range] = set()
        self.end = dict(have)
        self.changes = False
        self.cuts: defaultdict[int, list[int]] = defaultdict(list)
        self.waits: dict[int, list[Wait]] = {}
        self.breaks: dict[int, list[int]] = {}
        self.pairs: dict[int, list[int]] = {}
        self.inverted: list[Inverted] = []
        self._update = update
        self._have = have
        try:
            at = self._sections(0)
            at = self._deletions(at)
        except IndexError:
            raise _cut_off() from None
        if at != len(update):
            raise DocumentMalformed(
                f"Bytes follow the update: {_RESEND} Use version 1 (encodeStateAsUpdate)."
            )

    def _sections(self, at: int) -> int:
        update = self._update
        sections, at = read_varint(update, at)
        seen: set[int] = set()
        for _ in range(sections):
            count, at = read_varint(update, at)
            before = at
            client, at = read_varint(update, at)
            if not count or client in seen:
                raise DocumentMalformed(f"A client has two sections or an empty one: {_RESEND}")
            seen.add(client)
            self.structs += count
            at = self._section(client, update[before:at], count, at)
        return at

    def _section(self, client: int, own: bytes, count: int, at: int) -> int:
        """Read ``count`` structs of ``client``, whose encoded id is ``own``."""
        update, have, cuts = self._update, self._have, self.cuts
        known = end = have.get(client, 0)
        waits: list[Wait] = []
        breaks: list[int] = []
        clock, at = read_varint(update, at)
        for _ in range(count):
            info = update[at]
            at += 1
            if info == _SKIP:
                length, at = read_varint(update, at)
                clock = _after(clock, length)
                if clock > end:
                    raise _gap(client, end)
                continue
            kind = info & _KIND
            if (kind != _STRING and kind != _DELETED) or info & _HAS_KEY:
                raise _not_text(info)
            if clock > end:
                raise _gap(client, end)
            left = left_client = right = right_client = None
            if info & _HAS_ORIGIN:
                if update.startswith(own, at):
                    left_client, at = client, at + len(own)
                else:
                    left_client, at = read_varint(update, at)
                left, at = read_varint(update, at)
                cuts[left_client].append(left + 1)
                if left_client == client:
                    if left >= clock:
                        raise dependency_missing("an insertion", client, left)
                elif left >= have.get(left_client, 0):
                    waits.append(Wait(clock, left_client, left))
            if info & _HAS_RIGHT_ORIGIN:
                if update.startswith(own, at):
                    right_client, at = client, at + len(own)
                else:
                    right_client, at = read_varint(update, at)
                right, at = read_varint(update, at)
                cuts[right_client].append(right)
                if right_client == client:
                    if right >= clock:
                        raise dependency_missing("an insertion", client, right)
                elif right >= have.get(right_client, 0):
                    waits.append(Wait(clock, right_client, right))
                if right_client == left_client and left is not None and right <= left:
                    self.inverted.append(Inverted(right_client, left, right))
            elif left is None:
                at = self._parent(at)
            if clock >= known and (left_client != client or left != clock - 1):
                breaks.append(clock)
            length, at = read_varint(update, at)
            if kind == _STRING:
                text = update[at : at + length]
                at += length
                if at > len(update):
                    raise _cut_off()
                length = self._text(text, client, clock, known)
            after = _after(clock, length)
            if clock < known < after and right is not None and right_client == client:
                # The new part of a struct follows the known part.
                self.inverted.append(Inverted(client, known - 1, right))
            clock = after
            if clock > end:
                end = clock
                self.new += 1
        if end > known:
            self.changes = True
            self.end[client] = end
            self.breaks[client] = breaks
        if waits:
            self.waits[client] = waits
        return at

    def _parent(self, at: int) -> int:
        update = self._update
        if update.startswith(_IN_ROOT, at):
            return at + len(_IN_ROOT)
        named, at = read_varint(update, at)
        if named == _BY_ID:
            raise DocumentUnsupported(f"The update writes into a type within another: {_ALONE}")
        if named != _BY_NAME:
            raise DocumentMalformed(f"A parent reference is unknown: {_RESEND}")
        length, at = read_varint(update, at)
        if at + length > len(update):
            raise _cut_off()
        name = update[at : at + length].decode("utf-8", "replace")[:_MAX_SHOWN]
        raise DocumentUnsupported(f"The update writes into another root, {name!r}: {_ALONE}")

    def _text(self, data: bytes, client: int, clock: int, known: int) -> int:
        """Return the length of a text in UTF-16 code units."""
        if b"\0" in data:
            raise InvalidContent("The text contains the character NUL (U+0000): remove it.")
        if data.isascii():
            return len(data)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise DocumentMalformed(f"A text is not in UTF-8: {_RESEND}") from None
        # Each preceding pair shifts a UTF-16 offset by one from the offset in the text.
        pairs = [clock + pair.start() + nth for nth, pair in enumerate(_PAIR.finditer(text), 1)]
        if pairs and pairs[-1] >= known:
            self.pairs.setdefault(client, []).extend(half for half in pairs if half >= known)
        return len(text) + len(pairs)

    def _deletions(self, at: int) -> int:
        update, end = self._update, self.end
        sections, at = read_varint(update, at)
        seen: set[int] = set()
        for _ in range(sections):
            client, at = read_varint(update, at)
            count, at = read_varint(update, at)
            if client in seen:
                raise DocumentMalformed(f"A client has two delete sets: {_RESEND}")
            seen.add(client)
            held, cuts = end.get(client, 0), self.cuts[client]
            before = 0
            for _ in range(count):
                clock, at = read_varint(update, at)
                if clock < before:
                    # The libraries sort them. Unsorted, each makes pycrdt scan the whole text.
                    raise DocumentMalformed(
                        f"The deletions of a client are not in order, or overlap: {_RESEND}"
                    )
                length, at = read_varint(update, at)
                before = after = _after(clock, length)
                if after > held:
                    raise dependency_missing("a deletion of what was written", client, held)
                cuts += clock, after
                self.ranges.add((client, clock, after))
                self.changes = True
        return at


def _after(clock: int, length: int) -> int:
    if not length or clock + length >= CLOCK_BOUND:
        raise DocumentMalformed(f"A run is empty or exceeds a clock of 31 bits: {_RESEND}")
    return clock + length


def _gap(client: int, end: int) -> DocumentDependencyMissing:
    return dependency_missing("what follows an insertion", client, end)


def _not_text(info: int) -> DocumentMalformed | DocumentUnsupported:
    kind = info & _KIND
    if kind in (_STRING, _DELETED):
        return DocumentUnsupported(f"The update writes a map entry: {_ALONE}")
    if kind not in _OTHERS or (kind == _GC and info):
        return DocumentMalformed(f"A struct has an unknown kind ({info}): {_RESEND}")
    return DocumentUnsupported(f"The update writes {_OTHERS[kind]}: {_ALONE}")


def _cut_off() -> DocumentMalformed:
    return DocumentMalformed("The update is truncated: send all of its bytes.")


MAX_STRUCTS = 50_000
"""Structs in one update."""

MAX_RANGES = 20_000
"""Deleted ranges in one update."""

# A few structs are cheap in any document, so the document need not be read.
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
