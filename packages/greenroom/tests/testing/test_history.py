import asyncio
from typing import TypeAlias

import pytest
import trio
from greenroom.testing.history import (
    History,
    HistoryEntry,
    HistoryError,
    Seen,
    Status,
    render_entries,
)
from greenroom.testing.registers import ReadRegister
from greenroom.testing.registers import ReadRegister as Read
from greenroom.testing.registers import SwapRegister as Swap

A = "w/a"
B = "w/b"

Operation: TypeAlias = Read | Swap


class BusyError(Exception):
    pass


class LostError(Exception):
    pass


class ConflictError(Exception):
    def __init__(self, head: str) -> None:
        super().__init__(head)
        self.head = head


class OvertakenError(ConflictError):
    pass


@pytest.fixture
def history() -> History[Operation]:
    return History()


def outcomes(history: History[Operation]) -> list[tuple[Status, object]]:
    return [(entry.status, entry.result) for entry in history.entries]


def fail(error: Exception) -> None:
    raise error


def head_of(error: BaseException) -> object:
    assert isinstance(error, ConflictError)
    return error.head


def test_events_are_counted_across_processes(history: History[Operation]) -> None:
    first = history.invoke("p", Read(A))
    second = history.invoke("q", Read(A))
    second.ok(1)
    first.ok(2)
    assert history.entries == (
        HistoryEntry("p", Read(A), 0, Status.OK, 3, 2),
        HistoryEntry("q", Read(A), 1, Status.OK, 2, 1),
    )


def test_open_operation_counts_as_unknown(history: History[Operation]) -> None:
    history.invoke("p", Read(A))
    assert history.entries == (HistoryEntry("p", Read(A), 0, Status.UNKNOWN),)


def test_second_operation_of_a_busy_process_is_an_error(history: History[Operation]) -> None:
    history.invoke("p", Read(A))
    with pytest.raises(HistoryError, match="p invokes read w/b while its read w/a is open"):
        history.invoke("p", Read(B))


def test_process_continues_after_an_unknown_outcome(history: History[Operation]) -> None:
    history.invoke("p", Swap(A, None, 1)).unknown()
    history.invoke("p", Read(A)).ok(None)
    assert [entry.deadline for entry in history.entries] == [None, 3]


def test_completing_twice_is_an_error(history: History[Operation]) -> None:
    call = history.invoke("p", Read(A))
    call.ok(1)
    with pytest.raises(HistoryError, match="read w/a of p is completed already, ok"):
        call.unknown()


@pytest.mark.parametrize(
    ("error", "status", "result"),
    [
        (BusyError(), Status.NOT_EXECUTED, None),
        (LostError(), Status.UNKNOWN, None),
        (ConflictError("r7"), Status.REFUSED, "r7"),
        (OvertakenError("r8"), Status.UNKNOWN, None),
        (ZeroDivisionError(), Status.UNKNOWN, None),
        (KeyboardInterrupt(), Status.UNKNOWN, None),
        (ExceptionGroup("", [BusyError()]), Status.UNKNOWN, None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_error_that_leaves_the_block_decides_by_its_nearest_named_class(
    history: History[Operation], error: BaseException, status: Status, result: object
) -> None:
    with (
        pytest.raises(type(error)),
        history.record(
            "p",
            Read(A),
            not_executed=(BusyError,),
            refused=(ConflictError,),
            unknown=(LostError, OvertakenError),
            seen=head_of,
        ),
    ):
        raise error
    assert outcomes(history) == [(status, result)]


def test_refusal_without_a_reader_of_it_has_seen_nothing(history: History[Operation]) -> None:
    with history.record("p", Read(A), refused=(ConflictError,), suppress=True):
        fail(ConflictError("r7"))
    assert outcomes(history) == [(Status.REFUSED, Seen.NOTHING)]


def test_suppress_keeps_named_errors_in_the_block(history: History[Operation]) -> None:
    with history.record("p", Read(A), not_executed=(BusyError,), suppress=True):
        fail(BusyError())
    with (
        pytest.raises(LostError),
        history.record("p", Read(A), not_executed=(BusyError,), suppress=True),
    ):
        raise LostError
    assert outcomes(history) == [(Status.NOT_EXECUTED, None), (Status.UNKNOWN, None)]


def test_block_left_without_completion_is_unknown(history: History[Operation]) -> None:
    with history.record("p", Read(A)):
        pass
    assert outcomes(history) == [(Status.UNKNOWN, None)]


def test_completion_in_the_block_outlives_a_later_error(history: History[Operation]) -> None:
    with history.record("p", Read(A), not_executed=(BusyError,), suppress=True) as call:
        call.ok(1)
        fail(BusyError())
    assert outcomes(history) == [(Status.OK, 1)]


def test_cancellation_is_unknown_and_never_suppressed() -> None:
    history: History[Operation] = History()

    async def give_up() -> bool:
        with trio.CancelScope() as scope:
            scope.cancel()
            with history.record("p", Read(A), unknown=(trio.Cancelled,), suppress=True) as call:
                await trio.lowlevel.checkpoint()
                call.ok(1)
        return scope.cancelled_caught

    assert trio.run(give_up)
    assert outcomes(history) == [(Status.UNKNOWN, None)]


def test_recording_is_independent_of_the_event_loop(history: History[Operation]) -> None:
    async def read(process: str) -> None:
        with history.record(process, Read(A)) as call:
            await asyncio.sleep(0)
            call.ok(process)

    async def both() -> None:
        await asyncio.gather(read("p"), read("q"))

    asyncio.run(both())
    assert [(e.invoked, e.completed) for e in history.entries] == [(0, 2), (1, 3)]


def test_history_renders_one_event_per_line(history: History[Operation]) -> None:
    swap = history.invoke("writer", Swap(A, None, "x"))
    read = history.invoke(2, Read(A))
    read.ok("x")
    swap.ok(1)
    history.invoke(2, Swap(A, "x", "y")).refused("z")
    history.invoke(2, Swap(A, "x", "y")).refused()
    history.invoke(2, Swap(A, "x", "y")).not_executed()
    history.invoke(2, Read(B))
    assert history.render().splitlines() == [
        " 0  writer  invoke        swap w/a None→'x'",
        " 1  2       invoke        read w/a",
        " 2  2       ok            read w/a = 'x'",
        " 3  writer  ok            swap w/a None→'x' = 1",
        " 4  2       invoke        swap w/a 'x'→'y'",
        " 5  2       refused       swap w/a 'x'→'y', seen 'z'",
        " 6  2       invoke        swap w/a 'x'→'y'",
        " 7  2       refused       swap w/a 'x'→'y'",
        " 8  2       invoke        swap w/a 'x'→'y'",
        " 9  2       not-executed  swap w/a 'x'→'y'",
        "10  2       invoke        read w/b",
    ]


def test_empty_history_renders_as_nothing() -> None:
    assert render_entries([]) == ""


def test_definite_entry_needs_a_completion() -> None:
    with pytest.raises(ValueError, match="ok without a completion: read w/a"):
        HistoryEntry("p", ReadRegister("w/a"), 0, Status.OK)


def test_entry_cannot_end_before_it_begins() -> None:
    with pytest.raises(ValueError, match="completed before it was invoked: read w/a"):
        HistoryEntry("p", ReadRegister("w/a"), 5, Status.OK, 4)
