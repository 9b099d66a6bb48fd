"""The hand-off of a person to the operator's account portal."""

from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

import pytest

from octavo.features.accounts.sql import portal_tokens
from octavo.model.access.token import digest_of, operator_token
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import PORTAL, START, identity_fixture
from tests.fakes.users_api import FROM_HERE, UsersApi, bearer

TOKEN = operator_token(bytes(32))


@pytest.fixture
def portal() -> Iterator[UsersApi]:
    """An installation with a portal and an operator."""
    with identity_fixture() as made:
        yield UsersApi(made, [digest_of(TOKEN.encode()).hex()])


async def enter(users: UsersApi, *headers: tuple[bytes, bytes], page: str = "billing") -> Response:
    return await users.post("/api/account/portal", {"path": page}, *headers, FROM_HERE)


def token_of(response: Response) -> str:
    assert response.status == 200
    [token] = parse_qs(urlsplit(str(response.json()["address"])).query)["token"]
    return token


async def redeem(users: UsersApi, token: str) -> Response:
    return await users.post("/api/operator/portal/redeem", {"token": token}, bearer(TOKEN))


async def test_address_is_that_of_the_page_with_a_token(portal: UsersApi) -> None:
    _, cookie = await portal.account()
    response = await enter(portal, cookie)
    token = token_of(response)
    assert response.json() == {
        "address": f"https://billing.example/start?from=notes&token={token}#top"
    }
    assert len(token) == 43
    plan = (await enter(portal, cookie, page="plan")).json()["address"]
    assert plan.startswith(f"{PORTAL['plan']}?token=")


async def test_token_is_stored_as_its_digest_only(portal: UsersApi) -> None:
    _, cookie = await portal.account()
    token = token_of(await enter(portal, cookie))
    rows = await portal.identity.rows("SELECT digest, expires_at FROM portal_tokens")
    assert rows == [(sha256(token.encode()).digest(), (START + 60) * 1000)]


async def test_operator_learns_who_the_person_is_once(portal: UsersApi) -> None:
    made, cookie = await portal.account()
    token = token_of(await enter(portal, cookie))
    first, second = await redeem(portal, token), await redeem(portal, token)
    known = await portal.get(f"/api/operator/accounts/{made.account.account_id}", bearer(TOKEN))
    assert (first.status, first.json()) == (200, known.json())
    assert (second.status, second.code) == (404, "not_found")
    assert await portal.identity.rows("SELECT 1 FROM portal_tokens") == []


@pytest.mark.parametrize(("age", "status"), [(59.999, 200), (60.0, 404)])
async def test_token_is_valid_for_a_minute(portal: UsersApi, age: float, status: int) -> None:
    _, cookie = await portal.account()
    token = token_of(await enter(portal, cookie))
    portal.identity.sources.time += age
    assert (await redeem(portal, token)).status == status


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "é" * 43, "\0", "x" * 1000])
async def test_other_tokens_are_missing(portal: UsersApi, token: str) -> None:
    response = await redeem(portal, token)
    assert (response.status, response.code) == (404, "not_found")


@pytest.mark.parametrize("page", ["", "Billing", "other", "x" * 50, "\0"])
async def test_other_pages_are_missing(portal: UsersApi, page: str) -> None:
    _, cookie = await portal.account()
    response = await enter(portal, cookie, page=page)
    assert (response.status, response.code) == (404, "not_found")
    assert await portal.identity.rows("SELECT 1 FROM portal_tokens") == []


async def test_name_of_a_page_has_at_most_fifty_characters(portal: UsersApi) -> None:
    _, cookie = await portal.account()
    response = await enter(portal, cookie, page="x" * 51)
    assert (response.status, response.code) == (400, "invalid_request")


async def test_locked_account_opens_the_portal(portal: UsersApi) -> None:
    made, cookie = await portal.account()
    await portal.identity.set_state(made.account.account_id, "locked")
    found = await redeem(portal, token_of(await enter(portal, cookie)))
    assert found.json()["effectiveState"] == "locked"


@pytest.mark.parametrize(
    "ended", ["UPDATE accounts SET state = 'disabled'", "DELETE FROM accounts"]
)
async def test_token_ends_with_its_account(portal: UsersApi, ended: str) -> None:
    _, cookie = await portal.account()
    token = token_of(await enter(portal, cookie))
    await portal.identity.execute(ended)
    assert (await redeem(portal, token)).code == "not_found"


@pytest.mark.parametrize("ended", ["removed", "disabled"])
async def test_account_that_ends_meanwhile_gets_no_token(portal: UsersApi, ended: str) -> None:
    made, cookie = await portal.account()
    identity = portal.identity

    async def end() -> None:
        if ended == "removed":
            await identity.removal.remove(
                made.account.account_id, actor="system", remote_address=None
            )
        else:
            await identity.set_state(made.account.account_id, "disabled")

    identity.store.before_write = end
    refused = await enter(portal, cookie)
    assert (refused.status, refused.code) == (401, "not_signed_in")
    assert await identity.rows("SELECT digest FROM portal_tokens") == []


async def test_expired_tokens_are_removed(portal: UsersApi) -> None:
    _, cookie = await portal.account()
    _, other = await portal.account("bob@example.org")
    await enter(portal, other)
    portal.identity.sources.time += 30
    kept = token_of(await enter(portal, cookie))
    portal.identity.sources.time += 30
    now = int(portal.identity.sources.time * 1000)
    assert not await portal.identity.store.write(portal_tokens.expire(now))
    assert len(await portal.identity.rows("SELECT 1 FROM portal_tokens")) == 1
    assert (await redeem(portal, kept)).status == 200


@pytest.mark.parametrize("page", ["billing", "plan"])
async def test_second_page_leaves_the_first_one_its_token(portal: UsersApi, page: str) -> None:
    _, cookie = await portal.account()
    first = token_of(await enter(portal, cookie))
    portal.identity.sources.time += 30
    second = token_of(await enter(portal, cookie, page=page))
    portal.identity.sources.time += 29.999
    assert [(await redeem(portal, each)).status for each in (second, first)] == [200, 200]
    assert [(await redeem(portal, each)).status for each in (second, first)] == [404, 404]


async def test_second_page_does_not_prolong_the_token_of_the_first_one(portal: UsersApi) -> None:
    _, cookie = await portal.account()
    first = token_of(await enter(portal, cookie))
    portal.identity.sources.time += 59.999
    second = token_of(await enter(portal, cookie))
    portal.identity.sources.time += 0.001
    assert [(await redeem(portal, each)).status for each in (first, second)] == [404, 200]


async def test_expired_tokens_of_an_account_make_room_for_the_next(portal: UsersApi) -> None:
    _, cookie = await portal.account()
    for _ in range(3):
        await enter(portal, cookie)
        portal.identity.sources.time += 60
    assert len(await portal.identity.rows("SELECT 1 FROM portal_tokens")) == 1
