"""Invitations to the installation and into workspaces."""

import pytest
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.members.rules import MAX_OPEN, MAX_OPEN_OF_WORKSPACE, Invitation, InvitationId
from octavo.features.members.sql import invitations
from octavo.store.queries.expiry import MAX_ROWS
from octavo.store.transaction import Transaction
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import START
from tests.fakes.users_api import FROM_HERE, ORIGIN, UsersApi, cookie_set_by

INVITATIONS = "/api/invitations"
ACCEPT = "/api/invitations/accept"
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"
DAY = 86_400


class Inviting:
    """The administrator ``root``, and ``ann``, who owns a workspace, and ``bob``."""

    def __init__(self, users: UsersApi) -> None:
        self.users = users
        self.ids: dict[str, str] = {}
        self.cookies: dict[str, tuple[bytes, bytes]] = {}
        self.workspace = ""

    async def make(self) -> "Inviting":
        for name in ("root", "ann", "bob"):
            made, cookie = await self.users.account(
                f"{name}@example.org", "administrator" if name == "root" else "member"
            )
            self.ids[name], self.cookies[name] = made.account.account_id, cookie
        made_by_ann = await self.post("ann", "/api/workspaces", {"name": "Ann's"})
        self.workspace = f"/api/workspaces/{made_by_ann.json()['id']}"
        return self

    async def post(self, actor: str, target: str, document: object) -> Response:
        return await self.users.post(target, document, self.cookies[actor], FROM_HERE)

    async def get(self, actor: str, target: str) -> Response:
        return await self.users.get(target, self.cookies[actor])

    async def delete(self, actor: str, target: str) -> Response:
        return await self.users.delete(target, self.cookies[actor], FROM_HERE)

    async def into_workspace(self, actor: str = "ann", **given: str) -> Response:
        document = {"role": "editor", **given}
        return await self.post(actor, f"{self.workspace}/invitations", document)

    async def token(self, **given: str) -> str:
        """The token of a new invitation into the workspace."""
        made = await self.into_workspace(**given)
        assert made.status == 201, made.body
        token: str = made.json()["token"]
        return token

    async def accept(self, actor: str, token: str) -> Response:
        return await self.post(actor, ACCEPT, {"token": token})

    async def add(self, name: str, role: str) -> None:
        """Invite somebody, who accepts."""
        assert (await self.accept(name, await self.token(role=role))).status == 200
        await self.users.identity.execute("DELETE FROM invitations WHERE used_at IS NOT NULL")

    async def roles(self) -> dict[str, str]:
        page = (await self.get("ann", f"{self.workspace}/members")).json()
        return {each["address"].partition("@")[0]: each["role"] for each in page["items"]}

    async def states(self) -> list[str]:
        page = (await self.get("root", INVITATIONS)).json()
        return [each["state"] for each in page["items"] if each["createdBy"] is not None]


@pytest.fixture
async def inviting(users: UsersApi) -> Inviting:
    return await Inviting(users).make()


async def test_invitation_is_shown_with_its_token_once(inviting: Inviting) -> None:
    given = {"address": " New@Example.org", "role": "administrator"}
    made = await inviting.post("root", INVITATIONS, given)
    document = made.json()
    token, link = document.pop("token"), document.pop("link")
    assert (made.status, link) == (201, f"{ORIGIN}/register?invitation={token}")
    assert document.pop("id")
    assert document == {
        "address": "new@example.org",
        "role": "administrator",
        "workspaceId": None,
        "workspaceRole": None,
        "state": "open",
        "createdAt": "2027-01-15T08:00:00.000Z",
        "expiresAt": "2027-01-22T08:00:00.000Z",
        "createdBy": inviting.ids["root"],
    }
    listed = await inviting.get("root", INVITATIONS)
    assert listed.json()["items"][0]["address"] == "new@example.org"
    assert token.encode() not in listed.body


async def test_address_with_an_account_is_invited_like_any_other(inviting: Inviting) -> None:
    for target, given in (
        (INVITATIONS, {"role": "member"}),
        (f"{inviting.workspace}/invitations", {"role": "reader"}),
    ):
        actor = "root" if target == INVITATIONS else "ann"
        known = await inviting.post(actor, target, {**given, "address": "bob@example.org"})
        unknown = await inviting.post(actor, target, {**given, "address": "eve@example.org"})
        assert known.status == unknown.status == 201
        assert known.json().keys() == unknown.json().keys()
        different = {"id", "token", "link", "address"}
        for name in known.json().keys() - different:
            assert known.json()[name] == unknown.json()[name]


async def test_person_with_an_account_joins(inviting: Inviting) -> None:
    refused = await inviting.get("bob", f"{inviting.workspace}/members")
    assert refused.status == 404
    response = await inviting.accept("bob", await inviting.token(role="reader"))
    assert (response.status, response.json()["role"]) == (200, "reader")
    assert await inviting.roles() == {"ann": "owner", "bob": "reader"}
    assert inviting.ids["bob"] in inviting.users.rechecked


async def test_person_without_an_account_registers_and_joins(inviting: Inviting) -> None:
    made = await inviting.users.register(await inviting.token(), "new@example.org")
    assert (made.status, made.json()["role"]) == (201, "member")
    assert (await inviting.roles())["new"] == "editor"
    mine = await inviting.users.get("/api/workspaces", cookie_set_by(made))
    assert [each["name"] for each in mine.json()["items"]] == ["Ann's"]


async def test_administrator_invites_into_a_workspace_that_it_manages(inviting: Inviting) -> None:
    workspace_id = inviting.workspace.rpartition("/")[2]
    given = {"workspaceId": workspace_id, "workspaceRole": "administrator"}
    refused = await inviting.post("root", INVITATIONS, given)
    assert (refused.status, refused.code) == (404, "not_found")
    await inviting.add("root", "editor")
    refused = await inviting.post("root", INVITATIONS, given)
    assert (refused.status, refused.code) == (403, "forbidden")
    await inviting.add("bob", "administrator")
    promoted = await inviting.users.patch(
        f"/api/accounts/{inviting.ids['bob']}",
        {"role": "administrator"},
        inviting.cookies["root"],
        FROM_HERE,
    )
    assert promoted.status == 200
    made = await inviting.post("bob", INVITATIONS, given)
    assert made.status == 201
    await inviting.users.register(made.json()["token"], "new@example.org")
    assert (await inviting.roles())["new"] == "administrator"


@pytest.mark.parametrize(
    ("actor_role", "role", "status"),
    [
        ("owner", "owner", 201),
        ("administrator", "administrator", 201),
        ("administrator", "owner", 403),
        ("editor", "reader", 403),
        ("reader", "reader", 403),
    ],
)
async def test_role_is_granted_by_those_who_may(
    inviting: Inviting, actor_role: str, role: str, status: int
) -> None:
    await inviting.add("bob", actor_role)
    assert (await inviting.into_workspace("bob", role=role)).status == status


async def test_stranger_invites_into_no_workspace(inviting: Inviting) -> None:
    path = f"{inviting.workspace}/invitations"
    for response in (
        await inviting.into_workspace("bob"),
        await inviting.get("bob", path),
        await inviting.delete("bob", f"{path}/{NOBODYS}"),
    ):
        assert (response.status, response.code) == (404, "not_found")


async def test_members_of_the_installation_do_not_invite_to_it(inviting: Inviting) -> None:
    for response in (
        await inviting.post("ann", INVITATIONS, {}),
        await inviting.get("ann", INVITATIONS),
        await inviting.delete("ann", f"{INVITATIONS}/{NOBODYS}"),
    ):
        assert (response.status, response.code) == (403, "forbidden")


async def test_invitation_is_used_once(inviting: Inviting) -> None:
    token = await inviting.token()
    assert (await inviting.accept("bob", token)).status == 200
    again = await inviting.accept("root", token)
    assert (again.status, again.code) == (404, "not_found")
    assert await inviting.states() == ["used"]


async def test_member_keeps_the_invitation_for_somebody_else(inviting: Inviting) -> None:
    token = await inviting.token()
    refused = await inviting.accept("ann", token)
    assert (refused.status, refused.code) == (409, "already_member")
    assert (await inviting.accept("bob", token)).status == 200


@pytest.mark.parametrize("what", ["unknown", "another", "expired", "revoked", "no workspace"])
async def test_unusable_invitations_are_all_alike(inviting: Inviting, what: str) -> None:
    token = "x" * 43
    if what == "another":
        token = await inviting.token(address="eve@example.org")
    elif what == "expired":
        token = await inviting.token(expiresAt="2027-01-15T09:00:00Z")
        inviting.users.identity.sources.time = START + 3600
    elif what == "revoked":
        made = (await inviting.into_workspace()).json()
        path = f"{inviting.workspace}/invitations/{made['id']}"
        assert (await inviting.delete("ann", path)).status == 200
        token = made["token"]
    elif what == "no workspace":
        token = (await inviting.post("root", INVITATIONS, {})).json()["token"]
    response = await inviting.accept("bob", token)
    problem = response.json()
    assert (response.status, problem["code"]) == (404, "not_found")
    assert problem["detail"].startswith("The invitation is not valid.")
    assert await inviting.roles() == {"ann": "owner"}


async def test_former_owner_makes_no_owners(inviting: Inviting) -> None:
    await inviting.add("bob", "owner")
    token = (await inviting.into_workspace("bob", role="owner")).json()["token"]
    path = f"{inviting.workspace}/members/{inviting.ids['bob']}"
    cookie = inviting.cookies["ann"]
    await inviting.users.patch(path, {"role": "administrator"}, cookie, FROM_HERE)
    assert (await inviting.accept("root", token)).status == 404
    assert await inviting.roles() == {"ann": "owner", "bob": "administrator"}


@pytest.mark.parametrize("state", ["locked", "disabled"])
@pytest.mark.parametrize("target", ["installation", "workspace"])
async def test_invitations_of_a_locked_or_disabled_account_are_not_usable(
    inviting: Inviting, state: str, target: str
) -> None:
    path = f"/api/accounts/{inviting.ids['bob']}"
    root = inviting.cookies["root"]
    await inviting.add("bob", "administrator")
    await inviting.users.patch(path, {"role": "administrator"}, root, FROM_HERE)
    if target == "installation":
        made = await inviting.post("bob", INVITATIONS, {})
    else:
        made = await inviting.into_workspace("bob")
    await inviting.users.patch(path, {"state": state}, root, FROM_HERE)
    registered = await inviting.users.register(made.json()["token"], "new@example.org")
    assert (registered.status, registered.code) == (404, "not_found")


@pytest.mark.parametrize("target", ["installation", "workspace"])
async def test_invitations_of_a_locked_account_work_when_it_is_unlocked(
    inviting: Inviting, target: str
) -> None:
    path = f"/api/accounts/{inviting.ids['bob']}"
    root = inviting.cookies["root"]
    await inviting.add("bob", "administrator")
    await inviting.users.patch(path, {"role": "administrator"}, root, FROM_HERE)
    if target == "installation":
        made = await inviting.post("bob", INVITATIONS, {})
    else:
        made = await inviting.into_workspace("bob")
    for state in ("locked", "enabled"):
        await inviting.users.patch(path, {"state": state}, root, FROM_HERE)
    registered = await inviting.users.register(made.json()["token"], "new@example.org")
    assert registered.status == 201


@pytest.mark.parametrize("how", ["removed", "left", "demoted", "account removed"])
async def test_invitations_end_with_the_right_to_invite(inviting: Inviting, how: str) -> None:
    await inviting.add("bob", "administrator")
    token = (await inviting.into_workspace("bob")).json()["token"]
    path = f"{inviting.workspace}/members/{inviting.ids['bob']}"
    if how == "demoted":
        cookie = inviting.cookies["ann"]
        await inviting.users.patch(path, {"role": "editor"}, cookie, FROM_HERE)
    elif how == "account removed":
        await inviting.delete("root", f"/api/accounts/{inviting.ids['bob']}")
    else:
        await inviting.delete("ann" if how == "removed" else "bob", path)
    assert (await inviting.accept("root", token)).status == 404


async def test_invitations_of_a_former_administrator_end(inviting: Inviting) -> None:
    path = f"/api/accounts/{inviting.ids['bob']}"
    root = inviting.cookies["root"]
    await inviting.users.patch(path, {"role": "administrator"}, root, FROM_HERE)
    made = (await inviting.post("bob", INVITATIONS, {"role": "administrator"})).json()
    await inviting.users.patch(path, {"role": "member"}, root, FROM_HERE)
    assert await inviting.states() == ["revoked"]
    assert (await inviting.users.register(made["token"], "new@example.org")).status == 404


async def fill(inviting: Inviting, name: str, count: int, workspace: str | None = None) -> None:
    """Create open invitations by ``name``."""
    sources = inviting.users.identity.sources

    async def create_all(transaction: Transaction) -> None:
        for _ in range(count):
            made = Invitation(
                InvitationId(sources.new_id()),
                None,
                "member",
                int(START * 1000),
                int((START + DAY) * 1000),
                workspace_id=None if workspace is None else WorkspaceId(workspace),
                workspace_role=None if workspace is None else "reader",
                created_by=AccountId(inviting.ids[name]),
            )
            await invitations.create(made, sources.new_entropy())(transaction)

    await inviting.users.identity.store.write(create_all)


@pytest.mark.parametrize("ended", ["used_at = 0", "revoked_at = 0", "expires_at = 1"])
async def test_open_invitations_into_a_workspace_have_a_maximum(
    inviting: Inviting, ended: str
) -> None:
    await fill(inviting, "ann", MAX_OPEN_OF_WORKSPACE - 1, inviting.workspace.rpartition("/")[2])
    assert (await inviting.into_workspace()).status == 201
    refused = await inviting.into_workspace()
    assert (refused.status, refused.code) == (409, "too_many_invitations")
    # Others don't count, and are not limited by it.
    assert (await inviting.post("root", INVITATIONS, {})).status == 201
    made = (await inviting.post("bob", "/api/workspaces", {"name": "Bob's"})).json()["id"]
    into_other = f"/api/workspaces/{made}/invitations"
    assert (await inviting.post("bob", into_other, {"role": "reader"})).status == 201
    await inviting.users.identity.execute(
        f"UPDATE invitations SET {ended} WHERE id = (SELECT MIN(id) FROM invitations"
        " WHERE used_at IS NULL AND workspace_id IS NOT NULL)"
    )
    assert (await inviting.into_workspace()).status == 201
    assert (await inviting.into_workspace()).status == 409


async def test_open_invitations_to_the_installation_have_a_maximum(inviting: Inviting) -> None:
    await fill(inviting, "root", MAX_OPEN - 1)
    assert (await inviting.post("root", INVITATIONS, {})).status == 201
    refused = await inviting.post("root", INVITATIONS, {})
    assert (refused.status, refused.code) == (409, "too_many_invitations")
    assert "1,000" in refused.json()["detail"]
    assert (await inviting.into_workspace()).status == 201
    # The operator is not kept from inviting.
    assert await inviting.users.identity.invite()


async def test_invitations_that_ended_are_deleted_in_portions(inviting: Inviting) -> None:
    identity = inviting.users.identity
    await identity.execute("DELETE FROM invitations")
    await fill(inviting, "root", MAX_ROWS + 4)
    ids = [row[0] for row in await identity.rows("SELECT id FROM invitations ORDER BY id")]
    for invitation_id, ended in zip(
        ids,
        ("used_at = 9", "used_at = 10", "revoked_at = 9, expires_at = 1", "revoked_at = 10"),
        strict=False,
    ):
        await identity.execute(f"UPDATE invitations SET {ended} WHERE id = $1::uuid", invitation_id)
    assert not await identity.store.write(invitations.expire(10))
    left = [row[0] for row in await identity.rows("SELECT id FROM invitations ORDER BY id")]
    assert left == [ids[1], *ids[3:]]
    await identity.execute("UPDATE invitations SET expires_at = 9, used_at = NULL")
    await identity.execute("UPDATE invitations SET revoked_at = NULL")
    assert await identity.store.write(invitations.expire(10))
    assert not await identity.store.write(invitations.expire(10))
    assert await identity.rows("SELECT id FROM invitations") == []


async def test_invitation_of_another_workspace_is_not_revoked(inviting: Inviting) -> None:
    made = (await inviting.into_workspace()).json()
    other = (await inviting.post("bob", "/api/workspaces", {"name": "Bob's"})).json()["id"]
    path = f"/api/workspaces/{other}/invitations/{made['id']}"
    assert (await inviting.delete("bob", path)).status == 404
    assert await inviting.states() == ["open"]
    assert (await inviting.delete("root", f"{INVITATIONS}/{made['id']}")).status == 200
    assert await inviting.states() == ["revoked"]
    assert (await inviting.delete("root", f"{INVITATIONS}/{made['id']}")).status == 200


async def test_invitations_are_listed_by_workspace_the_newest_first(inviting: Inviting) -> None:
    made = [(await inviting.into_workspace()).json()["id"] for _ in range(3)]
    await inviting.post("root", INVITATIONS, {})
    path = f"{inviting.workspace}/invitations"
    found: list[str] = []
    after = ""
    while True:
        page = (await inviting.get("ann", f"{path}?limit=2{after}")).json()
        found += [each["id"] for each in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert found == made[::-1]
    assert len(await inviting.states()) == 4


async def test_invitations_go_with_their_workspace(inviting: Inviting) -> None:
    token = await inviting.token()
    await inviting.delete("ann", inviting.workspace)
    assert (await inviting.accept("bob", token)).status == 404
    assert await inviting.states() == []


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({"address": "nobody"}, "/address"),
        ({"expiresAt": "2027-01-15T08:00:00Z"}, "/expiresAt"),
        ({"expiresAt": "2029-01-15T08:00:00Z"}, "/expiresAt"),
        ({"workspaceRole": "reader"}, "/workspaceRole"),
        ({"workspaceId": NOBODYS}, "/workspaceRole"),
        ({"role": "king"}, "/role"),
    ],
)
async def test_invalid_invitations_are_refused(
    inviting: Inviting, given: dict[str, object], pointer: str
) -> None:
    response = await inviting.post("root", INVITATIONS, given)
    assert (response.status, response.code) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == pointer
    assert await inviting.states() == []
