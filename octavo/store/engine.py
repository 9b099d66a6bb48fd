"""The database of the service: SQLite in the data folder, or PostgreSQL."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from octavo.settings import KernelSettings
from octavo.store import Store, StoreOutdated, StoreUnusable, Transaction
from octavo.store.blobs.local import keys_in
from octavo.store.data_folder import DataFolderError, holding
from octavo.store.open_blobs import FOLDER
from octavo.store.outages import Outages, ReportingStore
from octavo.store.queries.accounts import had_any
from octavo.store.sqlite import DATABASE, SqliteStore, open_sqlite
from octavo.store.transaction import Listeners

if TYPE_CHECKING:
    from octavo.store.postgres.store import PostgresStore

_VERSIONS = 1_000_000


@dataclass(frozen=True, slots=True)
class StoreEngine:
    """An open database.

    Attributes:
        sqlite: None when it is PostgreSQL, which several processes may share.
        postgres: None when it is SQLite.
        outages: the failures that were logged.
    """

    sqlite: SqliteStore | None = None
    postgres: "PostgresStore | None" = None
    outages: Outages = field(default_factory=Outages)

    @property
    def store(self) -> Store:
        """The database, for callers outside the group commit."""
        store: Store | None = self.sqlite or self.postgres
        if store is None:
            raise TypeError("an engine is one of the two")
        return self.reporting(store)

    def reporting(self, store: Store) -> Store:
        """Return ``store``, which uses the database, with its failures logged."""
        return ReportingStore(store, self.outages)

    async def probe(self, transaction: Transaction) -> None:
        """Change something that nobody reads, so that a commit has to be written."""
        if self.sqlite is not None:
            # An update that leaves a page as it is would not be written.
            row = await transaction.fetch_one("PRAGMA user_version")
            version = 0 if row is None else row[0]
            await transaction.execute(f"PRAGMA user_version = {(version + 1) % _VERSIONS}")
        else:
            # A transaction with an identifier has a commit record (PostgreSQL, section 74.1).
            await transaction.fetch_one("SELECT txid_current()")

    async def applied_version(self) -> int:
        """Return the version of the schema; raises `StoreUnavailable`."""
        if self.sqlite is not None:
            # On a new connection: an open one still works when the file is missing.
            return await self.outages.opening.watched(self.sqlite.applied_version())
        if self.postgres is not None:
            return await self.outages.reading.watched(self.postgres.applied_version())
        raise TypeError("an engine is one of the two")


@asynccontextmanager
async def open_engine(
    settings: KernelSettings,
    listeners: Listeners,
    *,
    random: Callable[[], float],
    serving: bool,
    new: bool = False,
) -> AsyncIterator[StoreEngine]:
    """Open the database that ``settings`` name, with the newest schema, for the block.

    ``listeners`` are called in each transaction. ``random`` returns numbers from 0 to 1, for the
    pauses before a database is tried again. ``serving`` is True for the server that holds the data
    folder: it first checks an SQLite database for damage. It is False for a command, which may run
    beside the server, and then does not change the schema. If there are images but no database, the
    database was lost: the server does not start with an empty one unless ``new`` is True. Raises
    `StoreUnusable` and `StoreUnavailable`.
    """
    if settings.database is None:
        folder = settings.data_dir
        async with AsyncExitStack() as stack:
            if serving:
                if not new and not await trio.to_thread.run_sync(_has_bytes, folder / DATABASE):
                    # Checked before an empty database is created.
                    await _require_no_blobs(folder)
                sqlite = await stack.enter_async_context(open_sqlite(folder, listeners))
                if not new and not await sqlite.read(had_any()):
                    await _require_no_blobs(folder)
            else:
                sqlite = await _open_beside(stack, folder, listeners)
            yield StoreEngine(sqlite=sqlite)
    else:
        # An installation on SQLite does not load the client.
        from octavo.store.postgres.store import open_postgres  # noqa: PLC0415

        url, size = settings.database.secret, settings.pool_size
        async with open_postgres(url, listeners, random=random, connections=size) as postgres:
            if serving and not new and not await postgres.read(had_any()):
                await _require_no_blobs(settings.data_dir)
            yield StoreEngine(postgres=postgres)


async def _require_no_blobs(folder: Path) -> None:
    """Raise `StoreUnusable` for a ``folder`` with images, which a new installation can't have.

    Without their database, everybody's notes would seem to be gone.
    """
    blobs = folder / FOLDER
    if await trio.to_thread.run_sync(lambda: any(keys_in(blobs))):
        raise StoreUnusable(
            f"{blobs} has images, but the database is missing or empty: put that of these images"
            " back, or restore a backup (docs/operation.md); octavo serve --new starts an empty"
            " installation all the same"
        )


def _has_bytes(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


async def require_installation(folder: Path) -> None:
    """Raise `StoreUnusable` unless ``folder`` has a database that this user can reach."""
    try:
        there = await trio.Path(folder / DATABASE).exists()
    except OSError as error:
        raise StoreUnusable(
            f"the data folder {folder} can't be opened ({error.strerror}): run this as the user of"
            " the server"
        ) from error
    if not there:
        raise StoreUnusable(
            f"no installation is in {folder}: name its folder with --data-dir or"
            " OCTAVO_DATA_DIR, or start the server there first"
        )


async def _open_beside(stack: AsyncExitStack, folder: Path, listeners: Listeners) -> SqliteStore:
    await require_installation(folder)
    beside = partial(open_sqlite, folder, listeners, check=False)
    try:
        return await stack.enter_async_context(beside(migrating=False))
    except StoreOutdated:
        # Migrate it, unless a server uses it.
        try:
            stack.enter_context(holding(folder))
        except DataFolderError as error:
            raise StoreUnusable(
                "the server that runs is of another version of Octavo, or still starts: try"
                f" again, or stop it and start this version ({error})"
            ) from error
        return await stack.enter_async_context(beside(migrating=True))
