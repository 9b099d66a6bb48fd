"""Recording activity outside of the requests."""

import logging
from collections.abc import Mapping
from uuid import UUID

import pytest
import trio
from trio.testing import MockClock

from octavo.features.accounts.credentials import Activity, RecordUse
from octavo.features.accounts.sql.api_keys import record_use
from octavo.features.accounts.sql.sessions import record_activity
from octavo.store.transaction import Script
from tests.fakes.identity_fixture import START, IdentityFixture

LATER = int(START + 120) * 1000


async def active_at(identity: IdentityFixture) -> int:
    [[found]] = await identity.rows("SELECT active_at FROM sessions")
    return int(found)


async def test_activity_noted_is_written_down_without_being_waited_for(
    identity: IdentityFixture, autojump_clock: MockClock
) -> None:
    made = await identity.account()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(identity.activity.run)
        identity.activity.note(record_activity, made.session.session_id, LATER)
        await trio.sleep(1)
        assert await active_at(identity) == LATER
        nursery.cancel_scope.cancel(reason="the test is over")


async def test_activity_of_an_interval_is_one_write(
    identity: IdentityFixture, autojump_clock: MockClock
) -> None:
    await identity.account()
    writes = identity.store.writes
    async with trio.open_nursery() as nursery:
        nursery.start_soon(identity.activity.run)
        for number in range(50):
            identity.activity.note(record_activity, str(UUID(int=number)), LATER)
            identity.activity.note(record_use, str(UUID(int=number)), LATER)
            await trio.sleep(0.1)
        nursery.cancel_scope.cancel(reason="the test is over")
    assert identity.store.writes - writes == 1


async def test_activity_is_written_in_one_order(identity: IdentityFixture) -> None:
    written: list[str] = []

    def recorder(name: str) -> RecordUse:
        def record(times: Mapping[str, int]) -> Script[None]:
            written.append(name)
            return record_activity({})

        record.__module__ = name
        return record

    first, second = recorder("a"), recorder("b")
    for records in ((first, second), (second, first)):
        for record in records:
            identity.activity.note(record, "x", LATER)
        await identity.activity.flush()
    assert written == ["a", "b"] * 2


async def test_activity_written_late_moves_no_time_back(identity: IdentityFixture) -> None:
    made = await identity.account()
    identity.activity.note(record_activity, made.session.session_id, LATER)
    await identity.activity.flush()
    identity.activity.note(record_activity, made.session.session_id, LATER - 60_000)
    await identity.activity.flush()
    assert await active_at(identity) == LATER


async def test_anonymous_activity_writes_nothing(identity: IdentityFixture) -> None:
    writes = identity.store.writes
    await identity.activity.flush()
    assert identity.store.writes == writes


async def test_activity_that_cannot_be_stored_is_logged(
    identity: IdentityFixture, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    identity.store.away = True
    activity = Activity(identity.store)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(activity.run)
        for _ in range(3):
            activity.note(record_activity, "s", LATER)
            await trio.sleep(5)
        nursery.cancel_scope.cancel(reason="the test is over")
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 3


async def test_activity_noted_between_two_writes_is_bounded(identity: IdentityFixture) -> None:
    activity = Activity(identity.store, maximum=3)
    written: list[list[str]] = []

    def record(times: Mapping[str, int]) -> Script[None]:
        written.append(list(times))
        return record_activity({})

    def record_others(times: Mapping[str, int]) -> Script[None]:
        return record(times)

    for number in range(100):
        activity.note(record, str(number), LATER)
        activity.note(record_others, str(number), LATER)
    await activity.flush()
    assert written == [["0", "1", "2"]] * 2


async def test_credential_that_was_noted_stays_up_to_date_without_more_room(
    identity: IdentityFixture,
) -> None:
    written: list[Mapping[str, int]] = []

    def record(times: Mapping[str, int]) -> Script[None]:
        written.append(times)
        return record_activity({})

    activity = Activity(identity.store, maximum=1)
    activity.note(record, "a", 1)
    activity.note(record, "b", 2)
    activity.note(record, "a", 3)
    await activity.flush()
    assert written == [{"a": 3}]
