"""Forgotten passwords: the request of a link, and the choice of a new password."""

import pytest
import trio

from octavo.access.attempts import RATES
from octavo.features.accounts.rules.password import RESET_SECONDS
from octavo.features.accounts.sign_in import SignedIn
from octavo.features.accounts.sql import api_keys
from octavo.features.oauth.rules.refusal import OAuthRefusal
from octavo.model.access.account import Address
from octavo.store import StoreUnavailable
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import PASSWORD, START
from tests.fakes.users_api import ADDRESS, FROM_ELSEWHERE, FROM_HERE, ORIGIN, UsersApi, cookie

NEW = "daisies on the sun"
REQUEST = "/api/auth/request-password-reset"
RESET = "/api/auth/reset-password"


async def request(users: UsersApi, address: str = ADDRESS, **more: object) -> Response:
    return await users.post(REQUEST, {"email": address, **more}, FROM_HERE)


async def reset(users: UsersApi, token: str | None, password: str = NEW) -> Response:
    return await users.post(RESET, {"newPassword": password, "token": token}, FROM_HERE)


async def outbox(users: UsersApi) -> list[tuple[str, str]]:
    return [
        (row[0], row[1])
        for row in await users.identity.rows("SELECT kind, address FROM outbox ORDER BY id")
    ]


@pytest.mark.parametrize("state", [None, "enabled", "locked", "disabled"])
async def test_request_is_the_same_for_every_address(users: UsersApi, state: str | None) -> None:
    if state is not None:
        made, _ = await users.account()
        await users.identity.execute(
            "UPDATE accounts SET state = $2 WHERE id = $1::uuid", made.account.account_id, state
        )
    store = users.identity.store
    before = (store.reads, store.writes)
    response = await request(users)
    assert response.status == 200
    assert response.json() == {
        "status": True,
        "message": "If an account has this address, a message with a link is on its way to it.",
    }
    # One write, whose statement does not depend on the account.
    assert (store.reads, store.writes) == (before[0], before[1] + 1)
    assert await outbox(users) == [("password_reset", ADDRESS)]
    assert users.identity.mail_added == 1
    # The random delay of the fixture is the middle of its range.
    assert users.identity.mail_delays == [1.75]
    [(due_at,)] = await users.identity.rows("SELECT due_at FROM outbox")
    assert due_at == int((START + 1.75) * 1000)


async def test_request_takes_the_address_in_any_case(users: UsersApi) -> None:
    assert (await request(users, " Ann@Example.org ")).status == 200
    assert await outbox(users) == [("password_reset", ADDRESS)]


@pytest.mark.parametrize("url", ["/reset-password", f"{ORIGIN}/reset-password?a=b"])
async def test_request_accepts_a_redirect_within_the_installation(
    users: UsersApi, url: str
) -> None:
    assert (await request(users, redirectTo=url)).status == 200


@pytest.mark.parametrize("url", ["https://evil.example", "//evil.example", "javascript:alert(1)"])
async def test_request_refuses_a_redirect_elsewhere(users: UsersApi, url: str) -> None:
    response = await request(users, redirectTo=url)
    assert (response.status, response.json()["code"]) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/redirectTo"
    assert await outbox(users) == []


async def test_request_with_an_invalid_address_is_refused(users: UsersApi) -> None:
    response = await request(users, "ann")
    assert (response.status, response.json()["errors"][0]["pointer"]) == (400, "/email")
    assert response.json()["message"] == response.json()["detail"]


@pytest.mark.parametrize("path", [REQUEST, RESET])
async def test_requests_from_elsewhere_are_refused(users: UsersApi, path: str) -> None:
    body = {"email": ADDRESS} if path == REQUEST else {"newPassword": NEW, "token": "a"}
    for headers in ((), (FROM_ELSEWHERE,)):
        response = await users.post(path, body, *headers)
        assert (response.status, response.json()["code"]) == (403, "wrong_origin")


async def test_requests_for_one_address_are_limited_alike_for_unknown_ones(
    users: UsersApi,
) -> None:
    await users.account()
    rate = RATES["password-reset-request"].account
    assert rate is not None
    for address in (ADDRESS, "nobody@example.org"):
        for _ in range(rate.count):
            assert (await request(users, address)).status == 200
        response = await request(users, address)
        assert (response.status, response.json()["code"]) == (429, "rate_limited")
        assert int(response.header("retry-after") or "0") >= 1


@pytest.mark.parametrize("path", [REQUEST, RESET])
async def test_requests_of_one_client_are_limited(users: UsersApi, path: str) -> None:
    for number in range(61):
        email = f"a{number}@example.org"
        body = {"email": email} if path == REQUEST else {"newPassword": NEW, "token": "a"}
        response = await users.post(path, body, FROM_HERE)
    assert (response.status, response.json()["code"]) == (429, "rate_limited")
    assert response.header("retry-after") is not None


async def proven(users: UsersApi) -> tuple[SignedIn, tuple[bytes, bytes]]:
    """An account that was invited by its address, and the cookie of its first session."""
    invitation = await users.identity.invite(address=ADDRESS)
    made = await registered(users, invitation)
    return made, cookie(made.token)


async def registered(users: UsersApi, invitation: str) -> SignedIn:
    return await users.identity.registration.register(
        invitation, Address(ADDRESS), PASSWORD, "Ann", "Firefox", None
    )


def resets(users: UsersApi) -> list[object]:
    """Whether each reset that was recorded revoked keys."""
    found = [each for each in users.identity.audited if each.kind == "password_changed"]
    assert all(each.detail["reset"] for each in found)
    return [each.detail.get("revokedKeys") for each in found]


async def test_first_reset_of_an_address_that_was_not_proven_revokes_the_keys(
    users: UsersApi,
) -> None:
    made, _ = await users.account()
    key = await users.key(made)
    assert (await users.get("/api/account", key)).status == 200
    assert (await reset(users, await users.identity.reset_token())).status == 200
    assert (await users.get("/api/account", key)).status == 401
    key = await users.key(made)
    assert (await reset(users, await users.identity.reset_token())).status == 200
    assert (await users.get("/api/account", key)).status == 200
    assert resets(users) == [True, None]


async def test_first_reset_of_an_address_that_was_not_proven_ends_the_access_of_programs(
    users: UsersApi,
) -> None:
    made, _ = await users.account()
    of_token = users.oauth.access_tokens.caller
    programs = [await users.oauth.connected(made.account.account_id) for _ in range(2)]
    for _, issued in programs:
        assert await of_token(issued.access.encode())
    assert (await reset(users, await users.identity.reset_token())).status == 200
    for client_id, issued in programs:
        assert await of_token(issued.access.encode()) is None
        with pytest.raises(OAuthRefusal):
            await users.oauth.renew(client_id, issued.refresh)
    _, issued = await users.oauth.connected(made.account.account_id)
    assert (await reset(users, await users.identity.reset_token())).status == 200
    assert await of_token(issued.access.encode())
    # There was no key to revoke.
    assert resets(users) == [None, None]


async def test_invitation_of_a_workspace_proves_no_address(users: UsersApi) -> None:
    # Anybody may create a workspace, and sees the token of an invitation into it.
    bob, _ = await users.account("bob@example.org")
    by_bob = await users.key(bob)
    workspace = (await users.post("/api/workspaces", {"name": "Bait"}, by_bob)).json()["id"]
    given = {"role": "reader", "address": ADDRESS}
    made = await users.post(f"/api/workspaces/{workspace}/invitations", given, by_bob)
    key = await users.key(await registered(users, made.json()["token"]))
    assert (await reset(users, await users.identity.reset_token())).status == 200
    assert (await users.get("/api/account", key)).status == 401


async def test_reset_that_fails_revokes_no_key(users: UsersApi) -> None:
    made, _ = await users.account()
    key = await users.key(made)
    token = await users.identity.reset_token()
    users.identity.store.fail = StoreUnavailable("not now")
    assert (await reset(users, token)).status == 503
    assert (await users.get("/api/account", key)).status == 200


async def test_reset_replaces_the_password_and_ends_every_session_but_no_key(
    users: UsersApi,
) -> None:
    made, session = await proven(users)
    key = await users.key(made)
    token = await users.identity.reset_token()
    users.rechecked.clear()
    response = await reset(users, token)
    assert (response.status, response.json()) == (200, {"status": True})
    assert (await users.sign_in(password=PASSWORD)).status == 401
    assert (await users.get("/api/account", session)).status == 401
    assert (await users.get("/api/account", key)).status == 200
    assert (await users.sign_in(password=NEW)).status == 200
    # Notice streams of the account are checked again, and those of sessions end.
    assert users.rechecked == [made.account.account_id]
    assert await outbox(users) == [("password_changed", ADDRESS)]
    assert users.identity.mail_delays == [0.0]
    assert resets(users) == [None]


async def test_reset_takes_the_token_from_the_query(users: UsersApi) -> None:
    await users.account()
    token = await users.identity.reset_token()
    response = await users.post(f"{RESET}?token={token}", {"newPassword": NEW}, FROM_HERE)
    assert response.status == 200


async def refused(users: UsersApi, token: str | None) -> None:
    response = await reset(users, token)
    found = response.json()
    assert (response.status, found["code"]) == (400, "invalid_token")
    assert (
        found["message"] == found["detail"] == ("The link is not valid any more: request another.")
    )
    assert (await users.sign_in(password=PASSWORD)).status == 200


@pytest.mark.parametrize("token", [None, "", "a", "a" * 43, "é" * 43, "\ud7ff"])
async def test_reset_with_an_unknown_token_is_refused_without_a_hash(
    users: UsersApi, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await users.account()
    with monkeypatch.context() as patched:
        patched.setattr(users.identity.passwords, "hash", None)
        await refused(users, token)


async def test_token_works_once_and_the_others_of_the_account_end_with_it(
    users: UsersApi,
) -> None:
    await users.account()
    first, second = await users.identity.reset_token(), await users.identity.reset_token()
    assert (await reset(users, first, NEW)).status == 200
    assert (await reset(users, first, PASSWORD)).status == 400
    assert (await reset(users, second, PASSWORD)).status == 400
    assert (await users.sign_in(password=NEW)).status == 200


async def test_token_is_good_for_the_account_that_it_was_made_for(users: UsersApi) -> None:
    bob = "bob@example.org"
    _, session_of_ann = await users.account()
    await users.account(bob)
    of_ann, of_bob = await users.identity.reset_token(), await users.identity.reset_token(bob)
    assert not await users.identity.password_reset.opens("a" * 43)
    assert (await reset(users, of_bob)).status == 200
    assert (await users.sign_in(bob, NEW)).status == 200
    assert (await users.get("/api/account", session_of_ann)).status == 200
    assert (await users.sign_in(password=PASSWORD)).status == 200
    assert (await reset(users, of_ann)).status == 200


async def test_token_whose_account_is_disabled_during_the_hash_is_refused(
    users: UsersApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = await users.account()
    token = await users.identity.reset_token()

    async def hash_meanwhile(_: str) -> str:
        await users.identity.set_state(made.account.account_id, "disabled")
        return "encoded"

    monkeypatch.setattr(users.identity.passwords, "hash", hash_meanwhile)
    response = await reset(users, token)
    assert (response.status, response.json()["code"]) == (400, "invalid_token")
    assert await users.identity.rows("SELECT password FROM accounts") == [(made.encoded,)]


async def test_token_expires_after_an_hour(users: UsersApi) -> None:
    await users.account()
    token = await users.identity.reset_token()
    users.identity.sources.time = START + RESET_SECONDS - 1
    assert await users.identity.password_reset.opens(token)
    users.identity.sources.time = START + RESET_SECONDS
    assert not await users.identity.password_reset.opens(token)
    await refused(users, token)


async def test_token_of_a_disabled_account_is_refused_and_that_of_a_locked_one_works(
    users: UsersApi,
) -> None:
    made, _ = await users.account()
    token = await users.identity.reset_token()
    await users.identity.set_state(made.account.account_id, "disabled")
    assert (await reset(users, token)).status == 400
    await users.identity.set_state(made.account.account_id, "locked")
    assert (await reset(users, token)).status == 200


async def test_token_ends_with_a_change_of_the_password(users: UsersApi) -> None:
    _, session = await users.account()
    token = await users.identity.reset_token()
    body = {"currentPassword": PASSWORD, "newPassword": NEW}
    changed = await users.post("/api/auth/change-password", body, session, FROM_HERE)
    assert changed.status == 200
    assert await outbox(users) == [("password_changed", ADDRESS)]
    assert users.identity.mail_added == 1
    assert (await reset(users, token)).json()["code"] == "invalid_token"


@pytest.mark.parametrize("password", ["short", "a" * 257, ADDRESS, "password123"])
async def test_unsuitable_password_is_refused_and_the_token_still_works(
    users: UsersApi, password: str
) -> None:
    await users.account()
    token = await users.identity.reset_token()
    response = await reset(users, token, password)
    assert (response.status, response.json()["code"]) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/newPassword"
    assert (await reset(users, token)).status == 200


async def test_one_of_two_concurrent_uses_wins(users: UsersApi) -> None:
    await users.account()
    token = await users.identity.reset_token()
    found: list[int] = []

    async def use(password: str) -> None:
        found.append((await reset(users, token, password)).status)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(use, NEW)
        nursery.start_soon(use, "lilies on mars")
    assert sorted(found) == [200, 400]


async def test_reset_changes_everything_or_nothing(users: UsersApi) -> None:
    _, session = await users.account()
    token = await users.identity.reset_token()
    users.identity.store.fail = StoreUnavailable("not now")
    assert (await reset(users, token)).status == 503
    assert (await users.get("/api/account", session)).status == 200
    users.identity.store.fail = StoreUnavailable("who knows", outcome_unknown=True)
    users.identity.store.commits_anyway = True
    assert (await reset(users, token)).status == 503
    # It was committed: the cached session must not outlive it.
    assert (await users.get("/api/account", session)).status == 401


async def test_removed_account_leaves_no_message_and_no_token(users: UsersApi) -> None:
    made, session = await users.account()
    await users.account("admin@example.org", "administrator")
    await request(users)
    await users.identity.reset_token()
    body = {"password": PASSWORD}
    removed = await users.post("/api/account/removal", body, session, FROM_HERE)
    assert removed.status == 200, removed.json()
    assert await outbox(users) == []
    assert await users.identity.rows("SELECT digest FROM password_resets") == []
    assert await users.identity.store.read(api_keys.list_of(made.account.account_id)) == []


async def test_secrets_are_not_in_the_log_of_requests(users: UsersApi) -> None:
    await users.account()
    token = await users.identity.reset_token()
    await users.post(f"{RESET}?token={token}", {"newPassword": NEW}, FROM_HERE)
    assert users.records
    assert token not in repr(users.records)
    assert NEW not in repr(users.records)
