"""Sign in and out on the pages."""

import pytest

from octavo.features.accounts.pages.sign_in import WRONG
from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.page_reader import Installation, PageReader
from tests.fakes.users_api import ADDRESS, ORIGIN


async def test_person_signs_in_and_arrives_at_the_workspaces(house: Installation) -> None:
    ann = await house.person()
    assert (ann.status, ann.page.headings) == (200, ["Workspaces"])
    assert set(ann.cookies) == {"__Host-octavo", "__Host-octavo-device"}


async def test_sign_in_leads_back_to_the_page_that_was_asked_for(house: Installation) -> None:
    await house.users.identity.account()
    ann = house.stranger()
    await ann.open("/account/keys")
    assert ann.path == "/sign-in?next=/account/keys"
    await ann.submit("Sign in", address=ADDRESS, password=PASSWORD)
    assert ann.path == "/account/keys"


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:x", ""]
)
async def test_sign_in_never_leads_elsewhere(house: Installation, target: str) -> None:
    await house.users.identity.account()
    ann = house.stranger()
    await ann.open("/sign-in")
    await ann.submit("Sign in", address=ADDRESS, password=PASSWORD, next=target)
    assert ann.path == "/workspaces"


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_form_of_another_site_signs_nobody_in(house: Installation, origin: str) -> None:
    await house.users.identity.account()
    ann = house.stranger()
    await ann.open("/sign-in")
    ann.headers["origin"] = origin
    await ann.submit("Sign in", address=ADDRESS, password=PASSWORD)
    assert (ann.status, ann.cookies) == (403, {})


@pytest.mark.parametrize("address", [ADDRESS, "stranger@example.org"])
async def test_wrong_password_and_unknown_address_read_alike(
    house: Installation, address: str
) -> None:
    await house.users.identity.account()
    ann = house.stranger()
    await ann.open("/sign-in")
    page = await ann.submit("Sign in", address=address, password="wrong password")
    assert ann.status == 401
    assert page.alerts == [
        f"{WRONG.text} Password: Check the address, and type the password again."
    ]
    assert page.focused == ["password"]
    assert ann.form("Sign in").fields["address"] == address
    assert "wrong password" not in ann.text
    assert ann.cookies == {}


async def test_address_that_is_none_is_explained_at_its_field(house: Installation) -> None:
    ann = house.stranger()
    await ann.open("/sign-in")
    await ann.submit("Sign in", address="ann", password=PASSWORD)
    assert ann.status == 400
    assert 'id="address-error"' in ann.text


async def test_too_many_attempts_say_when_to_try_again(house: Installation) -> None:
    ann = house.stranger()
    for _ in range(11):
        await ann.open("/sign-in")
        page = await ann.submit("Sign in", address=ADDRESS, password="wrong password")
    assert ann.status == 429
    assert page.alerts == ["There were too many attempts. Try again in 30 seconds."]
    assert int(ann.received["retry-after"]) > 0


async def test_session_ends_with_the_browser_unless_it_is_to_stay(house: Installation) -> None:
    await house.users.identity.account()
    lasting = {}
    for remember in ("on", None):
        ann = house.stranger()
        await ann.open("/sign-in")
        client = house.app.test_client(use_cookies=False)
        given = {"address": ADDRESS, "password": PASSWORD}
        if remember:
            given["remember"] = remember
        response = await client.post(
            "/sign-in", form=given, headers={"sec-fetch-site": "same-origin", "origin": ORIGIN}
        )
        lasting[remember] = "Max-Age" in response.headers["set-cookie"]
    assert lasting == {"on": True, None: False}


async def test_signing_out_ends_the_session_and_says_so(ann: PageReader) -> None:
    session = dict(ann.cookies)
    page = await ann.submit("Sign out")
    assert (ann.path, page.alerts) == ("/sign-in", ["You are signed out."])
    assert set(ann.cookies) == {"__Host-octavo-device"}
    ann.cookies = session
    await ann.open("/account")
    assert ann.path.startswith("/sign-in")


async def test_page_of_signing_out_asks(ann: PageReader) -> None:
    await ann.open("/sign-out")
    assert ann.page.headings == ["Sign out?"]
    assert ADDRESS in ann.text


async def test_sign_in_page_knows_who_is_signed_in(ann: PageReader) -> None:
    await ann.open("/sign-in?next=/account")
    assert ann.path == "/account"


async def test_sign_out_page_of_a_stranger_leads_to_the_start(house: Installation) -> None:
    reader = house.stranger()
    await reader.open("/sign-out")
    assert reader.path == "/"
