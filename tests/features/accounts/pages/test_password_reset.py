"""The pages of a forgotten password."""

from quart_trio import QuartTrio

from octavo.features.accounts.pages.sign_in import add_password_reset_pages
from octavo.http.contract.openapi import openapi_document
from octavo.service.pages import pages
from tests.fakes.page_reader import (
    Installation,
    PageReader,
    closed,
    form_stamps,
    installation,
    no_entropy,
    no_time,
    nobody,
)
from tests.fakes.users_api import ADDRESS

NEW = "sailing past nine lighthouses"


async def test_link_is_requested_for_any_address_alike(house: Installation) -> None:
    await house.users.identity.account()
    reader = house.stranger()
    words = set()
    for address in (ADDRESS, "stranger@example.org"):
        await reader.open("/sign-in")
        await reader.open(reader.page.links["Forgot your password?"])
        page = await reader.submit("Send the link", address=address)
        words.add(page.alerts[0].replace(address, "…"))
    assert words == {
        (
            "If an account has the address …, a message with a link is on its way to it. "
            "The link works for one hour."
        )
    }
    assert house.users.identity.mail_added == 2


async def test_invalid_address_is_refused_at_its_field(house: Installation) -> None:
    reader = house.stranger()
    await reader.open("/forgot-password")
    page = await reader.submit("Send the link", address="ann")
    assert (reader.status, page.focused) == (400, ["address"])
    assert 'id="address-error"' in reader.text


async def test_new_password_is_chosen_once(house: Installation, ann: PageReader) -> None:
    token = await house.users.identity.reset_token()
    reader = house.stranger()
    await reader.open(f"/reset-password?token={token}")
    page = await reader.submit("Change the password", newPassword="short")
    assert (reader.status, page.focused) == (400, ["newPassword"])
    page = await reader.submit("Change the password", newPassword=NEW)
    assert reader.path == "/sign-in"
    assert page.alerts == ["Your password is changed. Sign in with the new one."]
    await reader.submit("Sign in", address=ADDRESS, password=NEW)
    assert reader.path == "/workspaces"
    await ann.open("/account")
    assert ann.path.startswith("/sign-in"), "every session has ended"


async def test_signed_in_person_requests_a_link_and_uses_it(
    house: Installation, ann: PageReader
) -> None:
    await ann.open("/forgot-password")
    page = await ann.submit("Send the link", address=ADDRESS)
    assert (ann.status, house.users.identity.mail_added) == (200, 1)
    await ann.open(f"/reset-password?token={await house.users.identity.reset_token()}")
    page = await ann.submit("Change the password", newPassword=NEW)
    assert ann.path == "/sign-in"
    assert page.alerts == ["Your password is changed. Sign in with the new one."]


async def test_used_link_leads_to_a_new_one(house: Installation) -> None:
    await house.users.identity.account()
    token = await house.users.identity.reset_token()
    first, second = house.stranger(), house.stranger()
    for reader in (first, second):
        await reader.open(f"/reset-password?token={token}")
    await first.submit("Change the password", newPassword=NEW)
    page = await second.submit("Change the password", newPassword=NEW)
    assert (second.status, page.headings) == (400, ["This link can't be used"])
    assert page.links["Send a new link"] == "/forgot-password"
    for wrong in (token, "", "x" * 3000):
        await second.open(f"/reset-password?token={wrong}")
        assert (second.status, second.page.headings) == (404, ["This link can't be used"])


def without_mail() -> QuartTrio:
    return pages(
        api_document="/api/openapi.json",
        openapi=lambda: openapi_document([], title="Octavo", version="1"),
        features=[lambda site: add_password_reset_pages(site, closed, sends_mail=False)],
        perform=nobody,
        now=no_time,
        new_entropy=no_entropy,
        stamps=form_stamps(),
    )


async def test_installation_without_mail_says_whom_to_ask() -> None:
    reader = PageReader(without_mail())
    page = await reader.open("/forgot-password")
    assert "This installation sends no mail." in reader.text
    assert page.forms == []
    with installation(sends_mail=False) as house:
        ann = await house.person()
        await ann.open("/account/password")
        assert "/forgot-password" not in ann.page.links.values()
        assert "Ask the people who run" in ann.text


async def test_link_that_is_requested_again_by_a_reload_is_sent_once(house: Installation) -> None:
    await house.person()
    reader = house.stranger()
    form = await reader.form_at("/forgot-password", "Send the link")
    for _ in range(2):
        await reader.send_form(form, address=ADDRESS)
        assert "is on its way" in reader.text
    rows = await house.users.identity.rows("SELECT kind FROM outbox")
    assert rows == [("password_reset",)]
