"""When sessions, keys and portal tokens end, and when they were used last."""

import pytest

from octavo.features.accounts.rules.portal import TOKEN_SECONDS, PortalTokenUnusable
from octavo.features.accounts.sql import api_keys, sessions
from tests.fakes.identity_fixture import PASSWORD, START, IdentityFixture

NOW = int(START * 1000)


async def test_late_record_of_an_earlier_use_is_ignored(identity: IdentityFixture) -> None:
    signed_in = await identity.account()
    account_id, session_id = signed_in.account.account_id, signed_in.session.session_id
    key, _ = await identity.own_keys.create(account_id, "a", None, remote_address=None)
    for at in (NOW + 5, NOW + 2):
        await identity.store.write(sessions.record_activity({session_id: at}))
        await identity.store.write(api_keys.record_use({key.key_id: at}))
    rows = await identity.rows("SELECT active_at, used_at FROM sessions, api_keys")
    assert [tuple(row) for row in rows] == [(NOW + 5, NOW + 5)]


@pytest.mark.parametrize(
    ("created_at", "active_at", "ended"),
    [(100, 1000, False), (99, 1000, True), (100, 999, True)],
)
async def test_session_ends_by_its_start_or_its_last_activity(
    identity: IdentityFixture, created_at: int, active_at: int, ended: bool
) -> None:
    account_id = (await identity.account()).account.account_id
    await identity.execute(
        "UPDATE sessions SET created_at = $1, active_at = $2", created_at, active_at
    )
    alive = await identity.store.read(sessions.list_of(account_id, (998, 98), None, 10))
    assert len(alive) == 1
    for until in ((999, 98), (998, 100), (998, 101)):
        listed = await identity.store.read(sessions.list_of(account_id, until, None, 10))
        assert len(listed) == (active_at > until[0] and created_at > until[1])
    assert not await identity.store.write(sessions.expire_sessions(1000, 100))
    left = await identity.rows("SELECT 1 FROM sessions")
    assert len(left) == (not ended)


async def test_no_more_sessions_are_listed_than_were_asked_for(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    address, account_id = made.account.address, made.account.account_id
    later = [
        (await identity.signing_in.sign_in(address, PASSWORD, "", None)).session for _ in range(3)
    ]
    assert await identity.own_sessions.list(account_id, None, 2) == [later[2], later[1]]


@pytest.mark.parametrize("after", [-0.001, 0, 1])
async def test_portal_token_is_valid_until_it_expires(
    identity: IdentityFixture, after: float
) -> None:
    account_id = (await identity.account()).account.account_id
    token = (await identity.portal.open(account_id, "plan")).partition("token=")[2]
    identity.sources.time += TOKEN_SECONDS + after
    if after < 0:
        assert (await identity.portal.redeem(token)).account.account_id == account_id
    else:
        with pytest.raises(PortalTokenUnusable):
            await identity.portal.redeem(token)
