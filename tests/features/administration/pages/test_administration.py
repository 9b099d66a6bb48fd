"""The pages of administrators."""

from decimal import Decimal
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.administration.pages.administration import megabytes, parse_megabytes
from octavo.features.members.rules import Prerequisites
from tests.fakes.page_reader import Installation, PageReader, installation

PLACES = ("/administration", "/administration/accounts", "/administration/invitations")


async def account_of(ann: PageReader, text: str) -> str:
    """Open the page of the only account that is found with ``text``, and return its path."""
    await ann.open(f"/administration/accounts?text={text}")
    [path] = {each for each in ann.page.links.values() if "accounts/" in each}
    await ann.open(path)
    return path


@given(st.none() | st.integers(0, 2**53 - 1))
def test_limit_survives_its_field(limit: int | None) -> None:
    assert parse_megabytes(megabytes(limit)) == (limit, "")


@pytest.mark.parametrize("text", ["-1", "x", "1e3", "0.0000001", "9999999999.9", "\u0661", "1 000"])
def test_invalid_limit_is_explained(text: str) -> None:
    limit, fault = parse_megabytes(text)
    assert limit is None
    assert fault.startswith("Give a number of megabytes")


def test_limit_in_megabytes() -> None:
    assert parse_megabytes(" 1.5 ") == (int(Decimal("1.5") * 10**6), "")
    assert parse_megabytes("") == (None, "")


@pytest.mark.parametrize("path", PLACES)
async def test_pages_are_for_administrators(bob: PageReader, path: str) -> None:
    await bob.open(path)
    assert (bob.status, bob.page.headings) == (403, ["You may not do this"])


async def test_accounts_are_listed_and_found(ann: PageReader, bob: PageReader) -> None:
    await ann.open("/administration")
    assert "ann@example.org" in ann.text
    assert "bob@example.org" in ann.text
    await ann.open("/administration/accounts?text=BOB")
    assert "bob@example.org" in ann.text
    assert "ann@example.org" not in ann.text
    await ann.open("/administration/accounts?text=nobody")
    assert "No account found" in ann.text


async def test_administrator_locks_and_unlocks_an_account(ann: PageReader, bob: PageReader) -> None:
    await bob.open("/workspaces")
    await account_of(ann, "bob")
    await ann.submit("Save", state="locked", storage="1.5", reason="Please call us.")
    assert ann.page.alerts == ["The account is saved."]
    assert ann.form("Save").fields["storage"] == "1.5"
    assert "locked</span>" in ann.text
    await bob.submit("Create the workspace", name="Mine")
    assert (bob.status, bob.page.headings) == (423, ["Your account is locked"])
    assert "Please call us." in bob.text
    await ann.submit("Save", state="enabled", storage="")
    assert ann.form("Save").fields["reason"] == ""
    await bob.open("/workspaces")
    await bob.submit("Create the workspace", name="Mine")
    assert bob.page.headings == ["Mine"]


async def test_disabled_person_is_signed_out(ann: PageReader, bob: PageReader) -> None:
    await account_of(ann, "bob")
    await ann.submit("Save", state="disabled")
    await bob.open("/workspaces")
    assert bob.path.startswith("/sign-in")


async def test_last_administrator_is_kept(ann: PageReader) -> None:
    await account_of(ann, "ann")
    page = await ann.submit("Save", role="member")
    assert ann.status == 409
    assert page.alerts[0].startswith("This is the last enabled administrator.")


async def test_controls_that_changed_meanwhile_are_shown_again(
    ann: PageReader, bob: PageReader
) -> None:
    path = await account_of(ann, "bob")
    stale = ann.form("Save the controls")
    await ann.submit("Save the controls", controlledStorage="5", locked="on", lockReason="Unpaid")
    assert ann.page.alerts == ["The account is saved."]
    assert ann.form("Save the controls").fields["controlledStorage"] == "5"
    page = await ann.send(f"{path}/controls", **stale.fields)
    assert ann.status == 409
    assert page.alerts[0].startswith("Somebody else changed these settings meanwhile.")
    assert ann.form("Save the controls").fields["revision"] == "2"


@pytest.mark.parametrize(
    ("button", "field"), [("Save", "storage"), ("Save the controls", "controlledStorage")]
)
async def test_invalid_limit_is_refused_at_its_field(
    ann: PageReader, button: str, field: str
) -> None:
    await account_of(ann, "ann")
    form = next(each for each in ann.page.forms if each.button == button)
    page = await ann.send_form(form, **{field: "much"})
    assert (ann.status, page.focused) == (400, [field])
    assert 'value="much"' in ann.text


async def test_account_is_removed_after_a_question(ann: PageReader, bob: PageReader) -> None:
    path = await account_of(ann, "bob")
    page = await ann.open(f"{path}/remove")
    assert page.headings == ["Remove this account?"]
    await ann.submit("Remove the account")
    assert (ann.path, ann.page.alerts) == (
        "/administration/accounts",
        ["The account is removed."],
    )
    await bob.open("/account")
    assert bob.path.startswith("/sign-in")
    await ann.open(path)
    assert ann.status == 404


async def test_own_account_is_removed_on_its_own_page(ann: PageReader) -> None:
    path = await account_of(ann, "ann")
    await ann.open(f"{path}/remove")
    assert ann.path == "/account/removal"
    await ann.send(f"{path}/remove", **ann.form("Sign out").fields)
    assert ann.status == 409


async def test_form_changes_only_what_the_person_touched(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    path = await account_of(ann, "bob")
    other = await house.signed_in("ann@example.org")
    await other.open(path)
    await other.submit("Save", state="disabled")
    await ann.submit("Save", storage="5")
    assert ann.form("Save").fields["state"] == "disabled"
    entry = house.users.identity.audited[-1]
    assert entry.kind == "account_changed"
    assert set(entry.detail) == {"storageBytes"}


async def test_administrator_who_steps_down_is_led_home(
    house: Installation, ann: PageReader
) -> None:
    await house.users.identity.account("cid@example.org", "administrator")
    await account_of(ann, "ann@")
    await ann.submit("Save", role="member")
    assert (ann.path, ann.page.alerts) == ("/workspaces", ["The account is saved."])


@pytest.mark.parametrize("revision", ["9" * 5000, "\u0661", "-1", ""])
async def test_revision_that_is_no_number_is_refused(ann: PageReader, revision: str) -> None:
    path = await account_of(ann, "ann@")
    form = ann.form("Save the controls")
    await ann.send(f"{path}/controls", **{**form.fields, "revision": revision})
    assert ann.status == 400


@pytest.mark.parametrize("text", ["x" * 1000, "a\0b"])
async def test_any_text_can_be_looked_for(ann: PageReader, text: str) -> None:
    await ann.open(f"/administration/accounts?{urlencode({'text': text})}")
    assert ann.status == 200


async def test_administrator_invites_and_revokes(house: Installation, ann: PageReader) -> None:
    await ann.open("/administration/invitations")
    await ann.submit("Create the link", role="administrator", address="cid@example.org")
    assert "register?invitation=" in ann.text
    await ann.open("/administration/invitations")
    assert "cid@example.org" in ann.text
    await ann.submit("Revoke")
    assert ann.page.alerts[0].startswith("The invitation is revoked.")
    page = await ann.submit("Create the link", address="cid")
    assert (ann.status, page.focused) == (400, ["address"])


async def test_installation_says_what_open_registration_needs(ann: PageReader) -> None:
    await ann.open("/administration/installation")
    assert "Open registration needs a mail server, terms and a privacy notice" in ann.text
    page = await ann.submit("Save", registrationPolicy="open")
    assert ann.status == 409
    assert page.alerts != []


async def test_registration_is_opened_and_closed() -> None:
    with installation(prerequisites=Prerequisites(None, True, True)) as house:
        ann = await house.person(role="administrator")
        await ann.open("/administration/installation")
        await ann.submit("Save", registrationPolicy="open")
        assert ann.page.alerts == ["The installation is changed."]
        stranger = house.stranger()
        await stranger.open("/register")
        assert stranger.page.headings == ["Create your account"]
        await ann.submit("Save", registrationPolicy="invitation")
        await stranger.open("/register")
        assert stranger.page.headings == ["You need an invitation"]


async def test_policy_of_the_settings_is_shown_without_a_form() -> None:
    with installation(prerequisites=Prerequisites("invitation")) as house:
        ann = await house.person(role="administrator")
        await ann.open("/administration/installation")
        assert "The settings of the server decide this." in ann.text
        assert {each.button for each in ann.page.forms} == {"Sign out"}


async def test_administrator_decides_who_may_publish(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    await account_of(ann, "bob")
    assert ann.form("Save the controls").fields["publishing"] == "on"
    await ann.submit("Save the controls", publishing=None)
    assert ann.page.alerts == ["The account is saved."]
    assert "publishing" in ann.form("Save the controls").unchecked
    await bob.open("/workspaces")
    await bob.submit("Create the workspace", name="Mine")
    await bob.open(bob.page.links["Published links"])
    assert "let you publish" in bob.text
    await ann.submit("Save the controls", publishing="on")
    await bob.open(bob.path)
    assert "let you publish" not in bob.text
