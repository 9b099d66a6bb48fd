"""The pages of reports of published links."""

import pytest

from octavo.features.publishing.rules import REASONS, Reason
from tests.fakes.page_reader import Installation, PageReader
from tests.fakes.users_api import ORIGIN
from tests.features.publishing.pages.test_publications import (
    ADDRESSES,
    NOTE,
    create_workspace,
    escaped,
    publish,
)

UNKNOWN = "01900000-0000-7000-8000-0000000000ff"
REPORTS = "/administration/reports"
HOSTILE = "\"><script>alert('1')</script>&amp;\nsecond line"


@pytest.fixture
async def address(house: Installation, ann: PageReader) -> str:
    """The address of a published note."""
    return await publish(ann, await create_workspace(house, ann, NOTE))


@pytest.mark.parametrize("path", [REPORTS, f"{REPORTS}/{UNKNOWN}/takedown"])
async def test_reports_are_for_administrators(bob: PageReader, path: str) -> None:
    await bob.open(path)
    assert (bob.status, bob.page.headings) == (403, ["You may not do this"])
    for form in ("dismiss", "takedown"):
        await bob.send(f"{REPORTS}/{UNKNOWN}/{form}", **bob.form("Sign out").fields)
        assert bob.status == 403


async def test_empty_list_says_where_reports_come_from(ann: PageReader) -> None:
    await ann.open("/administration/accounts")
    await ann.open(ann.page.links["Reports"])
    assert "No open reports" in ann.text


@pytest.mark.parametrize("reason", REASONS)
async def test_report_has_its_reason_in_words(
    house: Installation, ann: PageReader, address: str, reason: Reason
) -> None:
    await house.users.report(address, reason)
    await ann.open(REPORTS)
    assert f">{escaped(REASONS[reason])}</h2>" in ann.text
    assert "<blockquote" not in ann.text


async def test_what_the_reader_wrote_is_shown_as_text(
    house: Installation, ann: PageReader, address: str
) -> None:
    await house.users.report(address, "other", HOSTILE)
    await ann.open(REPORTS)
    assert f'dir="auto">{escaped(HOSTILE)}</blockquote>' in ann.text
    assert "The text of" not in ann.text


async def test_administrator_reads_the_link_at_an_address_of_the_report(
    house: Installation, ann: PageReader, address: str
) -> None:
    await house.users.report(address, "spam")
    await ann.open(REPORTS)
    [shown] = set(ADDRESSES.findall(ann.text))
    assert shown != address
    assert f'href="{shown}" rel="noreferrer"' in ann.text
    assert shown.startswith(ORIGIN)


async def test_reports_of_one_link_are_counted(
    house: Installation, ann: PageReader, address: str
) -> None:
    for reason in ("spam", "abuse"):
        await house.users.report(address, reason)
    await ann.open(REPORTS)
    assert ann.text.count("2 reports of this link") == 2


async def test_dismissed_report_leaves_the_link(
    house: Installation, ann: PageReader, address: str
) -> None:
    await house.users.report(address, "spam")
    await ann.open(REPORTS)
    form = ann.form("Dismiss")
    await ann.submit("Dismiss")
    assert (ann.path, ann.page.alerts) == (
        REPORTS,
        ["The report is dismissed. The link stays as it is."],
    )
    assert "No open reports" in ann.text
    await ann.send(form.action, **form.fields)
    assert ann.page.alerts == ["This report was closed already, so nothing was changed."]


async def test_link_is_taken_down_after_a_question(
    house: Installation, ann: PageReader, address: str
) -> None:
    for _ in range(2):
        await house.users.report(address, "malware", "It is <bad>.")
    await ann.open(REPORTS)
    question = ann.page.links["Take the link down"]
    page = await ann.open(question)
    assert page.headings == ["Take this link down?"]
    for words in (
        REASONS["malware"],
        "It is &lt;bad&gt;.",
        "nobody can make it live again",
        "notes stay",
        "The owners",
    ):
        assert words in ann.text
    form = ann.form("Take the link down")
    await ann.submit("Take the link down")
    assert (ann.path, ann.page.alerts) == (
        REPORTS,
        ["The link is taken down, and every report of it is closed."],
    )
    assert "No open reports" in ann.text
    assert house.users.identity.audited[-1].kind == "link_taken_down"
    await ann.send(question, **form.fields)
    assert ann.page.alerts == ["This report was closed already, so nothing was changed."]
    await ann.open(question)
    assert ann.path == REPORTS


async def test_long_list_has_pages(house: Installation, ann: PageReader, address: str) -> None:
    other = await publish(ann, await create_workspace(house, ann, NOTE))
    for number in range(31):
        await house.users.report(address if number % 2 else other, "spam", f"report {number}.")
    await ann.open(REPORTS)
    assert ann.text.count("<article") == 30
    await ann.open(ann.page.links["Next page"])
    assert ann.text.count("<article") == 1
    assert "report 0." in ann.text
    await ann.submit("Dismiss")
    await ann.open(ann.page.links["Reports"])
    assert ann.text.count("<article") == 30
