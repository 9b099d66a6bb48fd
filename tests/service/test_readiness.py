"""What readiness looks at, and what it says when that is away."""

from pathlib import Path
from typing import cast

import pytest
import trio
import trio.testing

from octavo.service.engine import StoreEngine
from octavo.service.readiness import LOOK_SECONDS, Looking
from octavo.store import Script, StoreUnavailable
from octavo.store.sqlite import SqliteStore, open_sqlite
from octavo.store.transaction import T


class Away:
    """A database that fails, or never answers."""

    def __init__(self, *, hangs: bool = False) -> None:
        self._hangs = hangs

    async def read(self, script: Script[T]) -> T:
        if self._hangs:
            await trio.sleep_forever()
        raise StoreUnavailable("secret of the database")


def looking(store: object, folder: Path) -> Looking:
    return Looking(StoreEngine(sqlite=cast(SqliteStore, store)), folder, trio.Event())


async def test_ready_when_everything_is_there(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path) as store:
        found = await looking(store, tmp_path).look()
    assert found.ready
    assert [each.name for each in found.requirements] == [
        "configuration",
        "database",
        "migrations",
        "blobs",
    ]


@pytest.mark.parametrize("hangs", [False, True])
async def test_database_that_is_away_is_told_in_time_and_without_secrets(
    hangs: bool, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    found = await looking(Away(hangs=hangs), tmp_path).look()
    assert not found.ready
    assert trio.current_time() <= LOOK_SECONDS
    unmet = {each.name: each.detail for each in found.requirements if not each.met}
    assert set(unmet) == {"database", "migrations"}
    assert "secret" not in str(unmet)


async def test_data_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path / "data") as store:
        found = await looking(store, tmp_path / "gone").look()
    assert [each.name for each in found.requirements if not each.met] == ["blobs"]
