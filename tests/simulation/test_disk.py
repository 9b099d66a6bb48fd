"""What scenarios rely on of a disk."""

import sqlite3
from pathlib import Path
from random import Random

import pytest
from octavo_rules.identity import WorkspaceId

from octavo.store import StoreUnavailable, Transaction
from octavo.store.queries.workspaces import create
from tests.simulation.disk import ANN, Disk
from tests.simulation.weather import FaultSchedule


async def count(transaction: Transaction) -> int:
    row = await transaction.fetch_one("SELECT COUNT(*) FROM workspaces")
    assert row is not None
    number: int = row[0]
    return number


async def test_disk_without_power_can_not_be_read() -> None:
    disk = Disk(None, FaultSchedule(Random(0)))
    assert await disk.read(count) == 0
    disk.close()
    with pytest.raises(StoreUnavailable, match="lost its power"):
        await disk.read(count)


async def test_nothing_is_committed_without_power(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "octavo.db", FaultSchedule(Random(0)))
    folder = tmp_path / "copy"
    folder.mkdir()
    copy = disk.copied(folder)
    with pytest.raises(StoreUnavailable, match="lost its power") as lost:
        await disk.write(create(WorkspaceId("v"), "Vault", ANN, 0))
    assert lost.value.outcome_unknown
    with pytest.raises(StoreUnavailable, match="lost its power"):
        await disk.read(count)
    disk.close()
    copied = Disk(copy, FaultSchedule(Random(0)))
    assert await copied.read(count) == 0
    copied.close()


async def test_disk_with_power_reports_mistakes_of_its_user() -> None:
    disk = Disk(None, FaultSchedule(Random(0)))

    async def mistake(transaction: Transaction) -> None:
        raise sqlite3.ProgrammingError("a mistake")

    with pytest.raises(sqlite3.ProgrammingError, match="a mistake"):
        await disk.read(mistake)
    disk.close()
