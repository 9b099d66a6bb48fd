"""A disk that fails under a running server: readiness reports it, and the server still stops."""

import errno
import io
import random
import re
import resource
import subprocess
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.e2e.databases import change
from tests.e2e.disks import in_tiny_disk, needs_mount
from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, running
from tests.e2e.people import client, join, register, settle
from tests.e2e.prepared import start
from tests.e2e.server import PATIENCE, command_line, environment
from tests.fakes.image_files import encoded, picture

PNG = encoded(picture((30, 20)), "PNG")


def readiness(octavo: Octavo) -> tuple[int, dict[str, str]]:
    """The status, and the unmet requirements with their reasons."""
    with client(octavo.url) as anybody:
        response = anybody.get("/ready")
        unmet = {
            each["name"]: each["detail"]
            for each in response.json()["requirements"]
            if not each["met"]
        }
        return response.status_code, unmet


def wait_until_unmet(octavo: Octavo, *names: str) -> dict[str, str]:
    """Wait until these requirements are unmet, or all are met if none is named.

    Each check caches its result for a second, so one can be late. Returns the unmet ones with their
    reasons.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        status, unmet = readiness(octavo)
        assert status == (503 if unmet else 200)
        if unmet.keys() >= set(names) and bool(unmet) == bool(names):
            return unmet
    raise AssertionError(f"the unmet requirements are {unmet}, never {names}")


def limit(octavo: Octavo, size: int) -> None:
    """Let no file of the server grow beyond ``size``.

    The server sees a failing disk: writes end with EFBIG instead of ENOSPC.
    """
    _, hard = resource.prlimit(octavo.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(octavo.process.pid, resource.RLIMIT_FSIZE, (size, hard))


def test_server_whose_files_cannot_grow_is_not_ready_until_they_can() -> None:
    with data_folder() as folder, running(folder) as octavo:
        octavo.invitation()
        assert readiness(octavo) == (200, {})
        limit(octavo, 1)
        unmet = wait_until_unmet(octavo, "database", "blobs")
        assert unmet == {
            "database": "The database can't be written to now: the log of the service says why.",
            "blobs": "The data folder can't be written to: the log of the service says why.",
        }
        _, hard = resource.prlimit(octavo.process.pid, resource.RLIMIT_FSIZE)
        limit(octavo, hard)
        wait_until_unmet(octavo)
        code, output = octavo.stop()
    assert code == 0
    assert len(output) == 2
    for subject in "database", "data folder":
        assert any(f"the {subject} can't be written to now: " in line for line in output)


def test_server_whose_data_folder_is_away_says_why_until_it_is_back() -> None:
    with data_folder() as folder, running(folder) as octavo:
        octavo.invitation()
        away = folder.rename(folder.parent / "away")
        for _ in range(3):
            assert wait_until_unmet(octavo, "database", "migrations", "blobs")
            with client(octavo.url) as anybody:
                # It reads from the open database, which works.
                known = {"authorization": "Bearer octk_" + "A" * 43}
                assert anybody.get("/api/account", headers=known).status_code == 401
        away.rename(folder)
        wait_until_unmet(octavo)
        code, output = octavo.stop()
    assert code == 0
    for failure in "database can't be opened now", "data folder can't be written to now":
        assert sum(f"the {failure}: " in line for line in output) == 1


def test_server_whose_files_cannot_grow_stops_cleanly() -> None:
    with data_folder() as folder, running(folder) as octavo:
        octavo.invitation()
        limit(octavo, 1)
        wait_until_unmet(octavo, "database", "blobs")
        code, output = octavo.stop()
    assert (code, [line for line in output if "Traceback" in line]) == (0, [])


def test_account_command_without_room_says_so_in_one_line() -> None:
    with data_folder() as folder, running(folder) as octavo:
        settle(octavo)
        person = join(folder)
        limit(octavo, 1)
        wait_until_unmet(octavo, "database", "blobs")
        with start(
            *("lock", person.address, "--data-dir", str(folder)),
            folder=folder.parent,
            command="account",
            stdout=subprocess.PIPE,
        ) as process:
            printed, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, printed) == (1, "")
        assert re.fullmatch("octavo: the database (failed|has no room): .+\n", errors)
        output = octavo.stop()[1]
    assert [line for line in output if "Traceback" in line or "command" in line] == []


def fill(octavo: Octavo, folder: Path) -> None:
    with open(folder / "fill", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def make_read_only(octavo: Octavo, folder: Path) -> None:
    """Mount the data folder over itself, read-only, for the server alone.

    Files that the server opened before stay writable; nothing else below the folder is.
    """
    data = "/" + str(folder / "data").partition("/root/")[2]
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0"'
    enter = ["nsenter", "--user", "--mount", f"--target={octavo.process.pid}"]
    subprocess.run([*enter, "sh", "-c", script, data], check=True, timeout=PATIENCE)


@needs_mount
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (fill, "its disk is full: make room there."),
        (make_read_only, "its file system is read-only: look at its disk."),
    ],
)
def test_server_on_a_read_only_disk_reports_it_and_stops_cleanly(
    damage: Callable[[Octavo, Path], None], reason: str
) -> None:
    with data_folder() as folder:
        given = ["--bind", "127.0.0.1:0", "--data-dir", str(folder / "data")]
        with subprocess.Popen(
            [*in_tiny_disk(str(folder), 1500), *command_line("serve"), *given],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        ) as process:
            octavo = Octavo(process, folder, ())
            try:
                octavo.wait_until_listening()
                assert readiness(octavo) == (200, {})
                # The disk, as the server alone sees it.
                damage(octavo, Path(f"/proc/{process.pid}/root{folder}"))
                unmet = wait_until_unmet(octavo, "blobs")
                assert unmet["blobs"] == f"The data folder can't be written to: {reason}"
                code, output = octavo.stop()
            finally:
                process.kill()
    assert (code, [line for line in output if "Traceback" in line]) == (0, [])


@needs_mount
def test_images_and_imports_without_room_are_refused_and_leave_nothing() -> None:
    with data_folder() as folder:
        given = ["--bind", "127.0.0.1:0", "--data-dir", str(folder / "data")]
        given += ["--public-url", PUBLIC]
        with subprocess.Popen(
            [*in_tiny_disk(str(folder), 12_000), *command_line("serve"), *given],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        ) as process:
            octavo = Octavo(process, folder, ())
            try:
                octavo.wait_until_listening()
                person = register(octavo.url, octavo.invitation())
                with client(octavo.url, person) as http:
                    without_room(http, Path(f"/proc/{process.pid}/root{folder}/data"))
                code, output = octavo.stop()
            finally:
                process.kill()
    assert (code, [line for line in output if "Traceback" in line]) == (0, [])


def without_room(http: httpx.Client, data: Path) -> None:
    workspace = http.post("/api/workspaces", json={"name": "Notes"}).json()["id"]
    base = f"/api/workspaces/{workspace}"
    octets = {"content-type": "application/octet-stream"}

    def upload(size: int) -> httpx.Response:
        files = {"file": ("a.png", PNG + bytes(size), "image/png")}
        return http.post(f"{base}/attachments", files=files)

    def complete(notes: int, size: int) -> httpx.Response:
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(notes):
                archive.writestr(f"{number}.md", random.Random(number).randbytes(size).hex())
        started = http.post(f"{base}/imports", json={}).json()["importId"]
        place = f"{base}/imports/{started}"
        sent = http.put(f"{place}/parts/1", content=written.getvalue(), headers=octets)
        response = http.post(f"{place}/complete") if sent.is_success else sent
        http.delete(place)
        return response

    # The last has room for its parts, and none for what is made of them.
    for attempt in (
        partial(upload, 12_000_000),
        partial(complete, 26, 500_000),
        partial(complete, 11, 500_000),
    ):
        refused = attempt()
        assert (refused.status_code, refused.json()["code"]) == (507, "storage_full")
        assert [*(data / "staging").glob("*/*")] == []
        assert http.get(f"{base}/files").json()["items"] == []
    assert upload(1000).status_code == 201
    assert complete(2, 1000).status_code == 200


def test_damaged_text_is_refused_until_it_is_purged_and_the_others_are_served() -> None:
    with data_folder() as folder, running(folder) as octavo:
        person = register(octavo.url, octavo.invitation())
        with client(octavo.url, person) as device:
            made = device.post("/api/workspaces", json={"name": "Notes"}).json()
            vault = f"/api/workspaces/{made['id']}"
            damaged, whole = (
                device.post(f"{vault}/files", json={"path": path, "text": "tide"}).json()
                for path in ("a.md", "b.md")
            )
            change(folder, None, "UPDATE contents SET compressed = zeroblob(9) WHERE pk = 1")
            path = f"{vault}/files/{damaged['fileId']}"
            refused = device.get(path)
            assert (refused.status_code, refused.json()["code"]) == (503, "storage_unavailable")
            assert device.get(f"{vault}/files/{whole['fileId']}").json()["text"] == "tide"
            found = device.get(f"{vault}/search", params={"q": "tide"}).json()
            assert [each["fileId"] for each in found["items"]] == [whole["fileId"]]
            [listed, _] = device.get(f"{vault}/files").json()["items"]
            tag = {"if-match": f'"{listed["head"]["id"]}"'}
            deleted = device.delete(path, headers=tag)
            assert deleted.status_code == 200
            purged = device.post(f"{path}/purge", json={})
            assert purged.status_code == 200
            assert device.get(f"{vault}/snapshot").status_code == 200
        code, lines = octavo.stop()
    assert code == 0
    [line] = lines
    assert f"the text of the file {damaged['fileId']} is damaged" in line
