"""A worker process may do what its work needs, and nothing else that the system can refuse."""

import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from octavo.confinement import confinements, landlock_version
from octavo.workers import WorkerFailed, WorkTooLarge
from octavo.workers.worker import Worker, start_worker
from tests.project.source import ROOT
from tests.workers import jobs

VERSION = landlock_version()


def needs_landlock(version: int = 1) -> pytest.MarkDecorator:
    reason = f"the kernel offers Landlock ABI {VERSION}, and this needs {version}"
    return pytest.mark.skipif(version > VERSION, reason=reason)


@pytest.fixture
async def worker(tmp_path: Path) -> AsyncIterator[Worker]:
    """A worker that may use the files in ``tmp_path / "work"``."""
    (tmp_path / "work").mkdir()
    (tmp_path / "octavo.sqlite3").write_text("notes")
    started = await start_worker([jobs.__name__], None, None, tmp_path / "work")
    yield started
    await started.end()


@needs_landlock()
async def test_worker_uses_files_in_its_folder_alone(worker: Worker, tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "octavo.sqlite3"
    assert await worker.call(jobs.refusal, "create", str(work / "new")) is None
    assert await worker.call(jobs.refusal, "read", str(work / "new")) is None
    assert await worker.call(jobs.refusal, "remove", str(work / "new")) is None
    for attempt, path in (
        ("read", outside),
        ("read", work / ".." / outside.name),
        ("read", Path("/etc/passwd")),
        ("read", Path(f"/proc/{os.getpid()}/environ")),
        ("list", tmp_path),
        ("list", Path("/")),
        ("list", ROOT),
        ("create", tmp_path / "new"),
        ("create", Path(os.__file__)),
        ("remove", outside),
    ):
        assert await worker.call(jobs.refusal, attempt, str(path)) == "EACCES", (attempt, path)
    (work / "link").symlink_to(outside)
    assert await worker.call(jobs.refusal, "read", str(work / "link")) == "EACCES"
    assert await worker.call(jobs.refusal, "execute") == "EACCES"


@needs_landlock()
async def test_worker_without_a_folder_uses_no_files(tmp_path: Path) -> None:
    worker = await start_worker([jobs.__name__])
    assert await worker.call(jobs.refusal, "create", str(tmp_path / "new")) == "EACCES"
    assert await worker.call(jobs.refusal, "list", str(tmp_path)) == "EACCES"
    await worker.end()


@needs_landlock(4)
async def test_worker_makes_and_awaits_no_connections(worker: Worker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert await worker.call(jobs.refusal, "connect", port) == "EACCES"
        assert await worker.call(jobs.refusal, "listen") == "EACCES"


@needs_landlock(6)
async def test_worker_reaches_no_process_outside(worker: Worker) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        name = f"\0octavo-test-{os.getpid()}"
        server.bind(name)
        server.listen()
        assert await worker.call(jobs.refusal, "connect", name) == "EPERM"
    assert await worker.call(jobs.refusal, "signal", os.getpid()) == "EPERM"
    assert await worker.call(jobs.refusal, "signal", worker.pid) is None


@pytest.mark.skipif(sys.platform != "linux", reason="no_new_privs is a part of Linux")
async def test_worker_gains_no_privileges(worker: Worker) -> None:
    assert await worker.call(jobs.gains_no_privileges)


@pytest.fixture
def inheritable(tmp_path: Path) -> Iterator[int]:
    """A descriptor that programs inherit unless that is prevented."""
    opened = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(opened, True)
    yield opened
    os.close(opened)


async def test_worker_inherits_its_pipes_and_the_log_alone(inheritable: int) -> None:
    worker = await start_worker([jobs.__name__])
    # The fourth is that of responses, of which standard output is no longer one.
    assert await worker.call(jobs.descriptors) == [0, 1, 2, 3]
    await worker.end()


async def test_worker_has_limits(tmp_path: Path) -> None:
    worker = await start_worker([jobs.__name__], 256 * 1024 * 1024)
    found = await worker.call(jobs.limits)
    await worker.end()
    assert found["CORE"] == found["NPROC"] == [0, 0]
    assert found["AS"] == [256 * 1024 * 1024] * 2
    assert max(found["NOFILE"]) <= 64
    assert 0 < max(found["FSIZE"]) <= 8 * 1024**3


async def test_worker_forks_nothing_and_opens_few_files(worker: Worker) -> None:
    assert await worker.call(jobs.refusal, "open many") == "EMFILE"
    assert await worker.call(jobs.refusal, "fork") == "EAGAIN"


async def test_work_that_writes_too_much_fails_alone(worker: Worker, tmp_path: Path) -> None:
    with pytest.raises(WorkTooLarge, match="a larger file"):
        await worker.call(jobs.write_much, str(tmp_path / "work" / "large"))


@needs_landlock()
async def test_work_that_reads_elsewhere_fails_alone(worker: Worker, tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match="PermissionError"):
        await worker.call(jobs.mode_of_new_file, str(tmp_path / "new"))


EACH_VERSION = """
import os, sys
from octavo import confinement

for version in range(int(sys.argv[1]) + 1):
    if not os.fork():
        confinement.landlock_version = lambda: version
        assert confinement.forbid_new_privileges()
        assert confinement.confine([os.path.dirname(os.__file__), "/not/there"], []) == version
        try:
            open("/etc/hostname").close()
        except PermissionError:
            os._exit(1)
        os._exit(0)
    print(version, os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is a part of Linux")
def test_every_version_of_landlock_is_used_and_none_is_no_failure() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EACH_VERSION, str(VERSION)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    expected = [f"{each} {int(each > 0)}" for each in range(VERSION + 1)]
    assert (done.stdout.splitlines(), done.stderr) == (expected, "")


@pytest.mark.parametrize("name", ["platform", "machine"])
def test_system_without_landlock_offers_version_0(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "platform":
        monkeypatch.setattr(sys, "platform", "darwin")
    else:
        monkeypatch.setattr("octavo.confinement._MACHINES", frozenset())
    assert landlock_version() == 0
    privileges = [] if name == "platform" else ["no new privileges"]
    assert confinements() == ["limits", *privileges, "no Landlock"]
