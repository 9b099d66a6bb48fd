"""Counting what is read in a month: limits, batches, months, crashes, and several processes."""

import logging

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from octavo.features.usage import sql as usage
from octavo.features.usage.meter import INTERVAL_SECONDS, UsageMeter
from octavo.model.usage import (
    NOTHING,
    Amount,
    DownloadLimitReached,
    DownloadLimits,
    InstallationLimits,
    WriteLimitReached,
    month_end,
)
from octavo.store import StoreUnavailable
from tests.fakes.usage_rig import ANN, BEN, NOVEMBER, UsageRig

TEN = Amount(10, 1)


async def refused_by(meter: UsageMeter, amount: Amount = TEN) -> str | None:
    """The limit that refuses a read; None if none does."""
    try:
        await meter.count(ANN, amount)
    except DownloadLimitReached as refusal:
        return refusal.limit
    return None


async def test_reads_are_counted_for_the_account_and_the_installation(rig: UsageRig) -> None:
    await rig.account(BEN)
    meter = rig.meter()
    await meter.count(ANN, TEN)
    await meter.count(ANN, TEN)
    await meter.count(BEN, Amount(5, 0))
    await meter.flush()
    assert await rig.stored() == Amount(20, 2)
    assert await rig.stored(BEN) == Amount(5, 0)
    assert await rig.stored_installation() == (Amount(25, 2), 0)


async def test_reads_of_a_known_account_ask_the_database_for_nothing(rig: UsageRig) -> None:
    await rig.account(size=1000)
    meter = rig.meter()
    await meter.count(ANN, TEN)
    reads, writes = rig.store.reads, rig.store.writes
    for _ in range(50):
        await meter.count(ANN, TEN)
    assert (rig.store.reads, rig.store.writes) == (reads, writes)


@pytest.mark.parametrize(
    ("limits", "allowed", "limit"),
    [
        ({"size": 35}, 3, "account-download-bytes"),
        ({"size": 30}, 3, "account-download-bytes"),
        ({"objects": 2}, 2, "account-download-objects"),
        ({"size": 0}, 0, "account-download-bytes"),
    ],
)
async def test_account_reads_up_to_its_limit(
    rig: UsageRig, limits: dict[str, int], allowed: int, limit: str
) -> None:
    await rig.account(ANN, limits.get("size"), limits.get("objects"))
    meter = rig.meter()
    found = [await refused_by(meter) for _ in range(allowed + 2)]
    assert found == [None] * allowed + [limit] * 2
    await meter.flush()
    assert await rig.stored() == Amount(10 * allowed, allowed)


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        (DownloadLimits(size=15), "installation-download-bytes"),
        (DownloadLimits(objects=1), "installation-download-objects"),
    ],
)
async def test_installation_reads_up_to_its_limit(
    rig: UsageRig, limits: DownloadLimits, limit: str
) -> None:
    await rig.account(BEN)
    meter = rig.meter(limits=InstallationLimits(limits))
    await meter.count(BEN, TEN)
    assert await refused_by(meter) == limit


async def test_refusal_names_the_seconds_until_the_next_month(rig: UsageRig) -> None:
    await rig.account(size=0)
    with pytest.raises(DownloadLimitReached) as caught:
        await rig.meter().check(ANN)
    rig.sources.time += caught.value.retry_after - 1
    assert rig.month == NOVEMBER
    rig.sources.time += 1
    assert rig.month > NOVEMBER


async def test_limit_of_the_month_before_a_restart_still_counts(rig: UsageRig) -> None:
    await rig.account(size=20)
    first = rig.meter(1)
    await first.count(ANN, TEN)
    await first.flush()
    second = rig.meter(2)
    assert [await refused_by(second), await refused_by(second)] == [None, "account-download-bytes"]


async def test_new_month_begins_with_nothing_read(rig: UsageRig) -> None:
    await rig.account(size=10)
    meter = rig.meter(limits=InstallationLimits(DownloadLimits(size=10), writes=1))
    await meter.count(ANN, TEN)
    await meter.count_writes()
    assert await refused_by(meter) == "account-download-bytes"
    rig.sources.time = month_end(rig.sources.time)
    await meter.count(ANN, Amount(4, 1))
    await meter.count_writes()
    await meter.flush()
    assert await rig.stored(month=NOVEMBER) == TEN
    assert await rig.stored_installation(NOVEMBER) == (TEN, 1)
    assert await rig.stored() == Amount(4, 1)
    assert await rig.stored_installation() == (Amount(4, 1), 1)


async def test_objects_that_were_written_when_a_month_ends_are_counted_in_it(
    rig: UsageRig,
) -> None:
    meter = rig.meter(limits=InstallationLimits(writes=2))
    await meter.count_writes(2)
    rig.sources.time = month_end(rig.sources.time)
    await meter.count_writes()
    await meter.flush()
    assert await rig.stored_installation(NOVEMBER) == (NOTHING, 2)
    assert await rig.stored_installation() == (NOTHING, 1)


async def test_month_that_ends_while_a_batch_is_written_keeps_its_counts(rig: UsageRig) -> None:
    meter = rig.meter()
    await meter.count(ANN, TEN)

    async def end_the_month() -> None:
        rig.sources.time = month_end(rig.sources.time)
        await meter.count(ANN, Amount(4, 1))

    rig.store.before_write = end_the_month
    await meter.flush()
    assert await rig.stored(month=NOVEMBER) == TEN
    assert await rig.stored() == Amount(4, 1)


async def test_clock_that_is_set_back_returns_to_no_month(rig: UsageRig) -> None:
    rig.sources.time = month_end(rig.sources.time)
    december = rig.month
    meter = rig.meter()
    rig.sources.time -= 10
    await meter.count(ANN, TEN)
    await meter.flush()
    assert await rig.stored(month=december) == TEN


async def test_counts_are_written_some_seconds_later_in_one_batch(
    rig: UsageRig, autojump_clock: MockClock
) -> None:
    meter = rig.meter()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(meter.run)
        for _ in range(20):
            await meter.count(ANN, TEN)
            await trio.sleep(INTERVAL_SECONDS / 40)
        assert rig.store.writes == 0
        await trio.sleep(INTERVAL_SECONDS)
        assert rig.store.writes == 1
        assert await rig.stored() == Amount(200, 20)
        await trio.sleep(100)
        assert rig.store.writes == 1
        nursery.cancel_scope.cancel(reason="the test is over")


async def test_crash_loses_the_counts_of_some_seconds_only(
    rig: UsageRig, autojump_clock: MockClock
) -> None:
    meter = rig.meter()
    counted: list[float] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(meter.run)
        for _ in range(500):
            counted.append(trio.current_time())
            await meter.count(ANN, TEN)
            await trio.sleep(0.07)
        crashed = trio.current_time()
        nursery.cancel_scope.cancel(reason="the process is gone")
    lost = len(counted) - (await rig.stored()).objects
    assert 0 < lost <= sum(each >= crashed - INTERVAL_SECONDS for each in counted)


async def test_database_that_is_away_loses_no_count(
    rig: UsageRig, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    await rig.account(size=40)
    meter = rig.meter()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(meter.run)
        await meter.count(ANN, TEN)
        rig.store.away = True
        for _ in range(2):
            await meter.count(ANN, TEN)
            await trio.sleep(INTERVAL_SECONDS * 2)
        assert "the usage was not recorded yet" in caplog.text
        rig.store.away = False
        await trio.sleep(INTERVAL_SECONDS * 2)
        assert await rig.stored() == Amount(30, 3)
        assert [await refused_by(meter) for _ in range(2)] == [None, "account-download-bytes"]
        nursery.cancel_scope.cancel(reason="the test is over")


@pytest.mark.parametrize("committed", [True, False])
async def test_batch_of_unknown_outcome_counts_once(rig: UsageRig, committed: bool) -> None:
    meter = rig.meter()
    await meter.count(ANN, TEN)
    rig.store.commits_anyway = committed
    rig.store.fail = StoreUnavailable("the connection broke", outcome_unknown=True)
    await meter.flush()
    # The process is remembered from the time of its last batch on.
    written_before = int(rig.sources.time * 1000) - 1000
    await rig.store.inner.write(usage.expire(NOVEMBER, written_before))
    await meter.count(ANN, TEN)
    await meter.flush()
    assert await rig.stored() == Amount(20, 2)
    assert await rig.stored_installation() == (Amount(20, 2), 0)


async def test_flush_that_was_cancelled_is_completed_by_the_next(rig: UsageRig) -> None:
    meter = rig.meter()
    await meter.count(ANN, TEN)
    with trio.CancelScope() as scope:

        async def cancel() -> None:
            scope.cancel(reason="the service stops")
            await trio.lowlevel.checkpoint()

        rig.store.before_write = cancel
        await meter.flush()
    assert scope.cancelled_caught
    await meter.flush()
    assert await rig.stored() == TEN


async def test_batch_on_its_way_counts_against_the_limit(rig: UsageRig) -> None:
    await rig.account(size=25)
    meter = rig.meter()
    await meter.count(ANN, TEN)
    found: list[str | None] = []

    async def read_meanwhile() -> None:
        found.extend([await refused_by(meter), await refused_by(meter)])

    rig.store.before_write = read_meanwhile
    await meter.flush()
    assert found == [None, "account-download-bytes"]
    assert await refused_by(meter) == "account-download-bytes"


async def test_processes_learn_some_seconds_later_what_the_others_have_read(
    rig: UsageRig, autojump_clock: MockClock
) -> None:
    await rig.account(size=100)
    one, two = (rig.meter(number, shared=True) for number in (1, 2))
    read = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run)
        nursery.start_soon(two.run)
        for _ in range(200):
            for meter in (one, two):
                read += await refused_by(meter, Amount(1, 1)) is None
            await trio.sleep(0.5)
        nursery.cancel_scope.cancel(reason="the test is over")
    # What both read in the interval of a batch, and until its totals are read.
    most = 2 * 3 * INTERVAL_SECONDS / 0.5
    assert 100 <= read <= 100 + most
    await one.flush()
    await two.flush()
    assert (await rig.stored()).size == read


async def test_changed_limit_applies_to_the_next_read(rig: UsageRig) -> None:
    meter = rig.meter()
    await meter.count(ANN, TEN)
    await rig.account(size=10)
    assert await refused_by(meter) is None
    meter.forget(ANN)
    assert await refused_by(meter) == "account-download-bytes"


@pytest.mark.parametrize("reads", [True, False])
async def test_limit_changed_while_totals_are_read_applies_to_the_next_read(
    rig: UsageRig, reads: bool
) -> None:
    meter = rig.meter()
    if not reads:
        await meter.count(ANN, TEN)
    rig.store.release_reads = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(meter.count, ANN, TEN)
        await trio.testing.wait_all_tasks_blocked()
        await rig.account(size=5)
        meter.forget(ANN)
        rig.store.release_reads.set()
        if reads:
            nursery.cancel_scope.cancel(reason="the read is not wanted any more")
    assert await refused_by(meter) == "account-download-bytes"


async def test_unknown_account_is_counted_nowhere(rig: UsageRig) -> None:
    meter = rig.meter()
    await meter.count(BEN, TEN)
    await meter.flush()
    await meter.count(BEN, TEN)
    await rig.account(BEN)
    assert await rig.stored(BEN) == NOTHING
    assert await rig.stored_installation() == (TEN, 0)


async def test_objects_are_written_up_to_the_limit(rig: UsageRig) -> None:
    limits = InstallationLimits(writes=3)
    first = rig.meter(1, limits)
    await first.count_writes()
    await first.count_writes()
    await first.flush()
    second = rig.meter(2, limits)
    await second.count_writes()
    with pytest.raises(WriteLimitReached) as caught:
        await second.count_writes()
    assert caught.value.limit == "installation-write-objects"
    await second.flush()
    assert await rig.stored_installation() == (NOTHING, 3)


async def test_writes_without_a_limit_ask_the_database_for_nothing(rig: UsageRig) -> None:
    meter = rig.meter()
    await meter.count_writes()
    assert (rig.store.reads, rig.store.writes) == (0, 0)


async def test_transfer_counts_what_was_sent(rig: UsageRig) -> None:
    await rig.account(size=100)
    meter = rig.meter()
    transfer = await meter.hold(ANN, Amount(80, 1))
    assert await refused_by(meter, Amount(30, 1)) == "account-download-bytes"
    transfer.sent(Amount(20, 1))
    transfer.sent(Amount(20, 0))
    assert await refused_by(meter, Amount(30, 1)) == "account-download-bytes"
    transfer.close()
    transfer.close()
    assert await refused_by(meter, Amount(60, 1)) is None
    await meter.flush()
    assert await rig.stored() == Amount(100, 2)


async def test_transfer_that_was_not_begun_counts_nothing(rig: UsageRig) -> None:
    await rig.account(size=80, objects=1)
    meter = rig.meter()
    (await meter.hold(ANN, Amount(80, 1))).close()
    await meter.flush()
    assert await rig.stored() == NOTHING
    assert await refused_by(meter, Amount(80, 1)) is None


@pytest.mark.parametrize(("limits", "allowed"), [({"size": 100}, 3), ({"objects": 4}, 4)])
async def test_concurrent_transfers_do_not_exceed_the_limit(
    rig: UsageRig, limits: dict[str, int], allowed: int
) -> None:
    await rig.account(ANN, limits.get("size"), limits.get("objects"))
    meter = rig.meter()
    held = 0
    for _ in range(20):
        try:
            await meter.hold(ANN, Amount(30, 1))
            held += 1
        except DownloadLimitReached:
            break
    assert held == allowed


async def test_dropped_account_is_read_again(rig: UsageRig) -> None:
    await rig.account(size=15)
    await rig.account(BEN)
    meter = UsageMeter(
        rig.store, now=rig.sources.now, writer_id=BEN.replace("a002", "c000"), maximum=1
    )
    await meter.count(ANN, TEN)
    await meter.flush()
    await meter.count(BEN, TEN)
    await meter.flush()
    reads = rig.store.reads
    assert await refused_by(meter) == "account-download-bytes"
    assert rig.store.reads == reads + 1


async def test_account_is_not_dropped_while_its_batch_is_written(rig: UsageRig) -> None:
    await rig.account(size=15)
    await rig.account(BEN)
    meter = UsageMeter(
        rig.store, now=rig.sources.now, writer_id=BEN.replace("a002", "c000"), maximum=1
    )
    await meter.count(ANN, TEN)
    found: list[str | None] = []

    async def read_meanwhile() -> None:
        await meter.count(BEN, TEN)
        found.append(await refused_by(meter))

    rig.store.before_write = read_meanwhile
    await meter.flush()
    assert found == ["account-download-bytes"]


async def test_limits_of_the_account_or_the_installation_are_limits(rig: UsageRig) -> None:
    assert not await rig.meter().limited(ANN)
    limits = InstallationLimits(DownloadLimits(objects=1))
    assert await rig.meter(limits=limits).limited(ANN)
    await rig.account(objects=1)
    assert await rig.meter().limited(ANN)


async def test_usage_of_the_installation_has_what_is_not_stored_yet(rig: UsageRig) -> None:
    limits = InstallationLimits(DownloadLimits(1000, 10), 5)
    first = rig.meter(limits=limits)
    await first.count(ANN, Amount(30, 2))
    await first.count_writes(3)
    used = await first.installation_usage()
    assert used == (rig.month, Amount(30, 2), 3, limits)
    await first.flush()
    # After a restart.
    assert await rig.meter(limits=limits).installation_usage() == used
