"""The page on which a person accepts the legal documents."""

from collections.abc import Iterator

import pytest

from octavo.features.legal.rules import LegalText, LegalTexts
from tests.fakes.page_reader import Installation, PageReader, installation
from tests.fakes.users_api import FROM_HERE

LEGAL = LegalTexts(
    LegalText("2", "https://notes.example/legal/terms"),
    LegalText("2026-05", "https://elsewhere.example/privacy"),
)


@pytest.fixture
def bound() -> Iterator[Installation]:
    """An installation with legal documents."""
    with installation(LEGAL) as made:
        yield made


@pytest.fixture
async def due(bound: Installation) -> PageReader:
    """A person who has accepted earlier terms only."""
    reader = await bound.person(role="administrator")
    await outdate(bound)
    return reader


async def outdate(bound: Installation) -> None:
    identity = bound.users.identity
    await identity.execute("UPDATE accounts SET consent_terms = '1'")
    for row in await identity.rows("SELECT id FROM accounts"):
        identity.credentials.forget(row[0])


async def test_person_is_led_to_the_documents_and_back(due: PageReader) -> None:
    page = await due.open("/administration")
    assert (due.status, page.headings) == (200, ["Accept the documents"])
    assert page.links["terms"] == "https://notes.example/legal/terms"
    assert page.links["privacy notice"] == "https://elsewhere.example/privacy"
    await due.submit("Accept", accept="on")
    assert (due.status, due.path) == (200, "/administration/accounts")
    assert due.page.alerts == ["Thank you. Your agreement is recorded."]


async def test_form_of_a_page_before_the_change_changes_nothing(bound: Installation) -> None:
    reader = await bound.person()
    await reader.open("/account")
    await outdate(bound)
    await reader.submit("Change the name", displayName="Anna")
    assert reader.page.headings == ["Accept the documents"]
    await reader.submit("Accept", accept="on")
    await reader.open("/account")
    assert reader.page.headings == ["Ann"]


@pytest.mark.parametrize("path", ["/workspaces", "/account", "/account/keys", "/administration"])
async def test_every_page_asks_for_consent_first(due: PageReader, path: str) -> None:
    await due.open(path)
    assert due.page.headings == ["Accept the documents"]


async def test_person_who_does_not_agree_can_remove_the_account(due: PageReader) -> None:
    page = await due.open("/consent")
    await due.open(page.links["remove your account"])
    assert due.page.headings == ["Remove your account"]


async def test_consent_is_not_recorded_without_the_box(due: PageReader) -> None:
    await due.open("/consent")
    page = await due.submit("Accept", accept=None)
    assert due.status == 400
    assert page.alerts == ["Please correct this: Acceptance: To go on, accept the documents."]
    await due.open("/administration")
    assert due.page.headings == ["Accept the documents"]


async def test_documents_that_changed_meanwhile_are_shown_again(due: PageReader) -> None:
    await due.open("/consent?next=/account")
    page = await due.submit("Accept", accept="on", termsVersion="1")
    assert due.status == 409
    assert page.alerts == ["The documents have changed meanwhile. Read them again."]
    assert due.form("Accept").fields["termsVersion"] == "2"
    await due.submit("Accept", accept="on")
    assert due.path == "/account"


@pytest.mark.parametrize("following", ["https://elsewhere.example/", "//elsewhere.example", ""])
async def test_page_leads_into_the_installation_only(due: PageReader, following: str) -> None:
    await due.open(f"/consent?next={following}")
    await due.submit("Accept", accept="on")
    assert due.path == "/workspaces"


async def test_page_leads_on_when_nothing_is_due(bound: Installation) -> None:
    reader = await bound.person()
    await reader.open("/consent?next=/account")
    assert reader.path == "/account"
    await outdate(bound)
    await reader.open("/consent?next=/account")
    cookie = (b"cookie", b"; ".join(f"{k}={v}".encode() for k, v in reader.cookies.items()))
    versions = {"termsVersion": "2", "privacyVersion": "2026-05"}
    accepted = await bound.users.post("/api/account/consent", versions, cookie, FROM_HERE)
    assert accepted.status == 200
    await reader.submit("Accept", accept="on")
    assert reader.path == "/account"


async def test_stranger_signs_in_first(bound: Installation) -> None:
    reader = bound.stranger()
    await reader.open("/consent")
    assert reader.path.startswith("/sign-in")


async def test_portal_is_reached_before_the_documents_are_accepted(due: PageReader) -> None:
    await due.open("/account")
    assert due.page.headings == ["Accept the documents"]
    page = await due.submit("Billing at billing.example")
    assert page.headings == ["On to billing.example"]


async def test_text_of_a_note_is_kept_until_the_documents_are_accepted(
    bound: Installation,
) -> None:
    reader = await bound.person()
    await reader.open("/workspaces")
    await reader.submit("Create the workspace", name="Household")
    form = await reader.form_at(f"{reader.path}/new", "Create the note")
    await outdate(bound)
    await reader.send_form(form, text="Written for an hour.")
    assert reader.page.headings == ["Nothing was saved"]
    assert "Written for an hour.</textarea>" in reader.text
    assert reader.page.links["Read and accept the documents"] == "/consent"
