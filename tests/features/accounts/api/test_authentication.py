"""Authentication: keys, cookies, and the origin of a request."""

import pytest

from octavo.http.callers import session_token
from tests.fakes.asgi_client import ask
from tests.fakes.identity_fixture import START
from tests.fakes.users_api import FROM_ELSEWHERE, FROM_HERE, UsersApi, bearer, cookie

ACCOUNT = "/api/account"
KEYS = "/api/account/keys"


async def test_request_with_nothing_is_not_signed_in(users: UsersApi) -> None:
    response = await users.get(ACCOUNT)
    assert (response.status, response.code) == (401, "not_signed_in")


@pytest.mark.parametrize(
    "value",
    [
        b"Bearer ",
        b"Bearer octk_",
        b"Bearer octo_" + b"x" * 36,
        b"Bearer octk_" + b"0" * 36,
        b"Bearer octk_" + b"\xff" * 36,
        b"Bearer " + b"x" * 1_000_000,
        b"bearer octk_" + b"0" * 36,
        b"BEARER x",
    ],
)
async def test_malformed_key_is_refused_without_a_lookup(users: UsersApi, value: bytes) -> None:
    _, its_cookie = await users.account()
    reads = users.identity.store.reads
    response = await users.get(ACCOUNT, (b"authorization", value), its_cookie)
    assert (response.status, response.code) == (401, "key_refused")
    assert users.identity.store.reads == reads


async def test_key_with_one_character_changed_is_refused(users: UsersApi) -> None:
    made, _ = await users.account()
    name, value = await users.key(made)
    at = len(value) - 10
    other = value[:at] + (b"x" if value[at : at + 1] != b"x" else b"y") + value[at + 1 :]
    assert (await users.get(ACCOUNT, (name, other))).code == "key_refused"


async def test_unknown_key_is_refused(users: UsersApi) -> None:
    made, _ = await users.account()
    key = await users.key(made)
    await users.identity.execute("DELETE FROM api_keys")
    assert (await users.get(ACCOUNT, key)).code == "key_refused"


async def test_expired_key_is_refused_even_if_cached(
    users: UsersApi,
) -> None:
    made, _ = await users.account()
    account_id = made.account.account_id
    expiry = int(START + 60) * 1000
    _, secret = await users.identity.own_keys.create(account_id, "a", expiry, remote_address=None)
    assert (await users.get(ACCOUNT, bearer(secret))).status == 200
    users.identity.sources.time = START + 60
    assert (await users.get(ACCOUNT, bearer(secret))).code == "key_refused"


async def test_key_takes_precedence_over_a_cookie(users: UsersApi) -> None:
    ann, _ = await users.account()
    _, bobs_cookie = await users.account("bob@example.org")
    response = await users.get(ACCOUNT, bobs_cookie, await users.key(ann))
    assert response.json()["address"] == "ann@example.org"


async def test_key_needs_no_origin_for_a_change(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    key = await users.key(made)
    for headers in ((key,), (key, FROM_ELSEWHERE), (key, its_cookie)):
        assert (await users.post(KEYS, {"name": "a"}, *headers)).status == 201


async def test_authorization_of_a_proxy_leaves_the_cookie_in_force(
    users: UsersApi,
) -> None:
    _, its_cookie = await users.account()
    response = await users.get(ACCOUNT, (b"authorization", b"Basic b2N0YXZv"), its_cookie)
    assert response.status == 200


async def test_key_as_a_cookie_is_not_accepted(users: UsersApi) -> None:
    made, _ = await users.account()
    name, value = await users.key(made)
    assert (await users.get(ACCOUNT, (name, value))).status == 200
    assert (await users.get(ACCOUNT, cookie(value.decode()[7:]))).code == "not_signed_in"


async def test_session_token_as_a_key_is_not_accepted(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    assert (await users.get(ACCOUNT, its_cookie)).status == 200
    assert (await users.get(ACCOUNT, bearer(made.token))).code == "key_refused"


@pytest.mark.parametrize(
    "headers",
    [(), (FROM_ELSEWHERE,), ((b"origin", b"null"),), (FROM_HERE, FROM_HERE)],
)
async def test_change_by_cookie_needs_the_configured_origin(
    users: UsersApi, headers: tuple[tuple[bytes, bytes], ...]
) -> None:
    _, its_cookie = await users.account()
    response = await users.post(KEYS, {"name": "a"}, its_cookie, *headers)
    assert (response.status, response.code) == (403, "wrong_origin")


async def test_reading_by_cookie_needs_no_origin(users: UsersApi) -> None:
    _, its_cookie = await users.account()
    assert (await users.get(ACCOUNT, its_cookie, FROM_ELSEWHERE)).status == 200
    head = await ask(users.application, "HEAD", ACCOUNT, headers=[its_cookie])
    assert head.status == 200


@pytest.mark.parametrize("state", ["disabled", "locked"])
async def test_account_state_change_takes_effect_immediately(users: UsersApi, state: str) -> None:
    made, its_cookie = await users.account()
    key = await users.key(made)
    for credential in (key, its_cookie):
        assert (await users.get(ACCOUNT, credential)).status == 200
    await users.identity.set_state(made.account.account_id, state)  # type: ignore[arg-type]
    codes = {
        "disabled": ["key_refused", "not_signed_in"],
        "locked": ["account_locked", "account_locked"],
    }
    responses = [
        await users.post(KEYS, {"name": "a"}, key),
        await users.post(KEYS, {"name": "a"}, its_cookie, FROM_HERE),
    ]
    assert [response.code for response in responses] == codes[state]


async def test_log_names_the_account_and_no_secret(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    key = await users.key(made)
    await users.get(ACCOUNT, key)
    await users.get(ACCOUNT, its_cookie)
    assert [record.principal for record in users.records] == [made.account.account_id] * 2
    assert made.token not in repr(users.records)


@pytest.mark.parametrize(
    ("cookies", "token"),
    [
        ([b"__Host-octavo=a"], b"a"),
        ([b"x=1; __Host-octavo=a; y=2"], b"a"),
        ([b"x=1", b"__Host-octavo=a"], b"a"),
        ([b"x=1;__Host-octavo=a;y"], b"a"),
        ([b"__Host-octavo=a; __Host-octavo=a"], b"a"),
        ([b"__Host-octavo=a; __Host-octavo=b"], None),
        ([b"__Host-octavo=a", b"__Host-octavo=b"], None),
        ([b"x__Host-octavo=a"], None),
        ([b"__Host-octavo2=a"], None),
        ([b"__host-octavo=a"], None),
        ([b"__Host-octavo"], None),
        ([b"__Host-octavo="], None),
        ([b"x=__Host-octavo=a"], None),
        ([], None),
    ],
)
def test_cookie_is_parsed_as_browsers_write_it(cookies: list[bytes], token: bytes | None) -> None:
    assert session_token([(b"cookie", each) for each in cookies]) == token
