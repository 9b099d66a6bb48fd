"""Replacing the database: a failure leaves the former one complete."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
import trio

from octavo.service import backup as backups
from octavo.service import restore
from octavo.service.backup import BackupFailed
from octavo.store import StoreUnavailable
from octavo.store.migrations import Migration, shipped
from octavo.store.sqlite import backup
from octavo.store.sqlite.backup import LOGS
from octavo.store.sqlite.connection import connect
from octavo.store.sqlite.migrating import migrate
from tests.fakes.earlier_schemas import earlier

THEIR_LOGS = {end: f"its {end}" for end in LOGS}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with logs that can't be checkpointed, and a verified copy to replace it with."""
    path = tmp_path / "octavo.sqlite3"
    path.write_text("former")
    for end in LOGS:
        Path(f"{path}{end}").write_text(f"its {end}")
    (tmp_path / "copy").write_text("new")
    return path


def logs(database: Path) -> dict[str, str]:
    paths = {end: Path(f"{database}{end}") for end in LOGS}
    return {end: path.read_text() for end, path in paths.items() if path.exists()}


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_database_that_cannot_be_published_leaves_the_former_with_its_log(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(path: Path, target: Path) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(restore, "fold_logs", lambda path: False)
    monkeypatch.setattr(backups, "publish", publish)
    with pytest.raises(OSError, match="No space"):
        restore._replace(database, database.with_name("copy"))
    assert database.read_text() == "former"
    assert logs(database) == THEIR_LOGS


def test_backup_that_its_folder_may_not_keep_gets_no_log_of_the_former(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(path: Path, target: Path) -> int:
        path.replace(target)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(restore, "fold_logs", lambda path: False)
    monkeypatch.setattr(backups, "publish", publish)
    with pytest.raises(BackupFailed, match="in place, but its disk may not keep it"):
        restore._replace(database, database.with_name("copy"))
    assert database.read_text() == "new"
    assert logs(database) == {}


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE])
def test_log_that_the_disk_cannot_take_leaves_the_former_with_it(
    code: int, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def execute(self, statement: str) -> sqlite3.Cursor:
            error = sqlite3.OperationalError("the disk fails")
            error.sqlite_errorcode = code
            raise error

        def close(self) -> None:
            """Close nothing."""

    monkeypatch.setattr(backup, "connect_file", lambda path: Failing())
    before = names(database.parent)
    with pytest.raises(StoreUnavailable, match=r"can't be applied to it .* mend its disk"):
        restore._replace(database, database.with_name("copy"))
    assert names(database.parent) == before
    assert (database.read_text(), logs(database)) == ("former", THEIR_LOGS)


def test_database_in_use_leaves_no_second_name_of_its_log(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fold_logs(path: Path) -> bool:
        raise StoreUnavailable("another program uses it")

    monkeypatch.setattr(restore, "fold_logs", fold_logs)
    before = names(database.parent)
    with pytest.raises(StoreUnavailable):
        restore._replace(database, database.with_name("copy"))
    assert names(database.parent) == before


def test_log_that_cannot_be_checkpointed_is_kept_with_the_former_database(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "fold_logs", lambda path: False)
    replaced = restore._replace(database, database.with_name("copy"))
    assert replaced is not None
    assert database.read_text() == "new"
    assert logs(database) == {}
    assert replaced.read_text() == "former"
    assert logs(replaced) == THEIR_LOGS


def test_logs_without_their_database_are_not_applied_to_the_new_one(database: Path) -> None:
    database.unlink()
    assert restore._replace(database, database.with_name("copy")) is None
    assert database.read_text() == "new"
    assert names(database.parent) == {database.name}


@pytest.mark.parametrize(
    ("known", "key"),
    [(earlier("sqlite", 8), "number"), (earlier("sqlite", 10), "number"), (shipped(), "pk")],
    ids=["8", "10", "newest"],
)
def test_documents_may_have_been_read_since_the_backup(
    known: Sequence[Migration], key: str, tmp_path: Path
) -> None:
    path = tmp_path / "copy"
    with closing(connect(path)) as connection:
        migrate(connection, known)
        connection.execute(
            f"INSERT INTO workspaces ({key}, id, name, position, created_at)"
            " VALUES (1, x'01', '', 9, 0)"
        )
        connection.commit()
    trio.run(restore._verified, path, path)
    with closing(connect(path)) as connection:
        migrate(connection, shipped())
        assert connection.execute("SELECT documents_were_read FROM workspaces").fetchall() == [(1,)]
    assert names(tmp_path) == {"copy"}
