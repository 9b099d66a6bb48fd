"""Anybody may register programs: their number is bounded, and unused ones are removed."""

import pytest

from octavo.model.oauth.client import ClientId
from octavo.model.oauth.refusal import OAuthRefusal
from octavo.service.retention import UNUSED_PROGRAM_DAYS
from octavo.store.scripts import oauth_clients
from tests.fakes.identity_fixture import START, IdentityFixture
from tests.fakes.oauth_rig import CALLBACK, OAuthRig

DAY = 86_400
DOCUMENT = ClientId("https://client.example/metadata.json")


async def registered(identity: IdentityFixture) -> set[str]:
    return {row[0] for row in await identity.rows("SELECT id FROM oauth_clients")}


async def test_flood_of_registrations_pushes_out_its_own_and_none_that_is_used(
    rig: OAuthRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_clients, "MAX_CLIENTS", 3)
    account_id = (await rig.identity.account()).account.account_id
    used, _ = await rig.connected(account_id)
    flood = []
    for number in range(1, 8):
        rig.identity.sources.time = START + number
        flood.append(await rig.program())
    assert await registered(rig.identity) == {used, *flood[-3:]}


async def test_program_that_nobody_allowed_anything_is_removed_after_a_day(rig: OAuthRig) -> None:
    account_id = (await rig.identity.account()).account.account_id
    used, _ = await rig.connected(account_id)
    unused = await rig.program()

    async def sweep(at: float) -> None:
        # As the service does.
        before = int((at - UNUSED_PROGRAM_DAYS * DAY) * 1000)
        assert not await rig.identity.store.write(oauth_clients.expire(before))

    await sweep(START + DAY - 1)
    assert await registered(rig.identity) == {used, unused}
    await sweep(START + DAY + 1)
    assert await registered(rig.identity) == {used}
    with pytest.raises(OAuthRefusal):
        await rig.clients.find(unused)


async def test_token_endpoint_fetches_no_document(rig: OAuthRig) -> None:
    # Anybody can send it requests.
    fetched: list[str] = []

    async def fetch(address: str) -> bytes:
        fetched.append(address)
        return b"{}"

    counting = OAuthRig(rig.identity, fetch=fetch)
    assert await counting.clients.authenticate(DOCUMENT, None) == DOCUMENT
    for ask in (counting.exchange, counting.renew):
        with pytest.raises(OAuthRefusal):
            await ask(DOCUMENT, "a code")
    await counting.tokens.revoke(DOCUMENT, "a token")
    assert fetched == []
    with pytest.raises(OAuthRefusal):
        await counting.authorization.read({"client_id": DOCUMENT, "redirect_uri": CALLBACK})
    assert fetched == [DOCUMENT]
