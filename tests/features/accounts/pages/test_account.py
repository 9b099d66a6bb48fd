"""The pages of one's own account."""

import pytest

from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.page_reader import Installation, PageReader
from tests.fakes.users_api import ADDRESS

NEW = "sailing past nine lighthouses"


async def test_account_shows_who_one_is(ann: PageReader) -> None:
    page = await ann.open("/account")
    assert page.headings == ["Ann"]
    assert ADDRESS in ann.text
    assert "Administrator of this installation" in ann.text
    assert page.links["Administration"] == "/administration"


async def test_member_is_not_led_to_the_administration(bob: PageReader) -> None:
    page = await bob.open("/account")
    assert "Administration" not in page.links


async def test_invalid_name_is_refused_at_its_field_and_kept(ann: PageReader) -> None:
    await ann.open("/account")
    page = await ann.submit("Change the name", displayName="x" * 101)
    assert (ann.status, page.focused) == (400, ["displayName"])
    assert page.alerts == ["Please correct this: Name: The maximum is 100 characters."]
    assert ann.form("Change the name").fields["displayName"] == "x" * 101


@pytest.mark.parametrize("family", ["paper", "slate", "sepia"])
@pytest.mark.parametrize("appearance", ["light", "dark", "system"])
async def test_preferences_apply_to_every_page(
    ann: PageReader, family: str, appearance: str
) -> None:
    await ann.open("/account")
    await ann.submit(
        "Save the preferences", themeFamily=family, appearance=appearance, spellCheck=None
    )
    for path in ("/account", "/workspaces", "/problems", "/not-a-page"):
        await ann.open(path)
        assert f'data-family="{family}" data-appearance="{appearance}"' in ann.text
    await ann.open("/account")
    assert "spellCheck" in ann.form("Save the preferences").unchecked


async def test_unknown_preference_is_refused(ann: PageReader) -> None:
    await ann.open("/account")
    page = await ann.submit("Save the preferences", themeFamily="neon")
    assert ann.status == 400
    assert page.alerts[0].startswith("Please correct this: Colours:")


async def test_password_is_changed(house: Installation, ann: PageReader) -> None:
    other = await house.signed_in(ADDRESS)
    await ann.open("/account/password")
    page = await ann.submit("Change the password", currentPassword=PASSWORD, newPassword=NEW)
    assert page.alerts == ["Your password is changed."]
    await other.open("/account")
    assert other.path.startswith("/sign-in")
    await other.submit("Sign in", address=ADDRESS, password=NEW)
    assert other.path == "/account"


async def test_other_browsers_stay_signed_in_if_wanted(
    house: Installation, ann: PageReader
) -> None:
    other = await house.signed_in(ADDRESS)
    await ann.open("/account/password")
    await ann.submit("Change the password", currentPassword=PASSWORD, newPassword=NEW, end=None)
    await other.open("/account")
    assert other.path == "/account"


@pytest.mark.parametrize(
    ("current", "new", "field"),
    [("wrong password", NEW, "currentPassword"), (PASSWORD, "short", "newPassword")],
)
async def test_refused_password_is_explained_at_its_field(
    ann: PageReader, current: str, new: str, field: str
) -> None:
    await ann.open("/account/password")
    page = await ann.submit("Change the password", currentPassword=current, newPassword=new)
    assert (ann.status >= 400, page.focused) == (True, [field])
    assert f'id="{field}-error"' in ann.text
    assert new not in ann.text


async def test_account_is_removed_with_the_password(house: Installation, bob: PageReader) -> None:
    await bob.open("/account/removal")
    page = await bob.submit("Remove my account", password="wrong password")
    assert (bob.status, page.focused) == (401, ["password"])
    await bob.submit("Remove my account", password=PASSWORD)
    assert (bob.path, bob.page.alerts) == ("/", ["Your account is removed."])
    assert bob.cookies == {}
    await bob.open("/sign-in")
    await bob.submit("Sign in", address="bob@example.org", password=PASSWORD)
    assert bob.status == 401


async def test_last_administrator_stays(ann: PageReader) -> None:
    await ann.open("/account/removal")
    page = await ann.submit("Remove my account", password=PASSWORD)
    assert ann.status == 409
    assert page.alerts[0].startswith("This is the last enabled administrator.")


async def test_locked_account_learns_why_and_what_remains(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    await bob.open("/account/password")
    await ann.open("/administration/accounts?text=bob")
    await ann.open(ann.page.links["Ann"])
    await ann.submit("Save the controls", locked="on", lockReason="The bill is open.")
    page = await bob.submit("Change the password", currentPassword=PASSWORD, newPassword=NEW)
    assert bob.status == 423
    assert page.headings == ["Your account is locked"]
    assert "The bill is open." in bob.text
    kept = ("sessions", "keys", "connections", "removal")
    for path in ("/workspaces", *(f"/account/{each}" for each in kept)):
        assert path in page.links.values()
        await bob.open(path)
        assert bob.status == 200, path
    for path in ("/account", "/account/password", "/account/keys", "/workspaces"):
        page = await bob.open(path)
        buttons = {each.button for each in page.forms if each.action != "/account/portal"}
        assert buttons == {"Sign out"}
        assert "Your account is locked" in bob.text
