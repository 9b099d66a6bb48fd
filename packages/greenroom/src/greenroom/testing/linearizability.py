"""Is there an order of the operations that explains every result?

A history is linearizable if each operation can be assigned one moment between its invocation and
its completion such that, executed sequentially at those moments, the operations yield the results
that the clients got. Independent parts of a system (partitions) are linearizable together exactly
if each one is (Herlihy and Wing, 1990, theorem 1), so each is searched separately.

The search is that of Wing and Gong (1993): of the operations that no unplaced operation precedes in
real time, place one that the model accepts, and continue; backtrack where none fits. As Lowe (2017)
found, it is enough to store the set of placed operations together with the state they led to, and
never to visit the same pair twice. Three rules are added:

- an operation with an unknown outcome may be placed at any time after its invocation, or never;
- an operation that was not executed is left out, so that any trace of it contradicts the model;
- an operation that can't change a state is placed as soon as it fits, and that choice is never
  undone: in any valid order it could be moved to this position.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from greenroom.testing.history import History, HistoryEntry, Status, render_entries

OperationT = TypeVar("OperationT")
OperationT_contra = TypeVar("OperationT_contra", contravariant=True)
StateT = TypeVar("StateT", bound=Hashable)


class Model(Protocol[OperationT_contra, StateT]):
    """A system without concurrency, for the checker. Its states are immutable and hashable."""

    def partition(self, operation: OperationT_contra) -> Hashable:
        """Return the independent part of the system that an operation concerns.

        Raises:
            TypeError: the model does not know this kind of operation.
        """
        ...

    def initial(
        self, partition: Hashable, entries: Sequence[HistoryEntry[OperationT_contra]]
    ) -> StateT:
        """Return the state of a partition before any of its entries.

        Args:
            partition: the part.
            entries: all its entries that may have been executed. A model may use them to omit from
                its states what none of them can observe.
        """
        ...

    def step(
        self, state: StateT, operation: OperationT_contra, status: Status, result: object
    ) -> StateT | None:
        """Execute one operation.

        Args:
            state: the state before it.
            operation: the operation.
            status: `OK`, `REFUSED` or `UNKNOWN`; for the latter, assume that it was executed.
            result: the result that the client got.

        Returns:
            The state after it, or `None` if this outcome is not possible in this state.
        """
        ...

    def may_change(self, operation: OperationT_contra, status: Status) -> bool:
        """Return whether `step` may change a state; if in doubt, true.

        If false, `step` must return the same state or `None`, in every state.
        """
        ...


class NotLinearizable(AssertionError):
    """No order of the operations explains the results.

    A report of `explore` shows the history of the subjects in ``about`` (see `note`): of the
    partition, unless the caller narrows it.

    Args:
        partition: the part of the system.
        prefix: the longest valid order found, as entries.
        state: the state that this order leads to.
        stuck: the entry that would have to follow and can't be placed.
        entries: all entries of the partition.
    """

    def __init__(
        self,
        partition: Hashable,
        prefix: Sequence[HistoryEntry[object]],
        state: Hashable,
        stuck: HistoryEntry[object],
        entries: Sequence[HistoryEntry[object]],
    ) -> None:
        self.partition = partition
        self.about: tuple[str, ...] = (str(partition),)
        self.prefix = tuple(prefix)
        self.state = state
        self.stuck = stuck
        self.entries = tuple(entries)
        super().__init__(self._explain())

    def _explain(self) -> str:
        shown = self.prefix[-10:]
        left_out = len(self.prefix) - len(shown)
        order = [f"  … {left_out} before"] if left_out else []
        order += [f"  {entry}" for entry in shown] or ["  (nothing)"]
        near = {id(entry) for entry in (*shown, self.stuck)}
        around = [e for e in self.entries if id(e) in near or _overlap(e, self.stuck)]
        return "\n".join(
            [
                f"not linearizable in partition {self.partition}",
                f"no place for: {self.stuck}",
                f"state it met: {self.state}",
                f"longest order that works ({len(self.prefix)} of {len(self.entries)}):",
                *order,
                "events around it:",
                *(f"  {line}" for line in render_entries(around).splitlines()),
            ]
        )


class SearchLimit(Exception):
    """The search was abandoned; whether the history is linearizable is not known.

    Args:
        partition: the part of the system that was searched.
        max_states: the limit that was reached.
    """

    def __init__(self, partition: Hashable, max_states: int) -> None:
        self.partition = partition
        self.max_states = max_states
        super().__init__(
            f"partition {partition} needs more than max_states={max_states} states: resolve "
            "unknown outcomes, read more often, or raise the limit"
        )


def check_linearizable(
    history: History[OperationT] | Iterable[HistoryEntry[OperationT]],
    model: Model[OperationT, StateT],
    *,
    max_states: int = 100_000,
) -> None:
    """Check that a history is linearizable.

    Args:
        history: a history, or entries from elsewhere in any order, where events with the same
            index count as concurrent.
        model: the system without concurrency.
        max_states: how many states of the search to visit in one partition at most.

    Raises:
        NotLinearizable: it is not linearizable; the text explains the first such partition.
        SearchLimit: a partition needs more states than allowed.
        TypeError: the history contains an operation that the model does not know.
    """
    entries = history.entries if isinstance(history, History) else tuple(history)
    partitions: dict[Hashable, list[HistoryEntry[OperationT]]] = {}
    for entry in sorted(entries, key=lambda entry: entry.invoked):
        partitions.setdefault(model.partition(entry.operation), []).append(entry)
    for partition, members in partitions.items():
        _Search(partition, members, model).run(max_states)


@dataclass(frozen=True, slots=True)
class _SearchNode(Generic[OperationT, StateT]):
    """A node of the search: a bit for each placed entry, the state, and the path to it."""

    placed: int
    supposed: int
    state: StateT
    parent: "_SearchNode[OperationT, StateT] | None" = None
    entry: HistoryEntry[OperationT] | None = None

    def order(self) -> list[HistoryEntry[OperationT]]:
        order: list[HistoryEntry[OperationT]] = []
        node: _SearchNode[OperationT, StateT] | None = self
        while node is not None:
            if node.entry is not None:
                order.append(node.entry)
            node = node.parent
        return order[::-1]


class _Search(Generic[OperationT, StateT]):
    """The search in one partition.

    `certain` are the entries that must be placed, `supposed` those that may be, both in the order
    of their invocation.
    """

    def __init__(
        self,
        partition: Hashable,
        entries: Sequence[HistoryEntry[OperationT]],
        model: Model[OperationT, StateT],
    ) -> None:
        self.partition = partition
        self.entries = entries
        self.model = model
        self.certain: list[HistoryEntry[OperationT]] = []
        self.deadlines: list[int] = []
        self.observes: list[bool] = []
        self.supposed: list[HistoryEntry[OperationT]] = []
        for entry in entries:
            changes = model.may_change(entry.operation, entry.status)
            if entry.deadline is None:
                if changes:
                    self.supposed.append(entry)
            elif entry.status is not Status.NOT_EXECUTED:
                self.certain.append(entry)
                self.deadlines.append(entry.deadline)
                self.observes.append(not changes)

    def run(self, max_states: int) -> None:
        possible = [entry for entry in self.entries if entry.status is not Status.NOT_EXECUTED]
        everything = (1 << len(self.certain)) - 1
        root = self._place_observations(
            _SearchNode(0, 0, self.model.initial(self.partition, possible))
        )
        furthest = root
        visited: set[tuple[int, int, StateT]] = set()
        stack = [root]
        while stack:
            node = self._place_observations(stack.pop())
            if node.placed == everything:
                return
            key = (node.placed, node.supposed, node.state)
            if key in visited:
                continue
            if len(visited) == max_states:
                raise SearchLimit(self.partition, max_states)
            visited.add(key)
            if node.placed.bit_count() > furthest.placed.bit_count():
                furthest = node
            stack.extend(self._successors(node))
        stuck = min(self._window(furthest.placed), key=self.deadlines.__getitem__)
        raise NotLinearizable(
            self.partition, furthest.order(), furthest.state, self.certain[stuck], self.entries
        )

    def _window(self, placed: int) -> list[int]:
        """Find the certain entries that no unplaced entry precedes in real time."""
        window: list[int] = []
        index = (~placed & (placed + 1)).bit_length() - 1
        horizon: int | None = None
        while index < len(self.certain):
            if horizon is not None and self.certain[index].invoked > horizon:
                break
            if not placed >> index & 1:
                window.append(index)
                deadline = self.deadlines[index]
                horizon = deadline if horizon is None else min(horizon, deadline)
            index += 1
        return window

    def _place_observations(
        self, node: _SearchNode[OperationT, StateT]
    ) -> _SearchNode[OperationT, StateT]:
        again = True
        while again:
            again = False
            for index in self._window(node.placed):
                entry = self.certain[index]
                if self.observes[index] and self._step(node.state, entry) is not None:
                    placed = node.placed | 1 << index
                    node = _SearchNode(placed, node.supposed, node.state, node, entry)
                    again = True
        return node

    def _successors(
        self, node: _SearchNode[OperationT, StateT]
    ) -> Iterator[_SearchNode[OperationT, StateT]]:
        """Place one entry that may change the state; yield the most promising node last.

        Certain entries are more promising than supposed ones, and earlier deadlines more than later
        ones.
        """
        window = self._window(node.placed)
        horizon = min(self.deadlines[index] for index in window)
        for index, entry in reversed(list(enumerate(self.supposed))):
            if entry.invoked <= horizon and not node.supposed >> index & 1:
                state = self._step(node.state, entry)
                if state is not None and state != node.state:
                    yield _SearchNode(node.placed, node.supposed | 1 << index, state, node, entry)
        for index in sorted(window, key=self.deadlines.__getitem__, reverse=True):
            entry = self.certain[index]
            if not self.observes[index]:
                state = self._step(node.state, entry)
                if state is not None:
                    yield _SearchNode(node.placed | 1 << index, node.supposed, state, node, entry)

    def _step(self, state: StateT, entry: HistoryEntry[OperationT]) -> StateT | None:
        return self.model.step(state, entry.operation, entry.status, entry.result)


def _overlap(left: HistoryEntry[object], right: HistoryEntry[object]) -> bool:
    before = left.completed is not None and left.completed < right.invoked
    after = right.completed is not None and right.completed < left.invoked
    return not before and not after
