"""Cancellation at every checkpoint finds what one of them leaves behind."""

import pytest
import trio
from greenroom.testing.deterministic import Deadlock
from greenroom.testing.explore import explore
from greenroom.testing.interruption import (
    Interruption,
    cancel_at_checkpoint,
    cancel_at_every_checkpoint,
)
from greenroom.testing.schedule_failure import ScheduleFailure


async def three_checkpoints() -> str:
    for _ in range(3):
        await trio.lowlevel.checkpoint()
    return "through"


@pytest.mark.parametrize("woken", [False, True])
@pytest.mark.parametrize("checkpoint", [1, 2, 3])
async def test_call_is_cancelled_at_the_checkpoint_named(checkpoint: int, woken: bool) -> None:
    interruption = await cancel_at_checkpoint(checkpoint, three_checkpoints, woken=woken)
    assert interruption.cancelled
    assert interruption.value is None
    assert checkpoint <= interruption.checkpoints <= checkpoint + 1


async def test_call_cancelled_at_checkpoint_zero_ends_at_its_first() -> None:
    steps = []

    async def act() -> None:
        steps.append("before")
        await trio.lowlevel.checkpoint()
        steps.append("after")

    assert (await cancel_at_checkpoint(0, act)).cancelled
    assert steps == ["before"]


async def test_call_that_ends_before_the_checkpoint_returns() -> None:
    assert await cancel_at_checkpoint(4, three_checkpoints) == Interruption("through", False, 3)


async def test_call_woken_by_its_last_event_keeps_its_result() -> None:
    send, receive = trio.open_memory_channel[int](0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send.send, 7)
        received = await cancel_at_checkpoint(1, receive.receive, woken=True)
    assert received.value == 7
    assert not received.cancelled


async def test_error_of_the_call_is_raised() -> None:
    async def fail() -> None:
        await trio.lowlevel.checkpoint()
        raise LookupError

    with pytest.raises(LookupError):
        await cancel_at_checkpoint(9, fail)


async def test_negative_checkpoint_is_refused() -> None:
    with pytest.raises(ValueError, match="from 0"):
        await cancel_at_checkpoint(-1, three_checkpoints)


def test_every_checkpoint_is_cancelled_when_it_begins_and_when_it_ends() -> None:
    outcomes: list[int] = []

    async def noting() -> None:
        done = 0
        try:
            for _ in range(3):
                await trio.lowlevel.checkpoint()
                done += 1
        finally:
            outcomes.append(done)

    assert cancel_at_every_checkpoint(noting) == 3
    assert outcomes == [0, 0, 0, 1, 1, 2, 2, 3]


def test_cleanup_missing_at_one_checkpoint_is_found_with_a_note() -> None:
    async def leaky() -> None:
        held = True
        try:
            await trio.lowlevel.checkpoint()
            await trio.lowlevel.checkpoint()
            held = False
            await trio.lowlevel.checkpoint()
        except trio.Cancelled:
            assert held, "released twice"
            raise

    with pytest.raises(AssertionError) as caught:
        cancel_at_every_checkpoint(leaky)
    assert "cancelled at checkpoint 3 when it began to wait" in caught.value.__notes__[0]


def test_cancellation_that_leaves_others_waiting_is_found() -> None:
    async def takes_a_lock_and_forgets_it() -> None:
        lock = trio.Lock()

        async def other() -> None:
            with trio.CancelScope(shield=True):
                await trio.lowlevel.checkpoint()
                async with lock:
                    pass

        async with trio.open_nursery() as nursery:
            await lock.acquire()
            nursery.start_soon(other)
            await trio.lowlevel.checkpoint()
            lock.release()

    with pytest.raises(Deadlock) as caught:
        cancel_at_every_checkpoint(takes_a_lock_and_forgets_it)
    assert "cancelled at checkpoint 1" in caught.value.__notes__[0]


def test_call_without_end_is_reported() -> None:
    async def serve() -> None:
        while True:
            await trio.lowlevel.checkpoint()

    with pytest.raises(AssertionError, match="the call did not end after 20 checkpoints"):
        cancel_at_every_checkpoint(serve, max_checkpoints=20)


async def scenario_with_impatient_client(steps: list[int]) -> None:
    """A server whose account is wrong if its client leaves between debit and credit."""
    debit = credit = 0

    async def transfer() -> None:
        nonlocal debit, credit
        debit += 1
        await trio.lowlevel.checkpoint()
        credit += 1
        await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        for checkpoint in steps:
            nursery.start_soon(cancel_at_checkpoint, checkpoint, transfer)
    assert debit == credit


def test_interruptions_are_steps_of_an_explored_scenario() -> None:
    with pytest.raises(ScheduleFailure) as found:
        explore(scenario_with_impatient_client, steps=[2, 9, 1, 2, 9], schedules=20)
    assert found.value.steps == [1]
