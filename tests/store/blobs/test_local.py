"""Blobs in a folder."""

import hashlib
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from octavo.store.blobs import BlobDamaged, BlobsFull, BlobStore, BlobsUnavailable, LocalBlobs
from tests.store.blobs.conformance import BlobStoreConformance, content, key


class TestLocalBlobs(BlobStoreConformance):
    @pytest.fixture
    def blobs(self, tmp_path: Path) -> BlobStore:
        folder = tmp_path / "blobs"
        folder.mkdir()
        return LocalBlobs(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "blobs"
    made.mkdir()
    return made


def file_in(folder: Path) -> Path:
    """The only file below a folder."""
    [path] = folder.glob("*/*/*")
    return path


def file_of(folder: Path, data: bytes) -> Path:
    path = folder.parent / "source"
    path.write_bytes(data)
    return path


async def test_blob_is_in_a_folder_for_each_pair_of_digits(folder: Path) -> None:
    await LocalBlobs(folder).put(key(1), file_of(folder, b"x"))
    assert (folder / "5f" / "5f" / key(1)).read_bytes() == b"x"
    assert not (folder.parent / "source").exists()
    assert stat.S_IMODE((folder / "5f").stat().st_mode) == 0o700


async def test_folders_are_made_durable_before_the_blob(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), folder))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    await LocalBlobs(folder).put(key(1), file_of(folder, b"x"))
    assert synced == [".", "5f", "5f/5f"]
    synced.clear()
    await LocalBlobs(folder).put(key(2), file_of(folder, b"x"))
    assert synced == ["5f/5f"]
    synced.clear()
    await LocalBlobs(folder).delete(key(2))
    assert synced == ["5f/5f"]


@pytest.mark.parametrize(
    ("number", "kind"), [(28, BlobsFull), (122, BlobsFull), (5, BlobsUnavailable)]
)
async def test_failing_disk_is_reported_and_nothing_is_stored(
    folder: Path, number: int, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> Path:
        raise OSError(number, os.strerror(number))

    source = file_of(folder, b"x")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(kind, match="the blobs can't be used") as failed:
            await LocalBlobs(folder).put(key(1, b"x"), source)
    assert isinstance(failed.value, BlobsUnavailable)
    await LocalBlobs(folder).put(key(1, b"x"), source)
    assert await content(LocalBlobs(folder), key(1, b"x")) == b"x"


async def test_damaged_blob_is_never_returned(folder: Path) -> None:
    name = key(1, b"intact")
    await LocalBlobs(folder).put(name, file_of(folder, b"intact"))
    path = file_in(folder)
    blobs = LocalBlobs(folder)
    assert await content(blobs, name) == b"intact"
    path.write_bytes(b"Intact")
    os.utime(path, ns=(0, 1))
    for read in (content(blobs, name), content(blobs, name, 3), blobs.fetch(name, folder / "copy")):
        with pytest.raises(BlobDamaged, match="is damaged"):
            await read
    assert not (folder / "copy").exists()
    path.write_bytes(b"intact")
    assert await content(blobs, name, 3) == b"act"
    path.write_bytes(b"")
    with pytest.raises(BlobDamaged):
        await content(blobs, name)


async def test_blob_that_can_not_be_read_is_damaged_and_the_disk_is_not(folder: Path) -> None:
    name = key(1, b"intact")
    blobs = LocalBlobs(folder)
    await blobs.put(name, file_of(folder, b"intact"))
    assert await blobs.is_intact(name)
    path = file_in(folder)
    path.unlink()
    assert not await blobs.is_intact(name)
    path.mkdir()
    with pytest.raises(BlobDamaged, match="can't be read: Is a directory"):
        await content(blobs, name)
    assert not await blobs.is_intact(name)


async def test_blob_is_checked_at_its_first_read_and_when_its_file_has_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    file_digest = hashlib.file_digest

    def watched(file: io.BufferedReader, name: str) -> object:
        checked.append(name)
        return file_digest(file, name)

    monkeypatch.setattr(hashlib, "file_digest", watched)
    name = key(1, b"intact")
    blobs = LocalBlobs(folder)
    await blobs.put(name, file_of(folder, b"intact"))
    for _ in range(3):
        assert await content(blobs, name, 2, 4) == b"ta"
    assert len(checked) == 1
    os.utime(file_in(folder), ns=(0, 1))
    assert await content(blobs, name) == b"intact"
    assert len(checked) == 2


@pytest.fixture
def other_disk(folder: Path) -> Iterator[Path]:
    """A folder on another file system than ``folder``."""
    here = folder.stat().st_dev
    others = [each for each in ("/dev/shm", "/var/tmp") if Path(each).stat().st_dev != here]
    if not others:
        pytest.skip("there is one file system")
    with TemporaryDirectory(dir=others[0]) as name:
        yield Path(name)


async def test_blob_from_another_file_system_is_copied(
    folder: Path, other_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = other_disk / "source"
    source.write_bytes(b"x")
    await LocalBlobs(folder).put(key(1), source)
    path = folder / "5f" / "5f" / key(1)
    assert path.read_bytes() == b"x"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not source.exists()
    assert [each.name for each in path.parent.iterdir()] == [key(1)]

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    source.write_bytes(b"x")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(BlobsFull):
            await LocalBlobs(folder).put(key(2), source)
    assert source.exists()
    assert [each.name for each in path.parent.iterdir()] == [key(1)]


async def test_blob_is_copied_to_another_file_system(folder: Path, other_disk: Path) -> None:
    name = key(1, b"x")
    await LocalBlobs(folder).put(name, file_of(folder, b"x"))
    target = other_disk / "copy"
    await LocalBlobs(folder).fetch(name, target)
    assert target.read_bytes() == b"x"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        await LocalBlobs(folder).fetch(name, target)


async def test_folder_that_is_away_is_not_ready(folder: Path) -> None:
    blobs = LocalBlobs(folder / "away")
    with pytest.raises(BlobsUnavailable):
        await blobs.check()
