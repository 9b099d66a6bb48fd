"""Registrations are changed, kept and removed one by one."""

import pytest

from octavo.features.oauth.sql import oauth_clients
from tests.fakes.identity_fixture import START
from tests.fakes.oauth_rig import PROGRAM, OAuthRig


async def registered(rig: OAuthRig) -> set[str]:
    return {row[0] for row in await rig.identity.rows("SELECT id FROM oauth_clients")}


async def test_change_of_a_registration_leaves_those_of_others(rig: OAuthRig) -> None:
    other = await rig.program()
    made = await rig.clients.register(PROGRAM)
    before = await rig.clients.find(other)
    client_id = made.client.client_id
    document = {"client_id": client_id, "redirect_uris": ["https://new.example/cb"]}
    changed = await rig.clients.change(client_id, made.management_token, document)
    assert await rig.clients.find(client_id) == changed.client
    assert await rig.clients.find(other) == before


async def test_removal_of_a_registration_leaves_those_of_others_with_their_grants(
    rig: OAuthRig,
) -> None:
    account_id = (await rig.identity.account()).account.account_id
    other, tokens = await rig.connected(account_id)
    made = await rig.clients.register(PROGRAM)
    client_id = made.client.client_id
    await rig.code(account_id, client_id)
    await rig.clients.remove(client_id, made.management_token)
    assert await registered(rig) == {other}
    assert [grant.client_id for grant in await rig.tokens.list(account_id)] == [other]
    assert await rig.access_tokens.caller(tokens.access.encode())


async def test_registration_is_kept_for_its_own_grant_alone(rig: OAuthRig) -> None:
    unused, used = await rig.program(), await rig.program()
    await rig.code((await rig.identity.account()).account.account_id, used)
    created = int(START * 1000)
    assert not await rig.identity.store.write(oauth_clients.expire(created))
    assert await registered(rig) == {unused, used}
    assert not await rig.identity.store.write(oauth_clients.expire(created + 1))
    assert await registered(rig) == {used}


async def test_many_unused_registrations_are_removed_in_steps(
    rig: OAuthRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_clients, "MAX_ROWS", 2)
    for _ in range(5):
        await rig.program()
    for left, more in ((3, True), (1, True), (0, False)):
        assert await rig.identity.store.write(oauth_clients.expire(int(START * 1000) + 1)) is more
        assert len(await registered(rig)) == left


async def test_of_registrations_at_the_same_time_the_newest_stay(
    rig: OAuthRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_clients, "MAX_CLIENTS", 2)
    made = [await rig.program() for _ in range(3)]
    assert await registered(rig) == {*made[1:]}
