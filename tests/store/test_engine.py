"""Opening the database: for the server, and for commands next to it."""

from pathlib import Path

import pytest
from octavo_rules.identity import Digest

from octavo.access.entropy import jitter
from octavo.service.settings import Settings
from octavo.store import StoreUnusable, Transaction
from octavo.store.blobs.blob_store import blob_key, path_of_key
from octavo.store.data_folder import holding
from octavo.store.engine import open_engine
from octavo.store.migrations import shipped
from octavo.store.open_blobs import FOLDER
from octavo.store.sqlite import DATABASE
from octavo.store.transaction import NO_LISTENERS

KEY = blob_key(Digest("ab" * 32), bytes(4))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


def older(settings: Settings) -> None:
    """A database from before the first migration."""
    settings.data_dir.mkdir()
    (settings.data_dir / DATABASE).touch()


async def test_command_without_an_installation_creates_none(settings: Settings) -> None:
    for _ in range(2):
        with pytest.raises(StoreUnusable, match=r"no installation is in .* --data-dir"):
            async with open_engine(settings, NO_LISTENERS, random=jitter, serving=False):
                pass
    assert not settings.data_dir.exists()


async def test_command_migrates_an_older_schema_to_the_newest(settings: Settings) -> None:
    older(settings)
    async with open_engine(settings, NO_LISTENERS, random=jitter, serving=False) as engine:
        assert await engine.applied_version() == shipped()[-1].version
    # Nobody holds it any more.
    with holding(settings.data_dir):
        pass


async def test_command_next_to_the_server_of_its_version_works(settings: Settings) -> None:
    with holding(settings.data_dir):
        async with (
            open_engine(settings, NO_LISTENERS, random=jitter, serving=True),
            open_engine(settings, NO_LISTENERS, random=jitter, serving=False) as engine,
        ):
            assert await engine.applied_version() == shipped()[-1].version


async def test_command_next_to_the_server_of_an_older_version_changes_nothing(
    settings: Settings,
) -> None:
    older(settings)
    with holding(settings.data_dir):
        for _ in range(2):
            with pytest.raises(StoreUnusable, match="of another version of Octavo, or still"):
                async with open_engine(settings, NO_LISTENERS, random=jitter, serving=False):
                    pass


def left_image(settings: Settings) -> None:
    """What is left of an installation without its database."""
    path = settings.data_dir / FOLDER / path_of_key(KEY)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"image")


@pytest.mark.parametrize("database", ["missing", "of 0 bytes", "without accounts"])
async def test_server_does_not_start_as_empty_where_images_are_left(
    settings: Settings, database: str
) -> None:
    if database == "without accounts":
        async with open_engine(settings, NO_LISTENERS, random=jitter, serving=True):
            pass
    left_image(settings)
    if database == "of 0 bytes":
        (settings.data_dir / DATABASE).touch()
    for _ in range(2):
        with pytest.raises(StoreUnusable, match=r"the database is missing.* --new"):
            async with open_engine(settings, NO_LISTENERS, random=jitter, serving=True):
                pass
    left = settings.data_dir / DATABASE
    # Nothing of what is left was changed.
    if database == "missing":
        assert not left.exists()
    if database == "of 0 bytes":
        assert left.stat().st_size == 0
    async with open_engine(settings, NO_LISTENERS, random=jitter, serving=True, new=True) as engine:
        assert await engine.applied_version() == shipped()[-1].version
        await engine.store.write(create_account)
    # It is an installation from then on.
    async with open_engine(settings, NO_LISTENERS, random=jitter, serving=True):
        pass


async def create_account(transaction: Transaction) -> None:
    await transaction.execute(
        "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
        " updated_at)"
        " VALUES ($1::uuid, 'ann@example.org', 'Ann', '', 'member', 'enabled', 0, 0)",
        "01900000-0000-7000-8000-000000000001",
    )


async def test_files_that_are_no_images_are_no_installation(settings: Settings) -> None:
    left = settings.data_dir / FOLDER / ".DS_Store"
    left.parent.mkdir(parents=True)
    left.touch()
    async with open_engine(settings, NO_LISTENERS, random=jitter, serving=True) as engine:
        assert await engine.applied_version() == shipped()[-1].version


async def test_empty_folders_of_images_are_no_installation(settings: Settings) -> None:
    (settings.data_dir / FOLDER / "ab").mkdir(parents=True)
    async with open_engine(settings, NO_LISTENERS, random=jitter, serving=True) as engine:
        assert await engine.applied_version() == shipped()[-1].version
