"""The mailbox by itself."""

from __future__ import annotations

import pytest
import trio
from greenroom import ActorStopped, Envelope, EnvelopeState, MailboxFull
from greenroom.mailbox import Mailbox
from trio.testing import wait_all_tasks_blocked

pytestmark = pytest.mark.explore(schedules=20, early_time=False)


def told(message: object) -> Envelope[object]:
    return Envelope(message, is_ask=False)


def contents(batch: list[Envelope[object]]) -> list[object]:
    return [envelope.message for envelope in batch]


def stopped() -> ActorStopped:
    return ActorStopped("closed for the test")


async def test_receive_returns_all_waiting_messages_up_to_the_limit_in_order() -> None:
    mailbox = Mailbox("box", 10)
    for number in range(5):
        mailbox.put_nowait(told(number))
    assert contents(await mailbox.receive(3)) == [0, 1, 2]
    assert contents(await mailbox.receive(3)) == [3, 4]


async def test_a_parked_receiver_gets_everything_sent_before_it_runs() -> None:
    mailbox = Mailbox("box", 10)
    got: list[object] = []

    async def receive() -> None:
        got.extend(contents(await mailbox.receive(10)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receive)
        await wait_all_tasks_blocked()
        for number in range(4):
            mailbox.put_nowait(told(number))
    assert got == [0, 1, 2, 3]


async def test_a_cancelled_receive_takes_nothing() -> None:
    mailbox = Mailbox("box", 10)
    mailbox.put_nowait(told("kept"))
    with trio.CancelScope() as scope:
        scope.cancel()
        await mailbox.receive(10)
    assert mailbox.depth == 1
    await mailbox.receive(10)
    with trio.move_on_after(1):
        await mailbox.receive(10)
    mailbox.put_nowait(told("later"))
    assert contents(await mailbox.receive(10)) == ["later"]


async def test_an_interrupt_ends_a_wait_once() -> None:
    mailbox = Mailbox("box", 10)
    mailbox.interrupt()
    assert await mailbox.receive(10) == []
    with trio.move_on_after(1) as scope:
        await mailbox.receive(10)
    assert scope.cancelled_caught


async def test_withdrawing_a_message_lets_the_next_sender_in() -> None:
    mailbox = Mailbox("box", 1)
    first, second = told(1), told(2)
    mailbox.put_nowait(first)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.put, second, 60)
        await wait_all_tasks_blocked()
        assert first.abandon()
    assert contents(await mailbox.receive(10)) == [2]
    assert not first.take()


@pytest.mark.parametrize("timeout", [1, 0])
async def test_a_sender_that_gives_up_leaves_no_trace(timeout: float) -> None:
    mailbox = Mailbox("box", 1)
    mailbox.put_nowait(told(1))
    late = told(2)
    with pytest.raises(MailboxFull):
        await mailbox.put(late, timeout)
    assert late.state is EnvelopeState.ABANDONED
    assert mailbox.statistics().senders_waiting == 0
    assert contents(await mailbox.receive(10)) == [1]
    assert mailbox.depth == 0


async def test_closing_refuses_senders_and_keeps_waiting_messages() -> None:
    mailbox = Mailbox("box", 1)
    mailbox.put_nowait(told(1))
    errors: list[ActorStopped] = []

    async def send() -> None:
        with pytest.raises(ActorStopped) as caught:
            await mailbox.put(told(2), 60)
        errors.append(caught.value)

    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(send)
        await wait_all_tasks_blocked()
        mailbox.close(stopped)
    assert len({id(error) for error in errors}) == 2, "each sender has an exception of its own"
    with pytest.raises(ActorStopped):
        mailbox.put_nowait(told(3))
    assert contents(await mailbox.receive(10)) == [1]


async def test_messages_put_back_come_first_again() -> None:
    mailbox = Mailbox("box", 10)
    for number in range(4):
        mailbox.put_nowait(told(number))
    batch = await mailbox.receive(3)
    batch[1].abandon()
    mailbox.unreceive(batch)
    assert contents(await mailbox.receive(10)) == [0, 2, 3]


async def test_statistics_report_depth_age_and_peak() -> None:
    mailbox = Mailbox("box", 3)
    assert mailbox.statistics().oldest_age == 0.0
    mailbox.put_nowait(told(1))
    await trio.sleep(2)
    mailbox.put_nowait(told(2))
    await trio.sleep(1)
    statistics = mailbox.statistics()
    assert (statistics.depth, statistics.capacity, statistics.peak) == (2, 3, 2)
    assert statistics.oldest_age == pytest.approx(3)
    assert not statistics.closed
    await mailbox.receive(10)
    assert mailbox.statistics().peak == 2


@pytest.mark.parametrize("capacity", [0, -1, 1.5, True])
async def test_a_capacity_that_is_no_positive_number_is_refused(capacity: int) -> None:
    with pytest.raises(ValueError, match="mailbox capacity must be an integer of at least 1"):
        Mailbox("box", capacity)


class PutsToSleep:
    """Interrupts the receiver, as a directory does when it passivates an idle actor."""

    mailbox: Mailbox

    def parked(self) -> None:
        self.mailbox.interrupt()

    def woken(self) -> None:
        pass

    def emptied(self) -> None:
        pass


@pytest.mark.explore(schedules=20, early_time=False)
async def test_receiver_interrupted_by_its_observer_and_cancelled_is_cancelled() -> None:
    observer = PutsToSleep()
    observer.mailbox = mailbox = Mailbox("box", 10, observer)
    with trio.CancelScope() as scope:
        scope.cancel()
        await mailbox.receive(10)
    assert scope.cancelled_caught


@pytest.mark.explore(schedules=20, early_time=False)
async def test_receiver_is_notified_of_the_last_withdrawal_after_an_interrupt() -> None:
    mailbox = Mailbox("box", 10)
    kept, withdrawn = (Envelope(name, is_ask=False) for name in "ab")
    mailbox.put_nowait(kept)
    mailbox.put_nowait(withdrawn)
    mailbox.interrupt()
    assert await mailbox.receive(1) == [kept]
    # A receiver that stops only with an empty mailbox checks now: it is not empty.
    assert mailbox.depth == 1
    returned: list[int] = []

    async def withdraw() -> None:
        withdrawn.abandon()

    async def receive() -> None:
        # It runs during the receiver's checkpoint, or after it.
        nursery.start_soon(withdraw)
        returned.append(len(await mailbox.receive(1)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receive)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert len(returned) == 1
