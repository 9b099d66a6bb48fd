"""The pages of members and invitations."""

import re
from urllib.parse import urlsplit

import pytest

from octavo.features.members.pages.members import ROLES, grantable
from octavo.model import workspace
from tests.fakes.page_reader import Installation, PageReader
from tests.features.members.pages.test_workspaces import create


async def invite(reader: PageReader, path: str, role: str = "editor", address: str = "") -> str:
    """Invite somebody, and return the token of the invitation."""
    await reader.open(f"{path}/invitations")
    await reader.submit("Create the link", role=role, address=address)
    assert reader.status == 200, reader.text
    assert reader.page.controls[-1]["id"] == "link"
    link = reader.page.controls[-1]["value"] or ""
    return urlsplit(link).query.removeprefix("invitation=")


async def join(house: Installation, reader: PageReader, token: str) -> None:
    cookie = (b"cookie", b"__Host-octavo=" + reader.cookies["__Host-octavo"].encode())
    origin = (b"origin", b"https://notes.example")
    response = await house.users.post("/api/invitations/accept", {"token": token}, cookie, origin)
    assert response.status == 200


def role_pages(reader: PageReader) -> list[str]:
    """Where the roles of members are changed, by the list of members that is shown."""
    return re.findall(r'href="(/workspaces/[^"]+/members/[^"]+/role)"', reader.text)


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("owner", {"owner", "administrator", "editor", "reader"}),
        ("administrator", {"administrator", "editor", "reader"}),
        ("editor", set()),
        ("reader", set()),
    ],
)
def test_roles_on_offer_are_those_that_may_be_granted(
    role: workspace.Role, expected: set[str]
) -> None:
    assert set(grantable(role)) == expected
    assert set(ROLES) == set(workspace.ROLES)


async def test_owner_invites_changes_and_removes(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    path = await create(ann)
    await join(house, bob, await invite(ann, path))
    await bob.open(path)
    assert (bob.status, bob.page.headings) == (200, ["Household"])
    assert "bob@example.org" not in bob.text.partition("<main")[2].replace("Bob", "")
    await ann.open(f"{path}/members")
    assert "bob@example.org" in ann.text
    presently = [(await ann.form_at(each, "Change the role")) for each in role_pages(ann)]
    [form] = [each for each in presently if each.fields["role"] == "editor"]
    await ann.open(form.action)
    await ann.submit("Change the role", role="reader")
    assert ann.page.alerts == ["The role is saved."]
    removal = next(path for text, path in ann.page.links.items() if text.startswith("Remove"))
    await ann.open(removal)
    await ann.submit("Remove the member")
    assert ann.page.alerts == ["The member is removed."]
    await bob.open(path)
    assert bob.status == 404


async def test_last_owner_can_neither_leave_nor_step_down(ann: PageReader) -> None:
    path = await create(ann)
    await ann.open(f"{path}/members")
    [role] = role_pages(ann)
    await ann.open(role)
    page = await ann.submit("Change the role", role="reader")
    # It is not asked about what would be refused.
    assert ann.page.headings[0] != "Change your own role?"
    assert (ann.status, page.alerts[0][:27]) == (409, "A workspace needs an owner.")
    await ann.open(f"{path}/members")
    leaving = ann.page.links["Leave"]
    page = await ann.open(leaving)
    # What would be refused is not offered.
    assert {each.button for each in page.forms} == {"Sign out"}
    assert "You are the only owner" in ann.text
    assert page.links["Delete the workspace"] == f"{path}/delete"
    await ann.send(leaving, **page.forms[0].fields)
    assert ann.status == 409


async def test_own_role_is_changed_after_a_confirmation(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    path = await create(ann)
    await join(house, bob, await invite(ann, path, "administrator"))
    await bob.open(f"{path}/members")
    # The owner's role is not theirs to change.
    [role] = role_pages(bob)
    await bob.open(role)
    page = await bob.submit("Change the role", role="reader")
    assert "You are an administrator now. As a reader you may do less" in bob.text
    assert page.links["Cancel"] == f"{path}/members"
    page = await bob.submit("Change my role")
    assert page.alerts == ["The role is saved."]
    await bob.open(f"{path}/invitations")
    assert bob.status == 403


async def test_each_role_on_offer_is_explained_beside_it(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    path = await create(ann)
    await join(house, bob, await invite(ann, path, "administrator"))
    await bob.open(f"{path}/members")
    for page in (*role_pages(bob), f"{path}/invitations"):
        await bob.open(page)
        shown = [each["value"] for each in bob.page.controls if each.get("name") == "role"]
        assert shown == ["administrator", "editor", "reader"]
        assert 'class="hint">Also manages members and the name.</span>' in bob.text
        assert "including deleting the workspace" not in bob.text


async def test_role_that_may_not_be_changed_has_no_form(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    path = await create(ann)
    await join(house, bob, await invite(ann, path, "reader"))
    await ann.open(f"{path}/members")
    pages = role_pages(ann)
    await bob.open(f"{path}/members")
    assert role_pages(bob) == []
    for page in pages:
        await bob.open(page)
        assert bob.status == 403
        assert {each.button for each in bob.page.forms} == {"Sign out"}


async def test_role_that_is_none_comes_back_with_the_choice(ann: PageReader) -> None:
    path = await create(ann)
    await ann.open(f"{path}/members")
    [role] = role_pages(ann)
    form = await ann.form_at(role, "Change the role")
    await ann.send_form(form, role="guest", confirmed="yes")
    assert (ann.status, ann.page.focused) == (400, ["role"])


async def test_workspace_is_deleted_by_owners_only(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    path = await create(ann)
    await join(house, bob, await invite(ann, path, "editor"))
    page = await bob.open(f"{path}/delete")
    assert bob.status == 403
    assert {each.button for each in page.forms} == {"Sign out"}
    assert "Only an owner of the workspace can delete it." in bob.text


async def test_member_leaves(house: Installation, ann: PageReader, bob: PageReader) -> None:
    path = await create(ann)
    await join(house, bob, await invite(ann, path, "reader"))
    await bob.open(f"{path}/settings")
    assert all(each.button != "Rename" for each in bob.page.forms)
    await bob.open(bob.page.links["Leave the workspace"])
    await bob.submit("Leave the workspace")
    assert (bob.path, bob.page.alerts) == ("/workspaces", ["You have left the workspace."])


async def test_reader_is_not_offered_what_is_refused(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    path = await create(ann)
    await join(house, bob, await invite(ann, path, "reader"))
    await bob.open(f"{path}/members")
    assert "Invitations" not in bob.page.links
    assert {each.button for each in bob.page.forms} == {"Sign out"}
    await bob.open(f"{path}/invitations")
    assert bob.status == 403


async def test_invitation_is_revoked(ann: PageReader) -> None:
    path = await create(ann)
    await invite(ann, path, address="cid@example.org")
    await ann.open(f"{path}/invitations")
    assert "cid@example.org" in ann.text
    await ann.submit("Revoke")
    assert ann.page.alerts[0].startswith("The invitation is revoked.")
    assert "revoked</span>" in ann.text


async def test_invalid_address_is_refused_at_its_field(ann: PageReader) -> None:
    path = await create(ann)
    await ann.open(f"{path}/invitations")
    page = await ann.submit("Create the link", address="cid")
    assert (ann.status, page.focused) == (400, ["address"])
    assert ann.form("Create the link").fields["address"] == "cid"


async def test_unknown_member_does_not_exist(ann: PageReader) -> None:
    path = await create(ann)
    await ann.open(f"{path}/members/01900000-0000-7000-8000-0000000000ff/remove")
    assert ann.status == 404
