"""Which database is behind the service: SQLite in the data folder, or PostgreSQL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from octavo.service.chance import jitter
from octavo.service.outages import Outages, ReportingStore
from octavo.settings import Settings
from octavo.store import Store
from octavo.store.postgres import PostgresStore, open_postgres
from octavo.store.sqlite import SqliteStore, open_sqlite


@dataclass(frozen=True, slots=True)
class Engine:
    """An open database.

    Attributes:
        sqlite: None when it is PostgreSQL, which several processes may share.
        postgres: None when it is SQLite.
        outages: what the log was told of its failures.
    """

    sqlite: SqliteStore | None = None
    postgres: PostgresStore | None = None
    outages: Outages = field(default_factory=Outages)

    @property
    def store(self) -> Store:
        """The database, for whoever reads and writes by themselves."""
        store: Store | None = self.sqlite or self.postgres
        if store is None:
            raise TypeError("an engine is one of the two")
        return self.reporting(store)

    def reporting(self, store: Store) -> Store:
        """Answer ``store``, which rests on the database, so that the log tells its failures."""
        return ReportingStore(store, self.outages)

    async def applied_version(self) -> int:
        """Answer the version of the schema; raises `StoreUnavailable`."""
        if self.sqlite is not None:
            return await self.sqlite.applied_version()
        if self.postgres is not None:
            return await self.postgres.applied_version()
        raise TypeError("an engine is one of the two")


@asynccontextmanager
async def open_engine(settings: Settings, *, serving: bool) -> AsyncIterator[Engine]:
    """Open the database that ``settings`` name, with the newest schema, for the block.

    ``serving`` is for the one server of an SQLite database, which reads through it for damage
    first; a command that works beside it has False. Raises `StoreUnusable` and
    `StoreUnavailable`.
    """
    if settings.database is None:
        async with open_sqlite(settings.data_dir, serving=serving, check=serving) as sqlite:
            yield Engine(sqlite=sqlite)
    else:
        url, size = settings.database.secret, settings.pool_size
        async with open_postgres(url, random=jitter, connections=size) as postgres:
            yield Engine(postgres=postgres)
