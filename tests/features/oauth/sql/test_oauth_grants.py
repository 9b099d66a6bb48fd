"""Grants end at their times and in their number, and are deleted in steps."""

import pytest
from octavo_rules.identity import AccountId

from octavo.features.oauth.sql import oauth_grants
from octavo.features.oauth.sql.oauth_grants import NewToken
from octavo.model.access.token import digest_of
from tests.fakes.identity_fixture import START
from tests.fakes.oauth_rig import ALL, OAuthRig

DAY = 86_400


async def account(rig: OAuthRig) -> AccountId:
    return (await rig.identity.account()).account.account_id


async def kept(rig: OAuthRig, table: str) -> int:
    [row] = await rig.identity.rows(f"SELECT COUNT(*) FROM {table}")
    return int(row[0])


@pytest.mark.parametrize(
    ("seconds", "table", "before", "after"),
    [
        (60, "oauth_codes", 1, 0),
        (3600, "oauth_tokens", 2, 1),
        (30 * DAY, "oauth_tokens", 1, 0),
        (30 * DAY, "oauth_grants", 1, 0),
    ],
)
async def test_what_has_expired_is_deleted_not_before_its_end(
    rig: OAuthRig, seconds: int, table: str, before: int, after: int
) -> None:
    await rig.connected(await account(rig))
    end = int((START + seconds) * 1000)
    for now, rows in ((end - 1, before), (end, after)):
        assert not await rig.identity.store.write(oauth_grants.expire(now))
        assert await kept(rig, table) == rows


async def test_grant_is_deleted_when_its_person_said_even_with_a_later_token(
    rig: OAuthRig,
) -> None:
    account_id = await account(rig)
    code = await rig.code(account_id, await rig.program(), days=1)
    late = NewToken(b"late", "refresh", ALL, int((START + 2 * DAY) * 1000))
    digest, now = digest_of(code.encode()), int(START * 1000)
    assert await rig.identity.store.write(oauth_grants.exchange(digest, (late,), now))
    end = int((START + DAY) * 1000)
    for now, rows in ((end - 1, 1), (end, 0)):
        assert not await rig.identity.store.write(oauth_grants.expire(now))
        assert await kept(rig, "oauth_grants") == rows


async def test_grant_is_deleted_without_those_that_have_a_code_or_a_token(rig: OAuthRig) -> None:
    account_id = await account(rig)
    client_id = await rig.program()
    await rig.code(account_id, client_id)
    [ended] = await rig.tokens.list(account_id)
    rig.identity.sources.time = START + 30
    await rig.connected(account_id)
    rig.identity.sources.time = START + 90
    await rig.code(account_id, client_id)
    grants = await rig.tokens.list(account_id)
    assert not await rig.identity.store.write(oauth_grants.expire(int((START + 90) * 1000)))
    assert await rig.tokens.list(account_id) == [grant for grant in grants if grant != ended]


@pytest.mark.parametrize(
    ("table", "seconds", "deleted_before"),
    [
        ("oauth_codes", 60, []),
        # Refresh tokens last longer, so that the grants do, too.
        ("oauth_tokens", 3600, ["oauth_codes"]),
        ("oauth_grants", 3600, ["oauth_codes", "oauth_tokens"]),
    ],
)
async def test_many_that_have_ended_are_deleted_in_steps(
    rig: OAuthRig,
    table: str,
    seconds: int,
    deleted_before: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(oauth_grants, "MAX_ROWS", 2)
    account_id = await account(rig)
    for _ in range(5):
        await rig.connected(account_id)
    for each in deleted_before:
        await rig.identity.execute(f"DELETE FROM {each}")
    had = await kept(rig, table)
    for deleted, more in ((2, True), (4, True), (5, False)):
        expire = oauth_grants.expire(int((START + seconds) * 1000))
        assert await rig.identity.store.write(expire) is more
        assert had - await kept(rig, table) == deleted


async def test_end_of_all_grants_of_an_account_leaves_those_of_others(rig: OAuthRig) -> None:
    account_id = await account(rig)
    other = (await rig.identity.account("bob@example.org")).account.account_id
    for each in (account_id, account_id, other):
        await rig.connected(each)
    assert await rig.identity.store.write(oauth_grants.revoke_all(account_id)) == 2
    assert await rig.tokens.list(account_id) == []
    assert len(await rig.tokens.list(other)) == 1


async def test_of_grants_that_were_used_in_the_same_minute_the_older_one_ends(
    rig: OAuthRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_grants, "MAX_GRANTS", 2)
    account_id = await account(rig)
    client_id = await rig.program()
    await rig.code(account_id, client_id)
    await rig.code(account_id, client_id)
    newer, older = await rig.tokens.list(account_id)
    await rig.code(account_id, client_id)
    left = await rig.tokens.list(account_id)
    assert newer in left
    assert older not in left
