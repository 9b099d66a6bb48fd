"""What outlives a process: a database, and what is certainly committed in it."""

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import trio
from greenroom.testing import note, note_fault
from octavo_rules.identity import AccountId, Position, WorkspaceId
from outcome import Outcome, Value

from octavo.service import features
from octavo.store import Script, StoreFull, StoreUnavailable, Transaction, identifiers
from octavo.store.queries.workspaces import create
from octavo.store.sqlite import InlineStore
from octavo.store.sqlite.connection import connect
from octavo.store.sqlite.inline import memory_databases
from octavo.store.sqlite.writer import all_failed
from octavo.store.transaction import T
from tests.simulation.weather import FaultSchedule

ANN = AccountId("ann")
_OFF = "the machine has lost its power"


class Disk(InlineStore):
    """A database that passes the fault points ``store.*``.

    Attributes:
        committed: the position of each workspace in the newest commit.
        off: whether the machine has lost its power, or it was closed.
    """

    def __init__(self, path: Path | None, faults: FaultSchedule) -> None:
        if path is not None and not path.exists():
            with closing(connect(path)) as connection:
                memory_databases().copy_to(connection)
        super().__init__(path, self._reach, features.LISTENERS)
        self._path = path
        self._weather = faults
        # The table of the words in the index, which verdicts read.
        self._connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab (main, search, instance)"
        )
        self.committed: dict[WorkspaceId, Position] = {}
        self.off = False
        self._lot = trio.lowlevel.ParkingLot()
        self._note()

    def close(self) -> None:
        """See `InlineStore`."""
        self.off = True
        super().close()

    async def read(self, script: Script[T]) -> T:
        """See `InlineStore`."""
        try:
            found = await super().read(script)
        except sqlite3.ProgrammingError:
            # The caller waits beyond the end of its process.
            if self.off:
                raise StoreUnavailable(_OFF) from None
            raise
        if self.off:
            raise StoreUnavailable(_OFF)
        return found

    async def wait_for_a_commit(self) -> None:
        """Return soon after the next commit."""
        await self._lot.park()

    async def _reach(self, point: str) -> None:
        if self.off and point == "store.before_commit":
            # Of a process that is killed, a task may have gone on to here.
            raise StoreUnavailable(_OFF, outcome_unknown=True)
        if point == "store.after_commit":
            self._note()
        await self._weather.reach(point, "store")

    def _note(self) -> None:
        rows = self._connection.execute("SELECT id, position FROM workspaces ORDER BY id")
        before = self.committed
        self.committed = {WorkspaceId(identifiers.to_text(row[0])): row[1] for row in rows}
        for workspace_id, position in self.committed.items():
            if position != before.get(workspace_id):
                note(f"{workspace_id} is committed at {position}", workspace_id)
        self._lot.unpark_all()

    def everything(self) -> Iterator[tuple[str, list[str], list[tuple[Any, ...]]]]:
        """Return all tables, each with its columns and rows, but for those of the text index."""
        names = self._connection.execute(
            "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            " AND (name NOT LIKE 'search%' OR name = 'search_numbers')"
        ).fetchall()
        for (name,) in names:
            cursor = self._connection.execute(f"SELECT * FROM {name}")
            columns = [each[0] for each in cursor.description]
            yield name, columns, cursor.fetchall()

    def copied(self, folder: Path) -> Path | None:
        """Lose the power: copy the files as they are now. Nothing is committed here any more."""
        if self._path is None:
            return None
        self.off = True
        for file in sorted(self._path.parent.glob(f"{self._path.name}*")):
            if not file.name.endswith("-shm"):
                shutil.copyfile(file, folder / file.name)
        return folder / self._path.name


class Rooms:
    """Folders for the files of a disk, another one after each loss of power.

    Args:
        folder: has them; without one, the disk is in memory, and survives.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._numbers = count()

    def first(self) -> Path | None:
        """Return the path of a new database; None in memory."""
        return None if self._folder is None else self._room(self._folder) / "octavo.db"

    def copied(self, disk: Disk) -> Path | None:
        """Copy the files of a disk as they are now; return the path of its database."""
        return None if self._folder is None else disk.copied(self._room(self._folder))

    def _room(self, folder: Path) -> Path:
        room = folder / str(next(self._numbers))
        room.mkdir()
        return room


@dataclass(frozen=True, slots=True)
class Unreliable:
    """A disk as a process sees it: it fails sometimes, before or after a commit."""

    disk: Disk
    faults: FaultSchedule
    random: Random

    async def read(self, script: Script[T]) -> T:
        if self._strikes("the disk can't be read"):
            raise StoreUnavailable("the disk can't be read")
        return await self.disk.read(script)

    async def read_much(self, script: Script[T]) -> T:
        return await self.read(script)

    async def write(self, script: Script[T]) -> T:
        [outcome] = await self.write_batch([script])
        result: T = outcome.unwrap()
        return result

    async def write_batch(self, scripts: Sequence[Script[Any]]) -> list[Outcome[Any]]:
        if self._strikes("a write fails before the commit"):
            unknown = self.random.random() < 0.5
            kind = (
                StoreUnavailable if unknown else self.random.choice([StoreUnavailable, StoreFull])
            )
            return all_failed(kind("nothing kept", outcome_unknown=unknown), len(scripts))
        outcomes = await self.disk.write_batch(scripts)
        certain = any(isinstance(outcome, Value) for outcome in outcomes)
        if certain and self._strikes("a write fails after the commit"):
            return all_failed(StoreUnavailable("kept", outcome_unknown=True), len(scripts))
        return outcomes

    def _strikes(self, how: str) -> bool:
        strikes = self.faults.strikes(self.random)
        if strikes:
            note_fault(how)
        return strikes


async def found(disk: Disk, workspaces: Sequence[WorkspaceId]) -> None:
    """Create the workspaces, and their owner."""

    async def owner(transaction: Transaction) -> None:
        await transaction.execute(
            "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
            " updated_at)"
            " VALUES ($1::uuid, 'ann@example.org', 'Ann', '', 'member', 'enabled', 0, 0)",
            ANN,
        )

    await disk.write(owner)
    for workspace_id in workspaces:
        await disk.write(create(workspace_id, "Vault", ANN, 0))
