"""All outcomes of ask and tell."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from greenroom import (
    ActorCrashed,
    ActorRef,
    ActorSpec,
    ActorStopped,
    Backoff,
    BadReply,
    MailboxFull,
    NotExecuted,
    OutcomeUnknown,
    Reply,
    Runtime,
    Supervisor,
)
from trio.testing import wait_all_tasks_blocked

from .actors import (
    Add,
    Counter,
    CounterMessage,
    Crash,
    Declined,
    Nap,
    Note,
    Recorder,
    Refuse,
    Relay,
    Words,
)

pytestmark = pytest.mark.explore(schedules=20, early_time=False)


@asynccontextmanager
async def counter(
    *, capacity: int = 100, admission: float = 1.0, recorder: Recorder | None = None
) -> AsyncIterator[ActorRef[CounterMessage]]:
    root = Supervisor("root", runtime=Runtime(observer=recorder or Recorder()))
    spec = ActorSpec(
        "counter",
        Counter,
        mailbox_capacity=capacity,
        admission_timeout=admission,
        backoff=Backoff(first=0.1, jitter=0),
    )
    ref = root.add(spec)
    async with root.running():
        yield ref


async def test_ask_returns_what_the_handler_returned() -> None:
    async with counter() as ref:
        assert await ref.ask(Add(2)) == 2
        assert await ref.ask(Add(3)) == 5


async def test_messages_of_one_sender_are_handled_in_the_order_sent() -> None:
    async with counter() as ref:
        for index in range(200):
            await ref.tell(Note(str(index)))
        assert await ref.ask(Words()) == tuple(map(str, range(200)))


async def test_a_refusal_reaches_the_asker_and_the_actor_continues() -> None:
    async with counter() as ref:
        await ref.ask(Add(1))
        with pytest.raises(Declined, match="no"):
            await ref.ask(Refuse())
        assert await ref.ask(Add(1)) == 2


async def test_a_refusal_in_an_exception_group_of_one_is_a_refusal() -> None:
    def grouped() -> BaseException:
        return ExceptionGroup("from a nursery", [Declined("inner")])

    async with counter() as ref:
        with pytest.raises(Declined, match="inner"):
            await ref.ask(Crash(error=grouped))
        assert await ref.ask(Add(1)) == 1


async def test_a_crash_fails_its_message_with_the_reason() -> None:
    async with counter() as ref:
        with pytest.raises(ActorCrashed, match="root/counter crashed") as caught:
            await ref.ask(Crash())
        assert isinstance(caught.value.__cause__, ValueError)


async def test_a_crash_with_two_errors_keeps_both() -> None:
    def two() -> BaseException:
        return ExceptionGroup("two", [ValueError("a"), KeyError("b")])

    async with counter() as ref:
        with pytest.raises(ActorCrashed) as caught:
            await ref.ask(Crash(error=two))
        cause = caught.value.__cause__
        assert isinstance(cause, ExceptionGroup)
        assert len(cause.exceptions) == 2


async def test_a_base_exception_other_than_cancellation_is_a_crash_of_one_actor() -> None:
    class Panic(BaseException):
        pass

    async with counter() as ref:
        with pytest.raises(ActorCrashed) as caught:
            await ref.ask(Crash(error=Panic))
        assert isinstance(caught.value.__cause__, Panic)
        assert await ref.ask(Add(1)) == 1


async def test_a_crash_keeps_waiting_messages_in_order_and_never_redelivers_its_own() -> None:
    log: list[str] = []
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    ref = root.add(ActorSpec("counter", lambda: Counter(log)))
    async with root.running():
        ref.tell_nowait(Note("before"))
        ref.tell_nowait(Crash())
        for word in "abc":
            ref.tell_nowait(Note(word))
        assert await ref.ask(Words()) == ("a", "b", "c")
    assert log == [
        "counter started", "before", "counter crashed",
        "counter started", "a", "b", "c", "counter drained",
    ]  # fmt: skip


async def test_a_message_whose_time_ran_out_in_the_mailbox_is_not_executed() -> None:
    async with counter() as ref, trio.open_nursery() as nursery:
        nursery.start_soon(ref.ask, Nap(5))
        await wait_all_tasks_blocked()
        with pytest.raises(NotExecuted, match="did not take Add within 1 s") as caught:
            await ref.ask(Add(1), timeout=1)
        assert type(caught.value) is NotExecuted
        assert await ref.ask(Add(0)) == 0


async def test_a_message_whose_time_ran_out_in_the_handler_has_an_unknown_outcome() -> None:
    async with counter() as ref:
        with pytest.raises(OutcomeUnknown, match="took Nap but did not reply within 1 s"):
            await ref.ask(Nap(5), timeout=1)
        assert await ref.ask(Add(1)) == 1, "the handler was not disturbed"


async def test_a_reply_in_the_tick_of_the_deadline_is_delivered_or_unknown() -> None:
    async with counter() as ref:
        for _ in range(20):
            try:
                assert await ref.ask(Nap(1), timeout=1) == "rested"
            except OutcomeUnknown:
                await ref.ask(Add(0))


async def test_a_cancelled_ask_withdraws_a_message_that_waits() -> None:
    async with counter(capacity=1) as ref, trio.open_nursery() as nursery:
        nursery.start_soon(ref.ask, Nap(5))
        await wait_all_tasks_blocked()
        with trio.move_on_after(1):
            await ref.ask(Add(1))
        assert ref.resolve(Add(0)).mailbox.depth == 0, "its place is free again"
        assert await ref.ask(Add(0)) == 0


async def test_a_cancelled_ask_leaves_a_received_message_to_the_actor() -> None:
    log: list[str] = []

    class Slow(Counter):
        async def handle(self, message: CounterMessage) -> Reply:
            await trio.sleep(3)
            self.log.append("finished")
            return await super().handle(message)

    root = Supervisor("root")
    ref = root.add(ActorSpec("slow", lambda: Slow(log)))
    async with root.running():
        with trio.move_on_after(1):
            await ref.ask(Add(1))
        assert "finished" not in log
        await trio.sleep(3)
        assert "finished" in log


async def test_ask_in_a_cancelled_scope_sends_nothing() -> None:
    async with counter() as ref:
        with trio.CancelScope() as scope:
            scope.cancel()
            await ref.ask(Add(1))
        assert scope.cancelled_caught
        assert await ref.ask(Add(0)) == 0


async def test_tell_in_a_cancelled_scope_sends_nothing() -> None:
    async with counter() as ref:
        with trio.CancelScope() as scope:
            scope.cancel()
            await ref.tell(Note("x"))
        assert await ref.ask(Words()) == ()


async def test_a_full_mailbox_refuses_after_the_admission_deadline() -> None:
    async with counter(capacity=1, admission=2) as ref, trio.open_nursery() as nursery:
        nursery.start_soon(ref.ask, Nap(10))
        await wait_all_tasks_blocked()
        await ref.tell(Note("waits"))
        begun = trio.current_time()
        with pytest.raises(MailboxFull, match="the mailbox of root/counter had no free slot"):
            await ref.ask(Add(1))
        assert trio.current_time() - begun == pytest.approx(2)
        with pytest.raises(MailboxFull):
            await ref.ask(Add(1), admission=0)
        with pytest.raises(MailboxFull):
            ref.tell_nowait(Note("no"))
        assert trio.current_time() - begun == pytest.approx(2)
        assert await ref.ask(Words(), admission=60) == ("waits",)


async def test_a_sender_waiting_for_space_is_not_overtaken() -> None:
    async with counter(capacity=1) as ref, trio.open_nursery() as nursery:
        nursery.start_soon(ref.ask, Nap(0.5))
        await wait_all_tasks_blocked()
        await ref.tell(Note("first"))
        nursery.start_soon(ref.tell, Note("second"))
        await wait_all_tasks_blocked()
        with pytest.raises(MailboxFull):
            ref.tell_nowait(Note("pushy"))
        await ref.tell(Note("third"))
        assert await ref.ask(Words()) == ("first", "second", "third")


async def test_a_stopped_actor_refuses_immediately() -> None:
    async with counter() as ref:
        pass
    begun = trio.current_time()
    with pytest.raises(ActorStopped, match="root/counter is stopped; the message was not executed"):
        await ref.ask(Add(1))
    with pytest.raises(ActorStopped):
        await ref.tell(Note("x"))
    with pytest.raises(ActorStopped):
        ref.tell_nowait(Note("x"))
    assert trio.current_time() == begun


async def test_an_actor_that_was_not_started_refuses_immediately() -> None:
    ref = Supervisor("root").add(ActorSpec("counter", Counter))
    with pytest.raises(ActorStopped, match="root/counter is not started"):
        await ref.ask(Add(1))


async def test_a_handler_that_returns_for_a_tell_crashes_with_a_clear_error() -> None:
    recorder = Recorder()
    async with counter(recorder=recorder) as ref:
        ref.tell_nowait(Add(1))  # type: ignore[arg-type]
        await wait_all_tasks_blocked()
        await ref.ask(Add(1))
    assert any("BadReply('Add was told, not asked" in line for line in recorder.lines)
    assert issubclass(BadReply, Exception)


async def test_a_refusal_of_a_tell_is_reported_not_dropped() -> None:
    recorder = Recorder()
    async with counter(recorder=recorder) as ref:
        await ref.tell(Refuse())
        await ref.ask(Add(1))
    assert "root/counter refused Refuse() unheard" in recorder.lines


@pytest.mark.parametrize("timeout", [-1.0, float("nan")])
async def test_an_invalid_timeout_is_refused(timeout: float) -> None:
    async with counter() as ref:
        with pytest.raises(ValueError, match=r"timeout|seconds|NaN"):
            await ref.ask(Add(1), timeout=timeout)
        assert await ref.ask(Add(0)) == 0


async def test_a_failed_nested_ask_that_escapes_is_a_crash_not_an_excuse() -> None:
    root = Supervisor("root", runtime=Runtime(observer=Recorder()))
    outer = root.add(ActorSpec("outer", Counter))
    stopped = Supervisor("other").add(ActorSpec("inner", Counter))
    async with root.running():
        with pytest.raises(ActorCrashed) as caught:
            await outer.ask(Relay(stopped, Add(1)))
        assert isinstance(caught.value.__cause__, NotExecuted)
        assert not isinstance(caught.value, NotExecuted)
