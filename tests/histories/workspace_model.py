"""A workspace as one object: a model of atomic commits in strict order, and of snapshots."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, assert_never

from greenroom.testing.history import HistoryEntry, Seen, Status
from greenroom.testing.registers import Value, read_agrees, refusal_agrees

from tests.histories.operations import Commit, Operation, Read, Register, Snapshot, Swap, View

Receipt: TypeAlias = tuple[int, tuple[Swap, ...]]


class WorkspaceState(NamedTuple):
    """A workspace: its position, its registers by key, and the receipts that matter later.

    Maps are sorted tuples of pairs, so that equal states are equal and hash alike.
    """

    position: int
    values: tuple[tuple[str, Value], ...]
    receipts: tuple[tuple[str, Receipt | None], ...]

    def __str__(self) -> str:
        values = ", ".join(f"{key}={value!r}" for key, value in self.values)
        return f"position {self.position}, {values or 'no registers'}"


@dataclass(frozen=True, slots=True)
class WorkspaceModel:
    """Whole workspaces: atomic commits in strict order, and snapshots that never see half of one.

    Accepts every operation. An accepted commit or swap takes the next position; a commit must
    return it, a swap may. A commit that was accepted before returns its first position again and
    changes nothing; it can neither be refused for a moved register nor be accepted with other
    swaps. A refused commit names every register that had moved, and no other.

    Args:
        values: the registers that exist at the start.
        positions: the positions of the workspaces at the start; 0 where none is given.
    """

    values: Mapping[Register, Value] = field(default_factory=dict)
    positions: Mapping[str, int] = field(default_factory=dict)

    def partition(self, operation: Operation) -> str:
        """Partition by workspace.

        Raises:
            TypeError: the operation is not one of this package.
        """
        match operation:
            case Commit() | Snapshot():
                return operation.workspace
            case Read() | Swap():
                return operation.register.workspace
            case _:
                raise TypeError(f"WorkspaceModel cannot judge {operation}")

    def initial(
        self, partition: Hashable, entries: Sequence[HistoryEntry[Operation]]
    ) -> WorkspaceState:
        """Return the workspace at the start; it records only repeated mutations."""
        assert isinstance(partition, str)
        asked: dict[str, int] = {}
        for entry in entries:
            if isinstance(entry.operation, Commit):
                mutation = entry.operation.mutation
                asked[mutation] = asked.get(mutation, 0) + 1
        return WorkspaceState(
            self.positions.get(partition, 0),
            _pairs({r.key: value for r, value in self.values.items() if r.workspace == partition}),
            tuple((mutation, None) for mutation in sorted(asked) if asked[mutation] > 1),
        )

    def step(
        self, state: WorkspaceState, operation: Operation, status: Status, result: object
    ) -> WorkspaceState | None:
        """Read, take a snapshot, swap or commit."""
        values = dict(state.values)
        match operation:
            case Read():
                agrees = read_agrees(values.get(operation.register.key), status, result)
                return state if agrees else None
            case Snapshot():
                return state if _view_agrees(state, operation, status, result) else None
            case Swap() if status is Status.REFUSED:
                value = values.get(operation.register.key)
                return state if refusal_agrees(operation, value, result) else None
            case Swap():
                after = _move(state, (operation,))
                reported = status is Status.OK and result is not None
                return None if after and reported and result != after.position else after
            case Commit():
                return _commit(state, operation, status, result)
            case _:
                assert_never(operation)

    def may_change(self, operation: Operation, status: Status) -> bool:
        """Only swaps and commits change something, unless refused."""
        return isinstance(operation, Swap | Commit) and status is not Status.REFUSED


def _commit(
    state: WorkspaceState, commit: Commit, status: Status, result: object
) -> WorkspaceState | None:
    receipts = dict(state.receipts)
    receipt = receipts.get(commit.mutation)
    if status is Status.REFUSED:
        if result is Seen.NOTHING:
            return state
        repeated = receipt is not None and receipt[1] == commit.swaps
        return state if not repeated and _moved_agrees(state, commit, result) else None
    if receipt is not None:
        position, swaps = receipt
        return state if swaps == commit.swaps and _told(status, result, position) else None
    after = _move(state, commit.swaps)
    if after is None or not _told(status, result, after.position):
        return None
    if commit.mutation not in receipts:
        return after
    receipts[commit.mutation] = (after.position, commit.swaps)
    return after._replace(receipts=tuple(receipts.items()))


def _told(status: Status, result: object, position: int) -> bool:
    """Whether a commit at this position may have got that result."""
    # An unknown outcome has a result only if it was resolved later.
    return result == position or (status is Status.UNKNOWN and result is None)


def _move(state: WorkspaceState, swaps: Sequence[Swap]) -> WorkspaceState | None:
    values = dict(state.values)
    for swap in swaps:
        key = swap.register.key
        if values.get(key) != swap.expected:
            return None
        if swap.new is None:
            values.pop(key, None)
        else:
            values[key] = swap.new
    return WorkspaceState(state.position + 1, _pairs(values), state.receipts)


def _moved_agrees(state: WorkspaceState, commit: Commit, seen: object) -> bool:
    values = dict(state.values)
    moved = {s.register.key for s in commit.swaps if values.get(s.register.key) != s.expected}
    if seen is Seen.MOVED:
        return bool(moved)
    if not isinstance(seen, Mapping) or set(seen) != moved:
        return False
    return bool(moved) and all(
        reported is Seen.MOVED or reported == values.get(key) for key, reported in seen.items()
    )


def _view_agrees(state: WorkspaceState, snapshot: Snapshot, status: Status, result: object) -> bool:
    if status is Status.REFUSED:
        return result is Seen.NOTHING
    if isinstance(result, View):
        if result.position != state.position:
            return False
        result = result.values
    values = dict(state.values)
    expected = {key: values.get(key) for key in snapshot.registers}
    return isinstance(result, Mapping) and dict(result) == expected


def _pairs(values: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(values.items(), key=lambda pair: pair[0]))
