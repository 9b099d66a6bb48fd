"""Reading one's own account."""

from octavo.http.api.registry import contract_document
from tests.fakes.users_api import UsersApi


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
    described = contract_document()["components"]
    assert isinstance(described, dict)
    assert set(described["schemas"]["Account"]["properties"]) == {
        "id",
        "address",
        "displayName",
        "role",
        "state",
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
