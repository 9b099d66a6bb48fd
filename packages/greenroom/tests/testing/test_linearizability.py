"""Histories of registers: what is proven wrong, and that every correct one is accepted."""

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

import pytest
from greenroom.testing.history import History, HistoryEntry, Seen, Status
from greenroom.testing.linearizability import NotLinearizable, SearchLimit, check_linearizable
from greenroom.testing.registers import ReadRegister, RegisterModel, SwapRegister, Value
from hypothesis import given
from hypothesis import strategies as st

OK, REFUSED, NOT_EXECUTED, UNKNOWN = Status

Entry = HistoryEntry[ReadRegister | SwapRegister]


def read(begin: int, end: int, result: Value, register: str = "a") -> Entry:
    return HistoryEntry("p", ReadRegister(register), begin, OK, end, result)


def swap(begin: int, end: int, old: Value, new: Value, register: str = "a") -> Entry:
    return HistoryEntry("p", SwapRegister(register, old, new), begin, OK, end)


def refused(begin: int, end: int, old: Value, new: Value, seen: object) -> Entry:
    return HistoryEntry("p", SwapRegister("a", old, new), begin, REFUSED, end, seen)


def unknown(begin: int, old: Value, new: Value, register: str = "a") -> Entry:
    return HistoryEntry("p", SwapRegister(register, old, new), begin, UNKNOWN)


def linearizable(entries: Sequence[Entry]) -> bool:
    try:
        check_linearizable(entries, RegisterModel())
    except NotLinearizable:
        return False
    return True


WRONG: dict[str, list[Entry]] = {
    "lost update: two swaps from the same value": [
        swap(0, 1, None, 1),
        swap(2, 4, 1, 2),
        swap(3, 5, 1, 3),
    ],
    "stale read after an acknowledged write": [
        swap(0, 1, None, 1),
        swap(2, 3, 1, 2),
        read(4, 5, 1),
    ],
    "reads go back in time": [swap(0, 5, None, 1), read(1, 2, 1), read(3, 4, None)],
    "read of a value from nowhere": [read(0, 1, 7)],
    "read of a value written later, beside a slow operation": [
        read(0, 2, 1),
        swap(1, 10, None, 1, "b"),
        swap(3, 4, None, 1),
    ],
    "acknowledgement without effect": [swap(0, 1, None, 1), read(2, 3, None)],
    "effect of an operation told not executed": [
        HistoryEntry("p", SwapRegister("a", None, 1), 0, NOT_EXECUTED, 1),
        read(2, 3, 1),
    ],
    "effect of a refused operation": [refused(0, 1, None, 1, Seen.NOTHING), read(2, 3, 1)],
    "unknown outcome that takes effect before it was asked for": [
        read(0, 1, 1),
        unknown(2, None, 1),
    ],
    "unknown outcome that takes effect twice": [
        unknown(0, None, 1),
        read(1, 2, 1),
        swap(3, 4, 1, None),
        read(5, 6, 1),
    ],
    "refused although the register held the expected value": [
        swap(0, 1, None, 1),
        refused(2, 3, 1, 2, Seen.MOVED),
    ],
    "refused with a value that the register did not hold": [
        swap(0, 1, None, 1),
        refused(2, 3, None, 2, 9),
    ],
    "refused read that claims a reason": [
        HistoryEntry("p", ReadRegister("a"), 0, REFUSED, 1, Seen.MOVED)
    ],
}

RIGHT: dict[str, list[Entry]] = {
    "nothing": [],
    "overlapping read of the old value": [swap(0, 3, None, 1), read(1, 2, None)],
    "overlapping read of the new value": [swap(0, 3, None, 1), read(1, 2, 1)],
    "events with the same index": [
        read(0, 1, 1),
        swap(1, 2, None, 1),
        read(3, 4, 2),
        unknown(4, 1, 2),
    ],
    "unknown outcome seen late": [unknown(0, None, 1), read(1, 2, None), read(3, 4, 1)],
    "unknown outcome never seen": [unknown(0, None, 1), swap(1, 2, None, 2), read(3, 4, 2)],
    "refused for any reason": [refused(0, 1, None, 1, Seen.NOTHING)],
    "registers that are removed": [
        swap(0, 1, None, 1),
        swap(2, 3, 1, None),
        read(4, 5, None),
        swap(6, 7, None, 1),
    ],
}


@pytest.mark.parametrize("entries", WRONG.values(), ids=WRONG.keys())
def test_wrong_history_is_rejected(entries: list[Entry]) -> None:
    assert not linearizable(entries)


@pytest.mark.parametrize("entries", RIGHT.values(), ids=RIGHT.keys())
def test_right_history_is_accepted(entries: list[Entry]) -> None:
    assert linearizable(entries)


def test_model_starts_from_the_values_given() -> None:
    check_linearizable([read(0, 1, 5)], RegisterModel({"a": 5}))


def test_model_names_an_operation_that_it_does_not_know() -> None:
    entries: list[HistoryEntry[Any]] = [HistoryEntry("p", "juggle", 0, OK, 1)]
    with pytest.raises(TypeError, match="RegisterModel cannot judge juggle"):
        check_linearizable(entries, RegisterModel())


def test_failure_explains_itself() -> None:
    history: History[ReadRegister | SwapRegister] = History()
    history.invoke("other", ReadRegister("b")).ok(None)
    for value in range(12):
        history.invoke("writer", SwapRegister("a", value or None, value + 1)).ok()
    history.invoke("reader", ReadRegister("a")).ok(3)
    with pytest.raises(NotLinearizable) as caught:
        check_linearizable(history, RegisterModel())
    failure = caught.value
    assert failure.partition == "a"
    assert failure.stuck.process == "reader"
    assert str(failure).splitlines()[:6] == [
        "not linearizable in partition a",
        "no place for: reader ok read a = 3",
        "state it met: 12",
        "longest order that works (12 of 13):",
        "  … 2 before",
        "  writer ok swap a 2→3 = None",
    ]


def test_search_past_its_limit_has_no_verdict() -> None:
    puzzle = [unknown(n, None, n) for n in range(12)]
    puzzle += [unknown(n, n, None) for n in range(12)]
    with pytest.raises(SearchLimit, match="partition a needs more than max_states=100 states"):
        check_linearizable([*puzzle, read(20, 21, 99)], RegisterModel(), max_states=100)


VALUES = st.sampled_from([None, 1, 2])
OPERATIONS = st.one_of(
    st.just(ReadRegister("a")), st.builds(SwapRegister, st.just("a"), VALUES, VALUES)
)


@st.composite
def entries_of_any_kind(draw: st.DrawFn) -> Entry:
    operation = draw(OPERATIONS)
    begin = draw(st.integers(0, 8))
    end = begin + draw(st.integers(1, 8))
    status = draw(st.sampled_from(Status))
    if status is UNKNOWN:
        return HistoryEntry("p", operation, begin, status)
    results = {OK: VALUES, REFUSED: st.sampled_from(list(Seen)), NOT_EXECUTED: st.none()}
    return HistoryEntry("p", operation, begin, status, end, draw(results[status]))


@given(st.lists(entries_of_any_kind(), max_size=5))
def test_any_history_is_judged_like_trying_every_order(entries: list[Entry]) -> None:
    assert linearizable(entries) == explainable(entries)


def explainable(entries: Sequence[Entry]) -> bool:
    """Try every order of every selection: the definition of linearizability, for few entries."""
    certain = [e for e in entries if e.status in (OK, REFUSED)]
    supposed = [e for e in entries if e.status is UNKNOWN]
    return any(
        in_real_time(order) and agrees(order)
        for size in range(len(supposed) + 1)
        for chosen in combinations(supposed, size)
        for order in permutations([*certain, *chosen])
    )


def in_real_time(order: Sequence[Entry]) -> bool:
    return not any(
        later.completed is not None and later.completed < earlier.invoked
        for earlier, later in combinations(order, 2)
    )


def agrees(order: Sequence[Entry]) -> bool:
    value: Value = None
    for entry in order:
        operation = entry.operation
        if isinstance(operation, ReadRegister):
            expected = Seen.NOTHING if entry.status is REFUSED else value
            if entry.status is not UNKNOWN and entry.result != expected:
                return False
        elif entry.status is REFUSED:
            if entry.result is Seen.MOVED and value == operation.expected:
                return False
        elif value != operation.expected:
            return False
        else:
            value = operation.new
    return True


@given(st.lists(st.tuples(OPERATIONS, st.integers(1, 25), st.integers(1, 25)), max_size=60))
def test_run_of_correct_registers_is_accepted(
    calls: list[tuple[ReadRegister | SwapRegister, int, int]],
) -> None:
    value: Value = None
    entries: list[Entry] = []
    for number, (operation, before, after) in enumerate(calls):
        begin, end = 10 * number - before, 10 * number + after
        if isinstance(operation, ReadRegister):
            entries.append(HistoryEntry(number, operation, begin, OK, end, value))
        elif operation.expected == value:
            value = operation.new
            entries.append(HistoryEntry(number, operation, begin, OK, end))
        else:
            entries.append(HistoryEntry(number, operation, begin, REFUSED, end, value))
    assert linearizable(entries)
