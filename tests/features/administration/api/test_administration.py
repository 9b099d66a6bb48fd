"""Administrators list, change and remove accounts."""

import pytest
import trio
from octavo_rules.identity import AccountId
from trio.testing import MockClock

from octavo.features.accounts.rules.decisions import DecisionsChange
from octavo.features.accounts.rules.refusal import NotAdministrator
from octavo.http.contract.endpoint import AUTHENTICATED_SECONDS
from octavo.store.queries import workspaces
from tests.fakes.asgi_client import Response, ask
from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.users_api import FROM_HERE, NO_LIMITS, UNUSED, UsersApi, bearer, cookie_set_by

ACCOUNTS = "/api/accounts"
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"
CONTROLS = {
    "revision": 1,
    "locked": False,
    "lockReason": None,
    "storageBytes": None,
    **NO_LIMITS,
}


class Installation:
    """The administrator ``root`` and the member ``ann``."""

    def __init__(self, users: UsersApi) -> None:
        self.users = users
        self.ids: dict[str, str] = {}
        self.cookies: dict[str, tuple[bytes, bytes]] = {}

    async def make(self) -> "Installation":
        await self.add("root", "administrator")
        await self.add("ann", "member")
        return self

    async def add(self, name: str, role: str) -> None:
        assert role in ("member", "administrator")
        made, cookie = await self.users.account(
            f"{name}@example.org", "administrator" if role == "administrator" else "member"
        )
        self.ids[name], self.cookies[name] = made.account.account_id, cookie

    async def update(self, actor: str, name: str, **given: object) -> Response:
        path = f"{ACCOUNTS}/{self.ids.get(name, name)}"
        return await self.users.patch(path, given, self.cookies[actor], FROM_HERE)

    async def remove(self, actor: str, name: str) -> Response:
        path = f"{ACCOUNTS}/{self.ids.get(name, name)}"
        return await self.users.delete(path, self.cookies[actor], FROM_HERE)

    async def own(self, name: str) -> Response:
        return await self.users.get("/api/account", self.cookies[name])

    async def listed(self) -> dict[str, dict[str, object]]:
        page = (await self.users.get(ACCOUNTS, self.cookies["root"])).json()
        return {each["address"].partition("@")[0]: each for each in page["items"]}


@pytest.fixture
async def installation(users: UsersApi) -> Installation:
    return await Installation(users).make()


async def test_accounts_are_listed_without_what_they_wrote(installation: Installation) -> None:
    users = installation.users
    await users.post("/api/workspaces", {"name": "Secret"}, installation.cookies["ann"], FROM_HERE)
    response = await users.get(ACCOUNTS, installation.cookies["root"])
    root, ann = response.json()["items"]
    assert (root["role"], root["id"]) == ("administrator", installation.ids["root"])
    assert ann == {
        "id": installation.ids["ann"],
        "address": "ann@example.org",
        "displayName": "Ann",
        "role": "member",
        "state": "enabled",
        "effectiveState": "enabled",
        "lockReason": None,
        "usage": UNUSED,
        "limit": {"storageBytes": None},
        "controls": CONTROLS,
        "createdAt": "2027-01-15T08:00:00.000Z",
        "lastActiveAt": "2027-01-15T08:00:00.000Z",
    }
    assert b"Secret" not in response.body


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
async def test_pages_of_any_size_hold_every_account_once(
    installation: Installation, limit: int
) -> None:
    for name in ("bob", "cleo", "dan"):
        await installation.add(name, "member")
    found: list[str] = []
    after = ""
    while True:
        target = f"{ACCOUNTS}?limit={limit}{after}"
        page = (await installation.users.get(target, installation.cookies["root"])).json()
        found += [each["id"] for each in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert found == list(installation.ids.values())


async def test_usage_is_that_of_the_workspaces_which_the_account_owns(
    installation: Installation,
) -> None:
    users = installation.users
    for name in ("root", "ann"):
        await users.post("/api/workspaces", {"name": "N"}, installation.cookies[name], FROM_HERE)
    await users.identity.execute("UPDATE workspaces SET size = 700")
    assert (await installation.own("ann")).json()["usage"] == {**UNUSED, "storageBytes": 700}
    assert (await installation.listed())["ann"]["usage"] == {**UNUSED, "storageBytes": 700}


async def test_members_administer_nothing(installation: Installation) -> None:
    for response in (
        await installation.users.get(ACCOUNTS, installation.cookies["ann"]),
        await installation.update("ann", "ann", role="administrator"),
        await installation.remove("ann", "root"),
    ):
        assert (response.status, response.code) == (403, "forbidden")
    assert (await installation.listed())["ann"]["role"] == "member"


async def test_role_takes_effect_with_the_next_request(installation: Installation) -> None:
    assert (await installation.own("ann")).status == 200
    assert (await installation.update("root", "ann", role="administrator")).status == 200
    assert (await installation.users.get(ACCOUNTS, installation.cookies["ann"])).status == 200
    assert (await installation.update("ann", "root", role="member")).status == 200
    assert (await installation.users.get(ACCOUNTS, installation.cookies["root"])).status == 403


async def test_locked_account_keeps_a_few_operations(installation: Installation) -> None:
    response = await installation.update("root", "ann", state="locked")
    assert (response.json()["state"], response.json()["effectiveState"]) == ("locked", "locked")
    assert (await installation.own("ann")).json()["state"] == "locked"
    cookie = installation.cookies["ann"]
    refused = await installation.users.post("/api/workspaces", {"name": "N"}, cookie, FROM_HERE)
    assert (refused.status, refused.code) == (423, "account_locked")
    await installation.update("root", "ann", state="enabled")
    made = await installation.users.post("/api/workspaces", {"name": "N"}, cookie, FROM_HERE)
    assert made.status == 201


async def test_what_ends_with_an_account_stays_ended_when_it_is_enabled_again(
    installation: Installation,
) -> None:
    await installation.add("bob", "member")
    users, identity = installation.users, installation.users.identity
    for name in ("ann", "bob"):
        await identity.reset_token(f"{name}@example.org")
        await identity.portal.open(AccountId(installation.ids[name]), "billing")
    made = await users.sign_in("ann@example.org")
    key = await users.post("/api/account/keys", {"name": "a key"}, cookie_set_by(made), FROM_HERE)
    await installation.update("root", "ann", state="disabled")
    by_key = bearer(key.json()["secret"])
    assert (await users.get("/api/account", by_key)).status == 401
    await installation.update("root", "ann", state="enabled")
    for table in ("password_resets", "portal_tokens"):
        rows = await identity.rows(f"SELECT account_id FROM {table}")
        assert rows == [(installation.ids["bob"],)]
    # Only the keys are valid again.
    assert (await users.get("/api/account", by_key)).status == 200


async def test_disabled_account_is_signed_out_and_stays_so(installation: Installation) -> None:
    made = await installation.users.identity.signing_in.session_of(
        installation.cookies["ann"][1].partition(b"=")[2]
    )
    assert made is not None
    await installation.update("root", "ann", state="disabled")
    assert (await installation.own("ann")).status == 401
    assert (await installation.users.sign_in("ann@example.org")).status == 401
    await installation.update("root", "ann", state="enabled")
    assert (await installation.own("ann")).status == 401
    assert (await installation.users.sign_in("ann@example.org")).status == 200


async def test_controls_change_with_the_revision_that_was_read(installation: Installation) -> None:
    given = {"revision": 1, "locked": True, "lockReason": " unpaid ", "storageBytes": 10}
    response = await installation.update("root", "ann", controls=given)
    locked = {**CONTROLS, **given, "revision": 2, "lockReason": "unpaid"}
    assert (response.status, response.json()["controls"]) == (200, locked)
    assert (response.json()["state"], response.json()["effectiveState"]) == ("enabled", "locked")
    assert (await installation.own("ann")).json()["controls"] == locked
    assert (await installation.own("ann")).json()["state"] == "locked"
    again = await installation.update("root", "ann", controls=given, role="administrator")
    assert (again.status, again.code) == (409, "controls_changed")
    assert (await installation.listed())["ann"]["role"] == "member"
    opened = await installation.update("root", "ann", controls={"revision": 2, "locked": False})
    assert opened.json()["controls"] == {**CONTROLS, "revision": 3, "storageBytes": 10}
    assert (await installation.own("ann")).json()["state"] == "enabled"


async def test_limit_is_set_and_removed(installation: Installation) -> None:
    for maximum in (0, 1_000_000, None):
        given = {"storageBytes": maximum}
        response = await installation.update("root", "ann", limit=given)
        assert (response.status, response.json()["limit"]) == (200, given)
        assert (await installation.own("ann")).json()["limit"] == given


@pytest.mark.parametrize(
    "given",
    [
        {"role": "king"},
        {"state": None},
        {"limit": {"storageBytes": -1}},
        {"limit": {}},
        {"controls": {"locked": True}},
        {"controls": {"revision": 1, "lockReason": "a\nb"}},
        {"password": "x"},
    ],
)
async def test_invalid_changes_are_refused(
    installation: Installation, given: dict[str, object]
) -> None:
    before = await installation.listed()
    response = await installation.update("root", "ann", **given)
    assert (response.status, response.code) == (400, "invalid_request")
    assert await installation.listed() == before


async def test_account_that_does_not_exist_is_not_found(installation: Installation) -> None:
    for response in (
        await installation.update("root", NOBODYS, role="member"),
        await installation.remove("root", NOBODYS),
    ):
        assert (response.status, response.code) == (404, "not_found")


@pytest.mark.parametrize(
    "given",
    [
        {"role": "member"},
        {"state": "locked"},
        {"state": "disabled"},
        {"controls": {"revision": 1, "locked": True}},
    ],
)
async def test_last_enabled_administrator_stays_one(
    installation: Installation, given: dict[str, object]
) -> None:
    await installation.add("other", "administrator")
    await installation.update("root", "other", state="disabled")
    response = await installation.update("root", "root", **given)
    assert (response.status, response.code) == (409, "last_administrator")
    response = await installation.remove("root", "root")
    assert (response.status, response.code) == (409, "last_administrator")
    await installation.update("root", "other", state="enabled")
    assert (await installation.update("root", "root", **given)).status == 200


async def test_one_of_two_administrators_who_demote_each_other_remains(
    installation: Installation,
) -> None:
    await installation.add("other", "administrator")
    statuses: list[int] = []

    async def demote(actor: str, name: str) -> None:
        statuses.append((await installation.update(actor, name, role="member")).status)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(demote, "root", "other")
        nursery.start_soon(demote, "other", "root")
    assert min(statuses) == 200
    rows = await installation.users.identity.rows("SELECT role FROM accounts")
    assert [role for (role,) in rows].count("administrator") == 1


class Household:
    """Workspaces with members, and what becomes of them when ann is removed."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation

    async def workspace(self, **roles: str) -> str:
        """A workspace of ann's, whose other members join in the order of ``roles``."""
        users = self.installation.users
        cookie = self.installation.cookies["ann"]
        made = await users.post("/api/workspaces", {"name": "N"}, cookie, FROM_HERE)
        workspace_id: str = made.json()["id"]
        for name, role in roles.items():
            users.identity.sources.time += 1
            path = f"/api/workspaces/{workspace_id}/invitations"
            invited = await users.post(path, {"role": role}, cookie, FROM_HERE)
            given = {"token": invited.json()["token"]}
            theirs = self.installation.cookies[name]
            joined = await users.post("/api/invitations/accept", given, theirs, FROM_HERE)
            assert joined.status == 200
        return workspace_id

    async def roles(self, workspace_id: str) -> dict[str, str]:
        rows = await self.installation.users.identity.rows(
            "SELECT workspace_id, account_id, role FROM members"
        )
        names = {account_id: name for name, account_id in self.installation.ids.items()}
        return {names[who]: role for where, who, role in rows if where == workspace_id}


@pytest.mark.parametrize("by", ["administrator", "oneself"])
async def test_removed_account_leaves_its_workspaces_to_those_it_trusted(
    installation: Installation, by: str
) -> None:
    household = Household(installation)
    for name in ("bob", "cleo"):
        await installation.add(name, "member")
    alone = await household.workspace()
    read_only = await household.workspace(bob="reader")
    edited = await household.workspace(cleo="editor", bob="editor")
    run = await household.workspace(cleo="editor", bob="administrator")
    owned = await household.workspace(cleo="editor", bob="owner")
    users = installation.users
    users.identity.after.members.clear()
    if by == "administrator":
        response = await installation.remove("root", "ann")
    else:
        given = {"password": PASSWORD}
        cookie = installation.cookies["ann"]
        response = await users.post("/api/account/removal", given, cookie, FROM_HERE)
        assert all("Max-Age=0" in cookie for cookie in response.cookies().values())
        assert set(response.cookies()) == {"__Host-octavo", "__Host-octavo-device"}
    assert (response.status, response.json()) == (200, {"removed": True})
    assert sorted(users.identity.gone) == sorted([alone, read_only])
    assert await household.roles(edited) == {"cleo": "owner", "bob": "editor"}
    assert await household.roles(run) == {"cleo": "editor", "bob": "owner"}
    assert await household.roles(owned) == {"cleo": "editor", "bob": "owner"}
    ids = installation.ids
    assert sorted(users.identity.after.members) == sorted(
        [(edited, ids["cleo"]), (run, ids["bob"])]
    )
    assert (await installation.own("ann")).status == 401
    assert (await users.sign_in("ann@example.org")).status == 401
    for table in ("sessions", "api_keys", "members"):
        rows = await users.identity.rows(f"SELECT account_id FROM {table}")
        assert ids["ann"] not in {account_id for (account_id,) in rows}
    rows = await users.identity.rows("SELECT address FROM accounts")
    assert "ann@example.org" not in {address for (address,) in rows}


async def test_disabled_account_inherits_nothing(installation: Installation) -> None:
    household = Household(installation)
    for name in ("bob", "cleo"):
        await installation.add(name, "member")
    run = await household.workspace(bob="administrator", cleo="editor")
    edited = await household.workspace(bob="editor", cleo="editor")
    await installation.update("root", "bob", state="disabled")
    assert (await installation.remove("root", "ann")).status == 200
    assert await household.roles(run) == {"bob": "administrator", "cleo": "owner"}
    assert await household.roles(edited) == {"bob": "editor", "cleo": "owner"}


async def test_workspace_of_a_disabled_owner_passes_to_somebody_who_can_act(
    installation: Installation,
) -> None:
    household = Household(installation)
    for name in ("bob", "cleo"):
        await installation.add(name, "member")
    edited = await household.workspace(bob="owner", cleo="editor")
    read_only = await household.workspace(bob="owner", cleo="reader")
    await installation.update("root", "bob", state="disabled")
    assert (await installation.remove("root", "ann")).status == 200
    assert await household.roles(edited) == {"bob": "owner", "cleo": "owner"}
    # Nobody can act for it, and nothing of it is lost.
    assert await household.roles(read_only) == {"bob": "owner", "cleo": "reader"}
    assert installation.users.identity.gone == []


async def test_former_administrator_decides_nothing_whose_caller_was_known_before(
    installation: Installation,
) -> None:
    await installation.add("other", "administrator")
    administration = installation.users.identity.administration
    other, root = (AccountId(installation.ids[name]) for name in ("other", "root"))
    await installation.update("root", "other", role="member")
    with pytest.raises(NotAdministrator):
        await administration.decide(
            other, DecisionsChange(role="administrator"), actor=other, remote_address=None
        )
    with pytest.raises(NotAdministrator):
        await installation.users.identity.removal.remove(root, actor=other, remote_address=None)
    with pytest.raises(NotAdministrator):
        await installation.users.invitations.create(
            other, remote_address=None, role="administrator"
        )
    assert (await installation.listed())["other"]["role"] == "member"


@pytest.mark.parametrize("change", ["demoted", "locked", "disabled", "removed"])
async def test_rights_that_end_while_a_body_arrives_are_not_used(
    installation: Installation, change: str, autojump_clock: MockClock
) -> None:
    await installation.add("other", "administrator")

    async def end_and_wait() -> None:
        if change == "removed":
            response = await installation.remove("root", "other")
        elif change == "demoted":
            response = await installation.update("root", "other", role="member")
        else:
            response = await installation.update("root", "other", state=change)
        assert response.status == 200
        await trio.sleep(AUTHENTICATED_SECONDS + 0.1)

    response = await ask(
        installation.users.application,
        "POST",
        "/api/invitations",
        headers=[
            installation.cookies["other"],
            FROM_HERE,
            (b"content-type", b"application/json"),
        ],
        body=[b"{", b"}"],
        before_last=end_and_wait,
    )
    expected = {"demoted": (403, "forbidden"), "locked": (423, "account_locked")}
    assert (response.status, response.code) == expected.get(change, (401, "not_signed_in"))
    assert await installation.users.identity.rows("SELECT 1 FROM invitations") == [
        (1,) for _ in range(3)
    ]


async def test_owner_of_many_workspaces_makes_no_more(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "MAX_OWNED", 2)
    household = Household(installation)
    for _ in range(2):
        await household.workspace()
    cookie = installation.cookies["ann"]
    response = await installation.users.post("/api/workspaces", {"name": "N"}, cookie, FROM_HERE)
    assert (response.status, response.code) == (403, "forbidden")
    assert "at most" in response.json()["detail"]


async def test_workspaces_of_others_are_not_counted_as_ones_own(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "MAX_OWNED", 1)
    await installation.add("bob", "member")
    await Household(installation).workspace(bob="administrator")
    cookie = installation.cookies["bob"]
    for status in (201, 403):
        made = await installation.users.post("/api/workspaces", {"name": "N"}, cookie, FROM_HERE)
        assert made.status == status


async def test_attempts_of_strangers_do_not_keep_a_person_from_leaving(
    installation: Installation,
) -> None:
    for _ in range(12):
        await installation.users.sign_in("ann@example.org", "a guess of it")
    given, cookie = {"password": PASSWORD}, installation.cookies["ann"]
    response = await installation.users.post("/api/account/removal", given, cookie, FROM_HERE)
    assert response.status == 200


async def test_wrong_password_removes_nothing(installation: Installation) -> None:
    given, cookie = {"password": "a guess of it"}, installation.cookies["ann"]
    response = await installation.users.post("/api/account/removal", given, cookie, FROM_HERE)
    assert (response.status, response.code) == (401, "credential_refused")
    assert (await installation.own("ann")).status == 200


async def test_last_administrator_does_not_remove_itself(installation: Installation) -> None:
    given, cookie = {"password": PASSWORD}, installation.cookies["root"]
    response = await installation.users.post("/api/account/removal", given, cookie, FROM_HERE)
    assert (response.status, response.code) == (409, "last_administrator")
    assert (await installation.own("root")).status == 200


async def test_invitation_for_the_address_of_a_removed_account_goes_too(
    installation: Installation,
) -> None:
    identity = installation.users.identity
    await identity.invite(address="ann@example.org")
    await identity.invite(address="bob@example.org")
    await installation.remove("root", "ann")
    rows = await identity.rows("SELECT address FROM invitations WHERE address IS NOT NULL")
    assert [tuple(row) for row in rows] == [("bob@example.org",)]
