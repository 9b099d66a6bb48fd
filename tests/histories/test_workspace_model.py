"""Whole workspaces as a model: what commits and snapshots prove wrong, and correct runs."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import pytest
from greenroom.testing.history import History, HistoryEntry, Seen, Status
from greenroom.testing.linearizability import (
    Model,
    NotLinearizable,
    SearchLimit,
    check_linearizable,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.histories.operations import Commit, Operation, Read, Register, Snapshot, Swap, View
from tests.histories.runs import Run, crowd, explainable, runs
from tests.histories.workspace_model import WorkspaceModel, WorkspaceState

A = Register("w", "a")
B = Register("w", "b")
OK, REFUSED, NOT_EXECUTED, UNKNOWN = Status

Ops = list[HistoryEntry[Operation]]


def ok(
    operation: Operation, begin: int, end: int, result: object = None
) -> HistoryEntry[Operation]:
    return HistoryEntry("p", operation, begin, OK, end, result)


def refused(operation: Operation, begin: int, end: int, seen: object) -> HistoryEntry[Operation]:
    return HistoryEntry("p", operation, begin, REFUSED, end, seen)


def not_executed(operation: Operation, begin: int, end: int) -> HistoryEntry[Operation]:
    return HistoryEntry("p", operation, begin, NOT_EXECUTED, end)


def unknown(operation: Operation, begin: int) -> HistoryEntry[Operation]:
    return HistoryEntry("p", operation, begin, UNKNOWN)


def both(mutation: str, old: Hashable, new: Hashable) -> Commit:
    return Commit.of("w", mutation, {"a": (old, new), "b": (old, new)})


def one(mutation: str, old: Hashable, new: Hashable, key: str = "a") -> Commit:
    return Commit.of("w", mutation, {key: (old, new)})


def linearizable(entries: Ops) -> bool:
    try:
        check_linearizable(entries, WorkspaceModel())
    except NotLinearizable:
        return False
    return True


WRONG: dict[str, Ops] = {
    "acknowledgement without effect": [
        ok(one("m", None, 1), 0, 1, 1),
        ok(Read(A), 2, 3, None),
    ],
    "refused commit that leaves out a moved register": [
        ok(both("m", None, 1), 0, 1, 1),
        refused(both("n", None, 2), 2, 3, {"a": 1}),
    ],
    "refused commit that names a register that had not moved": [
        ok(one("m", None, 1), 0, 1, 1),
        refused(both("n", None, 2), 2, 3, {"a": Seen.MOVED, "b": Seen.MOVED}),
    ],
    "refused commit although nothing had moved": [
        refused(one("m", None, 1), 0, 1, Seen.MOVED),
    ],
    "refused commit that names no register": [refused(one("m", None, 1), 0, 1, {})],
    "torn batch seen by a snapshot": [
        ok(both("m", None, 1), 0, 3, 1),
        ok(Snapshot("w", ("a", "b")), 1, 2, {"a": 1, "b": None}),
    ],
    "torn batch seen by two reads": [
        ok(both("m", None, 1), 0, 5, 1),
        ok(Read(A), 1, 2, 1),
        ok(Read(B), 3, 4, None),
    ],
    "snapshot that leaves out a register": [ok(Snapshot("w", ("a", "b")), 0, 1, {"a": None})],
    "snapshot at a position that its values contradict": [
        ok(one("m", None, 1), 0, 3, 1),
        ok(Snapshot("w", ("a",)), 1, 2, View({"a": 1}, 0)),
    ],
    "gap: a position that nobody took": [
        ok(one("m", None, 1), 0, 1, 1),
        ok(one("n", None, 1, "b"), 2, 3, 3),
    ],
    "duplicate position": [
        ok(one("m", None, 1), 0, 2, 1),
        ok(one("n", None, 1, "b"), 1, 3, 1),
    ],
    "reordering: positions against real time": [
        ok(one("m", None, 1), 0, 1, 2),
        ok(one("n", None, 1, "b"), 2, 3, 1),
    ],
    "reordering: positions against what was expected": [
        ok(one("m", None, 1), 0, 2, 2),
        ok(one("n", 1, 2), 1, 3, 1),
    ],
    "swap that tells a wrong position": [ok(Swap(A, None, 1), 0, 1, 2)],
    "repeated mutation that takes a second position": [
        ok(one("m", None, 1), 0, 1, 1),
        ok(one("m", None, 1), 2, 3, 2),
    ],
    "repeated mutation that is applied again": [
        ok(one("m", None, 1), 0, 1, 1),
        ok(one("n", 1, None), 2, 3, 2),
        unknown(one("m", None, 1), 4),
        ok(Read(A), 5, 6, 1),
    ],
    "repeated mutation refused because of its own first effect": [
        ok(one("m", None, 1), 0, 1, 1),
        refused(one("m", None, 1), 2, 3, Seen.MOVED),
    ],
    "mutation accepted again with other content": [
        ok(one("m", None, 1), 0, 1, 1),
        ok(one("m", 1, 2), 2, 3, 1),
    ],
    "refused snapshot that claims a reason": [refused(Snapshot("w", ()), 0, 1, Seen.MOVED)],
}

RIGHT: dict[str, Ops] = {
    "unknown outcome that fills a gap": [
        unknown(one("m", None, 1), 0),
        ok(one("n", None, 1, "b"), 1, 2, 2),
        ok(Snapshot("w", ("a",)), 3, 4, View({"a": 1}, 2)),
    ],
    "refused with every moved register": [
        ok(both("m", None, 1), 0, 1, 1),
        refused(both("n", None, 2), 2, 3, {"a": 1, "b": Seen.MOVED}),
    ],
    "snapshot of a batch": [
        ok(both("m", None, 1), 0, 1, 1),
        ok(Snapshot("w", ("a", "b")), 2, 3, {"a": 1, "b": 1}),
    ],
    "repeated mutation answered with its first position": [
        unknown(one("m", None, 1), 0),
        ok(one("n", 1, 2), 1, 2, 2),
        ok(one("m", None, 1), 3, 4, 1),
        ok(Read(A), 5, 6, 2),
    ],
    "repeated mutation accepted after it was refused": [
        refused(one("m", 1, 2), 0, 1, {"a": None}),
        ok(one("n", None, 1), 2, 3, 1),
        ok(one("m", 1, 2), 4, 5, 2),
    ],
    "mutation refused with other content": [
        ok(one("m", None, 1), 0, 1, 1),
        refused(one("m", 1, 2), 2, 3, Seen.NOTHING),
    ],
    "registers that are removed": [
        ok(Swap(A, None, 1), 0, 1, 1),
        ok(Swap(A, 1, None), 2, 3, 2),
        ok(Read(A), 4, 5, None),
        ok(Swap(A, None, 1), 6, 7, 3),
    ],
    "workspaces that know nothing of each other": [
        ok(Commit.of("v", "m", {"a": (None, 1)}), 0, 1, 1),
        ok(Commit.of("w", "m", {"a": (None, 2)}), 2, 3, 1),
        ok(Read(Register("v", "a")), 4, 5, 1),
    ],
}


@pytest.mark.parametrize("entries", WRONG.values(), ids=WRONG.keys())
def test_wrong_history_is_rejected(entries: Ops) -> None:
    assert not linearizable(entries)


@pytest.mark.parametrize("entries", RIGHT.values(), ids=RIGHT.keys())
def test_right_history_is_accepted(entries: Ops) -> None:
    assert linearizable(entries)


def test_model_starts_from_the_values_given() -> None:
    check_linearizable(
        [ok(Read(A), 0, 1, 5), ok(one("m", 5, 6), 2, 3, 8)],
        WorkspaceModel(values={A: 5, Register("v", "a"): 1}, positions={"w": 7}),
    )


def test_model_names_an_operation_that_it_does_not_know() -> None:
    model: Model[Any, WorkspaceState] = WorkspaceModel()
    with pytest.raises(TypeError, match="WorkspaceModel cannot judge juggle"):
        check_linearizable([HistoryEntry("p", "juggle", 0, OK, 1)], model)


def test_failure_explains_itself() -> None:
    history: History[Operation] = History()
    history.invoke("other", Read(Register("v", "a"))).ok(None)
    for value in range(12):
        history.invoke("writer", Swap(A, value or None, value + 1)).ok()
    late = history.invoke("slow", Read(B))
    history.invoke("reader", Read(A)).ok(3)
    late.ok(None)
    with pytest.raises(NotLinearizable) as caught:
        check_linearizable(history, WorkspaceModel())
    failure = caught.value
    assert failure.partition == "w"
    assert failure.stuck.process == "reader"
    assert len(failure.prefix) == 13
    assert str(failure).splitlines()[:7] == [
        "not linearizable in partition w",
        "no place for: reader ok read w/a = 3",
        "state it met: position 12, a=12",
        "longest order that works (13 of 14):",
        "  … 3 before",
        "  writer ok swap w/a 3→4 = None",
        "  writer ok swap w/a 4→5 = None",
    ]
    assert str(failure).splitlines()[-4:] == [
        "  26  slow    invoke        read w/b",
        "  27  reader  invoke        read w/a",
        "  28  reader  ok            read w/a = 3",
        "  29  slow    ok            read w/b = None",
    ]


def test_search_past_its_limit_has_no_verdict() -> None:
    puzzle: Ops = [
        *(unknown(one(f"m{n}", None, n, key=f"k{n}"), n) for n in range(12)),
        ok(Snapshot("w", ()), 20, 21, View({}, 99)),
    ]
    with pytest.raises(SearchLimit, match="partition w needs more than max_states=100 states"):
        check_linearizable(puzzle, WorkspaceModel(), max_states=100)


@given(runs(processes=5, length=600))
def test_run_of_a_correct_service_is_accepted(run: Run) -> None:
    check_linearizable(run.history, WorkspaceModel())


RESPONSES = st.one_of(
    st.none(),
    st.integers(0, 3),
    st.builds(View, st.dictionaries(st.sampled_from("abc"), st.integers(0, 3)), st.integers(0, 3)),
)


@given(runs(processes=3, length=70), st.data())
def test_corrupted_run_is_judged_like_trying_every_order(run: Run, data: st.DataObject) -> None:
    entries = list(run.history.entries[:6])
    for _ in range(data.draw(st.integers(0, 2)) if entries else 0):
        index = data.draw(st.integers(0, len(entries) - 1))
        entry = entries[index]
        end = entry.invoked + data.draw(st.integers(1, 12))
        other = data.draw(st.sampled_from(entries))
        entries[index] = data.draw(
            st.sampled_from(
                [
                    replace(entry, status=OK, completed=end),
                    replace(entry, status=OK, completed=end, result=data.draw(RESPONSES)),
                    replace(entry, status=OK, completed=end, result=other.result),
                    replace(entry, status=UNKNOWN, result=None),
                    replace(entry, status=NOT_EXECUTED, completed=end, result=None),
                    replace(entry, status=REFUSED, completed=end, result=Seen.NOTHING),
                    replace(entry, status=REFUSED, completed=end, result=other.result),
                    replace(entry, invoked=max(0, entry.invoked - end)),
                ]
            )
        )
    entries = [tidy(entry) for entry in entries]
    assert linearizable(entries) == explainable(entries)


def tidy(entry: HistoryEntry[Operation]) -> HistoryEntry[Operation]:
    """Restrict results to those that mean the same to the plain service and the model."""
    if entry.status is REFUSED and isinstance(entry.operation, Read | Snapshot):
        return replace(entry, result=Seen.NOTHING)
    if entry.status is OK and isinstance(entry.operation, Swap) and entry.result is None:
        return replace(entry, result=1)
    return entry


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("lost", [0.0, 0.1, 0.3])
def test_two_hundred_operations_of_ten_processes_need_few_states(seed: int, lost: float) -> None:
    run = crowd(seed, processes=10, operations=200, lost=lost)
    check_linearizable(run.history, WorkspaceModel(), max_states=2_000)


@pytest.mark.parametrize("seed", range(10))
def test_one_stale_snapshot_among_two_hundred_operations_is_found(seed: int) -> None:
    run = crowd(seed, processes=10, operations=200, lost=0.1)
    entries = list(run.history.entries)
    looks = [n for n, e in enumerate(entries) if e.status is OK and isinstance(e.result, View)]
    first, last = looks[0], looks[-1]
    keys = entries[first].operation
    entries[last] = replace(entries[last], operation=keys, result=entries[first].result)
    with pytest.raises(NotLinearizable):
        check_linearizable(entries, WorkspaceModel(), max_states=20_000)
