"""Usage and limits on the pages of an account."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import AccountId

from octavo.features.usage.sql import InstallationAmount, UsageBatch, add
from octavo.http.pages.usage import UsedShare, advised, first_day, next_month
from octavo.model.usage import Amount, DownloadLimits, InstallationLimits, InstallationUsage, Month
from tests.fakes.page_reader import Installation, PageReader

JANUARY = Month("2027-01")
"""The month of the clock of the tests."""
sizes = st.integers(0, 2**53 - 1)


@given(sizes, sizes)
def test_share_is_full_exactly_when_nothing_is_left(used: int, limit: int) -> None:
    share = UsedShare("storage", used, limit)
    assert 0 <= share.percent <= 100
    assert (share.state == "full") == (used >= limit)
    assert (share.state == "") == (share.percent < 80)


@given(sizes)
def test_share_of_no_limit_is_nothing(used: int) -> None:
    share = UsedShare("storage", used, None)
    assert (share.percent, share.state) == (0, "")


@pytest.mark.parametrize(
    ("used", "percent", "state"),
    [(0, 0, ""), (799, 79, ""), (800, 80, "near"), (999, 99, "near"), (1000, 100, "full")],
)
def test_limit_is_near_from_four_fifths_on(
    used: int, percent: int, state: Literal["", "near", "full"]
) -> None:
    share = UsedShare("download_bytes", used, 1000)
    assert (share.percent, share.state) == (percent, state)


@pytest.mark.parametrize(
    ("month", "following"),
    [("2026-11", "2026-12-01T00:00:00+00:00"), ("2026-12", "2027-01-01T00:00:00+00:00")],
)
def test_downloads_begin_again_with_the_next_month(month: str, following: str) -> None:
    assert next_month(month) == following
    assert first_day(month) == f"{month}-01T00:00:00+00:00"


def test_person_is_advised_of_the_downloads_that_are_used_most() -> None:
    storage = UsedShare("storage", 9, 10)
    size, objects = UsedShare("download_bytes", 85, 100), UsedShare("download_objects", 5, 5)
    far = UsedShare("download_objects", 1, 5)
    assert list(advised([storage, size, objects])) == [storage, objects]
    assert list(advised([storage, size, far])) == [storage, size]
    assert list(advised([UsedShare("storage", 9, None), far, far])) == []


async def used(house: Installation, person: PageReader, size: int, objects: int) -> None:
    """Have everybody read something this month."""
    identity = house.users.identity
    rows = await identity.rows("SELECT id FROM accounts")
    amount = Amount(size, objects)
    accounts = {(AccountId(row[0]), JANUARY): amount for row in rows}
    batch = UsageBatch(identity.sources.new_id(), 1, accounts, {JANUARY: InstallationAmount()})
    await identity.store.write(add(batch, JANUARY, 0))
    await identity.execute(
        "UPDATE accounts SET controls_download_bytes = 1000000, controls_download_objects = 5000,"
        " storage_limit = 100"
    )


def notes(page: str) -> int:
    return page.count('role="note"')


async def test_account_without_limits_shows_what_it_uses(
    house: Installation, ann: PageReader
) -> None:
    await ann.open("/account")
    assert "Downloads this month" in ann.text
    assert "<meter" not in ann.text
    assert notes(ann.text) == 0


async def test_account_far_from_its_limits_is_not_advised(
    house: Installation, ann: PageReader
) -> None:
    await used(house, ann, 500_000, 1234)
    await ann.open("/account")
    assert "500 KB of 1 MB" in ann.text
    assert "1,234 of 5,000" in ann.text
    assert ann.text.count("<meter") == 3
    assert notes(ann.text) == 0


async def test_account_near_a_limit_is_told_when_it_ends(
    house: Installation, ann: PageReader
) -> None:
    await used(house, ann, 850_000, 1)
    await ann.open("/account")
    assert notes(ann.text) == 1
    assert "You have used 85 % of the bytes that you may read this month." in ann.text
    assert "The count begins again on <time" in ann.text
    assert ">1 February</time>" in ann.text
    assert 'datetime="2027-02-01T00:00:00+00:00"' in ann.text


async def test_account_near_the_limit_of_files_is_told_so(
    house: Installation, ann: PageReader
) -> None:
    await used(house, ann, 0, 4800)
    await ann.open("/account")
    assert "You have used 96 % of the files that you may read this month." in ann.text


async def test_account_at_a_limit_is_told_what_still_works(
    house: Installation, ann: PageReader
) -> None:
    await used(house, ann, 2_000_000, 1)
    await ann.open("/account")
    assert "You have read as much as you may this month." in ann.text
    assert "and write meanwhile" in ann.text


async def test_full_storage_is_explained(house: Installation, ann: PageReader) -> None:
    await used(house, ann, 0, 0)
    await ann.open("/workspaces")
    await ann.submit("Create the workspace", name="Full")
    await house.users.identity.execute("UPDATE workspaces SET size = 85")
    await ann.open("/account")
    assert "You use 85 % of your storage." in ann.text
    await house.users.identity.execute("UPDATE workspaces SET size = 101")
    await ann.open("/account")
    assert "Your storage is full" in ann.text
    assert "everything can be deleted" in ann.text


def facts_below(heading: str, page: str) -> str:
    """The list of facts after a heading."""
    return page.partition(f">{heading}</h2>")[2].partition("</dl>")[0]


async def test_administrator_sees_what_the_installation_uses(
    house: Installation, ann: PageReader
) -> None:
    limits = InstallationLimits(DownloadLimits(1_000_000, None), 200)
    house.used = InstallationUsage(JANUARY, Amount(850_000, 1234), 200, limits)
    await ann.open("/administration/installation")
    shown = facts_below("Usage", ann.text)
    assert "850 KB of 1 MB" in shown
    assert "<dd>1,234</dd>" in shown
    assert "200 of 200" in shown
    assert shown.count("<meter") == 2
    assert '<meter class="full"' in shown
    assert ">January 2027</time>" in ann.text


async def test_usage_that_cant_be_read_leaves_the_pages_as_they_are(
    house: Installation, ann: PageReader
) -> None:
    house.used = None
    await ann.open("/administration/installation")
    assert (ann.status, "This can't be read now." in ann.text) == (200, True)
    await ann.open("/account")
    assert (ann.status, notes(ann.text)) == (200, 0)


@pytest.mark.parametrize(
    ("downloads", "writes", "expected"),
    [(Amount(99, 9), 0, 0), (Amount(100, 0), 0, 1), (Amount(0, 10), 0, 1), (Amount(), 5, 0)],
)
async def test_account_shows_that_the_installation_has_reached_its_limit(
    house: Installation, ann: PageReader, downloads: Amount, writes: int, expected: int
) -> None:
    limits = InstallationLimits(DownloadLimits(100, 10), 5)
    house.used = InstallationUsage(JANUARY, downloads, writes, limits)
    await ann.open("/account")
    assert notes(ann.text) == expected
    said = "This installation has reached its limit for this month: files can be read again on"
    assert (said in ann.text) == bool(expected)
    assert (">1 February</time>" in ann.text) == bool(expected)


async def test_administrator_sees_and_limits_what_an_account_reads(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    await used(house, ann, 850_000, 1234)
    await ann.open("/administration/accounts?text=bob")
    await ann.open(ann.page.links["Ann"])
    assert "850 KB of 1 MB" in facts_below("Usage", ann.text)
    page = await ann.submit("Save the controls", downloads="2.5", filesRead="many")
    assert (ann.status, page.focused) == (400, ["filesRead"])
    await ann.submit("Save the controls", downloads="2.5", filesRead="")
    fields = ann.form("Save the controls").fields
    assert (fields["downloads"], fields["filesRead"]) == ("2.5", "")
    await bob.open("/account")
    assert "850 KB of 2.5 MB" in bob.text
