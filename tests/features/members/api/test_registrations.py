"""Registering an account with an invitation."""

import pytest
import trio

from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import PASSWORD, START, identity_fixture
from tests.fakes.users_api import (
    ADDRESS,
    FROM_ELSEWHERE,
    NO_LIMITS,
    ORIGIN,
    UNUSED,
    UsersApi,
    cookie_set_by,
)

REGISTRATIONS = "/api/registrations"


async def test_registration_with_an_invitation_returns_the_whole_account(
    users: UsersApi,
) -> None:
    response = await users.register(await users.identity.invite(role="administrator"))
    document = response.json()
    assert document.pop("id").startswith("01900000-")
    assert (response.status, document) == (
        201,
        {
            "address": ADDRESS,
            "displayName": "Ann",
            "role": "administrator",
            "state": "enabled",
            "lockReason": None,
            "preferences": {
                "themeFamily": "paper",
                "appearance": "system",
                "spellCheck": True,
            },
            "usage": UNUSED,
            "limit": {"storageBytes": None},
            "controls": {
                "revision": 1,
                "locked": False,
                "lockReason": None,
                "storageBytes": None,
                **NO_LIMITS,
            },
            "consent": {"accepted": None, "required": None},
            "createdAt": "2027-01-15T08:00:00.000Z",
        },
    )


async def test_registration_signs_in(users: UsersApi) -> None:
    response = await users.register(await users.identity.invite())
    account = await users.get("/api/account", cookie_set_by(response))
    assert account.json() == response.json()


async def test_registration_keeps_address_and_name_in_their_written_forms(
    users: UsersApi,
) -> None:
    response = await users.register(
        await users.identity.invite(), " Ann@Example.ORG ", name="  Ann\u0061\u0308 "
    )
    assert (response.json()["address"], response.json()["displayName"]) == (ADDRESS, "Ann\u00e4")


async def refused(users: UsersApi, invitation: str | None, address: str = ADDRESS) -> None:
    response = await users.register(invitation, address)
    assert (response.status, response.code) == (404, "not_found")
    assert response.json()["detail"] == (
        "The invitation is not valid. Ask the person who invited you for another."
    )
    assert response.header("set-cookie") is None
    assert await users.identity.rows("SELECT 1 FROM sessions") == []


@pytest.mark.parametrize("invitation", [None, "", "x", "x" * 43, "\0", "é" * 43])
async def test_registration_with_an_unknown_invitation_is_refused(
    users: UsersApi, invitation: str | None
) -> None:
    await refused(users, invitation)


async def test_registration_with_an_expired_invitation_is_refused(
    users: UsersApi,
) -> None:
    invitation = await users.identity.invite(expires_in=60.0)
    users.identity.sources.time = START + 60.0
    await refused(users, invitation)


async def test_registration_with_a_revoked_invitation_is_refused(users: UsersApi) -> None:
    invitation = await users.identity.invite()
    await users.identity.execute("UPDATE invitations SET revoked_at = 1")
    await refused(users, invitation)


async def test_registration_with_an_invitation_for_another_address_is_refused(
    users: UsersApi,
) -> None:
    await refused(users, await users.identity.invite(address="bob@example.org"))


async def test_registration_with_an_invitation_for_the_address_succeeds(
    users: UsersApi,
) -> None:
    invitation = await users.identity.invite(address=ADDRESS)
    assert (await users.register(invitation, ADDRESS.upper())).status == 201


async def test_registration_with_a_used_invitation_is_refused(users: UsersApi) -> None:
    invitation = await users.identity.invite()
    assert (await users.register(invitation)).status == 201
    response = await users.register(invitation, "bob@example.org")
    assert (response.status, response.code) == (404, "not_found")


async def test_registration_of_a_taken_address_leaves_the_invitation_open(
    users: UsersApi,
) -> None:
    await users.account()
    invitation = await users.identity.invite()
    response = await users.register(invitation)
    assert (response.status, response.code) == (409, "address_taken")
    assert (await users.register(invitation, "bob@example.org")).status == 201


async def test_registration_of_a_taken_address_reveals_nothing_without_an_invitation(
    users: UsersApi,
) -> None:
    await users.account()
    assert (await users.register("x" * 43)).code == "not_found"


@pytest.mark.parametrize(
    ("address", "password", "name", "pointer"),
    [
        ("ann", PASSWORD, "Ann", "/address"),
        ("ann@exam\0ple.org", PASSWORD, "Ann", "/address"),
        (f"ann@{'x' * 63}.{'x' * 63}.{'x' * 63}.{'x' * 63}", PASSWORD, "Ann", "/address"),
        (ADDRESS, "short", "Ann", "/password"),
        (ADDRESS, "x1" * 129, "Ann", "/password"),
        (ADDRESS, "password123", "Ann", "/password"),
        (ADDRESS, ADDRESS.upper(), "Ann", "/password"),
        (ADDRESS, PASSWORD, "", "/displayName"),
        (ADDRESS, PASSWORD, "Ann\n", ""),
        (ADDRESS, PASSWORD, "An\0n", "/displayName"),
        (ADDRESS, PASSWORD, "An\u202en", "/displayName"),
        (ADDRESS, PASSWORD, "x" * 101, "/displayName"),
    ],
)
async def test_registration_with_an_invalid_value_is_refused_with_its_path(
    users: UsersApi, address: str, password: str, name: str, pointer: str
) -> None:
    response = await users.register(await users.identity.invite(), address, password, name)
    if not pointer:
        assert (response.status, response.json()["displayName"]) == (201, "Ann")
        return
    assert (response.status, response.code) == (400, "invalid_request")
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]
    assert password not in response.body.decode()


async def test_registration_with_several_faults_reports_them_all(users: UsersApi) -> None:
    response = await users.register(None, "ann", "short", "\0")
    pointers = [error["pointer"] for error in response.json()["errors"]]
    assert pointers == ["/address", "/displayName", "/password"]


@pytest.mark.parametrize("headers", [(), (FROM_ELSEWHERE,)])
async def test_registration_from_elsewhere_is_refused(
    users: UsersApi, headers: tuple[tuple[bytes, bytes], ...]
) -> None:
    response = await users.register(await users.identity.invite(), headers=headers)
    assert (response.status, response.code) == (403, "wrong_origin")
    assert response.json()["publicUrl"] == ORIGIN
    assert ORIGIN in response.json()["detail"]


async def test_registration_from_one_client_is_rate_limited(
    users: UsersApi,
) -> None:
    for number in range(30):
        assert (await users.register("x", f"a{number}@example.org")).status == 404
    response = await users.register("x", "b@example.org")
    assert (response.status, response.code) == (429, "rate_limited")
    assert response.header("retry-after") == "10"


async def test_registration_of_one_address_is_rate_limited(users: UsersApi) -> None:
    for _ in range(10):
        assert (await users.register("x")).status == 404
    response = await users.register("x")
    assert (response.status, response.code, response.header("retry-after")) == (
        429,
        "rate_limited",
        "30",
    )


async def test_concurrent_registrations_with_one_invitation_create_one_account(
    users: UsersApi,
) -> None:
    invitation = await users.identity.invite()
    responses: list[Response] = []

    async def register(number: int) -> None:
        responses.append(await users.register(invitation, f"a{number}@example.org"))

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(register, number)
    assert sorted(response.status for response in responses) == [201, *[404] * 7]
    assert len(await users.identity.rows("SELECT 1 FROM accounts")) == 1
    assert len(await users.identity.rows("SELECT 1 FROM sessions")) == 1


async def test_concurrent_registrations_of_one_address_create_one_account(
    users: UsersApi,
) -> None:
    invitations = [await users.identity.invite() for _ in range(4)]
    responses: list[Response] = []

    async def register(invitation: str) -> None:
        responses.append(await users.register(invitation))

    async with trio.open_nursery() as nursery:
        for invitation in invitations:
            nursery.start_soon(register, invitation)
    assert sorted(response.status for response in responses) == [201, 409, 409, 409]
    still_open = await users.identity.rows("SELECT 1 FROM invitations WHERE used_at IS NULL")
    assert len(still_open) == 3


async def test_registration_cancelled_before_its_commit_created_nothing() -> None:
    async def wait(point: str) -> None:
        if point == "store.before_commit" and registering.is_set():
            reached.set()
            await trio.sleep_forever()

    registering, reached = trio.Event(), trio.Event()
    with identity_fixture(wait) as made:
        users = UsersApi(made)
        invitation = await made.invite()
        registering.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(users.register, invitation)
            await reached.wait()
            nursery.cancel_scope.cancel(reason="the client left")
        assert await made.rows("SELECT 1 FROM accounts") == []
        assert len(await made.rows("SELECT 1 FROM invitations WHERE used_at IS NULL")) == 1
