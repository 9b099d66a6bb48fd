"""Reading one's own account."""

import pytest

from octavo.service.registry import api_document
from tests.fakes.users_api import FROM_HERE, UsersApi


async def test_account_read_by_its_session_is_the_created_one(
    users: UsersApi,
) -> None:
    made, its_cookie = await users.account()
    document = (await users.get("/api/account", its_cookie)).json()
    assert (document["id"], document["address"]) == (made.account.account_id, made.account.address)


async def test_account_read_by_its_key_is_the_same(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    by_key = await users.get("/api/account", await users.key(made))
    assert by_key.json() == (await users.get("/api/account", its_cookie)).json()


def test_account_has_no_members_of_missing_features() -> None:
    described = api_document()["components"]
    assert isinstance(described, dict)
    assert set(described["schemas"]["Account"]["properties"]) == {
        "id",
        "address",
        "displayName",
        "role",
        "state",
        "lockReason",
        "preferences",
        "usage",
        "limit",
        "controls",
        "consent",
        "createdAt",
    }


async def test_account_locked_reads_itself(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    await users.identity.set_state(made.account.account_id, "locked")
    response = await users.get("/api/account", its_cookie)
    assert (response.status, response.json()["state"]) == (200, "locked")


async def test_account_removed_while_its_caller_is_cached_is_signed_out_everywhere(
    users: UsersApi,
) -> None:
    _, its_cookie = await users.account()
    assert (await users.get("/api/account", its_cookie)).status == 200
    await users.identity.execute("DELETE FROM accounts")
    response = await users.get("/api/account", its_cookie)
    assert (response.status, response.code) == (401, "not_signed_in")


ACCOUNT = "/api/account"
PREFERENCES = "/api/account/preferences"
DEFAULT = {"themeFamily": "paper", "appearance": "system", "spellCheck": True}


async def test_display_name_is_changed(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    response = await users.patch(ACCOUNT, {"displayName": "  Anna "}, its_cookie, FROM_HERE)
    assert (response.status, response.json()["displayName"]) == (200, "Anna")
    assert (await users.get(ACCOUNT, its_cookie)).json() == response.json()


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101])
async def test_unusable_display_name_is_refused(users: UsersApi, name: str) -> None:
    _, its_cookie = await users.account()
    response = await users.patch(ACCOUNT, {"displayName": name}, its_cookie, FROM_HERE)
    assert (response.status, response.code) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/displayName"
    assert (await users.get(ACCOUNT, its_cookie)).json()["displayName"] == "Ann"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"themeFamily": "sepia"},
        {"appearance": "dark"},
        {"spellCheck": False},
        {"themeFamily": "slate", "appearance": "light", "spellCheck": False},
    ],
)
async def test_preferences_that_are_left_out_keep_their_values(
    users: UsersApi, given: dict[str, object]
) -> None:
    _, its_cookie = await users.account()
    _, other = await users.account("bob@example.org")
    response = await users.put(PREFERENCES, given, its_cookie, FROM_HERE)
    assert (response.status, response.json()) == (200, {**DEFAULT, **given})
    assert (await users.get(ACCOUNT, its_cookie)).json()["preferences"] == response.json()
    assert (await users.get(ACCOUNT, other)).json()["preferences"] == DEFAULT


@pytest.mark.parametrize(
    "given", [{"themeFamily": "neon"}, {"appearance": None}, {"spellCheck": 1}, {"font": "serif"}]
)
async def test_unknown_preferences_are_refused(users: UsersApi, given: object) -> None:
    _, its_cookie = await users.account()
    response = await users.put(PREFERENCES, given, its_cookie, FROM_HERE)
    assert (response.status, response.code) == (400, "invalid_request")
    assert (await users.get(ACCOUNT, its_cookie)).json()["preferences"] == DEFAULT


async def test_account_removed_meanwhile_is_not_changed(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    assert (await users.get(ACCOUNT, its_cookie)).status == 200
    await users.identity.execute("DELETE FROM accounts")
    for response in (
        await users.patch(ACCOUNT, {"displayName": "Anna"}, its_cookie, FROM_HERE),
        await users.put(PREFERENCES, {"appearance": "dark"}, its_cookie, FROM_HERE),
    ):
        assert (response.status, response.code) == (401, "not_signed_in")
