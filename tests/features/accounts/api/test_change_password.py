"""Changing the password."""

import pytest
import trio

from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.users_api import ADDRESS, FROM_ELSEWHERE, FROM_HERE, UsersApi, cookie_set_by

CHANGE = "/api/auth/change-password"
NEW = "roses on the moon"


async def change(
    users: UsersApi,
    *headers: tuple[bytes, bytes],
    current: str = PASSWORD,
    new: str = NEW,
    **more: object,
) -> Response:
    document = {"currentPassword": current, "newPassword": new, **more}
    return await users.post(CHANGE, document, *headers)


async def test_changed_password_replaces_the_old_one(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    users.identity.sources.time += 60
    response = await change(users, its_cookie, FROM_HERE)
    assert response.status == 200
    user = response.json()["user"]
    assert (response.json()["token"], user["email"]) == (None, ADDRESS)
    assert user["updatedAt"] == "2027-01-15T08:01:00.000Z"
    assert (await users.sign_in(password=PASSWORD)).status == 401
    assert (await users.sign_in(password=NEW)).status == 200


@pytest.mark.parametrize("ended", [False, True])
async def test_other_sessions_end_when_asked(users: UsersApi, ended: bool) -> None:
    made, its_cookie = await users.account()
    other = cookie_set_by(await users.sign_in())
    key = await users.key(made)
    assert (await users.get("/api/account", other)).status == 200
    response = await change(users, its_cookie, FROM_HERE, revokeOtherSessions=ended)
    assert response.status == 200
    assert (await users.get("/api/account", other)).status == (401 if ended else 200)
    assert (await users.get("/api/account", its_cookie)).status == 200
    assert (await users.get("/api/account", key)).status == 200


async def test_wrong_present_password_changes_nothing(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    response = await change(users, its_cookie, FROM_HERE, current="a guess of it")
    assert (response.status, response.code) == (401, "credential_refused")
    assert (await users.sign_in()).status == 200


@pytest.mark.parametrize("new", ["short", "x" * 257, ADDRESS, "password123"])
async def test_poor_password_is_refused_with_the_reason(users: UsersApi, new: str) -> None:
    _, its_cookie = await users.account()
    response = await change(users, its_cookie, FROM_HERE, new=new)
    assert (response.status, response.code) == (400, "invalid_request")
    [error] = response.json()["errors"]
    assert error["pointer"] == "/newPassword"
    assert response.json()["message"]
    assert (await users.sign_in()).status == 200


async def test_request_without_a_session_is_refused(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    for headers in ((FROM_HERE,), (await users.key(made), FROM_HERE)):
        response = await change(users, *headers)
        assert (response.status, response.code) == (401, "not_signed_in")
    response = await change(users, its_cookie, FROM_ELSEWHERE)
    assert (response.status, response.code) == (403, "wrong_origin")


async def test_locked_account_is_refused(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    await users.identity.set_state(made.account.account_id, "locked")
    response = await change(users, its_cookie, FROM_HERE)
    assert (response.status, response.code) == (423, "account_locked")


async def test_attempts_are_limited_apart_from_those_of_signing_in(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    for _ in range(10):
        await change(users, its_cookie, FROM_HERE, current="a guess of it")
    response = await change(users, its_cookie, FROM_HERE)
    assert (response.status, response.code) == (429, "rate_limited")
    assert (await users.sign_in()).status == 200


async def test_one_of_two_simultaneous_changes_wins(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    statuses: dict[str, int] = {}

    async def one(new: str) -> None:
        statuses[new] = (await change(users, its_cookie, FROM_HERE, new=new)).status

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one, "roses on the moon")
        nursery.start_soon(one, "daisies on the moon")
    assert sorted(statuses.values()) == [200, 401]
    for new, status in statuses.items():
        assert (await users.sign_in(password=new)).status == status
