"""The members of a workspace: listing, changing and removing them."""

import pytest
import trio

from octavo.http.contract.paging import cursor
from tests.fakes.asgi_client import Response
from tests.fakes.users_api import FROM_HERE, UsersApi

ROLES = ("owner", "administrator", "editor", "reader")
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"


class Shared:
    """A workspace with a member of each role, who are called by their roles, and a stranger."""

    def __init__(self, users: UsersApi) -> None:
        self.users = users
        self.ids: dict[str, str] = {}
        self.cookies: dict[str, tuple[bytes, bytes]] = {}
        self.members = ""

    async def make(self) -> "Shared":
        for name in (*ROLES, "stranger"):
            made, cookie = await self.users.account(f"{name}@example.org")
            self.ids[name], self.cookies[name] = made.account.account_id, cookie
        made_by_owner = await self.users.post(
            "/api/workspaces", {"name": "Shared"}, self.cookies["owner"], FROM_HERE
        )
        self.members = f"/api/workspaces/{made_by_owner.json()['id']}/members"
        for role in ROLES[1:]:
            self.users.identity.sources.time += 1
            await self.join(role, role)
        return self

    async def join(self, name: str, role: str) -> None:
        """Invite somebody, who accepts."""
        path = self.members.replace("members", "invitations")
        made = await self.users.post(path, {"role": role}, self.cookies["owner"], FROM_HERE)
        given = {"token": made.json()["token"]}
        joined = await self.users.post(
            "/api/invitations/accept", given, self.cookies[name], FROM_HERE
        )
        assert joined.status == 200, joined.body

    async def change(self, actor: str, name: str, role: str) -> Response:
        return await self.users.patch(
            f"{self.members}/{self.ids.get(name, name)}",
            {"role": role},
            self.cookies[actor],
            FROM_HERE,
        )

    async def remove(self, actor: str, name: str) -> Response:
        path = f"{self.members}/{self.ids.get(name, name)}"
        return await self.users.delete(path, self.cookies[actor], FROM_HERE)

    async def roles(self) -> dict[str, str]:
        """The roles of the members, as the store has them."""
        rows = await self.users.identity.rows("SELECT account_id, role FROM members")
        names = {account_id: name for name, account_id in self.ids.items()}
        return {names[account_id]: role for account_id, role in rows}


@pytest.fixture
async def shared(users: UsersApi) -> Shared:
    return await Shared(users).make()


@pytest.mark.parametrize("name", ROLES)
async def test_members_are_listed_in_the_order_in_which_they_joined(
    shared: Shared, name: str
) -> None:
    page = (await shared.users.get(shared.members, shared.cookies[name])).json()
    assert [each["role"] for each in page["items"]] == list(ROLES)
    assert [each["accountId"] for each in page["items"]] == [shared.ids[role] for role in ROLES]
    assert page["items"][1]["joinedAt"] == "2027-01-15T08:00:01.000Z"
    shown = {each.get("address") == "administrator@example.org" for each in page["items"]}
    assert (True in shown) == (name in ("owner", "administrator"))


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
async def test_pages_of_any_size_hold_every_member_once(shared: Shared, limit: int) -> None:
    await shared.users.identity.execute("UPDATE members SET joined_at = 5")
    found: list[str] = []
    after = ""
    while True:
        target = f"{shared.members}?limit={limit}{after}"
        page = (await shared.users.get(target, shared.cookies["reader"])).json()
        found += [each["accountId"] for each in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert sorted(found) == sorted(shared.ids[role] for role in ROLES)


@pytest.mark.parametrize(
    "after",
    [
        "?",
        cursor("1"),
        cursor("x", NOBODYS),
        cursor("-1", NOBODYS),
        cursor("9" * 30, NOBODYS),
        cursor("1", "x"),
    ],
)
async def test_cursor_of_another_list_is_refused(shared: Shared, after: str) -> None:
    response = await shared.users.get(f"{shared.members}?after={after}", shared.cookies["owner"])
    assert (response.status, response.code) == (400, "invalid_request")


async def test_workspace_of_others_has_no_members(shared: Shared) -> None:
    for response in (
        await shared.users.get(shared.members, shared.cookies["stranger"]),
        await shared.change("stranger", "reader", "editor"),
        await shared.remove("stranger", "reader"),
        await shared.remove("stranger", "stranger"),
    ):
        assert (response.status, response.code) == (404, "not_found")


@pytest.mark.parametrize("wanted", ROLES)
@pytest.mark.parametrize("name", ROLES)
@pytest.mark.parametrize("actor", ROLES)
async def test_roles_are_changed_by_those_who_may(
    shared: Shared, actor: str, name: str, wanted: str
) -> None:
    before = await shared.roles()
    response = await shared.change(actor, name, wanted)
    after = await shared.roles()
    if actor in ("editor", "reader") or (actor == "administrator" and "owner" in (name, wanted)):
        assert (response.status, response.code) == (403, "forbidden")
    elif name == "owner" and wanted != "owner":
        assert (response.status, response.code) == (409, "last_owner")
    else:
        assert (response.status, response.json()["role"]) == (200, wanted)
        before[name] = wanted
    assert after == before


@pytest.mark.parametrize("name", ROLES)
@pytest.mark.parametrize("actor", ROLES)
async def test_members_are_removed_by_those_who_may_and_by_themselves(
    shared: Shared, actor: str, name: str
) -> None:
    before = await shared.roles()
    assert (await shared.users.get(shared.members, shared.cookies[name])).status == 200
    shared.users.rechecked.clear()
    response = await shared.remove(actor, name)
    if name == "owner" and actor == "owner":
        assert (response.status, response.code) == (409, "last_owner")
    elif actor != name and (actor in ("editor", "reader") or name == "owner"):
        assert (response.status, response.code) == (403, "forbidden")
    else:
        assert (response.status, response.json()) == (200, {"removed": True})
        del before[name]
        refused = await shared.users.get(shared.members, shared.cookies[name])
        assert refused.status == 404
        assert shared.users.rechecked == [shared.ids[name]]
    assert await shared.roles() == before


async def test_workspace_is_handed_over(shared: Shared) -> None:
    assert (await shared.change("owner", "reader", "owner")).status == 200
    assert (await shared.change("owner", "owner", "editor")).status == 200
    response = await shared.change("owner", "reader", "editor")
    assert (response.status, response.code) == (403, "forbidden")
    assert (await shared.remove("reader", "owner")).status == 200


async def test_one_of_two_owners_who_leave_at_the_same_time_stays(shared: Shared) -> None:
    await shared.change("owner", "reader", "owner")
    statuses: list[int] = []

    async def leave(name: str) -> None:
        statuses.append((await shared.remove(name, name)).status)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(leave, "owner")
        nursery.start_soon(leave, "reader")
    assert sorted(statuses) == [200, 409]
    assert list((await shared.roles()).values()).count("owner") == 1


async def test_account_that_does_not_exist_is_refused(shared: Shared) -> None:
    for response in (
        await shared.change("owner", NOBODYS, "reader"),
        await shared.change("owner", "stranger", "reader"),
        await shared.remove("owner", NOBODYS),
        await shared.remove("owner", "stranger"),
    ):
        assert (response.status, response.code) == (404, "not_found")


async def test_disabled_owner_is_no_owner_to_leave_a_workspace_to(shared: Shared) -> None:
    await shared.change("owner", "reader", "owner")
    await shared.users.identity.execute(
        "UPDATE accounts SET state = 'disabled' WHERE id = $1::uuid", shared.ids["reader"]
    )
    response = await shared.remove("owner", "owner")
    assert (response.status, response.code) == (409, "last_owner")


async def test_role_is_one_of_four(shared: Shared) -> None:
    response = await shared.change("owner", "reader", "king")
    assert (response.status, response.code) == (400, "invalid_request")
