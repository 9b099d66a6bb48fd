"""Files on their way to the blob store."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from octavo.store.blobs import BlobsFull, Staging
from octavo.store.blobs.staging import open_staging

MIB = 1024 * 1024


@pytest.fixture
async def staging(tmp_path: Path) -> Staging:
    return await open_staging(tmp_path / "incoming", "first")


@pytest.mark.parametrize("sizes", [[], [0], [1], [MIB, 1], [700_000] * 5, [3 * MIB]])
async def test_bytes_are_written_in_order_with_their_digest(
    staging: Staging, sizes: list[int]
) -> None:
    chunks = [bytes([number]) * size for number, size in enumerate(sizes)]
    async with staging.file("one") as staged:
        for chunk in chunks:
            await staged.write(chunk)
        digest = await staged.finish()
        assert staged.path.read_bytes() == b"".join(chunks)
        assert staged.size == sum(sizes)
    assert digest == hashlib.sha256(b"".join(chunks)).hexdigest()


async def test_file_is_durable_when_finished(
    staging: Staging, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    write, fsync = os.write, os.fsync

    def watched_write(descriptor: int, data: bytes) -> int:
        events.append("write")
        return write(descriptor, data)

    def watched_fsync(descriptor: int) -> None:
        events.append("sync")
        fsync(descriptor)

    monkeypatch.setattr(os, "write", watched_write)
    monkeypatch.setattr(os, "fsync", watched_fsync)
    async with staging.file("one") as staged:
        await staged.write(b"x")
        assert events == []
        await staged.finish()
    assert events == ["write", "sync"]


async def test_file_is_removed_unless_it_was_moved(staging: Staging, tmp_path: Path) -> None:
    async with staging.file("one") as staged:
        await staged.write(b"x")
    assert not staged.path.exists()
    async with staging.file("two") as staged:
        await staged.finish()
        staged.path.replace(tmp_path / "kept")
    assert (tmp_path / "kept").exists()


async def test_file_is_removed_when_cancelled(staging: Staging) -> None:
    with trio.CancelScope() as scope:
        async with staging.file("one") as staged:
            scope.cancel()
            await staged.write(b"x")
    assert scope.cancelled_caught
    assert not staged.path.exists()


async def test_name_is_used_once(staging: Staging) -> None:
    async with staging.file("one"):
        with pytest.raises(FileExistsError):
            async with staging.file("one"):
                pass


async def test_full_disk_is_reported(staging: Staging, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, os.strerror(28))

    async with staging.file("one") as staged:
        await staged.write(b"x")
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(BlobsFull):
                await staged.finish()


async def test_write_that_is_split_by_the_system_is_finished(
    staging: Staging, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda to, data: write(to, bytes(data[:3])))
    async with staging.file("one") as staged:
        await staged.write(b"0123456789")
        await staged.finish()
        assert staged.path.read_bytes() == b"0123456789"


async def test_what_a_server_left_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "incoming"
    await open_staging(folder, "first")
    for part in (folder / "torn", folder / "first" / "torn", folder / "first.removed" / "torn"):
        part.parent.mkdir(exist_ok=True)
        part.write_bytes(b"half")
    await open_staging(folder, "second")
    assert [*folder.rglob("*")] == [folder / "second"]


async def test_files_that_a_process_of_a_killed_server_still_creates_are_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rmdir = tmp_path / "incoming", os.rmdir
    work = folder / "first" / "import"

    def create_and_rmdir(path: str, *, dir_fd: int | None = None) -> None:
        # The process acts at the worst moment: the folder was just found to be empty.
        with suppress(FileNotFoundError):
            (work / "more").touch()
        rmdir(path, dir_fd=dir_fd)

    await open_staging(folder, "first")
    work.mkdir()
    (work / "torn").write_bytes(b"half")
    monkeypatch.setattr(os, "rmdir", create_and_rmdir)
    await open_staging(folder, "second")
    assert [*folder.rglob("*")] == [folder / "second"]
