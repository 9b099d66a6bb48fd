"""Published links as they are stored: for whom their reading counts, and when they expire."""

from collections.abc import AsyncIterator
from contextlib import closing
from random import Random

import pytest
from octavo_rules.identity import WorkspaceId

from octavo.features.publishing.rules import LinkTarget, PublicationId, PublishedLink
from octavo.features.publishing.sql import publications
from octavo.model.workspace import RoleInsufficient, WorkspaceMissing
from octavo.store import Store, Transaction
from octavo.store.queries import workspaces
from tests.fakes.stores import open_inline, open_postgres
from tests.fakes.usage_rig import ANN, BEN, HERE, UsageRig, usage_rig

DIGEST = b"a digest"
OTHER = WorkspaceId("01900000-0000-7000-8000-0000000000ff")


async def settled(store: Store) -> UsageRig:
    made = usage_rig(store)
    for account_id in (ANN, BEN):
        await made.account(account_id)
    await made.workspace()
    return made


@pytest.fixture
async def rig(either_url: str | None) -> AsyncIterator[UsageRig]:
    """A store with two accounts, of which one owns a workspace."""
    if either_url is None:
        with closing(open_inline()) as inline:
            yield await settled(inline)
        return
    async with open_postgres(either_url, random=Random(1).random) as store:
        yield await settled(store)


def link_id(number: int) -> str:
    return f"01900000-0000-7000-8000-{number:012x}"


async def publish(rig: UsageRig, number: int, **times: int) -> None:
    """Insert a link of the workspace."""
    await rig.execute(
        "INSERT INTO publications (id, workspace_id, folder, opened, created_at, expires_at,"
        " revoked_at, taken_down_at, digest) VALUES ($1::uuid, $2::uuid, '', 0, 0, $3, $4, $5, $6)",
        link_id(number),
        HERE,
        times.get("expires_at"),
        times.get("revoked_at"),
        times.get("taken_down_at"),
        DIGEST if number == 1 else b"%d" % number,
    )


async def join(rig: UsageRig, role: str, joined_at: int) -> None:
    await rig.execute(
        "INSERT INTO members (workspace_id, account_id, role, joined_at)"
        " VALUES ($1::uuid, $2::uuid, $3, $4)",
        HERE,
        BEN,
        role,
        joined_at,
    )


@pytest.mark.parametrize(
    ("role", "joined_at", "charged"),
    [("administrator", -1, ANN), ("owner", -1, BEN), ("owner", 1, ANN)],
)
async def test_reading_counts_for_the_owner_who_joined_first(
    rig: UsageRig, role: str, joined_at: int, charged: str
) -> None:
    await publish(rig, 1)
    await join(rig, role, joined_at)
    found = await rig.store.read(publications.by_digest(DIGEST))
    assert found is not None
    assert found.owner_id == charged


async def test_ended_links_expire_unless_they_were_taken_down(rig: UsageRig) -> None:
    await publish(rig, 1)
    await publish(rig, 2, expires_at=9)
    await publish(rig, 3, revoked_at=9, expires_at=20)
    await publish(rig, 4, revoked_at=10, expires_at=5)
    await publish(rig, 5, expires_at=9, taken_down_at=1)
    assert not await rig.store.write(publications.expire(10))

    async def read_left(transaction: Transaction) -> list[int]:
        rows = await transaction.fetch_all("SELECT id FROM publications ORDER BY id")
        return [int(row[0][-1]) for row in rows]

    assert await rig.store.read(read_left) == [1, 4, 5]


async def test_owner_of_another_workspace_is_not_charged(rig: UsageRig) -> None:
    await rig.store.write(workspaces.create(OTHER, "Other", BEN, -5))
    await publish(rig, 1)
    found = await rig.store.read(publications.by_digest(DIGEST))
    assert found is not None
    assert found.owner_id == ANN


async def test_token_of_a_report_names_the_link_that_was_reported(rig: UsageRig) -> None:
    for number in (1, 2):
        await publish(rig, number)
        await rig.execute(
            "INSERT INTO link_reports (id, publication_id, digest, reason, reported_at)"
            " VALUES ($1::uuid, $1::uuid, $2, 'spam', 0)",
            f"01900000-0000-7000-8000-{number:012x}",
            b"report %d" % number,
        )
    for number in (1, 2):
        found = await rig.store.read(publications.by_digest(b"report %d" % number))
        assert found is not None
        assert int(found.link.publication_id[-1]) == number
    assert await rig.store.read(publications.by_digest(b"report 3")) is None


async def test_page_of_links_has_at_most_as_many_as_asked_for(rig: UsageRig) -> None:
    for number in (1, 2, 3):
        await publish(rig, number)
    found = await rig.store.read(publications.list_of(HERE, None, 2))
    assert [each.link.publication_id[-1] for each in found] == ["3", "2"]
    found = await rig.store.read(publications.list_of(HERE, found[-1].link.publication_id, 2))
    assert [each.link.publication_id[-1] for each in found] == ["1"]


async def test_unknown_token_finds_no_link(rig: UsageRig) -> None:
    for number in (1, 2):
        await publish(rig, number)
    assert await rig.store.read(publications.by_digest(b"unknown")) is None


@pytest.mark.parametrize(
    ("role", "refusal"), [("editor", RoleInsufficient), (None, WorkspaceMissing)]
)
async def test_right_that_has_ended_meanwhile_neither_publishes_nor_revokes(
    rig: UsageRig, role: str | None, refusal: type[Exception]
) -> None:
    await publish(rig, 1)
    if role is not None:
        await join(rig, role, 1)
    link = PublishedLink(PublicationId(link_id(2)), HERE, LinkTarget("folder", None, ""))
    with pytest.raises(refusal):
        await rig.store.write(publications.create(link, BEN, b"2", 10, 0))
    with pytest.raises(refusal):
        await rig.store.write(publications.revoke(HERE, PublicationId(link_id(1)), BEN, 0))
    [left] = await rig.store.read(publications.list_of(HERE, None, 10))
    assert left.link.revoked_at is None


async def test_link_is_revoked_once(rig: UsageRig) -> None:
    await publish(rig, 1)
    revoke = publications.revoke(HERE, PublicationId(link_id(1)), ANN, 7)
    assert await rig.store.write(revoke) is True
    assert await rig.store.write(revoke) is False


async def test_link_opens_as_often_as_it_may_and_not_after_its_end(rig: UsageRig) -> None:
    await publish(rig, 1, expires_at=9)
    await rig.execute("UPDATE publications SET openings = 2")
    assert not await rig.store.write(publications.open_once(b"unknown", 1))
    assert not await rig.store.write(publications.open_once(DIGEST, 9))
    opened = [await rig.store.write(publications.open_once(DIGEST, 8)) for _ in range(3)]
    assert opened == [True, True, False]
