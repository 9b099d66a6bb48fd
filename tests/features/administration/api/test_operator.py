"""The API for the service of the operator."""

from collections.abc import Iterator

import pytest

from octavo.model.access.token import api_key, digest_of, operator_token
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import identity_fixture
from tests.fakes.users_api import FROM_HERE, NO_LIMITS, UNUSED, UsersApi, bearer

ACCOUNTS = "/api/operator/accounts"
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"
OLD, NEW = (operator_token(bytes([number]) * 32) for number in (1, 2))


def hex_digest(token: str) -> str:
    return digest_of(token.encode()).hex()


@pytest.fixture
def operated() -> Iterator[UsersApi]:
    """An installation with two operator tokens."""
    with identity_fixture() as made:
        yield UsersApi(made, [hex_digest(OLD), hex_digest(NEW)])


async def patch(users: UsersApi, account_id: str, **given: object) -> Response:
    return await users.patch(f"{ACCOUNTS}/{account_id}/controls", given, bearer(NEW))


async def every_operation(users: UsersApi, *headers: tuple[bytes, bytes]) -> list[Response]:
    return [
        await users.get(f"{ACCOUNTS}?address=ann@example.org", *headers),
        await users.get(f"{ACCOUNTS}/{NOBODYS}", *headers),
        await users.patch(f"{ACCOUNTS}/{NOBODYS}/controls", {"revision": 1}, *headers),
        await users.delete(f"{ACCOUNTS}/{NOBODYS}", *headers),
        await users.post("/api/operator/portal/redeem", {"token": "x" * 43}, *headers),
    ]


async def test_without_a_token_in_the_settings_the_api_is_off(users: UsersApi) -> None:
    _, cookie = await users.account()
    for headers in ((), (bearer(NEW),), (cookie, FROM_HERE)):
        for response in await every_operation(users, *headers):
            assert (response.status, response.code) == (404, "operator_off")


@pytest.mark.parametrize(
    "token",
    [
        operator_token(bytes(32)),
        api_key(bytes([2]) * 32),
        NEW[:-1],
        NEW.lower(),
        hex_digest(NEW),
        "",
    ],
    ids=["unknown", "key", "cut", "lower case", "digest", "empty"],
)
async def test_other_tokens_are_refused(operated: UsersApi, token: str) -> None:
    for response in await every_operation(operated, bearer(token)):
        assert (response.status, response.code) == (401, "credential_refused")


async def test_sessions_and_keys_of_accounts_are_refused(operated: UsersApi) -> None:
    made, cookie = await operated.account()
    key = await operated.key(made)
    for response in await every_operation(operated, cookie, FROM_HERE):
        assert (response.status, response.code) == (401, "not_signed_in")
    for response in await every_operation(operated, key):
        assert (response.status, response.code) == (401, "credential_refused")


async def test_operator_token_is_no_key_of_an_account(operated: UsersApi) -> None:
    response = await operated.get("/api/account", bearer(NEW))
    assert (response.status, response.code) == (401, "key_refused")


@pytest.mark.parametrize("token", [OLD, NEW], ids=["old", "new"])
async def test_account_is_found_by_its_address_and_read_by_its_id(
    operated: UsersApi, token: str
) -> None:
    made, cookie = await operated.account()
    await operated.post("/api/workspaces", {"name": "Secret"}, cookie, FROM_HERE)
    found = await operated.get(f"{ACCOUNTS}?address=ANN@Example.org", bearer(token))
    assert (found.status, found.json()) == (
        200,
        {
            "id": made.account.account_id,
            "address": "ann@example.org",
            "effectiveState": "enabled",
            "controls": {
                "revision": 1,
                "locked": False,
                "lockReason": None,
                "storageBytes": None,
                **NO_LIMITS,
            },
            "usage": UNUSED,
            "limit": {"storageBytes": None},
        },
    )
    read = await operated.get(f"{ACCOUNTS}/{made.account.account_id}", bearer(token))
    assert read.json() == found.json()


async def test_account_that_does_not_exist_is_not_found(operated: UsersApi) -> None:
    for response in await every_operation(operated, bearer(NEW)):
        assert (response.status, response.code) == (404, "not_found")


@pytest.mark.parametrize("query", ["", "?address=", "?address=nobody"])
async def test_query_without_an_address_is_refused(operated: UsersApi, query: str) -> None:
    response = await operated.get(f"{ACCOUNTS}{query}", bearer(NEW))
    assert (response.status, response.code) == (400, "invalid_request")


async def test_controls_take_effect_with_the_next_request(operated: UsersApi) -> None:
    await operated.identity.account("root@example.org", "administrator")
    made, cookie = await operated.account()
    account_id = made.account.account_id
    assert (await operated.get("/api/account", cookie)).json()["state"] == "enabled"
    locked = await patch(operated, account_id, revision=1, locked=True, lockReason="unpaid")
    assert (locked.status, locked.json()["effectiveState"]) == (200, "locked")
    document = (await operated.get("/api/account", cookie)).json()
    assert (document["state"], document["controls"]["lockReason"]) == ("locked", "unpaid")
    stale = await patch(operated, account_id, revision=1, locked=False)
    assert (stale.status, stale.code) == (409, "controls_changed")
    assert (await operated.get("/api/account", cookie)).json()["state"] == "locked"
    await patch(operated, account_id, revision=2, locked=False)
    assert (await operated.get("/api/account", cookie)).json()["state"] == "enabled"


async def test_last_administrator_is_neither_locked_nor_removed(operated: UsersApi) -> None:
    made = await operated.identity.account("root@example.org", "administrator")
    account_id = made.account.account_id
    for response in (
        await patch(operated, account_id, revision=1, locked=True),
        await operated.delete(f"{ACCOUNTS}/{account_id}", bearer(NEW)),
    ):
        assert (response.status, response.code) == (409, "last_administrator")


async def test_removal_leaves_an_id_and_a_time(operated: UsersApi) -> None:
    made, cookie = await operated.account()
    path = f"{ACCOUNTS}/{made.account.account_id}"
    assert (await operated.delete(path, bearer(NEW))).status == 200
    assert (await operated.get("/api/account", cookie)).status == 401
    assert (await operated.delete(path, bearer(NEW))).status == 404
    rows = await operated.identity.rows("SELECT id, removed_at FROM removed_accounts")
    assert [tuple(row) for row in rows] == [(made.account.account_id, 1_800_000_000_000)]


async def test_reason_of_a_lock_is_one_line(operated: UsersApi) -> None:
    made, _ = await operated.account()
    response = await patch(operated, made.account.account_id, revision=1, lockReason="a\nb")
    assert (response.status, response.code) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/lockReason"


async def test_requests_are_limited(operated: UsersApi) -> None:
    path = f"{ACCOUNTS}/{NOBODYS}"
    statuses = {(await operated.get(path, bearer(NEW))).status for _ in range(700)}
    assert statuses == {404, 429}
    response = await operated.get(path, bearer(NEW))
    assert (response.status, response.code) == (429, "rate_limited")
    assert response.header("retry-after") == "1"
