"""The rules of monthly limits."""

from calendar import monthrange
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.usage import (
    NOTHING,
    UNLIMITED,
    USAGE_LIMITS,
    Amount,
    DownloadLimitReached,
    DownloadLimits,
    Month,
    UsageLimit,
    exceeded,
    exceeds,
    month_before,
    month_end,
    month_of,
    seconds_left,
)

times = st.floats(0, 4e9)
sizes = st.integers(0, 20)
limits = st.none() | sizes
amounts = st.builds(Amount, sizes, sizes)
download_limits = st.builds(DownloadLimits, limits, limits)


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_month_is_that_of_utc() -> None:
    assert month_of(at("2026-11-30T23:59:59.999Z")) == "2026-11"
    assert month_of(at("2026-12-01T00:00:00Z")) == "2026-12"
    assert month_of(at("2026-12-01T00:30:00+01:00")) == "2026-11"


def test_year_ends_with_december() -> None:
    assert month_end(at("2026-12-31T12:00:00Z")) == at("2027-01-01T00:00:00Z")
    assert month_before(Month("2027-01")) == "2026-12"


@given(times)
def test_month_ends_when_the_next_one_begins(now: float) -> None:
    end = month_end(now)
    month = month_of(now)
    assert now < end
    assert month_of(end) > month
    assert month_before(month_of(end)) == month
    assert month_of(end - 1) == month
    started = datetime.fromtimestamp(now, UTC)
    assert end - now <= monthrange(started.year, started.month)[1] * 86_400


@given(times)
def test_request_repeated_after_the_seconds_left_is_in_another_month(now: float) -> None:
    left = seconds_left(now)
    assert left >= 1
    assert len(str(left)) <= 16
    assert month_of(now + left) > month_of(now)


@given(sizes, sizes, sizes)
def test_what_is_allowed_never_adds_up_to_more_than_the_limit(
    used: int, more: int, limit: int
) -> None:
    if not exceeds(used, more, limit):
        assert used + more <= limit


@given(sizes, sizes)
def test_limit_that_is_used_up_refuses_a_read_of_nothing(used: int, over: int) -> None:
    assert exceeds(used + over, 0, used)
    assert not exceeds(used, 0, used + over + 1)


@given(sizes, sizes)
def test_nothing_exceeds_a_limit_that_is_not_there(used: int, more: int) -> None:
    assert not exceeds(used, more, None)


@given(amounts, amounts, amounts)
def test_unlimited_account_of_an_unlimited_installation_reads_anything(
    account: Amount, installation: Amount, more: Amount
) -> None:
    assert exceeded(account, UNLIMITED, installation, UNLIMITED, more) is None


@given(amounts, download_limits, amounts, download_limits, amounts)
def test_limit_that_refuses_is_the_first_one_exceeded(
    account: Amount,
    own: DownloadLimits,
    installation: Amount,
    whole: DownloadLimits,
    more: Amount,
) -> None:
    found = exceeded(account, own, installation, whole, more)
    each = (
        exceeds(account.size, more.size, own.size),
        exceeds(account.objects, more.objects, own.objects),
        exceeds(installation.size, more.size, whole.size),
        exceeds(installation.objects, more.objects, whole.objects),
    )
    first = next((name for name, is_one in zip(USAGE_LIMITS, each, strict=False) if is_one), None)
    assert found == first


@given(amounts, amounts)
def test_sum_and_difference_of_amounts_undo_each_other(one: Amount, other: Amount) -> None:
    assert one.plus(other).minus(other) == one
    assert one.minus(one.plus(other)) == NOTHING


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("account-download-bytes", "This account has read as many bytes as it may in this month"),
        (
            "installation-download-objects",
            "The accounts of this installation have together read as many files as they may",
        ),
    ],
)
def test_refusal_says_whose_limit_is_reached(limit: UsageLimit, said: str) -> None:
    assert DownloadLimitReached(limit, 1).detail.startswith(said)
