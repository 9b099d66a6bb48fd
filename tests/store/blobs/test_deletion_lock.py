"""Blobs are not deleted while a backup copies them, in whichever process."""

import subprocess
from pathlib import Path

import pytest
import trio

from octavo.store.blobs import BlobsUnavailable, LocalBlobs
from octavo.store.blobs.deletion_lock import deleting, deletion_held_off
from tests.store.blobs.conformance import key


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "blobs"
    made.mkdir()
    return made


def never() -> None:
    raise AssertionError("it must not wait")


async def store(folder: Path) -> LocalBlobs:
    source = folder.parent / "source"
    source.write_bytes(b"x")
    blobs = LocalBlobs(folder)
    await blobs.put(key(1), source)
    return blobs


async def test_blob_is_deleted_when_the_copy_has_ended(folder: Path) -> None:
    blobs = await store(folder)
    async with deletion_held_off(folder, never):
        with pytest.raises(BlobsUnavailable, match="a backup copies them"):
            await blobs.delete(key(1))
        assert (folder / "5f" / "5f" / key(1)).exists()
        # Everything else goes on.
        await store(folder)
    await blobs.delete(key(1))
    assert not (folder / "5f" / "5f" / key(1)).exists()


async def test_servers_delete_concurrently(folder: Path) -> None:
    with deleting(folder), deleting(folder):
        pass


async def test_copy_waits_for_deletions_and_other_copies(folder: Path) -> None:
    waiting = trio.Event()
    begun = trio.Event()

    async def copy() -> None:
        async with deletion_held_off(folder, waiting.set):
            begun.set()

    async with trio.open_nursery() as nursery:
        with deleting(folder):
            nursery.start_soon(copy)
            await waiting.wait()
            assert not begun.is_set()
        await begun.wait()
    waiting, begun = trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery, deletion_held_off(folder, never):
        nursery.start_soon(copy)
        await waiting.wait()
        assert not begun.is_set()
    assert begun.is_set()


def test_script_can_hold_the_lock(folder: Path) -> None:
    with subprocess.Popen(
        ["flock", str(folder), "sh", "-c", "echo held; read end"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as script:
        assert script.stdout is not None
        assert script.stdout.readline() == b"held\n"
        with pytest.raises(BlobsUnavailable), deleting(folder):
            pass
        script.communicate(b"\n")
    with deleting(folder):
        pass


async def test_folder_that_is_missing_has_nothing_to_hold(folder: Path) -> None:
    async with deletion_held_off(folder / "missing", never):
        await LocalBlobs(folder / "missing").delete(key(1))
