"""Actors that handle all waiting messages as a batch."""

from __future__ import annotations

import pytest
import trio
from greenroom import (
    ActorCrashed,
    ActorRef,
    ActorSpec,
    Backoff,
    BadReply,
    OutcomeUnknown,
    Runtime,
    Supervisor,
)
from trio.testing import wait_all_tasks_blocked

from .actors import Declined, FailBatch, Ledger, Put, Recorder

pytestmark = pytest.mark.explore(schedules=20, early_time=False)


def tree(limit: int = 64) -> tuple[Supervisor, ActorRef[Put | FailBatch], list[Ledger]]:
    made: list[Ledger] = []

    def make() -> Ledger:
        made.append(Ledger())
        return made[-1]

    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    spec = ActorSpec("ledger", make, batch_limit=limit, backoff=Backoff(first=1, jitter=0))
    return root, root.add(spec), made


async def outcomes_of(
    ref: ActorRef[Put | FailBatch], messages: list[Put | FailBatch]
) -> list[object]:
    """Ask all concurrently, after one message that keeps the actor busy; return the outcomes."""
    got: list[object] = [None] * len(messages)

    async def ask(index: int) -> None:
        try:
            got[index] = await ref.ask(messages[index])
        except (Declined, OutcomeUnknown) as error:
            got[index] = error

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ref.ask, Put("ahead"))
        await wait_all_tasks_blocked()
        for index in range(len(messages)):
            nursery.start_soon(ask, index)
            await wait_all_tasks_blocked()
    return got


async def test_all_waiting_messages_come_in_one_batch_in_order() -> None:
    root, ref, made = tree()
    async with root.running():
        assert await outcomes_of(ref, [Put(line) for line in "abcde"]) == [5] * 5
    assert made[0].batches == [["ahead"], list("abcde")]


async def test_a_batch_has_at_most_the_limit() -> None:
    root, ref, made = tree(limit=2)
    async with root.running():
        assert await outcomes_of(ref, [Put(line) for line in "abcde"]) == [2, 2, 2, 2, 1]
    assert made[0].batches == [["ahead"], ["a", "b"], ["c", "d"], ["e"]]


async def test_one_of_a_batch_can_be_refused() -> None:
    root, ref, _ = tree()
    async with root.running():
        got = await outcomes_of(ref, [Put("a"), FailBatch("refuse one"), Put("b")])
    assert got[0] == got[2] == 3
    assert isinstance(got[1], Declined)


async def test_a_message_withdrawn_before_the_batch_is_not_in_it() -> None:
    root, ref, made = tree()
    async with root.running(), trio.open_nursery() as nursery:
        nursery.start_soon(ref.ask, Put("ahead"))
        await wait_all_tasks_blocked()
        with trio.move_on_after(0.5):
            await ref.ask(Put("withdrawn"))
        nursery.start_soon(ref.ask, Put("kept"))
    assert made[0].batches == [["ahead"], ["kept"]]


async def test_a_crash_fails_messages_without_a_reply_and_keeps_the_replies_given() -> None:
    root, ref, _ = tree()
    async with root.running():
        got = await outcomes_of(ref, [Put("a"), FailBatch("crash"), Put("b")])
        assert got[0] == 3
        assert isinstance(got[1], ActorCrashed)
        assert isinstance(got[2], ActorCrashed)
        assert await ref.ask(Put("next")) == 1


async def test_a_refusal_that_escapes_a_batch_is_a_crash() -> None:
    root, ref, _ = tree()
    async with root.running():
        got = await outcomes_of(ref, [FailBatch("refuse all"), Put("b")])
    assert isinstance(got[0], ActorCrashed)
    assert isinstance(got[0].__cause__, Declined)
    assert isinstance(got[1], ActorCrashed)


async def test_an_ask_left_without_a_reply_is_a_crash_with_a_message() -> None:
    root, ref, _ = tree()
    async with root.running():
        got = await outcomes_of(ref, [Put("a"), FailBatch("forget")])
    assert got[0] == 2
    assert isinstance(got[1], ActorCrashed)
    assert isinstance(got[1].__cause__, BadReply)
    assert "left 1 of 2 messages without a reply" in str(got[1].__cause__)
