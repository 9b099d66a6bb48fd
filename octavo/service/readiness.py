"""Look whether the service can take work: database, schema, data folder."""

import os
from pathlib import Path

import trio

from octavo.http.api.service import Readiness, Requirement
from octavo.service.engine import StoreEngine
from octavo.store import StoreError, Transaction
from octavo.store.migrations import shipped

LOOK_SECONDS = 2.0
"""So long a database may take to answer before it counts as away."""

_CONFIGURED = Requirement("configuration", met=True, detail="The settings were read and checked.")


class Looking:
    """Looks at what the service rests on.

    Args:
        engine: the database.
        folder: the data folder.
        stopping: set when the process is about to stop.
    """

    def __init__(self, engine: StoreEngine, folder: Path, stopping: trio.Event) -> None:
        self._engine = engine
        self._folder = folder
        self._stopping = stopping

    async def look(self) -> Readiness:
        """Answer what is there and what is not, after `LOOK_SECONDS` at most for each."""
        database = await self._database()
        requirements = (_CONFIGURED, database, await self._migrations(database), self._blobs())
        return Readiness(requirements, stopping=self._stopping.is_set())

    async def _database(self) -> Requirement:
        detail = f"The database did not answer within {LOOK_SECONDS:g} seconds."
        with trio.move_on_after(LOOK_SECONDS):
            try:
                await self._engine.store.read(_any)
            except StoreError:
                detail = "The database can't be used now: the log of the service says why."
            else:
                return Requirement("database", met=True, detail="The database answers.")
        return Requirement("database", met=False, detail=detail)

    async def _migrations(self, database: Requirement) -> Requirement:
        newest = len(shipped())
        detail = "The version of the schema can't be read while the database is away."
        if database.met:
            with trio.move_on_after(LOOK_SECONDS):
                try:
                    version = await self._engine.applied_version()
                except StoreError:
                    pass
                else:
                    told = f"The schema has version {version}, this program knows {newest}."
                    return Requirement("migrations", met=version == newest, detail=told)
        return Requirement("migrations", met=False, detail=detail)

    def _blobs(self) -> Requirement:
        met = os.access(self._folder, os.W_OK | os.X_OK)
        told = "can be written to." if met else "can't be written to: look at its owner and mode."
        return Requirement("blobs", met=met, detail=f"The data folder {told}")


async def _any(transaction: Transaction) -> None:
    await transaction.fetch_one("SELECT 1")
