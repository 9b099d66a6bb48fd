"""The cookie of a browser that has signed in before, which gives it attempts of its own."""

from collections import Counter
from dataclasses import replace

import pytest

from octavo.features.accounts.rules.device_token import DEVICE_TOKEN_SECONDS
from octavo.store import Script
from octavo.store.transaction import T
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import CHEAP, PASSWORD
from tests.fakes.users_api import ADDRESS, FROM_HERE, UsersApi, cookie_set_by


def device_cookie_of(response: Response) -> bytes:
    """The cookie by which the browser is recognized."""
    return response.cookies()["__Host-octavo-device"].partition(";")[0].encode()


def with_cookie(cookie: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of a browser with a cookie."""
    return (FROM_HERE, (b"cookie", cookie))


async def keep_strangers_out(users: UsersApi) -> None:
    """Uses the attempts of strangers up."""
    while (await users.sign_in(password="not this one")).status == 401:
        pass
    assert (await users.sign_in()).status == 429


async def test_browser_that_signed_in_before_is_not_counted_with_strangers(users: UsersApi) -> None:
    await users.account()
    device = device_cookie_of(await users.sign_in())
    await keep_strangers_out(users)
    again = await users.sign_in(headers=with_cookie(device))
    assert again.status == 200
    # A later sign-in lasts for longer, and counts with the former.
    users.identity.sources.time += 1
    later = device_cookie_of(await users.sign_in(headers=with_cookie(device)))
    assert later != device
    assert later[:40] == device[:40]
    assert b"." not in later
    # What proves nothing for this address counts as that of a stranger.
    await users.account("ben@example.org")
    bens = device_cookie_of(await users.sign_in("ben@example.org"))
    former = b"__Host-octavo-device=" + b"A" * 48
    for cookie in (
        bens,
        former,
        device[:-1],
        b"__Host-octavo-device=",
        device.replace(b"=", b"=x"),
    ):
        assert (await users.sign_in(headers=with_cookie(cookie))).status == 429


async def test_signing_in_without_being_remembered_forgets_the_account(users: UsersApi) -> None:
    await users.account()
    await users.account("ben@example.org")
    anns = device_cookie_of(await users.sign_in())
    both = device_cookie_of(await users.sign_in("ben@example.org", headers=with_cookie(anns)))
    forgotten = await users.sign_in(headers=with_cookie(both), rememberMe=False)
    left = device_cookie_of(forgotten)
    assert left != both
    assert len(left) < len(both)
    alone = await users.sign_in("ben@example.org", headers=with_cookie(left), rememberMe=False)
    assert alone.cookies()["__Host-octavo-device"].startswith("__Host-octavo-device=;")
    await keep_strangers_out(users)
    assert (await users.sign_in(headers=with_cookie(left))).status == 429
    assert (await users.sign_in(headers=with_cookie(both))).status == 200


async def test_registration_forgets_no_other_account_of_the_browser(users: UsersApi) -> None:
    await users.account()
    anns = device_cookie_of(await users.sign_in())
    invitation = await users.identity.invite()
    registered = await users.register(invitation, "ben@example.org", headers=with_cookie(anns))
    both = device_cookie_of(registered)
    await keep_strangers_out(users)
    assert (await users.sign_in(headers=with_cookie(both))).status == 200


async def test_token_ends_with_the_time_of_its_cookie(users: UsersApi) -> None:
    await users.account()
    device = device_cookie_of(await users.sign_in())
    users.identity.sources.time += DEVICE_TOKEN_SECONDS - 1
    await keep_strangers_out(users)
    assert (await users.sign_in(headers=with_cookie(device))).status == 200
    users.identity.sources.time += 1
    assert (await users.sign_in(headers=with_cookie(device))).status == 429


@pytest.mark.parametrize("by", ["change", "reset", "removal", "state", "another account"])
async def test_token_ends_with_its_password_and_its_account(users: UsersApi, by: str) -> None:
    made, _ = await users.account()
    device = device_cookie_of(await users.sign_in())
    identity, account_id = users.identity, made.account.account_id
    new = "a wholly new password"
    match by:
        case "change":
            await identity.own_password.change(
                account_id,
                PASSWORD,
                new,
                session=made.session.session_id,
                end_others=False,
                remote_address=None,
            )
        case "reset":
            await identity.password_reset.perform(
                await identity.reset_token(), new, remote_address=None
            )
        case "state":
            await identity.set_state(account_id, "disabled")
        case _:
            await identity.remove_own(account_id, PASSWORD, remote_address=None)
    if by == "another account":
        await users.account()
    for _ in range(10):
        await users.sign_in(password="not this one")
    assert (await users.sign_in(password="not this one")).status == 429
    refused = await users.sign_in(password="not this one", headers=with_cookie(device))
    assert refused.status == 429


async def test_browser_keeps_its_number_with_another_password(users: UsersApi) -> None:
    await users.account()
    device = device_cookie_of(await users.sign_in())
    new = "a wholly new password"
    identity = users.identity
    await identity.password_reset.perform(await identity.reset_token(), new, remote_address=None)
    again = device_cookie_of(await users.sign_in(password=new, headers=with_cookie(device)))
    assert again != device
    assert again[:40] == device[:40]
    assert b"." not in again


async def test_hash_of_another_cost_makes_no_stranger_of_its_browser(users: UsersApi) -> None:
    await users.account()
    stored = (await users.identity.rows("SELECT password FROM accounts"))[0][0]
    users.identity.passwords._cost = replace(CHEAP, passes=2)
    device = device_cookie_of(await users.sign_in())
    assert (await users.identity.rows("SELECT password FROM accounts"))[0][0] != stored
    await keep_strangers_out(users)
    assert (await users.sign_in(headers=with_cookie(device))).status == 200


async def test_many_tokens_of_one_person_have_a_limit_together(users: UsersApi) -> None:
    await users.account()
    devices = [device_cookie_of(await users.sign_in()) for _ in range(5)]
    statuses: Counter[int] = Counter()
    for device in devices:
        for _ in range(11):
            # Each of the sixty attempts that a client has is used.
            response = await users.sign_in(password="not this one", headers=with_cookie(device))
            statuses[response.status] += 1
    assert statuses == {401: 30, 429: 25}


async def test_strangers_with_any_cookie_cause_no_look_up_before_they_are_counted(
    users: UsersApi,
) -> None:
    await users.account()
    await users.account("ben@example.org")
    bens = device_cookie_of(await users.sign_in("ben@example.org"))
    reads = 0
    read = users.identity.store.read

    async def counted(script: Script[T]) -> T:
        nonlocal reads
        reads += 1
        return await read(script)

    await keep_strangers_out(users)
    for _ in range(10):
        await users.sign_in("nobody@example.org", "not this one")
    users.identity.store.read = counted  # type: ignore[method-assign]
    for cookie in (bens, b"__Host-octavo-device=" + b"A" * 48, bens[:-1] + b"!"):
        for address in (ADDRESS, "nobody@example.org"):
            refused = await users.sign_in(address, "not this one", headers=with_cookie(cookie))
            assert refused.status == 429
    assert reads == 0


async def test_known_browser_has_attempts_of_its_own_and_no_more(users: UsersApi) -> None:
    await users.account()
    device = device_cookie_of(await users.sign_in())
    for _ in range(10):
        refused = await users.sign_in(
            password="not this one", headers=(FROM_HERE, (b"cookie", device))
        )
        assert refused.status == 401
    limited = await users.sign_in(headers=(FROM_HERE, (b"cookie", device)))
    assert (limited.status, limited.code) == (429, "rate_limited")
    # Strangers, and another browser of hers, are not affected.
    assert (await users.sign_in()).status == 200


@pytest.mark.parametrize("remember", [True, False])
async def test_browser_is_remembered_only_with_its_session(users: UsersApi, remember: bool) -> None:
    registered = await users.register(await users.identity.invite(), rememberMe=remember)
    signed_in = await users.sign_in(rememberMe=remember)
    for response in (registered, signed_in):
        cookies = response.cookies()
        assert ("Max-Age" in cookies["__Host-octavo"]) is remember
        assert ("__Host-octavo-device" in cookies) is remember


async def test_removing_an_account_leaves_the_tokens_of_others_in_the_browser(
    users: UsersApi,
) -> None:
    await users.account()
    await users.account("ben@example.org")
    anns = device_cookie_of(await users.sign_in())
    signed_in = await users.sign_in("ben@example.org", headers=with_cookie(anns))
    both = device_cookie_of(signed_in)
    assert both.count(b".") == 1
    name, session = cookie_set_by(signed_in)
    removed = await users.post(
        "/api/account/removal", {"password": PASSWORD}, (name, session + b"; " + both), FROM_HERE
    )
    assert removed.status == 200
    assert "Max-Age=34560000" in removed.cookies()["__Host-octavo-device"]
    assert device_cookie_of(removed) == anns
    await keep_strangers_out(users)
    assert (await users.sign_in(headers=with_cookie(anns))).status == 200


async def test_removing_the_only_account_of_a_browser_clears_the_cookie(users: UsersApi) -> None:
    await users.account()
    signed_in = await users.sign_in()
    name, session = cookie_set_by(signed_in)
    cookie = session + b"; " + device_cookie_of(signed_in)
    removed = await users.post(
        "/api/account/removal", {"password": PASSWORD}, (name, cookie), FROM_HERE
    )
    assert device_cookie_of(removed) == b"__Host-octavo-device="
    assert "Max-Age=0" in removed.cookies()["__Host-octavo-device"]
