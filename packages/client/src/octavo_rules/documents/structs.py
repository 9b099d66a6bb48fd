"""The structs of a Yjs update: their content, their dependencies, the order of their integration.

The structs of a client are integrated in the order of their clocks, and a struct that refers to
another client's waits for it. If two wait for each other, neither is ever integrated: Yjs keeps
both aside silently. `check_order` rejects such updates.

`DocumentFacts` are carried from one update to the next: reading them from the state takes time for
every struct, and few updates change them.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

from octavo_rules.documents.encoding import StateVector, read_varint
from octavo_rules.problems import DocumentDependencyMissing

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
        clocks = (*(self.pairs or {}).values(), *(self.breaks or {}).values())
        return ranges + sum(map(len, clocks))

    def joined(self, pairs: Pairs, ranges: Set[Range], breaks: Breaks) -> "DocumentFacts":
        """Return the facts after an update with these."""
        known, deleted, broken = self
        if pairs and known is not None:
            known = {
                **known,
                **{client: known.get(client, frozenset()) | pairs[client] for client in pairs},
            }
        if deleted is not None and not deleted.issuperset(ranges):
            deleted |= ranges
            # Ranges that grow with each update are recorded many times: drop and recompute them.
            deleted = None if len(deleted) > _MAX_RANGES else deleted
        if broken is not None:
            # A client's new items follow its previous ones.
            new = {
                client: (*broken.get(client, ()), *clocks)
                for client, clocks in breaks.items()
                if clocks
            }
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
        frozenset() if all(update.endswith(_NOTHING_DELETED) for update in updates) else None,
    )


def _no_pairs(encoded: bytes) -> bool:
    return not any(lead in encoded for lead in _LEADS)


class Wait(NamedTuple):
    """The struct at ``clock`` of its client waits for clock ``needed`` of client ``other``."""

    clock: int
    other: int
    needed: int


def check_order(waits: Mapping[int, Sequence[Wait]], end: StateVector) -> None:
    """Check that every dependency of an update can be satisfied.

    ``waits`` has the dependencies of each client in the order of its clocks, ``end`` is the
    state vector after the update. Takes time linear in the number of dependencies. Raises
    `DocumentDependencyMissing` for a dependency past the end and for a cycle.
    """
    passed = dict.fromkeys(waits, 0)

    def reached(client: int) -> int:
        if client in passed and passed[client] < len(waits[client]):
            return waits[client][passed[client]].clock
        return end.get(client, 0)

    for client in waits:
        goals = [(client, end[client] - 1)]
        open_clients = {client}
        while goals:
            current, goal = goals[-1]
            if reached(current) > goal:
                goals.pop()
                open_clients.remove(current)
                continue
            _, other, needed = waits[current][passed[current]]
            if reached(other) > needed:
                passed[current] += 1
            elif needed >= end.get(other, 0) or other in open_clients:
                raise dependency_missing("an insertion", other, needed)
            else:
                goals.append((other, needed))
                open_clients.add(other)


def dependency_missing(what: str, client: int, clock: int) -> DocumentDependencyMissing:
    """Return the refusal of an update that refers to ``what``, which is missing."""
    return DocumentDependencyMissing(
        f"The update refers to {what} by client {client} at clock {clock}, which neither the "
        "document nor the update has: send all that the document's state vector lacks."
    )


DELETED, STRING, SKIP = 1, 4, 10
HAS_ORIGIN, HAS_RIGHT_ORIGIN, KIND = 0x80, 0x40, 0x1F

Id: TypeAlias = tuple[int, int]
"""A client and one of its clocks."""


class Struct(NamedTuple):
    """Text, or the length of deleted text, from ``clock`` of ``client`` to before ``end``."""

    client: int
    clock: int
    end: int
    origin: Id | None
    right: Id | None
    text: bool


class UpdateContent(NamedTuple):
    """The structs of an update and the ranges that it deletes, in their order."""

    structs: list[Struct]
    ranges: list[Range]


def update_contents(updates: Sequence[bytes]) -> list[UpdateContent]:
    """Return what each of ``updates`` adds to those before it.

    Each must have been accepted after the ones before it. The highest client comes first, as in
    the libraries. The ranges of an update are complete.
    """
    held: dict[int, int] = {}
    contents: list[UpdateContent] = []
    for update in updates:
        fresh: list[Struct] = []
        structs, at = _structs(update)
        for struct in structs:
            client, clock = struct.client, held.get(struct.client, 0)
            if struct.end <= clock:
                continue
            # A partly known struct is cut; the new part follows the known one.
            fresh.append(
                struct
                if struct.clock >= clock
                else struct._replace(clock=clock, origin=(client, clock - 1))
            )
            held[client] = struct.end
        fresh.sort(key=lambda struct: -struct.client)
        contents.append(UpdateContent(fresh, _ranges(update, at)))
    return contents


def _structs(update: bytes) -> tuple[list[Struct], int]:
    structs: list[Struct] = []
    sections, at = read_varint(update, 0)
    for _ in range(sections):
        count, at = read_varint(update, at)
        client, at = read_varint(update, at)
        clock, at = read_varint(update, at)
        for _ in range(count):
            info = update[at]
            kind = info & KIND
            at += 1
            if kind == SKIP:
                length, at = read_varint(update, at)
                clock += length
                continue
            origin = right = None
            if info & HAS_ORIGIN:
                origin, at = _id(update, at)
            if info & HAS_RIGHT_ORIGIN:
                right, at = _id(update, at)
            if origin is None and right is None:
                # The parent: a root, by its name.
                at += 2 + update[at + 1]
            length, at = read_varint(update, at)
            if kind == STRING:
                text = update[at : at + length]
                at += length
                if not text.isascii():
                    length = len(text.decode().encode("utf-16-le")) // 2
            structs.append(Struct(client, clock, clock + length, origin, right, kind == STRING))
            clock += length
    return structs, at


def _ranges(update: bytes, at: int) -> list[Range]:
    ranges: list[Range] = []
    sections, at = read_varint(update, at)
    for _ in range(sections):
        client, at = read_varint(update, at)
        count, at = read_varint(update, at)
        for _ in range(count):
            clock, at = read_varint(update, at)
            length, at = read_varint(update, at)
            ranges.append((client, clock, clock + length))
    return ranges


def _id(update: bytes, at: int) -> tuple[Id, int]:
    client, at = read_varint(update, at)
    clock, at = read_varint(update, at)
    return (client, clock), at
