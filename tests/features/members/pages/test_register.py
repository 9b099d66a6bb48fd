"""The page of an invitation, as a browser without scripts uses it."""

import re

import pytest

from octavo.features.legal.rules import LegalText, LegalTexts
from octavo.features.members.rules import Prerequisites
from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.page_reader import Installation, PageReader, installation
from tests.fakes.users_api import ADDRESS, ORIGIN
from tests.features.members.pages.test_members import invite
from tests.features.members.pages.test_workspaces import create

GIVEN = {"address": ADDRESS, "displayName": '<b>Ann</b> "A"', "password": PASSWORD}
LEGAL = LegalTexts(
    LegalText('1 "draft"', f"{ORIGIN}/legal/terms"),
    LegalText("2", "https://elsewhere.example/privacy?a=1&b=2"),
)
OPEN = Prerequisites("open", mail_transport=True, legal_documents=True)


async def invited(house: Installation, address: str | None = None) -> PageReader:
    """A person who has opened the link of an invitation."""
    token = await house.users.identity.invite(address=address)
    reader = house.stranger()
    await reader.open(f"/register?invitation={token}")
    return reader


async def test_person_registers_and_is_signed_in(house: Installation) -> None:
    ann = await invited(house)
    await ann.submit("Create the account", **GIVEN)
    assert (ann.path, ann.page.headings) == ("/workspaces", ["Workspaces"])
    assert ann.page.alerts == ["Welcome. Your account is ready."]
    await ann.open("/account")
    assert ann.page.headings == [GIVEN["displayName"]]


@pytest.mark.parametrize("remember", ["on", None])
async def test_registered_session_lasts_if_the_person_stays_signed_in(
    house: Installation, remember: str | None
) -> None:
    token = await house.users.identity.invite()
    client = house.app.test_client(use_cookies=False)
    given = {**GIVEN, **({"remember": remember} if remember else {})}
    response = await client.post(
        f"/register?invitation={token}",
        form=given,
        headers={"sec-fetch-site": "same-origin", "origin": ORIGIN},
    )
    cookies = response.headers.getlist("set-cookie")
    session = next(each for each in cookies if each.startswith("__Host-octavo="))
    assert ("Max-Age" in session) is (remember is not None)
    devices = [each for each in cookies if each.startswith("__Host-octavo-device=")]
    assert len(devices) == (remember is not None)


async def test_form_that_is_sent_twice_creates_one_account(house: Installation) -> None:
    ann = await invited(house)
    form = ann.form("Create the account")
    for _ in range(2):
        await ann.send_form(form, **GIVEN)
        assert ann.path == "/workspaces"
    assert len(await house.users.identity.rows("SELECT id FROM accounts")) == 1


async def test_page_without_an_invitation_has_no_form_and_a_remedy(house: Installation) -> None:
    reader = house.stranger()
    page = await reader.open("/register")
    assert (reader.status, page.headings) == (200, ["You need an invitation"])
    assert "Open the complete link that you received" in reader.text
    assert page.forms == []
    assert page.links["Sign in"] == "/sign-in"


async def test_used_invitation_has_no_form_and_a_remedy(house: Installation) -> None:
    ann = await invited(house)
    link = ann.path
    late = house.stranger()
    await late.open(link)
    await ann.submit("Create the account", **GIVEN)
    await late.submit("Create the account", **{**GIVEN, "address": "bob@example.org"})
    for _ in range(2):
        assert (late.status, late.page.headings) == (404, ["This invitation can't be used"])
        assert "ask the person who invited you for a new link" in late.text
        assert late.page.forms == []
        await late.open(link)


async def test_endless_invitation_is_unusable(house: Installation) -> None:
    ann = await invited(house)
    await ann.send("/register?invitation=" + "a" * 2000, **GIVEN)
    assert ann.page.headings == ["This invitation can't be used"]


async def test_form_at_another_host_links_to_the_public_address(house: Installation) -> None:
    ann = house.stranger()
    token = await house.users.identity.invite()
    address = f'href="{ORIGIN}/register?invitation={token}">{ORIGIN}</a>'
    await ann.open(f"/register?invitation={token}")
    assert address in ann.text
    ann.headers["host"] = "notes.example"
    await ann.open(f"/register?invitation={token}")
    assert address not in ann.text


async def test_form_sent_from_another_address_links_to_the_public_one(house: Installation) -> None:
    ann = await invited(house)
    ann.headers |= {"origin": "http://192.168.1.9:8080", "sec-fetch-site": "cross-site"}
    page = await ann.submit("Create the account", **GIVEN)
    assert (ann.status, page.headings) == (403, ["Open this page at its own address"])
    assert page.links[f"Go to {ORIGIN}"] == ORIGIN + ann.path
    assert PASSWORD not in ann.text


async def test_invitation_for_another_address_says_so(house: Installation) -> None:
    ann = await invited(house, "bob@example.org")
    page = await ann.submit("Create the account", **GIVEN)
    assert ann.status == 404
    assert page.alerts[-1].startswith("This invitation is not for this e-mail address.")
    assert ann.form("Create the account").fields["address"] == ADDRESS


async def test_address_of_an_account_leads_to_signing_in(house: Installation) -> None:
    await house.users.identity.account()
    ann = await invited(house)
    page = await ann.submit("Create the account", **GIVEN)
    assert ann.status == 409
    assert page.alerts[-1].startswith("There is an account with this address already.")
    assert page.links["Sign in"].startswith("/sign-in?next=%2Fregister%3Finvitation%3D")


async def test_faults_are_summarized_and_the_first_wrong_field_has_the_focus(
    house: Installation,
) -> None:
    ann = await invited(house)
    page = await ann.submit(
        "Create the account", address=ADDRESS, displayName="x" * 101, password="short"
    )
    assert (ann.status, page.focused) == (400, ["displayName"])
    assert re.findall('<li><a href="#([a-zA-Z]+)">', ann.text) == ["displayName", "password"]
    assert ann.form("Create the account").fields["address"] == ADDRESS
    assert 'value="short"' not in ann.text


async def test_store_that_is_away_is_temporary(house: Installation) -> None:
    ann = await invited(house)
    house.users.identity.store.away = True
    await ann.submit("Create the account", **GIVEN)
    assert ann.status == 503
    assert ann.form("Create the account").fields["displayName"] == GIVEN["displayName"]
    await ann.open("/register?invitation=any")
    assert ann.status == 503
    assert int(ann.received["retry-after"]) > 0


async def test_form_without_documents_asks_for_no_consent(house: Installation) -> None:
    ann = await invited(house)
    assert 'name="accept"' not in ann.text


async def test_consent_is_given_by_the_checkbox_only() -> None:
    with installation(LEGAL) as house:
        ann = await invited(house)
        assert ann.page.links["terms"] == f"{ORIGIN}/legal/terms"
        assert ann.page.links["privacy notice"] == "https://elsewhere.example/privacy?a=1&b=2"
        page = await ann.submit("Create the account", **GIVEN)
        assert ann.status == 409
        assert "accept the documents below in their present version" in page.alerts[-1]
        assert ann.form("Create the account").fields["termsVersion"] == '1 "draft"'
        await ann.submit("Create the account", accept="on", **GIVEN)
        assert ann.page.headings == ["Workspaces"]
        await ann.open("/account/consent")
        assert "the terms in version 1" in ann.text


async def test_documents_that_changed_meanwhile_are_shown_again() -> None:
    with installation(LEGAL) as house:
        ann = await invited(house)
        await ann.submit("Create the account", accept="on", privacyVersion="1", **GIVEN)
        assert ann.status == 409
        assert ann.form("Create the account").fields["privacyVersion"] == "2"


@pytest.mark.parametrize(
    ("legal", "words"),
    [
        (LegalTexts(LEGAL.terms), "terms</a>."),
        (LegalTexts(None, LEGAL.privacy), "privacy notice</a>."),
    ],
)
async def test_form_names_the_only_document(legal: LegalTexts, words: str) -> None:
    with installation(legal) as house:
        ann = await invited(house)
        assert words in ann.text
        assert ann.text.count('target="_blank"') == 1


async def test_everybody_registers_under_an_open_policy() -> None:
    with installation(LEGAL, OPEN) as house:
        ann = house.stranger()
        await ann.open("/register")
        await ann.submit("Create the account", accept="on", **GIVEN)
        assert ann.page.headings == ["Workspaces"]


async def test_person_with_an_account_joins_with_it(ann: PageReader, bob: PageReader) -> None:
    path = await create(ann)
    token = await invite(ann, path)
    page = await bob.open(f"/register?invitation={token}")
    assert page.headings == ["You are invited"]
    assert "bob@example.org" in bob.text
    await bob.submit("Join as")
    assert (bob.page.headings, bob.page.alerts) == (
        ["Household"],
        ["You are a member of this workspace now."],
    )
    page = await bob.open(f"/register?invitation={token}")
    assert (bob.status, page.headings) == (404, ["This invitation can't be used"])
    assert page.links["Back to your workspaces"] == "/workspaces"


async def test_invitation_for_a_new_account_is_not_for_joining(
    house: Installation, bob: PageReader
) -> None:
    token = await house.users.identity.invite()
    await bob.open(f"/register?invitation={token}")
    page = await bob.submit("Join as")
    assert bob.status == 404
    assert page.alerts[0].startswith("This invitation does not work with this account.")
    assert all(not each.button.startswith("Join") for each in page.forms)


async def test_everybody_is_led_to_register_under_an_open_policy(house: Installation) -> None:
    with installation(LEGAL, OPEN) as opened:
        for made, expected in ((opened, True), (house, False)):
            for path in ("/", "/sign-in"):
                page = await made.stranger().open(path)
                assert ("Create an account" in page.links) is expected


async def test_person_who_signs_in_first_comes_back_to_the_invitation(
    house: Installation, ann: PageReader
) -> None:
    path = await create(ann)
    await house.users.identity.account("cid@example.org")
    token = await invite(ann, path, address="cid@example.org")
    cid = house.stranger()
    await cid.open(f"/register?invitation={token}")
    await cid.open(cid.page.links["Sign in"])
    await cid.submit("Sign in", address="cid@example.org", password=PASSWORD)
    assert cid.page.headings == ["You are invited"]
    await cid.submit("Join as")
    assert cid.page.headings == ["Household"]


async def test_member_is_told_so(ann: PageReader) -> None:
    token = await invite(ann, await create(ann))
    said = ["You are a member of Household already, as an owner."]
    await ann.open(f"/register?invitation={token}")
    assert (ann.status, ann.page.alerts, ann.page.forms) == (200, said, [])
    await ann.send("/join", invitation=token, **{"token-of-form": await form_token(ann)})
    assert (ann.status, ann.page.alerts) == (409, said)
    await ann.open(ann.page.links["Open the workspace"])
    assert ann.page.headings == ["Household"]


async def form_token(reader: PageReader) -> str:
    await reader.open("/workspaces")
    return reader.form("Sign out").fields["token-of-form"]


async def test_reader_who_is_invited_as_an_editor_is_told_whom_to_ask(
    ann: PageReader, bob: PageReader
) -> None:
    path = await create(ann)
    await bob.open(f"/register?invitation={await invite(ann, path, 'reader')}")
    await bob.submit("Join as")
    for role, advice in (("editor", " Ask an owner to change your role."), ("reader", "")):
        await bob.open(f"/register?invitation={await invite(ann, path, role)}")
        said = f"You are a member of Household already, as a reader.{advice}"
        assert bob.page.alerts == [said]


async def test_invited_people_are_told_by_whom_and_to_what(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    path = await create(ann)
    token = await invite(ann, path)
    for reader in (bob, house.stranger()):
        await reader.open(f"/register?invitation={token}")
        text = " ".join(re.sub("<[^>]*>", "", reader.text).split())
        assert "Ann invites you to Household, as an editor." in text
    await ann.open(f"{path}/invitations")
    await ann.submit("Revoke")
    await bob.open(f"/register?invitation={token}")
    assert "Household" not in bob.text


async def test_page_without_an_invitation_leads_home_when_signed_in(ann: PageReader) -> None:
    await ann.open("/register")
    assert ann.path == "/workspaces"
