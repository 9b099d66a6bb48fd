"""Replacing the database: what fails leaves the former one complete."""

from pathlib import Path

import pytest

from octavo.service import restore
from octavo.store import StoreUnavailable


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with a log that can't be folded in, and a verified copy to replace it with."""
    path = tmp_path / "octavo.sqlite3"
    path.write_text("former")
    Path(f"{path}-wal").write_text("its log")
    (tmp_path / "copy").write_text("new")
    return path


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_database_that_cannot_be_published_leaves_the_former_with_its_log(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(path: Path, target: Path) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(restore, "fold_log", lambda path: False)
    monkeypatch.setattr(restore, "publish", publish)
    with pytest.raises(OSError, match="No space"):
        restore._replace(database, database.with_name("copy"))
    assert database.read_text() == "former"
    assert Path(f"{database}-wal").read_text() == "its log"


def test_database_in_use_leaves_no_second_name_of_its_log(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fold_log(path: Path) -> bool:
        raise StoreUnavailable("another program uses it")

    monkeypatch.setattr(restore, "fold_log", fold_log)
    before = names(database.parent)
    with pytest.raises(StoreUnavailable):
        restore._replace(database, database.with_name("copy"))
    assert names(database.parent) == before


def test_log_that_cannot_be_folded_in_is_kept_with_the_former_database(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "fold_log", lambda path: False)
    replaced = restore._replace(database, database.with_name("copy"))
    assert replaced is not None
    assert database.read_text() == "new"
    assert not Path(f"{database}-wal").exists()
    assert replaced.read_text() == "former"
    assert Path(f"{replaced}-wal").read_text() == "its log"
