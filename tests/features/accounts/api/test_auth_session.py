"""Reading the session, and signing out."""

import pytest

from tests.fakes.identity_fixture import START
from tests.fakes.users_api import (
    ADDRESS,
    FROM_ELSEWHERE,
    FROM_HERE,
    UsersApi,
    cookie,
    cookie_set_by,
)

SIGN_OUT = "/api/auth/sign-out"
SESSION = "/api/auth/get-session"


async def test_session_response_is_the_session_of_the_cookie(users: UsersApi) -> None:
    made, _ = await users.account()
    agent = (b"user-agent", b"Firefox\x1b[2J \xe9")
    signed_in = await users.sign_in(headers=(FROM_HERE, agent))
    response = await users.get(SESSION, cookie_set_by(signed_in))
    document = response.json()
    assert document["user"] == signed_in.json()["user"]
    session = document["session"]
    assert session.pop("id") != made.session.session_id
    assert session == {
        "userId": made.account.account_id,
        "expiresAt": "2027-02-14T08:00:00.000Z",
        "createdAt": "2027-01-15T08:00:00.000Z",
        "updatedAt": "2027-01-15T08:00:00.000Z",
        "ipAddress": "192.0.2.7",
        "userAgent": "Firefox[2J é",
    }


@pytest.mark.parametrize("value", [b"", b"x", b"x" * 43, b"\xff" * 43, b"x" * 100_000])
async def test_session_asked_for_with_a_cookie_that_opens_nothing_is_null(
    users: UsersApi, value: bytes
) -> None:
    response = await users.get(SESSION, (b"cookie", b"__Host-octavo=" + value))
    assert (response.status, response.body) == (200, b"null")


async def test_session_asked_for_without_a_cookie_is_null(users: UsersApi) -> None:
    response = await users.get(SESSION)
    assert (response.status, response.body) == (200, b"null")


async def test_session_asked_for_from_elsewhere_is_refused(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    response = await users.get(SESSION, its_cookie, FROM_ELSEWHERE)
    assert (response.status, response.code) == (403, "wrong_origin")


async def test_session_request_of_the_library_client_succeeds(
    users: UsersApi,
) -> None:
    _, its_cookie = await users.account()
    response = await users.get(f"{SESSION}?disableCookieCache=true", its_cookie, FROM_HERE)
    assert response.json()["user"]["email"] == ADDRESS


async def test_session_of_a_disabled_account_is_null(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    await users.identity.set_state(made.account.account_id, "disabled")
    assert (await users.get(SESSION, its_cookie)).body == b"null"


@pytest.mark.parametrize(
    ("days", "body"), [(29.999, b"{"), (30.0, b"n")], ids=["not yet", "idle too long"]
)
async def test_session_idle_is_null_from_the_thirtieth_day_on(
    users: UsersApi, days: float, body: bytes
) -> None:
    _, its_cookie = await users.account()
    users.identity.sources.time = START + days * 86_400
    assert (await users.get(SESSION, its_cookie)).body.startswith(body)


async def test_sign_out_ends_the_session_immediately_and_clears_the_cookie(
    users: UsersApi,
) -> None:
    _, its_cookie = await users.account()
    assert (await users.get("/api/account", its_cookie)).status == 200
    response = await users.post(SIGN_OUT, {}, its_cookie, FROM_HERE)
    assert (response.status, response.json()) == (200, {"success": True})
    assert response.header("set-cookie") == (
        "__Host-octavo=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"
    )
    assert (await users.get("/api/account", its_cookie)).code == "not_signed_in"
    assert (await users.get(SESSION, its_cookie)).body == b"null"


@pytest.mark.parametrize("token", [None, "x", "x" * 43])
async def test_sign_out_without_a_session_succeeds(users: UsersApi, token: str | None) -> None:
    cookies = () if token is None else (cookie(token),)
    response = await users.post(SIGN_OUT, {}, FROM_HERE, *cookies)
    assert (response.status, response.json()) == (200, {"success": True})


async def test_sign_out_with_data_is_refused(users: UsersApi) -> None:
    response = await users.post(SIGN_OUT, {"all": True}, FROM_HERE)
    assert (response.status, response.code) == (400, "invalid_request")
    assert response.json()["message"]
