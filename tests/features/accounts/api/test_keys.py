"""Creating, listing and revoking API keys."""

import re

import pytest
import trio
from octavo_rules.identity import WRITE

from octavo.access.attempts import GRANTS, RATES
from octavo.model.access.account import AccessLimits, parse_scopes
from tests.fakes.asgi_client import Response, ask
from tests.fakes.identity_fixture import START
from tests.fakes.users_api import FROM_HERE, UsersApi, bearer

KEYS = "/api/account/keys"
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"
OTHER = "01900000-0000-7000-8000-eeeeeeeeeeee"
READING = {"scopes": ["notes:read"]}


async def test_created_key_is_returned_with_its_secret(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    body = {"name": " Backup ", "expiresAt": "2027-01-15T10:00:00+01:00"}
    response = await users.post(KEYS, body, its_cookie, FROM_HERE)
    document = response.json()
    assert response.status == 201
    assert re.fullmatch("octk_[0-9A-Za-z]{36}", document.pop("secret"))
    assert document.pop("id")
    assert document == {
        "name": "Backup",
        "createdAt": "2027-01-15T08:00:00.000Z",
        "expiresAt": "2027-01-15T09:00:00.000Z",
        "lastUsedAt": None,
        "scopes": None,
        "workspaceIds": None,
        "folder": None,
    }


async def test_created_key_authenticates_the_account(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    made = await users.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE)
    assert (await users.get("/api/account", bearer(made.json()["secret"]))).status == 200


async def test_keys_are_listed_without_secrets_the_newest_first(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    secrets = []
    for name in ("first", "second"):
        made = await users.post(KEYS, {"name": name}, its_cookie, FROM_HERE)
        secrets.append(made.json()["secret"])
    response = await users.get(KEYS, its_cookie)
    assert [item["name"] for item in response.json()["items"]] == ["second", "first"]
    assert not any(secret in response.body.decode() for secret in secrets)
    assert set(response.json()["items"][0]) == {
        "id",
        "name",
        "createdAt",
        "expiresAt",
        "lastUsedAt",
        "scopes",
        "workspaceIds",
        "folder",
    }


async def test_new_keys_and_invitations_of_an_account_are_limited_together(
    users: UsersApi,
) -> None:
    root, its_cookie = await users.account("root@example.org", "administrator")
    rate = RATES[GRANTS].account
    assert rate is not None
    made = await users.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE)
    path = f"{KEYS}/{made.json()['id']}"
    for _ in range(rate.count - 1):
        response = await users.post("/api/invitations", {}, its_cookie, FROM_HERE)
        assert response.status == 201
    workspace = (await users.post("/api/workspaces", {"name": "W"}, its_cookie, FROM_HERE)).json()
    into = f"/api/workspaces/{workspace['id']}/invitations"
    for target, body in (
        (KEYS, {"name": "b"}),
        ("/api/invitations", {}),
        (into, {"role": "reader"}),
    ):
        refused = await users.post(target, body, its_cookie, FROM_HERE)
        assert (refused.status, refused.code) == (429, "rate_limited")
        assert int(refused.header("retry-after") or "0") >= 1
    created = [
        each.kind for each in users.identity.audited if each.actor == root.account.account_id
    ]
    assert created.count("key_created") + created.count("invitation_created") == rate.count
    # What was created can be revoked, and others are not limited by it.
    assert (await users.delete(path, its_cookie, FROM_HERE)).status == 200
    _, bobs_cookie = await users.account("bob@example.org")
    assert (await users.post(KEYS, {"name": "c"}, bobs_cookie, FROM_HERE)).status == 201


async def test_keys_of_other_accounts_are_not_listed(users: UsersApi) -> None:
    ann, _ = await users.account()
    await users.key(ann)
    _, bobs_cookie = await users.account("bob@example.org")
    assert (await users.get(KEYS, bobs_cookie)).json() == {"items": []}


async def test_key_used_is_listed_with_the_time(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    key = await users.key(made)
    users.identity.sources.time = START + 1.5
    await users.get("/api/account", key)
    await users.identity.activity.flush()
    [item] = (await users.get(KEYS, its_cookie)).json()["items"]
    assert item["lastUsedAt"] == "2027-01-15T08:00:01.500Z"


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": " \t"}, "/name"),
        ({"name": "a\x1bb"}, "/name"),
        ({"name": "a\0b"}, "/name"),
        ({"name": "x" * 101}, "/name"),
        ({"name": "a", "expiresAt": "2027-01-15T08:00:00Z"}, "/expiresAt"),
        ({"name": "a", "expiresAt": "2027-01-15T09:00:00"}, "/expiresAt"),
        ({"name": "a", "expiresAt": "tomorrow"}, "/expiresAt"),
        ({"name": "a", "expiresAt": "9999-12-31T23:59:59-12:00"}, "/expiresAt"),
        ({"name": "a", "expiresAt": "0001-01-01T00:00:00+12:00"}, "/expiresAt"),
        ({"name": "a", "expiresAt": 1_900_000_000}, "/expiresAt"),
        ({"name": "a", "secret": "b"}, "/secret"),
        ({"name": "a", "scopes": []}, "/scopes"),
        ({"name": "a", "scopes": ["notes:burn"]}, "/scopes/0"),
        ({"name": "a", "workspaceIds": [NOBODYS]}, "/workspaceIds"),
        ({"name": "a", "folder": "tea"}, "/folder"),
        ({"name": "a", **READING, "workspaceIds": []}, "/workspaceIds"),
        ({"name": "a", **READING, "workspaceIds": [NOBODYS] * 101}, "/workspaceIds"),
        ({"name": "a", **READING, "workspaceIds": [NOBODYS]}, "/workspaceIds/0"),
        ({"name": "a", **READING, "folder": "tea"}, "/folder"),
        ({"name": "a", **READING, "folder": "tea", "workspaceIds": [NOBODYS, OTHER]}, "/folder"),
        ({"name": "a", **READING, "folder": "tea/", "workspaceIds": [NOBODYS]}, "/folder"),
        ({"name": "a", **READING, "folder": "../tea", "workspaceIds": [NOBODYS]}, "/folder"),
        ({"name": "a", **READING, "folder": "", "workspaceIds": [NOBODYS]}, "/folder"),
    ],
)
async def test_invalid_key_request_is_refused_with_its_path(
    users: UsersApi, document: object, pointer: str
) -> None:
    _, its_cookie = await users.account()
    response = await users.post(KEYS, document, its_cookie, FROM_HERE)
    assert (response.status, response.code) == (400, "invalid_request")
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]


async def test_limits_without_scopes_are_refused_with_what_to_add(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    response = await users.post(KEYS, {"name": "a", "folder": "tea"}, its_cookie, FROM_HERE)
    [error] = response.json()["errors"]
    assert error["message"] == "A key with full access has no other limits: give scopes, too."


async def test_limits_of_a_key_are_shown(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    made = await users.post("/api/workspaces", {"name": "Home"}, its_cookie, FROM_HERE)
    limits = {"scopes": ["notes:write"], "workspaceIds": [made.json()["id"]], "folder": "tea"}
    created = await users.post(KEYS, {"name": "a", **limits}, its_cookie, FROM_HERE)
    assert created.status == 201
    shown = {**limits, "scopes": ["notes:read", "notes:write"]}
    assert created.json().items() >= shown.items()
    [listed] = (await users.get(KEYS, its_cookie)).json()["items"]
    assert listed.items() >= shown.items()


async def test_limited_key_manages_no_keys(users: UsersApi) -> None:
    made, _ = await users.account()
    key = await users.key(made, limits=AccessLimits(parse_scopes([WRITE])))
    for response in (
        await users.post(KEYS, {"name": "b"}, key),
        await users.get(KEYS, key),
        await users.delete(f"{KEYS}/{NOBODYS}", key),
    ):
        assert (response.status, response.code) == (403, "insufficient_scope")
        assert response.json()["scope"] is None


async def test_key_with_a_body_of_ten_megabytes_is_refused(users: UsersApi) -> None:
    made, _ = await users.account()
    key = await users.key(made)
    body = [b'{"name": "', b"x" * 10_000_000, b'"}']
    json = (b"content-type", b"application/json")
    response = await ask(users.application, "POST", KEYS, headers=[key, json], body=body)
    assert (response.status, response.code) == (413, "body_too_large")


async def test_concurrent_key_creation_stops_at_twenty_five(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    responses: list[Response] = []

    async def make() -> None:
        responses.append(await users.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE))

    async with trio.open_nursery() as nursery:
        for _ in range(26):
            nursery.start_soon(make)
    assert sorted(response.status for response in responses) == [*[201] * 25, 409]
    [refused] = [response for response in responses if response.status == 409]
    assert refused.code == "too_many_keys"
    assert len(await users.identity.rows("SELECT 1 FROM api_keys")) == 25


async def test_key_revoked_leaves_room_for_another(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    for _ in range(25):
        await users.key(made)
    [first, *_] = (await users.get(KEYS, its_cookie)).json()["items"]
    await users.delete(f"{KEYS}/{first['id']}", its_cookie, FROM_HERE)
    response = await users.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE)
    assert response.status == 201


async def test_key_revoked_is_refused_at_its_next_request(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    key = await users.key(made)
    [item] = (await users.get(KEYS, key)).json()["items"]
    response = await users.delete(f"{KEYS}/{item['id']}", its_cookie, FROM_HERE)
    assert (response.status, response.json()) == (200, {"removed": True})
    after = await users.get(KEYS, key)
    assert (after.status, after.code) == (401, "key_refused")


async def test_key_revokes_itself(users: UsersApi) -> None:
    made, _ = await users.account()
    key = await users.key(made)
    [item] = (await users.get(KEYS, key)).json()["items"]
    assert (await users.delete(f"{KEYS}/{item['id']}", key)).status == 200
    assert (await users.get(KEYS, key)).status == 401


async def test_key_of_another_account_is_not_found(users: UsersApi) -> None:
    ann, ann_cookie = await users.account()
    await users.key(ann)
    [item] = (await users.get(KEYS, ann_cookie)).json()["items"]
    _, bobs_cookie = await users.account("bob@example.org")
    theirs = await users.delete(f"{KEYS}/{item['id']}", bobs_cookie, FROM_HERE)
    nobodys = await users.delete(f"{KEYS}/{NOBODYS}", bobs_cookie, FROM_HERE)
    assert (theirs.status, theirs.code) == (404, "not_found")
    assert theirs.body == nobodys.body
    assert len((await users.get(KEYS, ann_cookie)).json()["items"]) == 1


async def test_locked_account_lists_and_revokes_keys_and_creates_none(
    users: UsersApi,
) -> None:
    made, its_cookie = await users.account()
    await users.key(made)
    await users.identity.set_state(made.account.account_id, "locked")
    response = await users.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE)
    assert (response.status, response.code) == (423, "account_locked")
    [item] = (await users.get(KEYS, its_cookie)).json()["items"]
    assert (await users.delete(f"{KEYS}/{item['id']}", its_cookie, FROM_HERE)).status == 200


async def test_key_created_while_the_account_is_disabled_is_refused(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    assert (await users.get(KEYS, its_cookie)).status == 200
    await users.identity.execute("UPDATE accounts SET state = 'disabled'")
    response = await users.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE)
    assert (response.status, response.code) == (401, "not_signed_in")
    assert await users.identity.rows("SELECT 1 FROM api_keys") == []
