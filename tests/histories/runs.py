"""Random runs of a correct service, recorded by its clients; the checkers must accept each.

The service here is written plainly, independent of the checkers' models, so that the two can be
compared.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import TypeVar, assert_never

from greenroom.testing.history import History, HistoryEntry, Invocation, Seen, Status
from hypothesis import strategies as st

from tests.histories.feed_order import FeedEntry
from tests.histories.operations import Commit, Operation, Read, Register, Snapshot, Swap, View

WORKSPACE = "w"
KEYS = ("a", "b", "c")

T = TypeVar("T")


@dataclass(frozen=True)
class Refused:
    seen: object


@dataclass
class Service:
    """One workspace, which executes operations one after the other."""

    values: dict[str, int] = field(default_factory=dict)
    receipts: dict[str, int] = field(default_factory=dict)
    feed: list[FeedEntry] = field(default_factory=list)

    def execute(self, operation: Operation) -> object:
        """Execute an operation; return its result, or its refusal."""
        match operation:
            case Read():
                return self.values.get(operation.register.key)
            case Snapshot():
                values = {key: self.values.get(key) for key in operation.registers}
                return View(values, len(self.feed))
            case Swap():
                moved = self._moved((operation,))
                if moved:
                    return Refused(moved[operation.register.key])
                return self._append(f"swap {len(self.feed)}", (operation,))
            case Commit():
                if operation.mutation in self.receipts:
                    return self.receipts[operation.mutation]
                moved = self._moved(operation.swaps)
                if moved:
                    return Refused(moved)
                position = self._append(operation.mutation, operation.swaps)
                self.receipts[operation.mutation] = position
                return position
            case _:
                assert_never(operation)

    def _moved(self, swaps: Iterable[Swap]) -> dict[str, int | None]:
        current = {swap.register.key: self.values.get(swap.register.key) for swap in swaps}
        return {
            swap.register.key: current[swap.register.key]
            for swap in swaps
            if current[swap.register.key] != swap.expected
        }

    def _append(self, mutation: str, swaps: Iterable[Swap]) -> int:
        written: dict[str, int | None] = {}
        for swap in swaps:
            assert isinstance(swap.new, int)
            self.values[swap.register.key] = written[swap.register.key] = swap.new
        self.feed.append(FeedEntry(len(self.feed) + 1, mutation, written))
        return len(self.feed)


@dataclass
class Run:
    history: History[Operation] = field(default_factory=History)
    service: Service = field(default_factory=Service)

    @property
    def feed(self) -> dict[str, list[FeedEntry]]:
        return {WORKSPACE: self.service.feed}


@dataclass
class _Call:
    invocation: Invocation[Operation]
    executed: bool = False
    answer: object = None

    def execute(self, service: Service) -> None:
        self.answer = service.execute(self.invocation.entry.operation)
        self.executed = True

    def complete(self) -> None:
        if isinstance(self.answer, Refused):
            self.invocation.refused(self.answer.seen)
        else:
            self.invocation.ok(self.answer)


class _Choices:
    """Decisions read from bytes, which hypothesis draws fast and shrinks well."""

    def __init__(self, entropy: bytes) -> None:
        self._entropy = entropy
        self._used = 0

    def __bool__(self) -> bool:
        return self._used < len(self._entropy)

    def below(self, bound: int) -> int:
        byte = self._entropy[self._used] if self else 0
        self._used += 1
        return byte % bound

    def of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]


def runs(
    *,
    kinds: Sequence[type[Operation]] = (Read, Swap, Commit, Snapshot),
    processes: int = 3,
    length: int = 100,
) -> st.SearchStrategy[Run]:
    """Runs with any interleaving; a length of 100 is about ten operations."""
    entropy = st.integers(0, length).flatmap(lambda n: st.binary(min_size=n, max_size=n))
    return entropy.map(lambda drawn: _run(_Choices(drawn), kinds, processes))


def _run(choices: _Choices, kinds: Sequence[type[Operation]], processes: int) -> Run:
    """Let clients invoke, be served, and learn an outcome.

    A client may lose a response before or after the effect, may be refused, and may repeat a commit
    whose outcome it did not learn. An abandoned operation may take effect much later.
    """
    run = Run()
    calls: dict[int, _Call] = {}
    adrift: list[_Call] = []
    lost: list[Operation] = []
    while choices:
        process = choices.below(processes)
        call = calls.get(process)
        if call is None:
            operation = _operation(choices, run, kinds, lost)
            calls[process] = _Call(run.history.invoke(process, operation))
            continue
        fate = choices.of(("go on", "go on", "go on", "give up", "turn away"))
        if fate == "give up":
            call.invocation.unknown()
            lost.append(call.invocation.entry.operation)
            if not call.executed:
                adrift.append(call)
        elif call.executed:
            call.complete()
        elif fate == "turn away":
            call.invocation.not_executed()
        else:
            call.execute(run.service)
            continue
        del calls[process]
        if adrift and choices.below(2):
            adrift.pop(0).execute(run.service)
    for number, call in enumerate(adrift):
        if number % 2:
            call.execute(run.service)
    return run


def _operation(
    choices: _Choices, run: Run, kinds: Sequence[type[Operation]], lost: Sequence[Operation]
) -> Operation:
    kind = choices.of(kinds)
    some = choices.below(2 ** len(KEYS) - 1) + 1
    keys = [key for bit, key in enumerate(KEYS) if some >> bit & 1]
    if kind is Read:
        return Read(Register(WORKSPACE, keys[0]))
    if kind is Snapshot:
        return Snapshot(WORKSPACE, tuple(keys))
    if kind is Commit and (repeatable := [op for op in lost if isinstance(op, Commit)]):
        repeated = choices.of((None, *repeatable))
        if repeated is not None:
            return repeated
    stale = choices.below(5) == 4
    swaps = tuple(
        Swap(
            Register(WORKSPACE, key),
            choices.below(4) if stale else run.service.values.get(key),
            choices.below(4),
        )
        for key in keys
    )
    if kind is Swap:
        return swaps[0]
    return Commit(WORKSPACE, f"m{len(run.history.entries)}", swaps)


def crowd(seed: int, *, processes: int, operations: int, lost: float) -> Run:
    """A busy run, larger than a property test draws; some responses are lost."""
    rng = random.Random(seed)
    run = Run()
    calls: dict[int, _Call] = {}
    for step in range(3 * operations):
        process = rng.randrange(processes)
        call = calls.get(process)
        if call is None:
            operation = _busy_operation(rng, run.service, step)
            calls[process] = _Call(run.history.invoke(process, operation))
        elif not call.executed and rng.random() >= lost / 2:
            call.execute(run.service)
        elif call.executed and rng.random() >= lost / 2:
            call.complete()
            del calls[process]
        else:
            call.invocation.unknown()
            del calls[process]
    return run


def _busy_operation(rng: random.Random, service: Service, step: int) -> Operation:
    keys = rng.sample("abcdef", rng.randint(1, 3))
    match rng.randrange(4):
        case 0:
            return Read(Register(WORKSPACE, keys[0]))
        case 1:
            return Snapshot(WORKSPACE, tuple(keys))
        case _:
            return Commit.of(
                WORKSPACE, f"m{step}", {key: (service.values.get(key), step) for key in keys}
            )


def explainable(entries: Sequence[HistoryEntry[Operation]]) -> bool:
    """Try every order of every selection: the definition of linearizability, for few entries."""
    certain = [e for e in entries if e.status in (Status.OK, Status.REFUSED)]
    supposed = [e for e in entries if e.status is Status.UNKNOWN]
    return any(
        _in_real_time(order) and _responses_agree(order)
        for size in range(len(supposed) + 1)
        for chosen in combinations(supposed, size)
        for order in permutations([*certain, *chosen])
    )


def _in_real_time(order: Sequence[HistoryEntry[Operation]]) -> bool:
    return not any(
        later.deadline is not None and later.deadline < earlier.invoked
        for earlier, later in combinations(order, 2)
    )


def _responses_agree(order: Sequence[HistoryEntry[Operation]]) -> bool:
    service = Service()
    for entry in order:
        if entry.status is Status.REFUSED and entry.result is Seen.NOTHING:
            continue
        answer = service.execute(entry.operation)
        if entry.status is Status.REFUSED and answer != Refused(entry.result):
            return False
        if entry.status is Status.OK and answer != entry.result:
            return False
    return True
