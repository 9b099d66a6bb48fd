"""Nothing is left of what was removed, in any column of any table."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random

import pytest
import trio
from octavo_rules.changes import PurgeFile
from octavo_rules.identity import AccountId, FileId, MutationId, WorkspaceId

from octavo.features.accounts.sql import account_removal
from octavo.features.links.sql.link_index import remove_links
from octavo.model.files.changeset import Changeset, fingerprint
from octavo.model.files.plan import plan
from octavo.model.files.tree import Tree
from octavo.service.features import blob_collection, sweeping_job
from octavo.store import Script, Store, Transaction
from octavo.store.compression import undamaged
from octavo.store.migrations import Engine
from octavo.store.queries import workspaces
from octavo.store.queries.changesets import commit_changesets
from octavo.store.queries.feed import all_heads
from tests.fakes.every_table import QUEUES, World, fill, owners, tables
from tests.fakes.memory_blobs import MemoryBlobs
from tests.fakes.plain_documents import PlainDocuments
from tests.fakes.stores import listen_no_more, open_inline, open_postgres

NOW = 1_800_000_000_000
"""Milliseconds of Unix time."""
LATER = NOW + 600_000
PATIENCE = 20.0
Stored = list[tuple[str, object]]
"""Values, and the columns that they are in."""

OF_NOBODY = {
    "fulltext_erasure": "has one row",
    "installation": "has one row",
    "installation_usage": "expires",
    "oauth_clients": "expires with its last grant",
    "oauth_programs": "expires with its last grant, and the last revision that it made",
    "removed_accounts": "stays, for an operator who asks again",
    "signing_keys": "has secrets of the installation",
    "usage_writers": "expires",
}
"""Tables whose rows belong to no account, and what becomes of them."""

_AUDIT = "the audit keeps ids, codes and times"
_HISTORY = "ids and times of the history stay"
_JOB = "its job is stopped; the slot is free after a while, and names the next job then"
_LINK = "it leads nowhere, and stays in the list of the workspace until it is revoked"
_PURGE = "devices hear of the purge, and no file gets the id again"
_RESTORED = "the workspace was restored; it expires"
_SHARED = "it belongs to the workspace, and does not name the account any more"
_WRITTEN = "its id stays with what it wrote in workspaces of others"
_OF_ACCOUNT = {
    "archive_jobs": _JOB,
    "archive_jobs.account_id": _JOB,
    "audit.actor_id": _AUDIT,
    "audit.id": _AUDIT,
    "audit.subject_id": _AUDIT,
    "removed_accounts.id": "the operator removed it, and may ask again",
}
STAYS: Mapping[str, Mapping[str, str]] = {
    "file": {
        "files.file_id": _PURGE,
        "files.pk": _PURGE,
        "folder_purges.file": "devices hear of the purge that have keys of the folder",
        "link_reports": _LINK,
        "publications": _LINK,
        "publications.file_id": _LINK,
        "revisions.file": _PURGE,
        "revisions.position": _HISTORY,
        "revisions.revision_id": _HISTORY,
    },
    "workspace": {
        "api_keys.workspaces": "without it, a key would be limited to no workspace",
        "oauth_grants.workspaces": "without it, a grant would be limited to no workspace",
    },
    "account": _OF_ACCOUNT,
    "member": {
        **_OF_ACCOUNT,
        "files.author_id": _WRITTEN,
        "link_reports": _SHARED,
        "publications": _SHARED,
        "restorations": _RESTORED,
        "restorations.account_id": _RESTORED,
        "restorations.continuer_id": _RESTORED,
        "revisions.author_id": _WRITTEN,
    },
}
"""What is left of a purged file, a deleted workspace, a removed account, and one that belonged to a
workspace of others: columns or tables, and why."""


@pytest.fixture
async def database(either_url: str | None, tmp_path: Path) -> AsyncIterator[tuple[Store, Engine]]:
    """A store of an empty database, and its engine."""
    if either_url is not None:
        async with open_postgres(either_url, random=Random(1).random) as store:
            yield store, "postgres"
        return
    inline = open_inline(tmp_path / "octavo.sqlite3")
    yield inline, "sqlite"
    inline.close()


async def purge(store: Store, world: World) -> None:
    """Purge the file."""
    workspace_id = WorkspaceId(world.id("workspaces.id"))
    heads = await store.read(all_heads(workspace_id))
    assert heads is not None
    operations = (PurgeFile(FileId(world.id("files.file_id"))),)
    changeset = Changeset(
        MutationId(world.id("sessions.id")),
        fingerprint(operations),
        AccountId(world.id("accounts.id")),
        operations,
    )
    made = plan(
        Tree(heads.heads),
        heads.cursor,
        changeset,
        NOW,
        lambda: world.id("api_keys.id"),
        PlainDocuments(),
    )
    await store.write(commit_changesets(workspace_id, heads.cursor, [made], NOW))


async def delete(store: Store, world: World) -> None:
    """Delete the workspace."""
    assert await store.write(workspaces.delete(WorkspaceId(world.id("workspaces.id"))))


async def remove(store: Store, world: World) -> None:
    """Remove the account, with the workspace that it owns."""
    account_id = AccountId(world.id("accounts.id"))
    await store.write(account_removal.remove(account_id, tombstone=NOW))


async def leave(store: Store, world: World) -> None:
    """Remove the account; the workspace also belongs to the bystander."""

    async def join(transaction: Transaction) -> None:
        await transaction.execute(
            "INSERT INTO members (workspace_id, account_id, role, joined_at)"
            " VALUES ($1::uuid, $2::uuid, 'owner', 0)",
            world.id("workspaces.id"),
            BYSTANDER.id("accounts.id"),
        )

    await store.write(join)
    await remove(store, world)


BYSTANDER = World("a", LATER)
REMOVALS = {"file": purge, "workspace": delete, "account": remove, "member": leave}


def belongs(table: str, kind: str) -> bool:
    """Return whether rows of a table have to go with the file, workspace or account."""
    match kind:
        case "member":
            # What it wrote in workspaces of others stays.
            return "accounts" in owners(table, ("files", "revisions", "workspaces"))
        case _:
            return f"{kind}s" in owners(table)


ADVICE = """
Rows of a table belong to what its columns name: give them the names that other tables use for it
(account_id, workspace, workspace_id, file, file_id, content, blob), or a foreign key. Then remove
them with it: by a listener of the feature (`octavo.store.transaction.Listeners`), or by ON DELETE
CASCADE. What may stay is listed above, with the reason, and under "Removal" in docs/security.md.
"""

PENDING = " + ".join(
    [
        *(f"(SELECT COUNT(*) FROM {table})" for table in QUEUES),
        *(
            f"(SELECT COUNT(*) FROM {table} WHERE expires_at = 0)"
            for table in ("imports", "uploads")
        ),
        "(SELECT COUNT(*) FROM blobs WHERE check_at = 0)",
        "(SELECT state FROM fulltext_erasure)",
    ]
)
"""How much is left to be removed, in steps."""


async def swept(store: Store) -> None:
    """Let the jobs remove what is left of what was removed."""
    collection = blob_collection(store, MemoryBlobs(), lambda: NOW / 1000)
    sweeping = sweeping_job(store, collection.wake)

    async def pending(transaction: Transaction) -> int:
        row = await transaction.fetch_one(f"SELECT {PENDING}")
        assert row is not None
        return int(row[0])

    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sweeping.run)
            nursery.start_soon(collection.run)
            while True:
                if not await store.read(pending):
                    break
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel(reason="all is swept")


def everything(engine: Engine) -> Script[dict[str, Stored]]:
    """Return the values of all columns, by table; of a compressed text also the text."""
    listed = {
        "sqlite": "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        " AND name NOT LIKE 'sqlite_%'",
        "postgres": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
    }
    words = {
        "sqlite": "SELECT term FROM temp.terms",
        "postgres": "SELECT workspace_id::text || tokens::text FROM search",
    }

    async def read(transaction: Transaction) -> dict[str, Stored]:
        names = {row[0] for row in await transaction.fetch_all(listed[engine])}
        assert names - {*tables()} <= {"migrations", "search", "search_numbers"}
        if engine == "sqlite":
            # The index stores terms without what they share with the term before.
            await transaction.execute(
                "CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, search, row)"
            )
        found: dict[str, Stored] = {
            "search": [("search", row[0]) for row in await transaction.fetch_all(words[engine])]
        }
        for table, columns in tables().items():
            named = ", ".join(each.name for each in columns)
            rows = await transaction.fetch_all(f"SELECT {named} FROM {table}")
            found[table] = [
                (str(column), value)
                for row in rows
                for column, stored in zip(columns, row, strict=True)
                for value in (stored, undamaged(stored) if isinstance(stored, bytes) else None)
            ]
        if engine == "sqlite":
            await transaction.execute("DROP TABLE temp.terms")
        return found

    return read


def places_of(mark: str | bytes | int, stored: Stored) -> set[str]:
    """Return the columns that have a mark, or contain it."""
    if isinstance(mark, int):
        return {column for column, value in stored if value == mark}
    return {
        column
        for column, value in stored
        if (isinstance(mark, str) and isinstance(value, str) and mark in value)
        or (isinstance(mark, bytes) and isinstance(value, bytes) and mark in value)
    }


def left_of(world: World, kind: str, stored: Stored) -> dict[str, set[str]]:
    """Return what is stored of rows that belong to the file, workspace or account of a world.

    For each column of them, the columns that it was found in.
    """
    found = {
        column: places_of(mark, stored)
        for table in tables()
        if belongs(table, kind)
        for column, mark in world.marks(table).items()
    }
    return {column: places for column, places in found.items() if places}


def table_of(column: str) -> str:
    return column.partition(".")[0]


def may_stay(kind: str, column: str, place: str) -> bool:
    """Return whether something of a column may stay in another one, or the same."""
    stays = STAYS[kind]
    return place in stays or {table_of(place), table_of(column)} <= {*stays}


async def left_after_removals(store: Store, engine: Engine) -> set[tuple[str, str, str]]:
    """Fill every table, remove some of it, and sweep; return what is left of that.

    Each is the kind of what was removed, a column of it, and the column where that was found.
    """
    worlds = [World(name, LATER) for name in "bcde"]
    removed = dict(zip(REMOVALS, worlds, strict=True))

    async def stored() -> dict[str, Stored]:
        return await store.write(everything(engine))

    await store.write(partial(fill, world=BYSTANDER, engine=engine))
    before = await stored()
    for world in worlds:
        await store.write(partial(fill, world=world, engine=engine))
    require_marks(worlds, [*chain(*(await stored()).values())])
    for kind, world in removed.items():
        await REMOVALS[kind](store, world)
    assert {table for table, values in (await stored()).items() if not values} <= {"deleted_blobs"}
    await swept(store)
    after = await stored()
    for table, values in before.items():
        assert {*values} <= {*after[table]}, f"something of others was removed from {table}"
    return {
        (kind, column, place)
        for kind, world in removed.items()
        for column, places in left_of(world, kind, [*chain(*after.values())]).items()
        for place in places
    }


def require_marks(worlds: Sequence[World], stored: Stored) -> None:
    """Require that what is to be absent later is found now."""
    for world in worlds:
        for table in tables():
            missing = {
                column
                for column, mark in world.marks(table).items()
                if table not in QUEUES and not places_of(mark, stored)
            }
            assert missing == set()


async def test_nothing_is_left_of_what_was_removed(database: tuple[Store, Engine]) -> None:
    left = await left_after_removals(*database)
    unexpected = [
        f"{column} of a removed {kind} is still in {place}"
        for kind, column, place in sorted(left)
        if not may_stay(kind, column, place)
    ]
    assert not unexpected, "\n".join([*unexpected, ADVICE])
    places = {(kind, each) for kind, _, place in left for each in (place, table_of(place))}
    assert {(kind, place) for kind, stays in STAYS.items() for place in stays} <= places


def test_every_row_belongs_to_an_account() -> None:
    unknown = {table for table in tables() if "accounts" not in owners(table)}
    assert unknown <= {*OF_NOBODY, *QUEUES}, ADVICE


async def test_listener_that_is_missing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    listen_no_more(monkeypatch, "files_purged", remove_links)
    with closing(open_inline()) as store:
        left = await left_after_removals(store, "sqlite")
    assert ("file", "files.pk", "link_index.file") in left
