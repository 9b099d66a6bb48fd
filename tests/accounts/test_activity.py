"""Recording activity outside of the requests."""

import logging

import pytest
import trio
from trio.testing import MockClock

from octavo.accounts.activity import Activity
from octavo.model.accounts.api_key import KeyId
from octavo.model.accounts.session import SessionId
from tests.fakes.identity_fixture import START, IdentityFixture

LATER = int(START + 120) * 1000


async def active_at(home: IdentityFixture) -> int:
    [[found]] = await home.rows("SELECT active_at FROM sessions")
    return int(found)


async def test_activity_noted_is_written_down_without_being_waited_for(
    home: IdentityFixture, autojump_clock: MockClock
) -> None:
    made = await home.account()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(home.activity.run)
        home.activity.session_active(made.session.session_id, LATER)
        await trio.sleep(1)
        assert await active_at(home) == LATER
        nursery.cancel_scope.cancel(reason="the test is over")


async def test_activity_of_an_interval_is_one_write(
    home: IdentityFixture, autojump_clock: MockClock
) -> None:
    await home.account()
    writes = home.store.writes
    async with trio.open_nursery() as nursery:
        nursery.start_soon(home.activity.run)
        for number in range(50):
            home.activity.session_active(SessionId(str(number)), LATER)
            home.activity.key_used(KeyId(str(number)), LATER)
            await trio.sleep(0.1)
        nursery.cancel_scope.cancel(reason="the test is over")
    assert home.store.writes - writes == 1


async def test_activity_written_late_moves_no_time_back(home: IdentityFixture) -> None:
    made = await home.account()
    home.activity.session_active(made.session.session_id, LATER)
    await home.activity.flush()
    home.activity.session_active(made.session.session_id, LATER - 60_000)
    await home.activity.flush()
    assert await active_at(home) == LATER


async def test_anonymous_activity_writes_nothing(home: IdentityFixture) -> None:
    writes = home.store.writes
    await home.activity.flush()
    assert home.store.writes == writes


async def test_activity_that_cannot_be_stored_is_logged(
    home: IdentityFixture, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    home.store.away = True
    activity = Activity(home.store)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(activity.run)
        for _ in range(3):
            activity.session_active(SessionId("s"), LATER)
            await trio.sleep(5)
        nursery.cancel_scope.cancel(reason="the test is over")
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 3


async def test_activity_noted_between_two_writes_is_bounded(home: IdentityFixture) -> None:
    activity = Activity(home.store, maximum=3)
    for number in range(100):
        activity.session_active(SessionId(str(number)), LATER)
        activity.key_used(KeyId(str(number)), LATER)
    assert (len(activity._sessions), len(activity._keys)) == (3, 3)
