"""Programs have a number by their id and name, until their last access has ended."""

import pytest

from octavo.features.oauth.sql import oauth_programs
from octavo.model.access.account import ClientId
from octavo.store import Transaction
from tests.fakes.oauth_rig import OAuthRig

FIRST, SECOND = (ClientId(f"https://{name}.example/metadata.json") for name in ("a", "b"))


async def number_of(rig: OAuthRig, client_id: ClientId, name: str) -> int:
    async def find_or_insert(transaction: Transaction) -> int:
        return await oauth_programs.number_of(transaction, client_id, name)

    return await rig.identity.store.write(find_or_insert)


async def programs(rig: OAuthRig) -> set[str]:
    return {row[0] for row in await rig.identity.rows("SELECT client FROM oauth_programs")}


async def test_program_keeps_its_number_under_each_of_its_names(rig: OAuthRig) -> None:
    given = [(FIRST, "One"), (SECOND, "One"), (FIRST, "Another")]
    numbers = [await number_of(rig, *each) for each in given]
    assert len({*numbers}) == 3
    assert [await number_of(rig, *each) for each in given] == numbers


async def test_program_that_gets_access_again_revives_no_other(rig: OAuthRig) -> None:
    store = rig.identity.store
    for client_id in (FIRST, SECOND):
        await number_of(rig, client_id, "A program")
    assert not await store.write(oauth_programs.mark_ended(1_000))
    # It still has no grant, but may get one.
    await number_of(rig, FIRST, "A program")
    for before, left in ((1_000, {FIRST, SECOND}), (1_001, {FIRST})):
        assert not await store.write(oauth_programs.expire(before))
        assert await programs(rig) == left


async def test_end_of_a_program_is_that_of_its_last_access(rig: OAuthRig) -> None:
    store = rig.identity.store
    await number_of(rig, FIRST, "A program")
    for now in (1_000, 2_000):
        assert not await store.write(oauth_programs.mark_ended(now))
    assert not await store.write(oauth_programs.expire(1_001))
    assert await programs(rig) == set()


async def test_many_that_have_ended_are_marked_and_removed_in_steps(
    rig: OAuthRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_programs, "MAX_ROWS", 2)
    store = rig.identity.store
    for number in range(5):
        await number_of(rig, FIRST, f"Name {number}")
    for marked, more in ((2, True), (4, True), (5, False)):
        assert await store.write(oauth_programs.mark_ended(1_000)) is more
        ended = await rig.identity.rows("SELECT 1 FROM oauth_programs WHERE ended_at = 1000")
        assert len(ended) == marked
    for left, more in ((3, True), (1, True), (0, False)):
        assert await store.write(oauth_programs.expire(1_001)) is more
        assert len(await rig.identity.rows("SELECT 1 FROM oauth_programs")) == left


async def test_program_that_was_marked_while_it_got_access_is_kept(rig: OAuthRig) -> None:
    client_id, _ = await rig.connected((await rig.identity.account()).account.account_id)
    # A job of another process did not see the grant yet.
    await rig.identity.execute("UPDATE oauth_programs SET ended_at = 1")
    assert not await rig.identity.store.write(oauth_programs.expire(2))
    assert await programs(rig) == {client_id}
