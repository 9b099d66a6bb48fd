"""Copies of blobs: each is verified, added once, and gone again when the copy fails."""

import errno
import os
import stat
from pathlib import Path

import pytest

from octavo.service import blob_transfer
from octavo.service.blob_transfer import (
    BlobTransfer,
    described_faults,
    move_unnamed,
    remove_unnamed,
)
from octavo.store import StoreUnusable
from octavo.store.blobs import BlobKey
from octavo.store.blobs.local import move_to_blob
from octavo.store.sqlite import DATABASE
from tests.e2e.databases import change
from tests.fakes.blob_files import add_blobs, blob_path, files_in, key_of, named, write_blobs

FIRST, SECOND, EMPTY = b"first" * 1000, b"second", b""
BLOBS = [FIRST, SECOND, EMPTY]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with `BLOBS`."""
    add_blobs(tmp_path / "data", BLOBS)
    return tmp_path / "data"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "copy"


def transfer(data: Path, target: Path, *linkable: Path) -> BlobTransfer:
    """Copy the blobs, and keep them."""
    with BlobTransfer(data / DATABASE, target, [data / "blobs"], linkable) as made:
        made.run()
        made.keep()
    return made


def test_named_blobs_are_copied_for_the_owner_alone(data: Path, target: Path) -> None:
    write_blobs(data / "blobs", [b"of nobody"])
    made = transfer(data, target)
    assert files_in(target) == named(BLOBS)
    assert (made.number, made.total, made.done) == (3, 5006, 5006)
    assert (made.reused, made.lacking, made.faults) == (0, 0, [])
    modes = {(each.is_dir(), stat.S_IMODE(each.stat().st_mode)) for each in target.rglob("*")}
    assert modes == {(True, 0o700), (False, 0o600)}
    # A change of the mode of one must not affect the other.
    assert blob_path(target, FIRST).stat().st_nlink == 1


def test_blobs_that_are_there_are_left_as_they_are(data: Path, target: Path) -> None:
    transfer(data, target)
    before = {each: each.stat() for each in target.rglob("*")}
    made = transfer(data, target)
    assert made.reused == 3
    assert {each: each.stat().st_ino for each in target.rglob("*")} == {
        each: found.st_ino for each, found in before.items()
    }


@pytest.mark.parametrize("damage", [b"", b"First" * 1000, b"first" * 1001])
def test_damaged_blob_is_copied_again(damage: bytes, data: Path, target: Path) -> None:
    transfer(data, target)
    blob_path(target, FIRST).write_bytes(damage)
    assert transfer(data, target).reused == 2
    assert files_in(target) == named(BLOBS)


def test_blob_of_another_backup_gets_a_second_name(data: Path, target: Path) -> None:
    other = target.with_name("other")
    transfer(data, other)
    blob_path(other, SECOND).write_bytes(b"damage")
    made = transfer(data, target, other)
    assert made.reused == 2
    assert files_in(target) == named(BLOBS)
    assert blob_path(target, FIRST).samefile(blob_path(other, FIRST))
    assert not blob_path(target, SECOND).samefile(blob_path(other, SECOND))


def test_file_system_without_links_gets_copies(
    data: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    other = target.with_name("other")
    transfer(data, other)
    monkeypatch.setattr(os, "link", link)
    assert transfer(data, target, other).reused == 0
    assert files_in(target) == named(BLOBS)


def test_damaged_and_missing_blobs_are_named_and_left_out(data: Path, target: Path) -> None:
    source = data / "blobs"
    blob_path(source, FIRST).write_bytes(b"fIrst" * 1000)
    blob_path(source, SECOND).unlink()
    made = transfer(data, target)
    assert files_in(target) == named([EMPTY])
    assert made.lacking == 2
    lines = {f"the blob {key_of(FIRST)} is damaged", f"the blob {key_of(SECOND)} is missing"}
    assert {*described_faults(made)} == lines


def test_second_source_has_what_the_first_lacks(data: Path, target: Path) -> None:
    first = target.with_name("first")
    write_blobs(first, [FIRST])
    blob_path(first, SECOND).parent.mkdir(parents=True)
    blob_path(first, SECOND).write_bytes(b"damage")
    with BlobTransfer(data / DATABASE, target, [first, data / "blobs"]) as made:
        made.run()
        made.keep()
    assert (files_in(target), made.lacking) == (named(BLOBS), 0)


def test_many_faults_are_counted(tmp_path: Path) -> None:
    many = [bytes([number]) for number in range(15)]
    add_blobs(tmp_path / "data", many)
    for each in many[:12]:
        blob_path(tmp_path / "data" / "blobs", each).unlink()
    lines = described_faults(transfer(tmp_path / "data", tmp_path / "copy"))
    assert len(lines) == 11
    assert lines[-1] == "and 2 more"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_not_read(kind: str, data: Path, target: Path) -> None:
    path = blob_path(data / "blobs", FIRST)
    path.rename(data / "elsewhere")
    match kind:
        case "link":
            path.symlink_to(data / "elsewhere")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    made = transfer(data, target)
    assert made.lacking == 1
    assert key_of(FIRST) not in files_in(target)


def test_link_in_the_target_is_replaced_and_not_followed(data: Path, target: Path) -> None:
    other = data / "other"
    other.write_bytes(FIRST)
    path = blob_path(target, FIRST)
    path.parent.mkdir(parents=True)
    path.symlink_to(other)
    transfer(data, target)
    assert not path.is_symlink()
    assert files_in(target) == named(BLOBS)
    assert other.read_bytes() == FIRST


def test_copy_that_is_not_kept_is_removed(data: Path, target: Path) -> None:
    with BlobTransfer(data / DATABASE, target, [data / "blobs"]) as made:
        made.run()
        assert files_in(target) == named(BLOBS)
    assert not target.exists()


def test_copy_that_is_not_kept_leaves_what_was_there(data: Path, target: Path) -> None:
    write_blobs(target, [FIRST, b"of an earlier backup"])
    blob_path(target, SECOND).parent.mkdir(parents=True)
    blob_path(target, SECOND).write_bytes(b"damage")
    with BlobTransfer(data / DATABASE, target, [data / "blobs"]) as made:
        made.run()
    # The damaged one was repaired.
    assert files_in(target) == named([FIRST, b"of an earlier backup", SECOND])


def test_full_disk_ends_the_copy_without_a_trace(
    data: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[Path] = []

    def move(folder: Path, key: BlobKey, source: Path) -> None:
        if moved:
            raise OSError(errno.ENOSPC, "No space left on device")
        moved.append(source)
        move_to_blob(folder, key, source)

    monkeypatch.setattr(blob_transfer, "move_to_blob", move)
    with (
        pytest.raises(OSError, match="No space"),
        BlobTransfer(data / DATABASE, target, [data / "blobs"]) as made,
    ):
        made.run()
    assert moved
    assert not target.exists()


def test_interrupted_copy_is_removed(
    data: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with BlobTransfer(data / DATABASE, target, [data / "blobs"]) as made:
        fsync = os.fsync

        def interrupt(descriptor: int) -> None:
            made.interrupt()
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", interrupt)
        made.run()
        assert len(files_in(target)) == 1
    assert not target.exists()


def test_file_of_a_killed_process_is_overwritten(data: Path, target: Path) -> None:
    target.mkdir()
    (target / ".partial").write_bytes(b"of a killed process")
    transfer(data, target)
    assert files_in(target) == named(BLOBS)


@pytest.mark.parametrize("key", ["../../../etc/passwd", "", f"{'0' * 64}-00000000"])
def test_database_whose_keys_are_no_keys_is_refused(key: str, data: Path, target: Path) -> None:
    change(data, None, f"UPDATE blobs SET key = '{key}' WHERE size = {len(SECOND)}")
    with (
        pytest.raises(StoreUnusable, match="it is damaged: it has no blob"),
        BlobTransfer(data / DATABASE, target, [data / "blobs"]) as made,
    ):
        made.run()
    assert not target.exists()


def test_blobs_that_are_not_stored_yet_are_left_out(data: Path, target: Path) -> None:
    change(data, None, f"UPDATE blobs SET stored = 0 WHERE size = {len(SECOND)}")
    assert transfer(data, target).number == 2
    assert files_in(target) == named([FIRST, EMPTY])


def test_unnamed_blobs_are_removed_and_other_files_stay(data: Path, target: Path) -> None:
    transfer(data, target)
    write_blobs(target, [b"of nobody"])
    (target / "notes.txt").write_bytes(b"mine")
    remove_unnamed(target, data / DATABASE)
    assert files_in(target) == {**named(BLOBS), "notes.txt": b"mine"}


def test_folder_without_blobs_is_removed(data: Path, target: Path) -> None:
    write_blobs(target, [b"of nobody"])
    remove_unnamed(target, data / DATABASE)
    assert not target.exists()
    remove_unnamed(target, data / DATABASE)


def test_unnamed_blobs_are_moved(data: Path, target: Path) -> None:
    assert not move_unnamed(data / "blobs", data / DATABASE, target)
    assert not target.exists()
    write_blobs(data / "blobs", [b"of nobody"])
    assert move_unnamed(data / "blobs", data / DATABASE, target)
    assert files_in(target) == named([b"of nobody"])
    assert files_in(data / "blobs") == named(BLOBS)
