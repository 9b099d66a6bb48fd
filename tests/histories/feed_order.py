"""Does the feed of each workspace agree with the results of its clients?

Linearizability asks whether some order explains what clients saw. Here the system has recorded its
order: the feed, read at the end, numbers every accepted changeset of a workspace 1, 2, 3, … without
gaps. So the check needs no search, and reports every error at once: in the numbering itself,
between the feed and the results, between each entry and the previous one of the same register, and
between the numbers and real time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from greenroom.testing.history import History, HistoryEntry, Status
from greenroom.testing.registers import Value

from tests.histories.operations import Commit, Operation, Swap


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One accepted changeset as the feed gives it.

    Args:
        position: its number in its workspace, from 1.
        mutation: the identity that its client gave it.
        swaps: for each key that it moved the value it left there, `None` for a removed one.
    """

    position: int
    mutation: str
    swaps: Mapping[str, Value]


class Rule(Enum):
    """The rules of an ordered feed, each named by its violation."""

    GAP = "gap in the positions"
    DUPLICATE_POSITION = "duplicate position"
    DUPLICATE_MUTATION = "duplicate mutation"
    NOT_ASCENDING = "not ascending"
    LOST = "acknowledged but lost"
    MOVED = "acknowledged at another position"
    NOT_EXECUTED_YET_PRESENT = "told that it did nothing, yet present"
    NEVER_INVOKED = "never invoked"
    TORN = "torn changeset"
    LOST_UPDATE = "lost update"
    REAL_TIME = "real-time order"


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation in a feed.

    Args:
        rule: what it breaks.
        workspace: whose feed it is.
        detail: where, with the values that disagree.
    """

    rule: Rule
    workspace: str
    detail: str

    def __str__(self) -> str:
        return f"{self.workspace}: {self.rule.value}: {self.detail}"


class OrderViolated(AssertionError):
    """A feed contradicts itself or the results of clients.

    Args:
        violations: everything that was found, at least one.
    """

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = tuple(violations)
        lines = (f"  {violation}" for violation in self.violations)
        super().__init__("\n".join([f"{len(self.violations)} violations of order:", *lines]))


def check_order(
    history: History[Operation] | Iterable[HistoryEntry[Operation]],
    feed: Mapping[str, Sequence[FeedEntry]],
) -> None:
    """Check that feeds are gapless total orders that agree with the results of clients.

    A mutation may be repeated: then every acknowledgement must give the same position, and it may
    be in the feed if at least one attempt may have been executed.

    Args:
        history: what clients did; only its commits matter. The feeds must start with it.
        feed: for each workspace its whole feed, read after the last operation had its effect. A
            workspace left out has an empty one.

    Raises:
        OrderViolated: at least one rule is broken; it holds every violation.
        TypeError: the history holds a swap, which names no mutation; record a commit instead.
    """
    entries = history.entries if isinstance(history, History) else tuple(history)
    attempts: dict[str, dict[str, list[_CommitAttempt]]] = {name: {} for name in feed}
    for entry in entries:
        match entry.operation:
            case Commit() as commit:
                mutations = attempts.setdefault(commit.workspace, {})
                mutations.setdefault(commit.mutation, []).append(_CommitAttempt(commit, entry))
            case Swap():
                raise TypeError(f"{entry.operation} cannot be found in a feed: record a commit")
            case _:
                pass
    violations = [
        violation
        for workspace, mutations in attempts.items()
        for violation in _Feed(workspace, feed.get(workspace, ()), mutations).violations()
    ]
    if violations:
        raise OrderViolated(violations)


@dataclass(frozen=True, slots=True)
class _CommitAttempt:
    commit: Commit
    entry: HistoryEntry[Operation]

    @property
    def acknowledged(self) -> bool:
        return self.entry.status is Status.OK

    @property
    def possible(self) -> bool:
        return self.entry.status in (Status.OK, Status.UNKNOWN)


@dataclass(frozen=True, slots=True)
class _Feed:
    """The feed of one workspace and the attempts at each of its mutations."""

    workspace: str
    entries: Sequence[FeedEntry]
    attempts: Mapping[str, Sequence[_CommitAttempt]]

    def violations(self) -> Iterator[Violation]:
        for rule, detail in (
            *self._numbering(),
            *self._results(),
            *self._contents(),
            *self._chains(),
            *self._real_time(),
        ):
            yield Violation(rule, self.workspace, detail)

    def _numbering(self) -> Iterator[tuple[Rule, str]]:
        positions: dict[int, str] = {}
        mutations: dict[str, int] = {}
        highest = 0
        for entry in self.entries:
            if entry.position in positions:
                both = f"{positions[entry.position]} and {entry.mutation}"
                yield Rule.DUPLICATE_POSITION, f"{both} both stand at {entry.position}"
            elif entry.position < highest:
                yield Rule.NOT_ASCENDING, f"{_named(entry)} comes after position {highest}"
            if entry.mutation in mutations:
                both = f"{mutations[entry.mutation]} and {entry.position}"
                yield Rule.DUPLICATE_MUTATION, f"{entry.mutation} stands at {both}"
            positions.setdefault(entry.position, entry.mutation)
            mutations.setdefault(entry.mutation, entry.position)
            highest = max(highest, entry.position)
        expected = 1
        for position in sorted(positions):
            if position > expected:
                missing = (
                    f"{expected}" if position == expected + 1 else f"{expected}…{position - 1}"
                )
                yield Rule.GAP, f"no {missing} before {positions[position]} at {position}"
            elif position < 1:
                yield Rule.GAP, f"{positions[position]} at {position}, before the first position"
            expected = max(expected, position + 1)

    def _results(self) -> Iterator[tuple[Rule, str]]:
        standing: dict[str, list[int]] = {}
        for entry in self.entries:
            standing.setdefault(entry.mutation, []).append(entry.position)
        for mutation, attempts in self.attempts.items():
            for attempt in attempts:
                if not attempt.acknowledged:
                    continue
                reported = f"{mutation} acknowledged to {attempt.entry.process}"
                at = f"at {attempt.entry.result!r}"
                if mutation not in standing:
                    yield Rule.LOST, f"{reported} {at} is not in the feed"
                elif attempt.entry.result not in standing[mutation]:
                    yield Rule.MOVED, f"{reported} {at} stands at {standing[mutation][0]}"

    def _contents(self) -> Iterator[tuple[Rule, str]]:
        for entry in self.entries:
            attempts = self.attempts.get(entry.mutation, ())
            possible = [attempt for attempt in attempts if attempt.possible]
            acknowledged = [attempt for attempt in attempts if attempt.acknowledged]
            if not attempts:
                yield Rule.NEVER_INVOKED, f"nobody asked for {_named(entry)}"
            elif not possible:
                reported = {attempt.entry.status.value for attempt in attempts}
                results = " and ".join(sorted(reported))
                yield Rule.NOT_EXECUTED_YET_PRESENT, f"{_named(entry)}, its client told: {results}"
            elif acknowledged:
                for written in _contents_of(acknowledged):
                    if written != entry.swaps:
                        yield Rule.TORN, f"{_named(entry)} {_differs(entry, written)}"
            elif entry.swaps not in _contents_of(possible):
                written = _contents_of(possible)[0]
                yield Rule.TORN, f"{_named(entry)} {_differs(entry, written)}"

    def _chains(self) -> Iterator[tuple[Rule, str]]:
        values: dict[str, Value] = {}
        for entry in sorted(self.entries, key=lambda entry: entry.position):
            for key, new in entry.swaps.items():
                expected = [
                    swap.expected
                    for attempt in self.attempts.get(entry.mutation, ())
                    for swap in attempt.commit.swaps
                    if attempt.possible and swap.register.key == key
                ]
                if expected and values.get(key) not in expected:
                    move = f"{_named(entry)} moves {key} from {expected[0]!r} to {new!r}"
                    yield Rule.LOST_UPDATE, f"{move}, but {values.get(key)!r} stood there"
                values[key] = new

    def _real_time(self) -> Iterator[tuple[Rule, str]]:
        earliest_later: tuple[int, FeedEntry] | None = None
        found: list[tuple[Rule, str]] = []
        for entry in sorted(self.entries, key=lambda entry: entry.position, reverse=True):
            possible = [a.entry for a in self.attempts.get(entry.mutation, ()) if a.possible]
            if not possible:
                continue
            begun = min(attempt.invoked for attempt in possible)
            if earliest_later and earliest_later[0] < begun:
                done, later = earliest_later
                if later.position > entry.position:
                    first = f"{_named(later)} was acknowledged (event {done})"
                    then = f"{_named(entry)} was asked for (event {begun})"
                    found.append((Rule.REAL_TIME, f"{first} before {then}"))
            ends = [attempt.deadline for attempt in possible if attempt.deadline is not None]
            if ends and (earliest_later is None or min(ends) < earliest_later[0]):
                earliest_later = (min(ends), entry)
        return iter(reversed(found))


def _named(entry: FeedEntry) -> str:
    return f"{entry.mutation} at {entry.position}"


def _contents_of(attempts: Iterable[_CommitAttempt]) -> list[dict[str, Value]]:
    contents: list[dict[str, Value]] = []
    for attempt in attempts:
        if attempt.commit.written not in contents:
            contents.append(attempt.commit.written)
    return contents


def _differs(entry: FeedEntry, written: Mapping[str, Value]) -> str:
    return f"left {dict(entry.swaps)!r} where {dict(written)!r} was asked for"
