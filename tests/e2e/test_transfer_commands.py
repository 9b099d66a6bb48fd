"""``octavo import`` and ``octavo export`` against a real server, which may stop among them."""

import base64
import re
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.client.test_restart import free_port
from tests.e2e import prepared
from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.operations.attachments import PNG
from tests.e2e.people import Person, client, settle
from tests.e2e.server import PATIENCE

VAULT: dict[str, bytes] = {
    "Tea.md": b"# Tea\r\n\r\n[[Cup]] and ![[cup.png]]\r\n",
    "notes/Cup.md": "\ufeffüber [Tea](../Tea.md)".encode(),
    "notes/Plain.md": b"",
    "images/cup.png": PNG,
    ".obsidian/app.json": b"{}",
    "plan.pdf": b"%PDF",
}
IMPORTED: dict[str, bytes] = {
    "Tea.md": b"# Tea\r\n\r\n[Cup](notes/Cup.md) and ![cup.png](attachments/images/cup.png)\r\n",
    "notes/Cup.md": VAULT["notes/Cup.md"],
    "notes/Plain.md": b"",
    "attachments/images/cup.png": PNG,
}
# The line of a log about the first of several parts.
FIRST_PART = r"path=\S*/imports/([0-9a-f-]+)/parts/1 status=200 .* bytesIn=8388608 "


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Octavo, Person]]:
    with data_folder() as folder, running(folder) as octavo:
        yield octavo, settle(octavo)


def start(url: str, person: Person, command: str, *options: str) -> "subprocess.Popen[str]":
    given = ("--server", url, *options)
    key = {"OCTAVO_KEY": person.key}
    return prepared.start(
        *given, folder=Path.cwd(), command=command, stdout=subprocess.PIPE, more=key
    )


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    with process:
        printed, errors = process.communicate(timeout=3 * PATIENCE)
    return process.returncode, printed, errors


def run(url: str, person: Person, command: str, *options: str) -> tuple[int, str, str]:
    return ended(start(url, person, command, *options))


def fill(root: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def large_vault(root: Path) -> tuple[Path, dict[str, bytes]]:
    """A folder whose archive has three parts: notes of one word, which does not become smaller."""
    random = Random(7)
    notes = {
        f"{number:02}.md": base64.b64encode(random.randbytes(700_000), b"xy")
        for number in range(28)
    }
    return fill(root, notes), notes


@contextmanager
def open_imports(octavo: Octavo, person: Person, workspace: str, count: int) -> Iterator[list[str]]:
    """Open imports into a new workspace for the block; an account has at most five."""
    with client(octavo.url, person) as http:
        workspace_id = http.post("/api/workspaces", json={"name": workspace}).json()["id"]
        imports = f"/api/workspaces/{workspace_id}/imports"
        ids = [http.post(imports, json={}).json()["importId"] for _ in range(count)]
        yield ids
        for import_id in ids:
            assert http.delete(f"{imports}/{import_id}").status_code in (200, 404)


def exported(url: str, person: Person, workspace: str, target: Path) -> dict[str, bytes]:
    done = run(url, person, "export", str(target), "--workspace", workspace)
    assert (done[0], done[2]) == (0, "")
    with zipfile.ZipFile(target) as read:
        return {name: read.read(name) for name in read.namelist()}


def sent_parts(octavo: Octavo, import_id: str) -> list[int]:
    """The numbers of the parts that were received, from the log."""
    place = re.compile(rf"method=PUT path=\S*/{import_id}/parts/(\d+) status=200 ")
    return [int(found[1]) for line in octavo.log.all if (found := place.search(line))]


def test_folder_becomes_a_workspace_and_an_archive(
    served: tuple[Octavo, Person], tmp_path: Path
) -> None:
    octavo, person = served
    vault = fill(tmp_path / "vault", VAULT)
    (vault / "link.md").symlink_to(vault / "Tea.md")
    code, printed, errors = run(
        octavo.url, person, "import", str(vault), "--workspace", "Round trip", "--create"
    )
    assert (code, errors) == (0, "")
    assert printed == (
        "Round trip: imported 3 notes and 1 image; left out: 1 settings file,"
        " 1 file of other kinds, 1 symbolic link\n"
    )
    archive = tmp_path / "round.zip"
    assert exported(octavo.url, person, "Round trip", archive) == IMPORTED
    code, printed, errors = run(
        octavo.url, person, "import", str(archive), "--workspace", "Again", "--create"
    )
    assert (code, printed, errors) == (0, "Again: imported 3 notes and 1 image\n", "")
    assert exported(octavo.url, person, "Again", tmp_path / "again.zip") == IMPORTED


def test_interrupted_import_is_continued(served: tuple[Octavo, Person], tmp_path: Path) -> None:
    octavo, person = served
    vault, notes = large_vault(tmp_path / "vault")
    given = ("import", str(vault), "--workspace", "Continued")
    process = start(octavo.url, person, *given, "--create")
    import_id = octavo.log.find(FIRST_PART)
    process.send_signal(signal.SIGINT)
    code, printed, errors = ended(process)
    assert (code, printed) == (1, "")
    assert errors == (
        f"octavo: interrupted\noctavo: to continue, add --resume {import_id} instead of --create\n"
    )
    code, printed, errors = run(octavo.url, person, *given, "--resume", import_id)
    assert (code, errors) == (0, "")
    assert printed == f"Continued: imported {len(notes)} notes and 0 images\n"
    parts = sent_parts(octavo, import_id)
    assert parts.count(1) == 1
    assert sorted(set(parts)) == list(range(1, max(parts) + 1))
    assert max(parts) >= 3
    assert exported(octavo.url, person, "Continued", tmp_path / "a.zip") == notes
    code, printed, errors = run(octavo.url, person, *given, "--resume", import_id)
    assert (code, errors) == (0, "")
    assert printed == f"Continued: was imported already: {len(notes)} notes and 0 images\n"


def test_aborted_import_makes_room_for_another(
    served: tuple[Octavo, Person], tmp_path: Path
) -> None:
    octavo, person = served
    vault = fill(tmp_path / "vault", {"a.md": b"a"})
    given = ("import", str(vault), "--workspace", "Full")
    with open_imports(octavo, person, "Full", 5) as ids:
        code, _, errors = run(octavo.url, person, *given)
        assert code == 1
        assert "too_many_imports" in errors
        assert "octavo import --abort ID" in errors
        abort = ("import", "--abort", ids[0], "--workspace", "Full")
        assert run(octavo.url, person, *abort) == (0, f"the import {ids[0]} was removed\n", "")
        code, _, errors = run(octavo.url, person, *abort)
        assert code == 1
        assert f"there is no import {ids[0]} of this account" in errors
        assert run(octavo.url, person, *given)[0] == 0


def test_import_over_files_is_removed_from_the_server(
    served: tuple[Octavo, Person], tmp_path: Path
) -> None:
    octavo, person = served
    vault = fill(tmp_path / "vault", {"a.md": b"a"})
    given = ("import", str(vault), "--workspace", "Conflict")
    # There is room for one more.
    with open_imports(octavo, person, "Conflict", 4):
        assert run(octavo.url, person, *given)[0] == 0
        for _ in range(2):
            code, printed, errors = run(octavo.url, person, *given)
            assert (code, printed) == (1, "")
            assert "path_conflict" in errors
            assert "--resume" not in errors
            assert "is empty" not in errors


def test_import_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    vault, notes = large_vault(tmp_path / "vault")
    with data_folder() as folder, ExitStack() as servers:
        options = ("--bind", f"127.0.0.1:{free_port()}")
        octavo = servers.enter_context(running(folder, *options))
        person = settle(octavo)
        process = start(
            octavo.url, person, "import", str(vault), "--workspace", "Notes", "--create"
        )
        octavo.log.find(FIRST_PART)
        octavo.kill()
        octavo = servers.enter_context(running(folder, *options))
        code, printed, errors = ended(process)
        assert (code, errors) == (0, "")
        assert printed == f"Notes: imported {len(notes)} notes and 0 images\n"
        assert exported(octavo.url, person, "Notes", tmp_path / "a.zip") == notes


def test_refused_archive_is_removed_from_the_server(
    served: tuple[Octavo, Person], tmp_path: Path
) -> None:
    octavo, person = served
    vault = fill(tmp_path / "vault", {"a.md": b"\xff"})
    given = ("import", str(vault), "--workspace", "Refused", "--create")
    # There is room for one more.
    with open_imports(octavo, person, "Others", 4):
        for created in (True, False):
            code, printed, errors = run(octavo.url, person, *given)
            assert (code, printed) == (1, "")
            assert "a.md" in errors
            assert "archive_invalid" in errors
            assert "--resume" not in errors
            empty = "octavo: the workspace Refused was created, and is empty\n"
            assert errors.endswith(empty) == created


def test_workspace_is_found_by_its_name_or_its_id(
    served: tuple[Octavo, Person], tmp_path: Path
) -> None:
    octavo, person = served
    with client(octavo.url, person) as http:
        ids = [http.post("/api/workspaces", json={"name": "Twins"}).json()["id"] for _ in range(2)]
    target = str(tmp_path / "a.zip")
    code, _, errors = run(octavo.url, person, "export", target, "--workspace", "Twins")
    assert code == 1
    assert all(each in errors for each in ids)
    code, _, errors = run(octavo.url, person, "export", target, "--workspace", "None")
    assert code == 1
    assert "there is no workspace None: this account has " in errors
    done = run(octavo.url, person, "export", target, "--workspace", ids[0].upper())
    assert (done[0], done[2]) == (0, "")
    code, _, errors = run(octavo.url, person, "export", target, "--workspace", ids[0])
    assert (code, errors) == (
        1,
        f"octavo: {target} exists: name another file, or replace it with --replace\n",
    )
    done = run(octavo.url, person, "export", target, "--workspace", ids[0], "--replace")
    assert (done[0], done[2]) == (0, "")
