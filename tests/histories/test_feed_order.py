from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from greenroom.testing.history import History, HistoryEntry, Status
from greenroom.testing.registers import Value
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.histories.feed_order import FeedEntry, OrderViolated, Rule, check_order
from tests.histories.operations import Commit, Operation, Read, Register, Snapshot, Swap
from tests.histories.runs import WORKSPACE, Run, crowd, runs

OK, REFUSED, NOT_EXECUTED, UNKNOWN = Status

Ops = list[HistoryEntry[Operation]]
Feed = list[FeedEntry]


def commit(mutation: str, **swaps: tuple[Value, Value]) -> Commit:
    return Commit.of("w", mutation, swaps)


def ok(operation: Operation, begin: int, end: int, position: object) -> HistoryEntry[Operation]:
    return HistoryEntry("p", operation, begin, OK, end, position)


def unknown(operation: Operation, begin: int) -> HistoryEntry[Operation]:
    return HistoryEntry("p", operation, begin, UNKNOWN)


def feed(*entries: tuple[int, str, Mapping[str, Value]]) -> Feed:
    return [FeedEntry(*entry) for entry in entries]


def violations(entries: Ops, feed: Sequence[FeedEntry]) -> list[str]:
    try:
        check_order(entries, {"w": feed})
    except OrderViolated as failure:
        return [str(violation) for violation in failure.violations]
    return []


def rules(run: Run, feed: Sequence[FeedEntry]) -> set[Rule]:
    try:
        check_order(run.history, {WORKSPACE: feed})
    except OrderViolated as failure:
        return {violation.rule for violation in failure.violations}
    return set()


@dataclass(frozen=True)
class Case:
    entries: Ops
    feed: Feed
    expected: list[str]


M = commit("m", a=(None, 1))
N = commit("n", a=(1, 2))
O = commit("o", b=(None, 1))  # noqa: E741

WRONG: dict[str, Case] = {
    "gap of one": Case(
        [ok(M, 0, 1, 1), ok(O, 2, 3, 3)],
        feed((1, "m", {"a": 1}), (3, "o", {"b": 1})),
        ["w: gap in the positions: no 2 before o at 3"],
    ),
    "gap of several at the beginning": Case(
        [ok(M, 0, 1, 4)],
        feed((4, "m", {"a": 1})),
        ["w: gap in the positions: no 1…3 before m at 4"],
    ),
    "position before the first": Case(
        [ok(M, 0, 1, 0)],
        feed((0, "m", {"a": 1})),
        ["w: gap in the positions: m at 0, before the first position"],
    ),
    "duplicate position": Case(
        [ok(M, 0, 1, 1), ok(O, 2, 3, 1)],
        feed((1, "m", {"a": 1}), (1, "o", {"b": 1})),
        ["w: duplicate position: m and o both stand at 1"],
    ),
    "duplicate mutation": Case(
        [ok(O, 0, 1, 1), unknown(commit("o", b=(1, 1)), 2)],
        feed((1, "o", {"b": 1}), (2, "o", {"b": 1})),
        ["w: duplicate mutation: o stands at 1 and 2"],
    ),
    "not ascending": Case(
        [ok(M, 0, 1, 1), ok(O, 2, 3, 2)],
        feed((2, "o", {"b": 1}), (1, "m", {"a": 1})),
        ["w: not ascending: m at 1 comes after position 2"],
    ),
    "not ascending twice": Case(
        [ok(M, 0, 1, 1), ok(O, 2, 3, 2), ok(commit("q", c=(None, 1)), 4, 5, 3)],
        feed((3, "q", {"c": 1}), (1, "m", {"a": 1}), (2, "o", {"b": 1})),
        [
            "w: not ascending: m at 1 comes after position 3",
            "w: not ascending: o at 2 comes after position 3",
        ],
    ),
    "lost write": Case(
        [ok(M, 0, 1, 1), ok(O, 2, 3, 2)],
        feed((1, "m", {"a": 1})),
        ["w: acknowledged but lost: o acknowledged to p at 2 is not in the feed"],
    ),
    "acknowledged at another position": Case(
        [ok(M, 0, 3, 2), ok(O, 1, 4, 1)],
        feed((1, "m", {"a": 1}), (2, "o", {"b": 1})),
        [
            "w: acknowledged at another position: m acknowledged to p at 2 stands at 1",
            "w: acknowledged at another position: o acknowledged to p at 1 stands at 2",
        ],
    ),
    "acknowledged without a position": Case(
        [ok(M, 0, 3, None)],
        feed((1, "m", {"a": 1})),
        ["w: acknowledged at another position: m acknowledged to p at None stands at 1"],
    ),
    "repetition acknowledged at a second position": Case(
        [ok(M, 0, 1, 1), ok(M, 2, 3, 2)],
        feed((1, "m", {"a": 1})),
        ["w: acknowledged at another position: m acknowledged to p at 2 stands at 1"],
    ),
    "told not executed, yet present": Case(
        [HistoryEntry("p", M, 0, NOT_EXECUTED, 1)],
        feed((1, "m", {"a": 1})),
        ["w: told that it did nothing, yet present: m at 1, its client told: not-executed"],
    ),
    "refused every time, yet present": Case(
        [HistoryEntry("p", M, 0, REFUSED, 1), HistoryEntry("p", M, 2, NOT_EXECUTED, 3)],
        feed((1, "m", {"a": 1})),
        [
            (
                "w: told that it did nothing, yet present: "
                "m at 1, its client told: not-executed and refused"
            )
        ],
    ),
    "entry that nobody invoked": Case(
        [],
        feed((1, "m", {"a": 1})),
        ["w: never invoked: nobody asked for m at 1"],
    ),
    "torn batch": Case(
        [ok(commit("m", a=(None, 1), b=(None, 2)), 0, 1, 1)],
        feed((1, "m", {"a": 1})),
        ["w: torn changeset: m at 1 left {'a': 1} where {'a': 1, 'b': 2} was asked for"],
    ),
    "torn batch whose outcome is unknown": Case(
        [unknown(commit("m", a=(None, 1), b=(None, 2)), 0)],
        feed((1, "m", {"b": 2})),
        ["w: torn changeset: m at 1 left {'b': 2} where {'a': 1, 'b': 2} was asked for"],
    ),
    "acknowledged repetition with other content": Case(
        [ok(M, 0, 1, 1), ok(commit("m", a=(None, 5)), 2, 3, 1)],
        feed((1, "m", {"a": 1})),
        ["w: torn changeset: m at 1 left {'a': 1} where {'a': 5} was asked for"],
    ),
    "lost update": Case(
        [ok(M, 0, 1, 1), ok(N, 2, 4, 2), ok(commit("o", a=(1, 3)), 3, 5, 3)],
        feed((1, "m", {"a": 1}), (2, "n", {"a": 2}), (3, "o", {"a": 3})),
        ["w: lost update: o at 3 moves a from 1 to 3, but 2 stood there"],
    ),
    "create over what is there": Case(
        [ok(M, 0, 1, 1), ok(commit("n", a=(None, 2)), 2, 3, 2)],
        feed((1, "m", {"a": 1}), (2, "n", {"a": 2})),
        ["w: lost update: n at 2 moves a from None to 2, but 1 stood there"],
    ),
    "lost update beside a refused attempt that would have fitted": Case(
        [
            ok(M, 0, 1, 1),
            HistoryEntry("p", N, 2, REFUSED, 3),
            ok(commit("n", a=(None, 2)), 4, 5, 2),
        ],
        feed((1, "m", {"a": 1}), (2, "n", {"a": 2})),
        ["w: lost update: n at 2 moves a from None to 2, but 1 stood there"],
    ),
    "real-time order": Case(
        [ok(M, 0, 1, 2), ok(O, 2, 3, 1)],
        feed((1, "o", {"b": 1}), (2, "m", {"a": 1})),
        [
            (
                "w: real-time order: m at 2 was acknowledged (event 1) "
                "before o at 1 was asked for (event 2)"
            )
        ],
    ),
    "real-time order of an unknown outcome": Case(
        [ok(M, 0, 1, 2), unknown(O, 2)],
        feed((1, "o", {"b": 1}), (2, "m", {"a": 1})),
        [
            (
                "w: real-time order: m at 2 was acknowledged (event 1) "
                "before o at 1 was asked for (event 2)"
            )
        ],
    ),
    "real-time order over a distance": Case(
        [
            ok(M, 0, 1, 3),
            ok(O, 2, 9, 1),
            ok(commit("q", c=(None, 1)), 3, 8, 2),
        ],
        feed((1, "o", {"b": 1}), (2, "q", {"c": 1}), (3, "m", {"a": 1})),
        [
            (
                "w: real-time order: m at 3 was acknowledged (event 1) "
                "before o at 1 was asked for (event 2)"
            ),
            (
                "w: real-time order: m at 3 was acknowledged (event 1) "
                "before q at 2 was asked for (event 3)"
            ),
        ],
    ),
    "several at once": Case(
        [ok(M, 0, 1, 1), ok(O, 2, 3, 2)],
        feed((3, "x", {"a": 1})),
        [
            "w: gap in the positions: no 1…2 before x at 3",
            "w: acknowledged but lost: m acknowledged to p at 1 is not in the feed",
            "w: acknowledged but lost: o acknowledged to p at 2 is not in the feed",
            "w: never invoked: nobody asked for x at 3",
        ],
    ),
}

RIGHT: dict[str, tuple[Ops, Feed]] = {
    "nothing": ([], []),
    "only what does not commit": ([ok(Read(Register("w", "a")), 0, 1, 3)], []),
    "snapshots": ([ok(Snapshot("w", ("a",)), 0, 1, {})], []),
    "unknown outcome that never happened": ([unknown(M, 0)], []),
    "unknown outcome that happened late": (
        [unknown(M, 0), ok(O, 1, 2, 1)],
        feed((1, "o", {"b": 1}), (2, "m", {"a": 1})),
    ),
    "overlapping commits in either order": (
        [ok(M, 0, 2, 2), ok(O, 1, 3, 1)],
        feed((1, "o", {"b": 1}), (2, "m", {"a": 1})),
    ),
    "events with the same index": (
        [ok(M, 0, 1, 2), ok(O, 1, 2, 1)],
        feed((1, "o", {"b": 1}), (2, "m", {"a": 1})),
    ),
    "repetition acknowledged twice at one position": (
        [ok(M, 0, 1, 1), ok(O, 2, 3, 2), ok(M, 4, 5, 1)],
        feed((1, "m", {"a": 1}), (2, "o", {"b": 1})),
    ),
    "repetition after an unknown outcome": (
        [unknown(M, 0), ok(O, 1, 2, 2), ok(M, 3, 4, 1)],
        feed((1, "m", {"a": 1}), (2, "o", {"b": 1})),
    ),
    "turned away, then accepted": (
        [HistoryEntry("p", M, 0, NOT_EXECUTED, 1), ok(O, 2, 3, 1), ok(M, 4, 5, 2)],
        feed((1, "o", {"b": 1}), (2, "m", {"a": 1})),
    ),
    "removed and created again": (
        [
            ok(M, 0, 1, 1),
            ok(commit("n", a=(1, None)), 2, 3, 2),
            ok(commit("o", a=(None, 1)), 4, 5, 3),
        ],
        feed((1, "m", {"a": 1}), (2, "n", {"a": None}), (3, "o", {"a": 1})),
    ),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG.keys())
def test_wrong_feed_is_rejected_for_its_reason(case: Case) -> None:
    assert violations(case.entries, case.feed) == case.expected


@pytest.mark.parametrize(("entries", "feed"), RIGHT.values(), ids=RIGHT.keys())
def test_right_feed_is_accepted(entries: Ops, feed: Feed) -> None:
    assert violations(entries, feed) == []


def test_failure_lists_every_violation_of_every_workspace() -> None:
    history: History[Operation] = History()
    history.invoke("p", Commit.of("v", "m", {"a": (None, 1)})).ok(1)
    with pytest.raises(OrderViolated) as caught:
        check_order(history, {"w": feed((1, "n", {"a": 1}))})
    assert str(caught.value).splitlines() == [
        "2 violations of order:",
        "  w: never invoked: nobody asked for n at 1",
        "  v: acknowledged but lost: m acknowledged to p at 1 is not in the feed",
    ]


def test_swap_cannot_be_found_in_a_feed() -> None:
    with pytest.raises(TypeError, match="record a commit"):
        check_order([unknown(Swap(Register("w", "a"), None, 1), 0)], {})


COMMITTING = (Commit, Commit, Commit, Read)


@given(runs(kinds=COMMITTING, processes=5, length=600))
def test_feed_of_a_correct_service_is_accepted(run: Run) -> None:
    check_order(run.history, run.feed)


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_feed_of_a_busy_service_is_accepted(lost: float) -> None:
    run = crowd(1, processes=10, operations=1_000, lost=lost)
    assert len(run.service.feed) > 100
    check_order(run.history, run.feed)


@st.composite
def filled(draw: st.DrawFn) -> tuple[Run, Feed, int]:
    """Draw a run with entries in the feed, its feed, and the index of one entry."""
    run = draw(runs(kinds=COMMITTING, processes=3, length=250))
    assume(run.service.feed)
    return run, list(run.service.feed), draw(st.integers(0, len(run.service.feed) - 1))


def attempts(run: Run, entry: FeedEntry) -> list[HistoryEntry[Operation]]:
    return [
        attempt
        for attempt in run.history.entries
        if isinstance(attempt.operation, Commit) and attempt.operation.mutation == entry.mutation
    ]


def acknowledged(run: Run, entry: FeedEntry) -> bool:
    return any(attempt.status is OK for attempt in attempts(run, entry))


@given(filled())
def test_dropped_entry_leaves_a_gap_or_a_lost_write(drawn: tuple[Run, Feed, int]) -> None:
    run, feed, index = drawn
    dropped = feed.pop(index)
    found = rules(run, feed)
    assert (Rule.LOST in found) == acknowledged(run, dropped)
    assert (Rule.GAP in found) == (index < len(feed))


@given(filled())
def test_repeated_entry_is_a_duplicate(drawn: tuple[Run, Feed, int]) -> None:
    run, feed, index = drawn
    again = [*feed, replace(feed[index], position=len(feed) + 1)]
    assert Rule.DUPLICATE_MUTATION in rules(run, again)
    twice = [*feed[: index + 1], *feed[index:]]
    assert {Rule.DUPLICATE_MUTATION, Rule.DUPLICATE_POSITION} <= rules(run, twice)


@given(filled())
def test_entries_in_another_order_do_not_ascend(drawn: tuple[Run, Feed, int]) -> None:
    run, feed, index = drawn
    assume(index > 0)
    feed[index - 1 : index + 1] = feed[index], feed[index - 1]
    assert rules(run, feed) == {Rule.NOT_ASCENDING}


@given(filled())
def test_exchanged_positions_are_found_when_a_client_knows_one(
    drawn: tuple[Run, Feed, int],
) -> None:
    run, feed, index = drawn
    assume(index > 0)
    left, right = feed[index - 1], feed[index]
    feed[index - 1] = replace(right, position=left.position)
    feed[index] = replace(left, position=right.position)
    found = rules(run, feed)
    assert (Rule.MOVED in found) == (acknowledged(run, left) or acknowledged(run, right))
    assert not found & {Rule.GAP, Rule.TORN, Rule.LOST, Rule.NOT_ASCENDING}


@given(filled())
def test_register_left_out_of_an_entry_tears_it(drawn: tuple[Run, Feed, int]) -> None:
    run, feed, index = drawn
    entry = feed[index]
    feed[index] = replace(entry, swaps=dict(list(entry.swaps.items())[1:]))
    assert Rule.TORN in rules(run, feed)


@given(filled())
def test_altered_value_tears_its_entry(drawn: tuple[Run, Feed, int]) -> None:
    run, feed, index = drawn
    entry = feed[index]
    feed[index] = replace(entry, swaps=dict.fromkeys(entry.swaps, "altered"))
    assert Rule.TORN in rules(run, feed)


@given(filled(), st.sampled_from((REFUSED, NOT_EXECUTED)))
def test_entry_that_contradicts_all_its_clients_is_found(
    drawn: tuple[Run, Feed, int], status: Status
) -> None:
    run, feed, index = drawn
    denied = attempts(run, feed[index])
    entries = [
        replace(entry, status=status, completed=entry.invoked + 1) if entry in denied else entry
        for entry in run.history.entries
    ]
    with pytest.raises(OrderViolated) as caught:
        check_order(entries, {WORKSPACE: feed})
    assert Rule.NOT_EXECUTED_YET_PRESENT in {found.rule for found in caught.value.violations}


@given(filled())
def test_forgotten_commit_leaves_an_entry_without_an_invocation(
    drawn: tuple[Run, Feed, int],
) -> None:
    run, feed, index = drawn
    known = [entry for entry in run.history.entries if entry not in attempts(run, feed[index])]
    with pytest.raises(OrderViolated) as caught:
        check_order(known, {WORKSPACE: feed})
    assert {found.rule for found in caught.value.violations} == {Rule.NEVER_INVOKED}
