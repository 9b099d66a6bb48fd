"""``octavo backup`` and ``octavo restore`` carry the images: real processes, real disks."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.disks import in_tiny_disk, needs_mount
from tests.e2e.octavo_process import data_folder, run, running
from tests.e2e.people import Person, client, settle
from tests.e2e.pictures import new_workspace
from tests.e2e.prepared import start
from tests.e2e.server import PATIENCE, command_line, environment
from tests.fakes.blob_files import (
    add_blobs,
    blob_path,
    files_in,
    forget_blobs,
    key_of,
    named,
    write_blobs,
)
from tests.fakes.image_files import encoded, picture
from tests.fakes.s3_server import BUCKET, ENVIRONMENT, set_environment

FIRST, SECOND, THIRD = b"first" * 1000, b"second" * 1000, b"third" * 1000


@pytest.fixture
def folder() -> Iterator[Path]:
    with data_folder() as made:
        yield made


@pytest.fixture
def backup(folder: Path) -> Path:
    return folder.parent / "backup"


def images(seeds: range) -> list[bytes]:
    return [encoded(picture((60, 40), seed=seed), "PNG") for seed in seeds]


def large() -> bytes:
    """A blob that takes a while to copy."""
    return b"large" * 20_000_000


def blobs_of(backup: Path) -> Path:
    return backup.with_name(f"{backup.name}.blobs")


def succeeds(command: str, folder: Path, *arguments: str) -> str:
    """The output of a command that must not fail."""
    code, printed, errors = run(command, folder, *arguments)
    assert code == 0, errors
    return printed


# Backup


def test_images_are_there_after_a_restore_into_an_empty_folder(folder: Path, backup: Path) -> None:
    pictures = images(range(3))
    with running(folder) as octavo:
        person = settle(octavo)
        with client(octavo.url) as http:
            workspace = new_workspace(http, person, "Notes")
            changes = [workspace.attach(each, f"{at}.png") for at, each in enumerate(pictures)]
            workspace.show(changes[0], 160)
            succeeds("backup", folder, str(backup))
            workspace.purge(changes[1])
        assert octavo.stop() == (0, [])
    elsewhere = folder.parent / "elsewhere"
    printed = succeeds("restore", elsewhere, str(backup))
    assert "images: 4 files\n" in printed
    with running(elsewhere) as octavo:
        with client(octavo.url) as http:
            workspace.http = http
            assert [workspace.show(each) for each in changes] == pictures
        assert octavo.stop() == (0, [])


def test_backup_with_blobs_is_private(folder: Path, backup: Path) -> None:
    add_blobs(folder, [FIRST, SECOND])
    code, printed, errors = run("backup", folder, str(backup))
    assert code == 0, errors
    assert printed.splitlines()[1] == (
        f"{backup}.blobs: images: 2 files, 11 KB, 0 of them there already or in another backup"
    )
    assert errors == ""
    assert files_in(blobs_of(backup)) == named([FIRST, SECOND])
    # Nobody else can open the folder.
    assert blobs_of(backup).stat().st_mode & 0o777 == 0o700


def test_every_backup_is_complete_while_images_are_uploaded_and_purged(folder: Path) -> None:
    ended = threading.Event()
    purged: list[int] = []
    backups: list[Path] = []
    with running(folder) as octavo:
        person = settle(octavo)
        users = [
            threading.Thread(target=_upload_and_purge, args=(octavo.url, person, at, ended, purged))
            for at in range(3)
        ]
        for user in users:
            user.start()
        try:
            # On a busy machine, few images are purged while few backups are made.
            while len(backups) < 6 or (len(purged) <= 20 and len(backups) < 60):
                backups.append(folder.parent / str(len(backups)))
                succeeds("backup", folder, str(backups[-1]))
        finally:
            ended.set()
            for user in users:
                user.join(PATIENCE)
        assert len(purged) > 20
        assert octavo.stop() == (0, [])
    for each in backups:
        succeeds("restore", folder.parent / f"restored {each.name}", str(each))


def _upload_and_purge(
    url: str, person: Person, seed: int, ended: threading.Event, purged: list[int]
) -> None:
    with client(url) as http:
        workspace = new_workspace(http, person, f"Notes {seed}")
        number = 0
        while not ended.is_set():
            number += 1
            [image] = images(range(seed * 100_000 + number, seed * 100_000 + number + 1))
            workspace.purge(workspace.attach(image, f"{number}.png"))
            purged.append(number)


def test_purged_image_stays_until_a_backup_has_copied_it(folder: Path) -> None:
    blobs = folder / "blobs"
    with running(folder) as octavo:
        person = settle(octavo)
        with client(octavo.url) as http:
            workspace = new_workspace(http, person, "Notes")
            change = workspace.attach(images(range(1))[0], "a.png")
            # As a backup does; a script for PostgreSQL, too.
            with subprocess.Popen(
                ["flock", str(blobs), "sh", "-c", "echo held; read end"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            ) as script:
                assert script.stdout is not None
                assert script.stdout.readline() == b"held\n"
                workspace.purge(change)
                octavo.log.find("deletion of blobs is postponed: (a backup copies them)")
                assert len(files_in(blobs)) == 1
                script.communicate(b"\n")
            _until_empty(blobs)
        assert octavo.stop() == (0, [])


def _until_empty(blobs: Path) -> None:
    waited = threading.Event()
    for _ in range(int(PATIENCE * 10)):
        if not files_in(blobs):
            return
        waited.wait(0.1)
    raise AssertionError(files_in(blobs).keys())


def test_replaced_backup_copies_new_blobs_alone_and_drops_old_ones(
    folder: Path, backup: Path
) -> None:
    add_blobs(folder, [FIRST, SECOND])
    succeeds("backup", folder, str(backup))
    before = blob_path(blobs_of(backup), SECOND).stat()
    forget_blobs(folder, [FIRST])
    add_blobs(folder, [THIRD])
    printed = succeeds("backup", folder, "--replace", str(backup))
    assert "images: 2 files, 11 KB, 1 of them there already or in another backup" in printed
    assert files_in(blobs_of(backup)) == named([SECOND, THIRD])
    after = blob_path(blobs_of(backup), SECOND).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_backups_in_one_folder_share_their_blobs(folder: Path) -> None:
    monday, tuesday = (folder.parent / name for name in ("monday", "tuesday"))
    add_blobs(folder, [FIRST])
    succeeds("backup", folder, str(monday))
    add_blobs(folder, [SECOND])
    succeeds("backup", folder, str(tuesday))
    paths = [blob_path(blobs_of(each), FIRST) for each in (monday, tuesday)]
    assert paths[0].samefile(paths[1])
    assert not paths[0].samefile(blob_path(folder / "blobs", FIRST))
    shutil.rmtree(blobs_of(monday))
    assert files_in(blobs_of(tuesday)) == named([FIRST, SECOND])


def test_damaged_and_missing_blobs_are_named_and_the_rest_is_backed_up(
    folder: Path, backup: Path
) -> None:
    add_blobs(folder, [FIRST, SECOND, THIRD])
    blob_path(folder / "blobs", FIRST).write_bytes(b"First" * 1000)
    blob_path(folder / "blobs", SECOND).unlink()
    code, printed, errors = run("backup", folder, str(backup))
    assert code == 1
    assert "images: 1 file, 5 KB, 0 of them" in printed
    lines = errors.splitlines()[-3:]
    assert lines[0] == (
        "octavo: the backup lacks images that are missing or damaged in the data folder"
    )
    assert {*lines[1:]} == {
        f"octavo: the blob {key_of(FIRST)} is damaged",
        f"octavo: the blob {key_of(SECOND)} is missing",
    }
    assert files_in(blobs_of(backup)) == named([THIRD])

    elsewhere = folder.parent / "elsewhere"
    code, printed, errors = run("restore", elsewhere, str(backup))
    assert (code, printed) == (1, "")
    assert f"octavo: {backup} can't be restored: blobs that it names are missing" in errors
    assert f"octavo: the blob {key_of(FIRST)} is missing\n" in errors
    assert files_in(elsewhere) == {}
    printed = succeeds("restore", elsewhere, "--incomplete", str(backup))
    assert f"the blob {key_of(SECOND)} is missing\n" in printed
    assert files_in(elsewhere / "blobs") == named([THIRD])


@pytest.mark.parametrize("kind", ["file", "link"])
def test_backup_whose_blobs_have_no_folder_is_refused(
    kind: str, folder: Path, backup: Path
) -> None:
    add_blobs(folder, [FIRST])
    if kind == "file":
        blobs_of(backup).write_bytes(b"theirs")
    else:
        blobs_of(backup).symlink_to(folder)
    code, _, errors = run("backup", folder, str(backup))
    assert code == 1
    assert errors == (f"octavo: {backup}.blobs is not a folder: remove it, or name another file\n")
    assert not backup.exists()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_backup_ended_by_a_signal_leaves_no_blobs_behind(
    signum: int, folder: Path, backup: Path
) -> None:
    add_blobs(folder, [large()])
    _end_at_the_blobs("backup", folder, backup, signum)
    assert sorted(each.name for each in folder.parent.iterdir()) == ["data"]


def test_killed_backup_leaves_the_one_that_it_was_to_replace(folder: Path, backup: Path) -> None:
    add_blobs(folder, [FIRST, SECOND])
    succeeds("backup", folder, str(backup))
    forget_blobs(folder, [FIRST])
    add_blobs(folder, [large()])
    given = ("--data-dir", str(folder), "--replace", str(backup))
    with start(*given, folder=folder.parent, command="backup") as process:
        _wait_for_blobs(folder.parent)
        process.kill()
    elsewhere = folder.parent / "elsewhere"
    succeeds("restore", elsewhere, str(backup))
    assert files_in(elsewhere / "blobs") == named([FIRST, SECOND])
    # The next one goes on from there.
    succeeds("backup", folder, "--replace", str(backup))
    assert files_in(blobs_of(backup)) == named([SECOND, large()])


def _wait_for_blobs(folder: Path) -> None:
    """Wait until a blob is copied to a folder below ``folder``."""
    deadline = time.monotonic() + PATIENCE
    while not any(".partial" in names for _, _, names in os.walk(folder)):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def _end_at_the_blobs(command: str, folder: Path, backup: Path, signum: int) -> None:
    given = ("--data-dir", str(folder), str(backup))
    with start(*given, folder=folder.parent, command=command, stdout=subprocess.PIPE) as process:
        _wait_for_blobs(folder.parent)
        process.send_signal(signum)
        _, errors = process.communicate(timeout=PATIENCE)
    nothing = "nothing was written" if command == "backup" else "nothing was changed"
    assert (process.returncode, errors) == (1, f"octavo: interrupted: {nothing}\n")


@needs_mount
def test_backup_of_blobs_to_a_full_disk_leaves_nothing_behind(folder: Path) -> None:
    add_blobs(folder, [FIRST, os.urandom(4_000_000)])
    disk = folder.parent / "disk"
    disk.mkdir()
    command = [*command_line("backup"), "--data-dir", str(folder), str(disk / "backup")]
    found = subprocess.run(
        [
            *in_tiny_disk(str(disk), 2048),
            *("sh", "-c", '"$@"; code=$?; ls -A "$0"; exit $code', str(disk)),
            *command,
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(),
        check=False,
    )
    assert (found.returncode, found.stdout) == (1, "")
    last = found.stderr.splitlines()[-1]
    assert re.fullmatch(
        rf"octavo: the disk of {disk}/backup is full: the backup takes about 4\.\d MB", last
    )


def test_database_alone_is_backed_up_on_demand(folder: Path, backup: Path) -> None:
    add_blobs(folder, [FIRST])
    printed = succeeds("backup", folder, "--database-only", str(backup))
    assert len(printed.splitlines()) == 1
    assert not blobs_of(backup).exists()


def test_images_in_an_object_store_are_not_part_of_it(folder: Path, backup: Path) -> None:
    add_blobs(folder, [])
    address = ("--object-store", "s3://notes/images")
    printed = succeeds("backup", folder, *address, str(backup))
    notice = "the images are in an object store, and not in the backup (docs/operation.md)\n"
    assert printed.endswith(notice)
    assert not blobs_of(backup).exists()
    printed = succeeds("restore", folder, *address, str(backup))
    assert "the images are in an object store, which was not changed" in printed


def test_backup_asks_the_server_whether_it_uses_an_object_store(
    folder: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, AWS_ENDPOINT_URL="http://127.0.0.1:9", **ENVIRONMENT)
    with running(folder, "--object-store", f"s3://{BUCKET}") as octavo:
        octavo.invitation()
        assert "the images are in an object store" in succeeds("backup", folder, str(backup))
        assert octavo.stop()[0] == 0


# Restore


def test_former_database_keeps_the_blobs_that_only_it_names(folder: Path, backup: Path) -> None:
    add_blobs(folder, [FIRST, SECOND])
    succeeds("backup", folder, str(backup))
    forget_blobs(folder, [FIRST])
    add_blobs(folder, [THIRD])
    printed = succeeds("restore", folder, str(backup))
    assert files_in(folder / "blobs") == named([FIRST, SECOND])
    [replaced] = re.findall(r"the former database is (\S+): delete it", printed)
    assert f"images that the backup does not name are in {replaced}.blobs: delete" in printed
    assert files_in(blobs_of(Path(replaced))) == named([THIRD])
    # It is a backup like any other.
    succeeds("restore", folder, replaced)
    assert files_in(folder / "blobs") == named([SECOND, THIRD])


def test_blobs_that_the_data_folder_has_need_not_be_in_the_backup(
    folder: Path, backup: Path
) -> None:
    add_blobs(folder, [FIRST, SECOND])
    succeeds("backup", folder, str(backup))
    blob_path(blobs_of(backup), FIRST).unlink()
    blob_path(folder / "blobs", SECOND).write_bytes(b"damage")
    succeeds("restore", folder, str(backup))
    assert files_in(folder / "blobs") == named([FIRST, SECOND])


@pytest.mark.parametrize("damage", [b"", b"First" * 1000])
def test_restore_with_a_damaged_blob_changes_nothing(
    damage: bytes, folder: Path, backup: Path
) -> None:
    add_blobs(folder, [FIRST, SECOND])
    succeeds("backup", folder, str(backup))
    blob_path(blobs_of(backup), FIRST).write_bytes(damage)
    forget_blobs(folder, [FIRST, SECOND])
    add_blobs(folder, [THIRD])
    before = files_in(folder)
    code, printed, errors = run("restore", folder, str(backup))
    assert (code, printed) == (1, "")
    assert errors.splitlines()[-3:] == [
        f"octavo: {backup} can't be restored: blobs that it names are missing or damaged",
        f"octavo: the blob {key_of(FIRST)} is damaged",
        (
            "octavo: restore without them with --incomplete; if the blobs are in an object store,"
            " restore the database alone with --database-only"
        ),
    ]
    assert files_in(folder) == before


def test_restore_ended_by_a_signal_changes_nothing(folder: Path, backup: Path) -> None:
    add_blobs(folder, [large()])
    succeeds("backup", folder, str(backup))
    elsewhere = folder.parent / "elsewhere"
    add_blobs(elsewhere, [FIRST])
    before = files_in(elsewhere)
    _end_at_the_blobs("restore", elsewhere, backup, signal.SIGTERM)
    assert files_in(elsewhere) == before


def test_restore_of_the_database_alone_leaves_the_blobs_as_they_are(
    folder: Path, backup: Path
) -> None:
    add_blobs(folder, [FIRST])
    succeeds("backup", folder, "--database-only", str(backup))
    write_blobs(folder / "blobs", [THIRD])
    printed = succeeds("restore", folder, "--database-only", str(backup))
    assert "blobs" not in printed
    assert files_in(folder / "blobs") == named([FIRST, THIRD])


def test_plain_copy_of_a_data_folder_is_restored_with_its_blobs(folder: Path) -> None:
    add_blobs(folder, [FIRST])
    copies = folder.parent / "copies"
    folder.rename(copies)
    succeeds("restore", folder, str(copies / "octavo.sqlite3"))
    assert files_in(folder / "blobs") == named([FIRST])
