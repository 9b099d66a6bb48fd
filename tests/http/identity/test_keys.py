"""Making, listing and revoking API keys."""

import re

import pytest
import trio

from tests.accounts.house import START
from tests.http.asgi import Answer, ask
from tests.http.identity.front import FROM_HERE, Front, bearer

KEYS = "/api/account/keys"
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"


async def test_key_made_is_told_with_its_secret(front: Front) -> None:
    _, its_cookie = await front.account()
    body = {"name": " Backup ", "expiresAt": "2027-01-15T10:00:00+01:00"}
    answer = await front.post(KEYS, body, its_cookie, FROM_HERE)
    document = answer.json()
    assert answer.status == 201
    assert re.fullmatch("octk_[0-9A-Za-z]{36}", document.pop("secret"))
    assert document.pop("id")
    assert document == {
        "name": "Backup",
        "createdAt": "2027-01-15T08:00:00.000Z",
        "expiresAt": "2027-01-15T09:00:00.000Z",
        "lastUsedAt": None,
    }


async def test_key_made_opens_the_account(front: Front) -> None:
    _, its_cookie = await front.account()
    made = await front.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE)
    assert (await front.get("/api/account", bearer(made.json()["secret"]))).status == 200


async def test_keys_are_listed_without_secrets_the_newest_first(front: Front) -> None:
    _, its_cookie = await front.account()
    secrets = []
    for name in ("first", "second"):
        made = await front.post(KEYS, {"name": name}, its_cookie, FROM_HERE)
        secrets.append(made.json()["secret"])
    answer = await front.get(KEYS, its_cookie)
    assert [item["name"] for item in answer.json()["items"]] == ["second", "first"]
    assert not any(secret in answer.body.decode() for secret in secrets)
    assert set(answer.json()["items"][0]) == {
        "id",
        "name",
        "createdAt",
        "expiresAt",
        "lastUsedAt",
    }


async def test_keys_of_others_are_not_listed(front: Front) -> None:
    ann, _ = await front.account()
    await front.key(ann)
    _, bobs_cookie = await front.account("bob@example.org")
    assert (await front.get(KEYS, bobs_cookie)).json() == {"items": []}


async def test_key_used_is_listed_with_the_time(front: Front) -> None:
    made, its_cookie = await front.account()
    key = await front.key(made)
    front.house.chance.time = START + 1.5
    await front.get("/api/account", key)
    await front.house.activity.write_down()
    [item] = (await front.get(KEYS, its_cookie)).json()["items"]
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
    ],
)
async def test_key_that_cannot_be_made_so_is_refused_where_it_is_wrong(
    front: Front, document: object, pointer: str
) -> None:
    _, its_cookie = await front.account()
    answer = await front.post(KEYS, document, its_cookie, FROM_HERE)
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


async def test_key_with_a_body_of_ten_megabytes_is_refused(front: Front) -> None:
    made, _ = await front.account()
    key = await front.key(made)
    body = [b'{"name": "', b"x" * 10_000_000, b'"}']
    json = (b"content-type", b"application/json")
    answer = await ask(front.application, "POST", KEYS, headers=[key, json], body=body)
    assert (answer.status, answer.code) == (413, "body_too_large")


async def test_keys_made_at_once_are_twenty_five_at_most(front: Front) -> None:
    _, its_cookie = await front.account()
    answers: list[Answer] = []

    async def make() -> None:
        answers.append(await front.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE))

    async with trio.open_nursery() as nursery:
        for _ in range(26):
            nursery.start_soon(make)
    assert sorted(answer.status for answer in answers) == [*[201] * 25, 409]
    [refused] = [answer for answer in answers if answer.status == 409]
    assert refused.code == "too_many_keys"
    assert len(await front.house.rows("SELECT 1 FROM api_keys")) == 25


async def test_key_revoked_leaves_room_for_another(front: Front) -> None:
    made, its_cookie = await front.account()
    for _ in range(25):
        await front.key(made)
    [first, *_] = (await front.get(KEYS, its_cookie)).json()["items"]
    await front.delete(f"{KEYS}/{first['id']}", its_cookie, FROM_HERE)
    answer = await front.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE)
    assert answer.status == 201


async def test_key_revoked_is_refused_at_its_next_request(front: Front) -> None:
    made, its_cookie = await front.account()
    key = await front.key(made)
    [item] = (await front.get(KEYS, key)).json()["items"]
    answer = await front.delete(f"{KEYS}/{item['id']}", its_cookie, FROM_HERE)
    assert (answer.status, answer.json()) == (200, {"removed": True})
    after = await front.get(KEYS, key)
    assert (after.status, after.code) == (401, "key_refused")


async def test_key_revokes_itself(front: Front) -> None:
    made, _ = await front.account()
    key = await front.key(made)
    [item] = (await front.get(KEYS, key)).json()["items"]
    assert (await front.delete(f"{KEYS}/{item['id']}", key)).status == 200
    assert (await front.get(KEYS, key)).status == 401


async def test_key_of_another_account_reads_as_none(front: Front) -> None:
    ann, ann_cookie = await front.account()
    await front.key(ann)
    [item] = (await front.get(KEYS, ann_cookie)).json()["items"]
    _, bobs_cookie = await front.account("bob@example.org")
    theirs = await front.delete(f"{KEYS}/{item['id']}", bobs_cookie, FROM_HERE)
    nobodys = await front.delete(f"{KEYS}/{NOBODYS}", bobs_cookie, FROM_HERE)
    assert (theirs.status, theirs.code) == (404, "not_found")
    assert theirs.body == nobodys.body
    assert len((await front.get(KEYS, ann_cookie)).json()["items"]) == 1


async def test_account_locked_lists_and_revokes_keys_and_makes_none(front: Front) -> None:
    made, its_cookie = await front.account()
    await front.key(made)
    await front.house.set_state(made.account.account_id, "locked")
    answer = await front.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE)
    assert (answer.status, answer.code) == (423, "account_locked")
    [item] = (await front.get(KEYS, its_cookie)).json()["items"]
    assert (await front.delete(f"{KEYS}/{item['id']}", its_cookie, FROM_HERE)).status == 200


async def test_key_made_as_the_account_is_disabled_is_refused(front: Front) -> None:
    _, its_cookie = await front.account()
    assert (await front.get(KEYS, its_cookie)).status == 200
    await front.house.execute("UPDATE accounts SET state = 'disabled'")
    answer = await front.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE)
    assert (answer.status, answer.code) == (401, "not_signed_in")
    assert await front.house.rows("SELECT 1 FROM api_keys") == []
