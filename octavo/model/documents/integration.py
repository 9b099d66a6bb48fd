"""Count the work of integrating the structs of a Yjs document.

Each struct is placed between its two origins, which are split if needed, and steps over conflicting
structs there (`Item.integrate` of Yjs). Finally, consecutive neighbours are merged. An edit by a
person takes a step or two. Text written by several clients at one position takes the product of
their numbers, and splits and merges copy text: minutes for a megabyte. The libraries block the
process meanwhile, so the steps are counted before.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from octavo_rules.documents.structs import Id, Range, Struct, update_contents

MAX_STEPS = 2_000_000
"""Steps allowed for one update, and for loading a document; each takes about 0.1 µs of pycrdt."""

UNITS_A_STEP = 40
"""Code units that are scanned up to a split point, in the time of a step."""

_COPIED_A_STEP = 3_000
"""Code units that a split copies, to the end of the unsplit text, in the time of a step."""

_JOINED_A_STEP = 60
"""Structs of a run times its code units, per step of merging them."""

_WAITING_A_STEP = 12
"""Structs that wait for others, when one more begins to wait, in the time of a step."""

_WORK_OF_A_STEP = UNITS_A_STEP * _COPIED_A_STEP

# The fewest bytes of a struct that others have to step over.
_BYTES_OF_A_STRUCT = 6

_NONE = -1


class LoadCost(NamedTuple):
    """The cost of loading a document: ``steps``, for ``pieces`` of unsplit text or deletion."""

    steps: int
    pieces: int


def steps_bound(structs: int, ranges: int, size: int) -> int:
    """Return an upper bound of the steps of applying an update; the actual cost is mostly far less.

    The update has ``structs`` new structs, and ``ranges`` newly deleted ranges. ``size`` is the
    size of the document including them, in bytes.
    """
    # Each struct steps over those at its position, and splits two texts.
    steps = structs * size // _BYTES_OF_A_STRUCT + 2 * structs * size // UNITS_A_STEP
    # The ranges are in order, so the text before their splits is scanned once.
    return steps + (size // UNITS_A_STEP if ranges else 0) + 2 * ranges * size // _COPIED_A_STEP


def integration_steps(state: bytes, update: bytes, maximum: int = MAX_STEPS) -> int:
    """Return the steps of applying ``update`` to the document whose state is ``state``.

    Both must have been accepted. Counting stops when it exceeds ``maximum``, also for ``state``
    alone.
    Takes time for each struct of both and for each step.
    """
    before, new = update_contents((state, update))
    integration = _Integration([*before.structs, *new.structs], new.ranges, maximum)
    integration.put(before.structs)
    if integration.steps <= maximum:
        integration.steps = 0
        integration.put(new.structs)
        integration.delete(new.ranges)
    return integration.steps


def loading(*updates: bytes, maximum: int = MAX_STEPS) -> LoadCost:
    """Return the cost of loading the document that ``updates`` make; see `integration_steps`."""
    brought = update_contents(updates)
    structs = [*chain.from_iterable(update.structs for update in brought)]
    structs.sort(key=lambda struct: (-struct.client, struct.clock))
    ranges = [*chain.from_iterable(update.ranges for update in brought)]
    integration = _Integration(structs, ranges, maximum)
    integration.put(structs)
    integration.mark(ranges)
    return LoadCost(integration.steps + integration.joining(), integration.pieces)


class _Integration:
    """A document as a list of pieces: structs, split at every position that is referred to."""

    def __init__(self, structs: Sequence[Struct], ranges: Sequence[Range], maximum: int) -> None:
        cuts: defaultdict[int, set[int]] = defaultdict(set)
        # The starts of the texts as they are split at present, and the deleted pieces.
        self._cut: defaultdict[int, list[int]] = defaultdict(list)
        self._deleted: set[Id] = set()
        for struct in structs:
            cuts[struct.client].update((struct.clock, struct.end))
            self._cut[struct.client].append(struct.clock)
            if not struct.text:
                self._deleted.add((struct.client, struct.clock))
            if struct.origin is not None:
                cuts[struct.origin[0]].add(struct.origin[1] + 1)
            if struct.right is not None:
                cuts[struct.right[0]].add(struct.right[1])
        for client, start, end in ranges:
            cuts[client].update((start, end))
        self.steps = 0
        self._maximum = maximum
        self._work = 0
        self._cuts = {client: sorted(places) for client, places in cuts.items()}
        self._held: defaultdict[int, int] = defaultdict(int)
        self._starts: dict[Id, int] = {}
        self._ends: dict[Id, int] = {}
        self._structs: list[Struct] = []
        # By the number of the piece; -1 means no neighbour or origin.
        self._following, self._preceding = array("l"), array("l")
        self._origins, self._rights = array("l"), array("l")
        self._clients: list[int] = []
        self._first = _NONE

    @property
    def pieces(self) -> int:
        return len(self._structs)

    def put(self, structs: Sequence[Struct]) -> None:
        """Integrate ``structs``, each after those it refers to, as the libraries do."""
        waiting: dict[int, list[Struct]] = {}
        for struct in structs:
            waiting.setdefault(struct.client, []).append(struct)
        for left in waiting.values():
            left.reverse()
        for client in waiting:
            stack: list[Struct] = []
            while stack or waiting[client]:
                struct = stack.pop() if stack else waiting[client].pop()
                while (needed := self._missing(struct)) is not None:
                    stack.append(struct)
                    # The libraries look through the clients that wait.
                    self.steps += len(stack) // _WAITING_A_STEP
                    struct = waiting[needed].pop()
                for place in (
                    struct.origin and (struct.origin[0], struct.origin[1] + 1),
                    struct.right,
                ):
                    if place is not None:
                        self._cut_at(*place)
                for piece in self._pieces_of(struct):
                    self._integrate(piece)
                self._held[struct.client] = struct.end
                if self.steps > self._maximum:
                    return

    def delete(self, ranges: Sequence[Range]) -> None:
        """Delete ``ranges``, and count the splits."""
        for client, start, end in ranges:
            self._cut_at(client, start)
            self._cut_at(client, end)
            if self.steps > self._maximum:
                return
        self.mark(ranges)

    def mark(self, ranges: Sequence[Range]) -> None:
        """Mark ``ranges`` as deleted, without counting splits."""
        for client, start, end in ranges:
            cuts = self._cuts[client]
            for clock in cuts[bisect_left(cuts, start) : bisect_left(cuts, end)]:
                self._deleted.add((client, clock))

    def joining(self) -> int:
        """Return the steps of merging consecutive neighbours."""
        steps = count = units = 0
        order = sorted(range(len(self._structs)), key=self._structs.__getitem__)
        for before, at in pairwise((_NONE, *order)):
            if before == _NONE or not self._continues(before, at):
                steps += count * units // _JOINED_A_STEP
                count = units = 0
            else:
                count += 1
            units += self._structs[at].end - self._structs[at].clock
        return steps + count * units // _JOINED_A_STEP

    def _continues(self, before: int, at: int) -> bool:
        return (
            self._following[before] == at
            and self._origins[at] == before
            and self._clients[before] == self._clients[at]
            and self._rights[before] == self._rights[at]
            and self._is_text(before)
            and self._is_text(at)
        )

    def _is_text(self, number: int) -> bool:
        piece = self._structs[number]
        return piece.text and (piece.client, piece.clock) not in self._deleted

    def _missing(self, struct: Struct) -> int | None:
        for named in (struct.origin, struct.right):
            if named is not None and named[0] != struct.client and named[1] >= self._held[named[0]]:
                return named[0]
        return None

    def _cut_at(self, client: int, clock: int) -> None:
        cut = self._cut[client]
        at = bisect_left(cut, clock)
        held = self._held[client]
        if clock < held and at and (at == len(cut) or cut[at] != clock):
            start, end = cut[at - 1], held if at == len(cut) else min(held, cut[at])
            cut.insert(at, clock)
            if (client, start) in self._deleted:
                self._deleted.add((client, clock))
                return
            self._work += (clock - start) * _COPIED_A_STEP + (end - clock) * UNITS_A_STEP
            self.steps += self._work // _WORK_OF_A_STEP
            self._work %= _WORK_OF_A_STEP

    def _pieces_of(self, struct: Struct) -> Iterator[Struct]:
        cuts, clock = self._cuts[struct.client], struct.clock
        ends = cuts[bisect_right(cuts, clock) : bisect_left(cuts, struct.end) + 1]
        if len(ends) == 1:
            yield struct
            return
        origin = struct.origin
        for end in ends:
            yield struct._replace(clock=clock, end=end, origin=origin)
            clock, origin = end, (struct.client, end - 1)

    def _integrate(self, piece: Struct) -> None:
        following, preceding = self._following, self._preceding
        origin = _NONE if piece.origin is None else self._ends[piece.origin]
        right = _NONE if piece.right is None else self._starts[piece.right]
        left, after = origin, self._first if origin == _NONE else following[origin]
        if right == _NONE or origin != _NONE or preceding[right] != _NONE:
            left = self._place(piece.client, origin, right, after)
            after = self._first if left == _NONE else following[left]
        number = len(self._structs)
        self._structs.append(piece)
        self._clients.append(piece.client)
        self._origins.append(origin)
        self._rights.append(right)
        self._starts[piece.client, piece.clock] = number
        self._ends[piece.client, piece.end - 1] = number
        following.append(after)
        preceding.append(left)
        if after != _NONE:
            preceding[after] = number
        if left == _NONE:
            self._first = number
        else:
            following[left] = number

    def _place(self, client: int, origin: int, right: int, at: int) -> int:
        """Return the left neighbour of a piece: one from ``at`` to ``right``, or its origin."""
        left, maximum = origin, self._maximum
        clients, origins, following = self._clients, self._origins, self._following
        seen: set[int] = set()
        # Seen pieces that the piece may still precede.
        conflicting: set[int] = set()
        while at not in (_NONE, right):
            self.steps += 1
            if self.steps > maximum:
                break
            seen.add(at)
            conflicting.add(at)
            other = origins[at]
            if other == origin:
                if clients[at] < client:
                    left = at
                    conflicting.clear()
                elif self._rights[at] == right:
                    break
            elif other in seen:
                if other not in conflicting:
                    left = at
                    conflicting.clear()
            else:
                break
            at = following[at]
        return left
