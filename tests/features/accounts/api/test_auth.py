"""Signing in, reading the session, signing out."""

import pytest

from octavo.features.accounts.api.auth import AuthPasswordSignIn
from octavo.features.members.api.registrations import RegistrationInput
from octavo.http.pages.redirects import is_external_redirect
from tests.fakes.asgi_client import ask
from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.users_api import (
    ADDRESS,
    FROM_ELSEWHERE,
    FROM_HERE,
    ORIGIN,
    UsersApi,
    cookie_set_by,
)

SIGN_IN = "/api/auth/sign-in/email"
SIGN_OUT = "/api/auth/sign-out"
SESSION = "/api/auth/get-session"
JSON = (b"content-type", b"application/json")
NULL_ORIGIN = (b"origin", b"null")


async def test_sign_in_with_address_and_password_returns_the_user(
    users: UsersApi,
) -> None:
    made, _ = await users.account()
    response = await users.sign_in()
    assert (response.status, response.json()) == (
        200,
        {
            "redirect": False,
            "user": {
                "id": made.account.account_id,
                "name": "Ann",
                "email": ADDRESS,
                "emailVerified": False,
                "createdAt": "2027-01-15T08:00:00.000Z",
                "updatedAt": "2027-01-15T08:00:00.000Z",
            },
        },
    )


async def test_sign_in_sets_a_cookie_that_pages_cannot_read_and_neighbours_cannot_plant(
    users: UsersApi,
) -> None:
    await users.account()
    header = (await users.sign_in()).cookies()["__Host-octavo"]
    assert header is not None
    value, *attributes = header.split("; ")
    assert attributes == ["Path=/", "Secure", "HttpOnly", "SameSite=Lax", "Max-Age=7776000"]
    name, _, token = value.partition("=")
    assert (name, len(token)) == ("__Host-octavo", 43)


async def test_sign_in_without_remember_me_lasts_as_long_as_the_browser(
    users: UsersApi,
) -> None:
    await users.account()
    header = (await users.sign_in(rememberMe=False)).header("set-cookie")
    assert header is not None
    assert "Max-Age" not in header


@pytest.mark.parametrize("url", ["/notes", f"{ORIGIN}/notes?a=b", ORIGIN])
async def test_sign_in_with_a_callback_address_returns_it(users: UsersApi, url: str) -> None:
    await users.account()
    response = await users.sign_in(callbackURL=url)
    assert (response.json()["redirect"], response.json()["url"]) == (True, url)


@pytest.mark.parametrize(
    "url",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example/notes",
        f"{ORIGIN}.evil.example/",
        f"{ORIGIN}@evil.example/",
        "https://notes.example:444/",
        "http://notes.example/",
        "javascript:alert(1)",
        "/\t/evil.example",
        " //evil.example",
        "notes",
        "",
        "https://[",
    ],
)
async def test_sign_in_with_an_address_elsewhere_is_refused(users: UsersApi, url: str) -> None:
    await users.account()
    response = await users.sign_in(callbackURL=url)
    assert (response.status, response.code) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/callbackURL"
    assert is_external_redirect(url, ORIGIN)


@pytest.mark.parametrize("address", ["ANN@Example.ORG", "  ann@example.org\t"])
async def test_sign_in_ignores_the_case_of_the_address(users: UsersApi, address: str) -> None:
    await users.account()
    assert (await users.sign_in(address)).status == 200


@pytest.mark.parametrize(
    ("address", "password"),
    [
        (ADDRESS, "tulips on the mooN"),
        (ADDRESS, ""),
        (ADDRESS, "x" * 5_000),
        (ADDRESS, PASSWORD + "\0"),
        ("bob@example.org", PASSWORD),
    ],
)
async def test_sign_in_refusals_look_alike_whatever_the_reason(
    users: UsersApi, address: str, password: str
) -> None:
    await users.account()
    response = await users.sign_in(address, password)
    assert (response.status, response.code) == (401, "credential_refused")
    assert response.json()["message"] == "No account has this address and this password."
    assert response.header("set-cookie") is None


async def test_sign_in_to_a_disabled_account_looks_like_a_wrong_password(
    users: UsersApi,
) -> None:
    made, _ = await users.account()
    await users.identity.set_state(made.account.account_id, "disabled")
    response = await users.sign_in()
    assert (response.status, response.code) == (401, "credential_refused")


async def test_sign_in_to_a_locked_account_succeeds(users: UsersApi) -> None:
    made, _ = await users.account()
    await users.identity.set_state(made.account.account_id, "locked")
    assert (await users.sign_in()).status == 200


@pytest.mark.parametrize(
    "headers",
    [(), (FROM_ELSEWHERE,), (NULL_ORIGIN,), (FROM_HERE, FROM_HERE), (FROM_HERE, FROM_ELSEWHERE)],
)
@pytest.mark.parametrize("target", [SIGN_IN, SIGN_OUT])
async def test_change_from_another_origin_is_refused(
    users: UsersApi, target: str, headers: tuple[tuple[bytes, bytes], ...]
) -> None:
    made, its_cookie = await users.account()
    body = {"email": ADDRESS, "password": PASSWORD} if target == SIGN_IN else {}
    response = await users.post(target, body, its_cookie, *headers)
    assert (response.status, response.code) == (403, "wrong_origin")
    assert response.json()["message"] == response.json()["detail"]
    assert await users.identity.signing_in.session_of(made.token.encode()) is not None


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"email": ADDRESS}, "/password"),
        ({"email": ADDRESS, "password": 1}, "/password"),
        ({"email": "ann", "password": PASSWORD}, "/email"),
        ({"email": "ann@exa\0mple.org", "password": PASSWORD}, "/email"),
        ({"email": "x" * 1_001, "password": PASSWORD}, "/email"),
        ({"email": ADDRESS, "password": PASSWORD, "token": "x"}, "/token"),
    ],
)
async def test_sign_in_that_does_not_match_the_contract_is_refused_with_code_and_message(
    users: UsersApi, document: object, pointer: str
) -> None:
    response = await users.post(SIGN_IN, document, FROM_HERE)
    assert (response.status, response.code) == (400, "invalid_request")
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]
    assert response.json()["message"]
    assert PASSWORD not in response.body.decode()


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"email": "ann@example.org", "password": "\\ud800 tulips"}', 400, "invalid_request"),
        (b'{"email": "ann@example.org", "password": "\xff"}', 400, "invalid_request"),
        (b'{"password": "' + b"x" * 10_000_000 + b'"}', 413, "body_too_large"),
        (b"", 400, "invalid_request"),
    ],
)
async def test_sign_in_with_a_hostile_body_is_refused_with_a_message(
    users: UsersApi, body: bytes, status: int, code: str
) -> None:
    response = await ask(users.application, "POST", SIGN_IN, headers=[FROM_HERE, JSON], body=[body])
    assert (response.status, response.code) == (status, code)
    assert response.json()["message"]


async def test_sign_in_of_another_media_type_is_refused_with_a_message(
    users: UsersApi,
) -> None:
    form = (b"content-type", b"application/x-www-form-urlencoded")
    response = await ask(
        users.application, "POST", SIGN_IN, headers=[FROM_HERE, form], body=[b"email=a"]
    )
    assert (response.status, response.code) == (415, "unsupported_media_type")
    assert response.json()["message"]


async def test_sign_in_to_one_address_is_rate_limited(users: UsersApi) -> None:
    await users.account()
    for _ in range(10):
        assert (await users.sign_in(password="not this one")).status == 401
    response = await users.sign_in()
    assert (response.status, response.code) == (429, "rate_limited")
    assert response.header("retry-after") == "30"
    assert response.json()["message"]


async def test_sign_in_from_one_client_is_rate_limited(users: UsersApi) -> None:
    for number in range(60):
        response = await users.sign_in(f"a{number}@example.org", "not this one")
        assert response.status == 401
    response = await users.sign_in("another@example.org")
    assert (response.status, response.code) == (429, "rate_limited")
    assert response.header("retry-after") == "5"
    assert response.json()["message"]


async def test_secrets_are_in_no_response_and_no_row(users: UsersApi) -> None:
    await users.account()
    response = await users.sign_in()
    token = cookie_set_by(response)[1].partition(b"=")[2]
    assert token not in response.body
    dump = repr(await users.identity.rows("SELECT * FROM sessions"))
    dump += repr(await users.identity.rows("SELECT * FROM accounts")) + repr(users.records)
    assert token.decode() not in dump
    assert PASSWORD not in dump


@pytest.mark.parametrize(
    "value",
    [
        AuthPasswordSignIn(email=ADDRESS, password=PASSWORD, callbackURL=None),
        RegistrationInput(
            invitation=PASSWORD, address=ADDRESS, password=PASSWORD, display_name="Ann"
        ),
    ],
)
def test_repr_of_a_request_has_no_secret(value: object) -> None:
    assert PASSWORD not in repr(value)
