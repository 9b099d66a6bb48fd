"""``octavo backup`` and ``octavo restore`` as users run them: real processes, real disks."""

import os
import random
import re
import signal
import sqlite3
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import httpx
import pytest
import trio

from octavo.store.migrations import shipped
from octavo.store.sqlite.backup import LOGS
from tests.e2e.databases import change, integrity, interrupt_transaction
from tests.e2e.disks import in_tiny_disk, limit_files, needs_mount
from tests.e2e.octavo_process import Octavo, data_folder, run, running
from tests.e2e.people import async_client, settle
from tests.e2e.plain_client import PlainClient
from tests.e2e.prepared import start
from tests.e2e.saves import Save, Workload
from tests.e2e.server import PATIENCE, command_line, environment
from tests.fakes.stores import open_sqlite

CLIENTS = 8
SAVES = 50
"""Saves of one workspace before the backup begins."""
FILLING = 40_000_000
"""Size of the database in bytes before the clients begin."""

HALF_WRITTEN = "UPDATE ballast SET bytes = randomblob(length(bytes) + 1)"
"""A change of the ballast that an interrupted transaction makes."""


def installed(folder: Path) -> None:
    """A data folder with a database that no server uses."""

    async def make() -> None:
        async with open_sqlite(folder):
            pass

    trio.run(make)


def filled(folder: Path, size: int) -> None:
    """Like `installed`, plus ``size`` bytes of incompressible content without references."""
    installed(folder)
    change(folder, None, "CREATE TABLE ballast (bytes BLOB)")
    change(folder, None, f"INSERT INTO ballast VALUES (randomblob({size}))")


@pytest.fixture
def folder() -> Iterator[Path]:
    with data_folder() as made:
        yield made


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "partial" in path.name)


async def test_backup_under_load_has_every_save_acknowledged_before_it(folder: Path) -> None:
    backup = folder.parent / "backup.sqlite3"
    await trio.to_thread.run_sync(filled, folder, FILLING)
    enough = trio.Event()
    with running(folder) as octavo:
        person = await trio.to_thread.run_sync(settle, octavo)
        async with async_client(octavo.url, person) as http:
            workloads = [await _workload(http, seed) for seed in range(2)]
        before: list[tuple[Workload, Save]] = []
        during = 0
        async with trio.open_nursery() as nursery:
            for number in range(CLIENTS):
                workload = workloads[number % len(workloads)]
                name = f"client {number}"
                nursery.start_soon(_keep_saving, octavo, person.by_key, name, workload, enough)
            await enough.wait()
            before = acknowledged(workloads)
            work = partial(run, "backup", folder, str(backup))
            code, printed, errors = await trio.to_thread.run_sync(work)
            during = len(acknowledged(workloads)) - len(before)
            nursery.cancel_scope.cancel()
        assert code == 0, errors
        assert during > CLIENTS
        assert octavo.stop() == (0, [])
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert re.match(rf"{re.escape(str(backup))}: \d+ MB, 1 account, 2 workspaces, ", printed)

    code, printed, errors = run("restore", folder, str(backup))
    assert code == 0, errors
    assert integrity(folder) == []
    with running(folder) as octavo:
        async with async_client(octavo.url, person) as http:
            for workload, save in before:
                assert await workload.outcome_of(save, http) == save.receipt
        assert await trio.to_thread.run_sync(octavo.stop) == (0, [])


async def _workload(http: httpx.AsyncClient, seed: int) -> Workload:
    made = await http.post("/api/workspaces", json={"name": "Notes"})
    return Workload(made.json()["id"], random.Random(seed))


async def _keep_saving(
    octavo: Octavo, headers: dict[str, str], name: str, workload: Workload, enough: trio.Event
) -> None:
    async with PlainClient(octavo.port, headers) as plain:
        while (await workload.send(name, workload.next_save(), plain)) is not None:
            if len(workload.saves) > SAVES:
                enough.set()


def acknowledged(workloads: list[Workload]) -> list[tuple[Workload, Save]]:
    return [
        (workload, save)
        for workload in workloads
        for save in workload.saves
        if save.receipt is not None
    ]


def test_backup_of_a_stopped_installation_is_private(folder: Path) -> None:
    installed(folder)
    backup = folder.parent / "backups" / "monday.sqlite3"
    backup.parent.mkdir()
    code, printed, errors = run("backup", folder, str(backup))
    newest = shipped()[-1].version
    size = f"{backup.stat().st_size / 1e3:.0f} KB"
    held = f"0 accounts, 0 workspaces, 0 files, schema version {newest}"
    assert (code, printed) == (0, f"{backup}: {size}, {held}\n")
    assert errors == ""
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert sorted(path.name for path in backup.parent.iterdir()) == [backup.name]


def test_backup_that_exists_is_replaced_only_on_demand(folder: Path) -> None:
    installed(folder)
    backup = folder.parent / "backup"
    backup.write_bytes(b"older")
    code, _, errors = run("backup", folder, str(backup))
    assert (code, errors) == (
        1,
        f"octavo: {backup} exists: name another file, or replace it with --replace\n",
    )
    assert backup.read_bytes() == b"older"
    assert run("backup", folder, "--replace", str(backup))[0] == 0
    assert backup.read_bytes()[:6] == b"SQLite"


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("data/octavo.sqlite3", "{} is the database itself: name another file"),
        ("data/octavo.sqlite3-wal", "{} is the database itself: name another file"),
        ("data/octavo.sqlite3-journal", "{} is the database itself: name another file"),
        ("data", "{} is a folder: name a file"),
        ("pipe", "{} is a device or the like: name a file"),
        ("file/below", "{} can't be written: Not a directory"),
    ],
)
def test_backup_to_an_unusable_target_fails_with_one_line(
    target: str, complaint: str, folder: Path
) -> None:
    installed(folder)
    (folder.parent / "file").touch()
    os.mkfifo(folder.parent / "pipe")
    path = folder.parent / target
    code, printed, errors = run("backup", folder, "--replace", str(path))
    assert (code, printed, errors) == (1, "", f"octavo: {complaint.format(path)}\n")
    assert integrity(folder) == []


def test_backup_to_a_missing_folder_is_refused(folder: Path) -> None:
    installed(folder)
    backup = folder.parent / "unmounted" / "backup"
    code, _, errors = run("backup", folder, str(backup))
    assert code == 1
    assert errors.startswith(f"octavo: the folder {backup.parent} does not exist: create it")
    assert not backup.parent.exists()


@pytest.mark.parametrize("end", ["-journal", "-wal"])
def test_backup_beside_the_log_of_another_database_is_refused(end: str, folder: Path) -> None:
    installed(folder)
    backup = folder.parent / "backup"
    log = folder.parent / f"backup{end}"
    log.write_bytes(b"of another")
    code, _, said = run("backup", folder, str(backup))
    assert code == 1
    assert said.startswith(f"octavo: {log} exists, the log of another database: remove it")
    assert (log.read_bytes(), backup.exists()) == (b"of another", False)


@needs_mount
def test_backup_to_a_full_disk_leaves_nothing_behind(folder: Path) -> None:
    filled(folder, 3_000_000)
    disk = folder.parent / "disk"
    disk.mkdir()
    # The listing, from inside: the disk is invisible outside.
    backup = [*command_line("backup"), "--data-dir", str(folder), str(disk / "backup")]
    script = '"$@"; code=$?; ls -A "$0"; exit $code'
    found = subprocess.run(
        [*in_tiny_disk(str(disk), 1024), "sh", "-c", script, str(disk), *backup],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(),
        check=False,
    )
    line = f"octavo: the disk of {disk}/backup is full: the backup takes about 3.2 MB\n"
    assert (found.returncode, found.stdout) == (1, "")
    assert re.fullmatch(
        re.escape(line).replace(r"3\.2", r"3\.\d"), found.stderr.splitlines(True)[-1]
    )


def test_backup_to_a_disk_that_fails_leaves_nothing_behind(folder: Path) -> None:
    filled(folder, 3_000_000)
    backup = folder.parent / "backup"
    found = subprocess.run(
        [*command_line("backup"), "--data-dir", str(folder), str(backup)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(),
        preexec_fn=limit_files(1_000_000),
        check=False,
    )
    assert found.returncode == 1
    assert "can't be copied" in found.stderr.splitlines()[-1]
    assert "Traceback" not in found.stderr
    assert not backup.exists()
    assert left_over(folder.parent) == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_backup_ended_by_a_signal_leaves_nothing_behind(signum: int, folder: Path) -> None:
    filled(folder, 300_000_000)
    backup = folder.parent / "backup"
    given = ("--data-dir", str(folder), str(backup))
    with start(*given, folder=folder.parent, command="backup", stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + PATIENCE
        while not left_over(folder.parent):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signum)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (1, "octavo: interrupted: nothing was written\n")
    assert not backup.exists()
    assert left_over(folder.parent) == []


def test_restore_is_refused_while_a_server_runs(folder: Path) -> None:
    with running(folder) as octavo:
        octavo.invitation()
        backup = folder.parent / "backup"
        assert run("backup", folder, str(backup))[0] == 0
        code, printed, errors = run("restore", folder, str(backup))
        assert (code, printed, errors) == (
            1,
            "",
            f"octavo: a server runs with the data folder {folder}: stop it, then restore\n",
        )
        assert octavo.stop() == (0, [])


def test_restore_keeps_the_former_database_with_its_log(folder: Path) -> None:
    installed(folder)
    backup = folder.parent / "backup"
    assert run("backup", folder, str(backup))[0] == 0
    with running(folder) as octavo:
        settle(octavo)
        octavo.kill()
    assert (folder / "octavo.sqlite3-wal").stat().st_size > 0
    code, printed, _ = run("restore", folder, str(backup))
    assert code == 0
    [replaced] = re.findall(r"the former database is (\S+): delete it", printed)
    assert re.fullmatch(r"octavo-replaced-\d{8}T\d{6}Z\.sqlite3", Path(replaced).name)
    assert "start the server now; devices that saw later changes" in printed
    assert accounts(folder / "octavo.sqlite3") == 0
    assert accounts(Path(replaced)) == 1
    kept = sorted(folder.glob("*octavo*"))
    assert kept == [Path(replaced), folder / "octavo.sqlite3"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_restore_by_root_leaves_the_folder_to_its_owner(folder: Path) -> None:
    installed(folder)
    backup = folder.parent / "backup"
    assert run("backup", folder, str(backup))[0] == 0
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534)
    others = folder / "tls.key", folder / "octavo-link"
    others[0].touch()
    others[1].hardlink_to(others[0])
    assert run("restore", folder, str(backup))[0] == 0
    owners = {path: (path.stat().st_uid, path.stat().st_gid) for path in folder.rglob("*")}
    assert {owners.pop(each) for each in others} == {(0, 0)}
    assert {*owners.values()} == {(65534, 65534)}


def test_restore_into_an_empty_folder_creates_the_installation(folder: Path) -> None:
    installed(folder)
    backup, elsewhere = folder.parent / "backup", folder.parent / "elsewhere"
    assert run("backup", folder, str(backup))[0] == 0
    code, printed, errors = run("restore", elsewhere, str(backup))
    assert code == 0, errors
    assert "former database" not in printed
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o700
    with running(elsewhere) as octavo:
        octavo.invitation()
        assert octavo.stop() == (0, [])


@pytest.mark.parametrize("linked", [False, True])
def test_restore_accepts_a_plain_copy_with_its_log(linked: bool, folder: Path) -> None:
    with running(folder) as octavo:
        settle(octavo)
        octavo.kill()
    copies = folder.parent / "copies"
    folder.rename(copies)
    copy = copies / "octavo.sqlite3"
    if linked:
        link = folder.parent / "latest"
        link.symlink_to(copy)
        copy = link
    code, _, errors = run("restore", folder, str(copy))
    assert code == 0, errors
    assert accounts(folder / "octavo.sqlite3") == 1


def test_restore_of_a_pipe_is_refused(folder: Path) -> None:
    installed(folder)
    pipe = folder.parent / "pipe"
    os.mkfifo(pipe)
    code, _, errors = run("restore", folder, str(pipe))
    assert (code, errors) == (1, f"octavo: {pipe} is not a file: name a backup\n")


def test_backup_through_a_link_replaces_the_file_that_it_leads_to(folder: Path) -> None:
    installed(folder)
    link, file = folder.parent / "latest", folder.parent / "monday"
    link.symlink_to(file)
    assert run("backup", folder, str(link))[0] == 0
    assert file.read_bytes()[:6] == b"SQLite"
    assert link.is_symlink()
    log = folder.parent / "monday-wal"
    log.touch()
    code, _, errors = run("backup", folder, "--replace", str(link))
    assert code == 1
    assert errors.startswith(f"octavo: {log} exists")


def test_restore_takes_a_plain_copy_with_its_rollback_journal(folder: Path) -> None:
    filled(folder, 1_000_000)
    copy = folder.parent / "copy.sqlite3"
    (folder / "octavo.sqlite3").rename(copy)
    interrupt_transaction(copy, HALF_WRITTEN)
    code, _, said = run("restore", folder, str(copy))
    assert code == 0, said
    assert integrity(folder) == []
    assert ballast(folder / "octavo.sqlite3") == [1_000_000]


def test_restore_keeps_the_former_database_as_before_its_interrupted_transaction(
    folder: Path,
) -> None:
    filled(folder, 1_000_000)
    database, backup = folder / "octavo.sqlite3", folder.parent / "backup"
    assert run("backup", folder, str(backup))[0] == 0
    change(folder, None, "INSERT INTO ballast VALUES (randomblob(2000))")
    interrupt_transaction(database, HALF_WRITTEN)
    code, told, said = run("restore", folder, str(backup))
    assert code == 0, said
    [replaced] = re.findall(r"the former database is (\S+): delete it", told)
    assert sorted(folder.glob("*octavo*")) == [Path(replaced), database]
    assert integrity(folder) == []
    assert ballast(database) == [1_000_000]
    assert ballast(Path(replaced)) == [1_000_000, 2000]


def test_restore_over_a_missing_database_drops_the_rollback_journal_of_that(
    folder: Path,
) -> None:
    filled(folder, 1_000_000)
    database, backup = folder / "octavo.sqlite3", folder.parent / "backup"
    assert run("backup", folder, str(backup))[0] == 0
    change(folder, None, "UPDATE ballast SET bytes = randomblob(2000000)")
    interrupt_transaction(database, HALF_WRITTEN)
    database.unlink()
    code, _, said = run("restore", folder, str(backup))
    assert code == 0, said
    assert integrity(folder) == []
    assert ballast(database) == [1_000_000]


def test_restore_replaces_a_damaged_database_and_keeps_its_log_with_it(folder: Path) -> None:
    installed(folder)
    backup = folder.parent / "backup"
    assert run("backup", folder, str(backup))[0] == 0
    (folder / "octavo.sqlite3").write_bytes(b"not a database at all" * 1000)
    for end in LOGS:
        (folder / f"octavo.sqlite3{end}").write_bytes(b"log")
    code, printed, errors = run("restore", folder, str(backup))
    assert code == 0, errors
    [replaced] = re.findall(r"the former database is (\S+): delete it", printed)
    assert [Path(f"{replaced}{end}").read_bytes() for end in LOGS] == [b"log", b"log"]
    assert integrity(folder) == []


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("missing", "{} can't be read: No such file or directory"),
        ("text", "{} can't be restored: it is damaged, or not a database: file is not a database"),
        ("empty", "{} can't be restored: it is empty"),
        ("torn", "{} can't be restored: it is damaged"),
        ("foreign", "{} can't be restored: it is a database of another program"),
        ("newer", "{} can't be restored: the database has version 1000 of the schema"),
    ],
)
def test_restore_of_an_unusable_backup_changes_nothing(
    damage: str, complaint: str, folder: Path
) -> None:
    installed(folder)
    backup = folder.parent / "backup"
    assert run("backup", folder, str(backup))[0] == 0
    match damage:
        case "missing":
            backup.unlink()
        case "text":
            backup.write_bytes(b"x" * 10_000)
        case "empty":
            backup.write_bytes(b"")
        case "torn":
            backup.write_bytes(backup.read_bytes()[:20_000])
        case "foreign":
            backup.unlink()
            with closing(sqlite3.connect(backup)) as connection:
                connection.execute("CREATE TABLE theirs (id)")
        case "newer":
            with closing(sqlite3.connect(backup)) as connection:
                connection.execute("INSERT INTO migrations VALUES (1000, 'next', '')")
                connection.commit()
    before = (folder / "octavo.sqlite3").read_bytes()
    code, printed, errors = run("restore", folder, str(backup))
    assert (code, printed) == (1, "")
    last = errors.splitlines()[-1]
    assert last.startswith(f"octavo: {complaint.format(backup)}")
    assert (folder / "octavo.sqlite3").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["octavo.sqlite3"]


def test_restore_of_the_database_itself_is_refused(folder: Path) -> None:
    installed(folder)
    database = folder / "octavo.sqlite3"
    code, _, errors = run("restore", folder, str(database))
    assert (code, errors) == (1, f"octavo: {database} is the database itself: name a backup\n")


@pytest.mark.parametrize(("command", "program"), [("backup", "pg_dump"), ("restore", "pg_restore")])
def test_postgres_is_backed_up_by_its_own_programs(
    command: str, program: str, folder: Path
) -> None:
    config = folder.parent / "octavo.toml"
    config.write_text('database = "postgresql://octavo:hidden@db.example/notes"')
    code, _, errors = run(command, folder, "copy")
    assert code == 1
    [line] = errors.splitlines()
    assert line.startswith("octavo: the data is in PostgreSQL: ")
    assert f"{program} --" in line
    assert "hidden" not in line


def test_backup_asks_the_server_whether_it_uses_postgres(
    folder: Path, postgres_database: str
) -> None:
    installed(folder)
    with running(folder, "--database", postgres_database) as octavo:
        octavo.invitation()
        code, _, errors = run("backup", folder, "copy")
        assert code == 1
        assert "the server keeps its data in PostgreSQL: back it up with pg_dump" in errors
        assert octavo.stop() == (0, [])


def accounts(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        [count] = connection.execute("SELECT count(*) FROM accounts").fetchone()
    return int(count)


def ballast(database: Path) -> list[int]:
    """The sizes of the contents of a `filled` database."""
    with closing(sqlite3.connect(database)) as connection:
        return [size for (size,) in connection.execute("SELECT length(bytes) FROM ballast")]
