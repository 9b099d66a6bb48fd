"""Anybody may register programs: their number is bounded, and unused ones are removed."""

import pytest

from octavo.features.oauth.feature import FEATURE
from octavo.features.oauth.rules.refusal import OAuthRefusal
from octavo.features.oauth.sql import oauth_clients, oauth_programs
from octavo.model.access.account import ClientId
from octavo.service.settings import Settings
from octavo.store import Transaction
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

    await keep_house(rig.identity, 1 - 1 / DAY)
    assert await registered(rig.identity) == {used, unused}
    await keep_house(rig.identity, 1 + 1 / DAY)
    assert await registered(rig.identity) == {used}
    with pytest.raises(OAuthRefusal):
        await rig.clients.find(unused)


async def programs(identity: IdentityFixture) -> set[str]:
    return {row[0] for row in await identity.rows("SELECT client FROM oauth_programs")}


async def keep_house(identity: IdentityFixture, day: float) -> None:
    """Run the steps of the feature, so many days after the start, as the service does."""
    for step in FEATURE.retention(Settings()):
        await step(identity.store, int((START + day * DAY) * 1000))


async def refer(identity: IdentityFixture, table: str) -> None:
    """Insert a revision that some program made."""
    of_table = "file" if table == "revisions" else "kind, file_id, pk"
    kind = "" if table == "revisions" else "'note', $1::uuid, "
    await identity.execute(
        f"INSERT INTO {table} (workspace, position, size, changed_at, state, path, origin, digest,"
        f" revision_id, author_id, mutation_id, program, {of_table})"
        " VALUES (1, 1, 0, 0, 'live', 'a.md', '', $2, $1::uuid, $1::uuid, $1::uuid,"
        f" (SELECT MAX(pk) FROM oauth_programs), {kind}1)",
        "0190a0b0-0000-7000-8000-00000000000a",
        b"",
    )


async def test_program_whose_access_has_ended_is_forgotten_with_its_registration(
    rig: OAuthRig,
) -> None:
    account_id = (await rig.identity.account()).account.account_id
    client_id, tokens = await rig.connected(account_id)
    other, _ = await rig.connected(account_id)
    await rig.tokens.revoke(client_id, tokens.refresh)
    await keep_house(rig.identity, 1)
    # It may ask again meanwhile.
    await keep_house(rig.identity, 30.9)
    assert await registered(rig.identity) == {client_id, other}
    await keep_house(rig.identity, 31.1)
    assert await registered(rig.identity) == {other} == await programs(rig.identity)


async def test_program_that_gets_access_again_has_not_ended(rig: OAuthRig) -> None:
    account_id = (await rig.identity.account()).account.account_id
    client_id, tokens = await rig.connected(account_id)
    await rig.tokens.revoke(client_id, tokens.refresh)
    await keep_house(rig.identity, 1)
    rig.identity.sources.time = START + 20 * DAY
    again = await rig.exchange(client_id, await rig.code(account_id, client_id))
    await rig.tokens.revoke(client_id, again.refresh)
    await keep_house(rig.identity, 32)
    assert await programs(rig.identity) == {client_id}
    await keep_house(rig.identity, 63)
    assert await programs(rig.identity) == set()


@pytest.mark.parametrize("table", ["files", "revisions"])
async def test_program_stays_for_as_long_as_a_revision_refers_to_it(
    rig: OAuthRig, table: str
) -> None:
    account_id = (await rig.identity.account()).account.account_id
    client_id, tokens = await rig.connected(account_id)
    await rig.tokens.revoke(client_id, tokens.refresh)
    await refer(rig.identity, table)
    await keep_house(rig.identity, 1)
    await keep_house(rig.identity, 400)
    assert await registered(rig.identity) == {client_id} == await programs(rig.identity)
    await rig.identity.execute(f"DELETE FROM {table}")
    await keep_house(rig.identity, 400)
    assert await registered(rig.identity) == set() == await programs(rig.identity)


@pytest.mark.parametrize("table", ["files", "revisions"])
async def test_revision_keeps_its_own_program_alone(rig: OAuthRig, table: str) -> None:
    account_id = (await rig.identity.account()).account.account_id
    made = [await rig.connected(account_id) for _ in range(2)]
    for client_id, tokens in made:
        await rig.tokens.revoke(client_id, tokens.refresh)
    await refer(rig.identity, table)
    await keep_house(rig.identity, 1)
    await keep_house(rig.identity, 400)
    _, (referred, _) = made
    assert await registered(rig.identity) == {referred} == await programs(rig.identity)


async def test_program_with_a_document_is_forgotten_without_a_registration(rig: OAuthRig) -> None:
    async def insert(transaction: Transaction) -> None:
        await oauth_programs.number_of(transaction, DOCUMENT, "An assistant")

    await rig.identity.store.write(insert)
    await keep_house(rig.identity, 1)
    assert await programs(rig.identity) == {DOCUMENT}
    await keep_house(rig.identity, 32)
    assert await programs(rig.identity) == set()


async def test_registration_stays_for_another_name_of_its_program(rig: OAuthRig) -> None:
    account_id = (await rig.identity.account()).account.account_id
    client_id, _ = await rig.connected(account_id)
    await rig.identity.execute(
        "INSERT INTO oauth_programs (client, name) VALUES ($1, 'An older name')", client_id
    )
    await keep_house(rig.identity, 1)
    await keep_house(rig.identity, 32)
    assert len(await rig.identity.rows("SELECT 1 FROM oauth_programs")) == 1
    assert await registered(rig.identity) == {client_id}
    # The tokens have expired meanwhile.
    await keep_house(rig.identity, 63)
    assert await registered(rig.identity) == set() == await programs(rig.identity)


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
