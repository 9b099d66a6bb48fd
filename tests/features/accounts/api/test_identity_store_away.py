"""Responses of the identity operations while the database is unavailable."""

from collections.abc import Iterator

import pytest

from tests.fakes.identity_fixture import identity_fixture
from tests.fakes.users_api import FROM_HERE, UsersApi, bearer, cookie

TOKEN = "x" * 43
KEY = "octk_CTQj2uNU3MFagCXG9LRKRcwGkBIDlf4OAHfL"


@pytest.fixture
def users() -> Iterator[UsersApi]:
    with identity_fixture() as made:
        made.store.away = True
        yield UsersApi(made)


async def test_operations_of_the_protocol_return_that_with_a_message(
    users: UsersApi,
) -> None:
    responses = [
        await users.sign_in(),
        await users.get("/api/auth/get-session", cookie(TOKEN)),
        await users.post("/api/auth/sign-out", {}, cookie(TOKEN), FROM_HERE),
    ]
    for response in responses:
        assert (response.status, response.code) == (503, "storage_unavailable")
        assert response.json()["message"] == response.json()["detail"]
        assert response.header("retry-after")


async def test_registration_returns_that(users: UsersApi) -> None:
    response = await users.register(TOKEN)
    assert (response.status, response.code) == (503, "storage_unavailable")


@pytest.mark.parametrize("credential", [cookie(TOKEN), bearer(KEY)])
async def test_credentials_are_not_refused_for_it(
    users: UsersApi, credential: tuple[bytes, bytes]
) -> None:
    response = await users.get("/api/account", credential)
    assert (response.status, response.code) == (503, "storage_unavailable")
