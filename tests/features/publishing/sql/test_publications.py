"""Published links as they are stored: for whom their reading counts, and when they expire."""

from collections.abc import AsyncIterator

import pytest
from octavo_rules.identity import WorkspaceId

from octavo.features.publishing.sql import publications
from octavo.store import Transaction
from octavo.store.queries import workspaces
from tests.fakes.stores import open_inline
from tests.fakes.usage_rig import ANN, BEN, HERE, UsageRig, usage_rig

DIGEST = b"a digest"
OTHER = WorkspaceId("01900000-0000-7000-8000-0000000000ff")


@pytest.fixture
async def rig() -> AsyncIterator[UsageRig]:
    """A store with two accounts, of which one owns a workspace."""
    engine = open_inline()
    made = usage_rig(engine)
    for account_id in (ANN, BEN):
        await made.account(account_id)
    await made.workspace()
    yield made
    engine.close()


async def publish(rig: UsageRig, number: int, **times: int) -> None:
    """Insert a link of the workspace."""
    await rig.execute(
        "INSERT INTO publications (id, workspace_id, folder, opened, created_at, expires_at,"
        " revoked_at, taken_down_at, digest) VALUES ($1::uuid, $2::uuid, '', 0, 0, $3, $4, $5, $6)",
        f"01900000-0000-7000-8000-{number:012x}",
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
