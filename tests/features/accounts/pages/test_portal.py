"""The way from the pages to the operator's portal."""

from html import unescape

import pytest

from octavo.features.accounts.pages.account import portal_links
from tests.fakes.page_reader import Installation, PageReader, installation
from tests.fakes.users_api import ADDRESS


def test_page_of_the_portal_is_called_by_its_name() -> None:
    [link] = portal_links({"payment-methods": "https://billing.example:8443/pay?x=1"})
    assert link == ("payment-methods", "Payment methods", "billing.example:8443")


async def test_person_is_handed_to_the_portal_that_learns_who_it_is(
    house: Installation, bob: PageReader
) -> None:
    await bob.open("/account")
    assert "billing.example" in bob.text
    page = await bob.submit("Billing at billing.example")
    assert (bob.status, page.headings) == (200, ["On to billing.example"])
    address = page.links["continue"]
    start, found, token = address.partition("&token=")
    assert (start, found) == ("https://billing.example/start?from=notes", "&token=")
    assert f'content="0; url={start}' in unescape(bob.text)
    token, _, fragment = token.partition("#")
    assert fragment == "top"
    account = await house.users.identity.portal.redeem(token)
    assert account.account.address == "bob@example.org"


async def test_each_hand_off_has_a_token_of_its_own(bob: PageReader) -> None:
    found = set()
    for _ in range(2):
        await bob.open("/account")
        found.add((await bob.submit("Plan at billing.example")).links["continue"])
    assert len(found) == 2


async def test_hand_off_is_never_stored_by_browsers(bob: PageReader) -> None:
    await bob.open("/account")
    await bob.submit("Plan at billing.example")
    assert bob.received["cache-control"] == "no-store"
    assert bob.received["referrer-policy"] == "same-origin"


async def test_page_that_the_portal_lacks_is_not_found(bob: PageReader) -> None:
    await bob.open("/account")
    bob.form("Plan at billing.example").fields["page"] = "prizes"
    await bob.submit("Plan at billing.example")
    assert bob.status == 404


async def test_locked_person_reaches_the_portal(ann: PageReader, bob: PageReader) -> None:
    page = await ann.open("/administration/accounts?text=bob")
    await ann.open(page.links["Ann"])
    await bob.open("/account")
    await ann.submit("Save the controls", locked="on", lockReason="The bill is open.")
    page = await bob.submit("Change the name", displayName="Bobby")
    assert page.headings == ["Your account is locked"]
    for shown in (True, False):
        if not shown:
            await bob.open("/account")
        page = await bob.submit("Billing at billing.example")
        assert page.headings == ["On to billing.example"]


async def test_account_page_of_an_installation_without_a_portal_is_silent() -> None:
    with installation(portal={}) as house:
        reader = await house.person(ADDRESS)
        await reader.open("/account")
        assert "With the operator" not in reader.text


@pytest.mark.parametrize("token", ["", "wrong"])
async def test_form_of_another_session_opens_nothing(bob: PageReader, token: str) -> None:
    await bob.open("/account")
    bob.form("Plan at billing.example").fields["token-of-form"] = token
    await bob.submit("Plan at billing.example")
    assert bob.status == 403


async def test_button_works_again_after_the_way_back(house: Installation, bob: PageReader) -> None:
    await bob.open("/account")
    form = bob.form("Plan at billing.example")
    for _ in range(2):
        address = (await bob.send(form.action, **form.fields)).links["continue"]
        token = address.partition("token=")[2]
        found = await house.users.identity.portal.redeem(token)
        assert found.account.address == "bob@example.org"
