"""The guarantees of the core under thousands of schedules, and proof that bugs are found.

The variants that are broken on purpose leave out what the design holds to be necessary. If one of
them is not caught, the storms show nothing.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

import pytest
from greenroom import ActorSpec, ref, supervision
from greenroom.cell import Cell
from greenroom.mailbox import Envelope, EnvelopeState, Mailbox
from greenroom.testing import Deadlock, ScheduleFailure, explore
from greenroom.testing.plugin import Explore

from .storms import (
    AT_ONCE,
    STORMS,
    Do,
    Doer,
    Quiet,
    activation_storm,
    ask_storm,
    children_storm,
    drain_storm,
    rest_for_one_storm,
    tree,
)

SCHEDULES = int(os.environ.get("GREENROOM_STORM_SCHEDULES", "600"))


@pytest.mark.parametrize("storm", STORMS.values(), ids=STORMS)
def test_the_guarantees_hold_under_many_schedules(
    storm: Callable[[], Awaitable[None]], explore: Explore
) -> None:
    exploration = explore(storm, schedules=SCHEDULES)
    assert exploration.interleavings > exploration.schedules // 2 or exploration.schedules == 1


def test_children_come_and_go_under_any_strategy(explore: Explore) -> None:
    explore(children_storm, schedules=SCHEDULES // 2)


def caught(storm: Callable[[], Awaitable[None]]) -> ScheduleFailure:
    with pytest.raises(ScheduleFailure) as failure:
        explore(storm, schedules=SCHEDULES)
    with pytest.raises(ScheduleFailure) as again:
        explore(storm, replay=failure.value.token)
    assert type(again.value.error) is type(failure.value.error), "the token replays the failure"
    return failure.value


def test_a_reply_slot_without_its_states_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slot(Envelope[object]):
        def abandon(self) -> bool:
            return True  # the asker leaves, and the message stays

    monkeypatch.setattr(ref, "Envelope", Slot)
    assert "had happened" in str(caught(ask_storm).error)


def test_an_asker_that_trusts_its_deadline_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reply and deadline can fall in one tick; what was done must not count as not executed."""

    class Slot(Envelope[object]):
        @property
        def state(self) -> EnvelopeState:
            return EnvelopeState.ABANDONED

    monkeypatch.setattr(ref, "Envelope", Slot)
    assert "had happened" in str(caught(ask_storm).error)


def test_passivation_that_drops_the_mailbox_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mailbox, "in_use", False)
    assert isinstance(caught(activation_storm).error, Deadlock)


def test_a_crash_that_forgets_the_waiting_messages_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Mailbox, "unreceive", lambda self, envelopes: None)
    caught(reordering)


def test_messages_put_back_in_the_wrong_order_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Mailbox.unreceive
    monkeypatch.setattr(Mailbox, "unreceive", lambda self, e: right(self, list(reversed(e))))
    caught(reordering)


async def reordering() -> None:
    """Several messages of one asker after one that crashes."""
    done: list[int] = []
    root = tree()
    doer = root.add(ActorSpec("doer", lambda: Doer(done), backoff=AT_ONCE))
    async with root.running():
        for number in range(4):
            doer.tell_nowait(Quiet(number, crash=number == 0))
        await doer.ask(Do(4))
    assert done == [1, 2, 3, 4]


def test_a_shutdown_that_does_not_drain_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cell, "drain", lambda self: self.retire("drained"))
    caught(drain_storm)


def test_a_restart_that_forgets_the_siblings_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "affected", lambda strategy, children, ended, down: [ended])
    caught(rest_for_one_storm)


def test_the_correct_core_passes_the_reordering_scenario() -> None:
    explore(reordering, schedules=SCHEDULES // 10)
