"""One worker process: its start, its surroundings, its end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from octavo.features.accounts import argon2id
from octavo.features.archives.worker import tasks as archive_tasks
from octavo.features.images.worker import tasks as image_tasks
from octavo.workers import WorkerFailed
from octavo.workers.worker import start_worker
from tests.workers import jobs
from tests.workers.test_pool import JOBS, alive


@pytest.mark.skipif(sys.platform != "linux", reason="scheduling policies are those of Linux")
async def test_process_has_the_lowest_priority_and_nothing_else() -> None:
    ours = jobs.scheduling()
    worker = await start_worker(JOBS)
    process, policy, _ = await worker.call(jobs.scheduling)
    assert (process, policy) == (worker.pid, os.SCHED_IDLE)
    assert jobs.scheduling() == ours
    assert ours[1] == os.SCHED_OTHER
    await worker.end()


async def test_process_has_nothing_of_the_environment_and_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OCTAVO_DATABASE", "postgres://user:secret@host/name")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    worker = await start_worker(JOBS)
    folder, environment, searched = await worker.call(jobs.surroundings)
    await worker.end()
    assert folder == "/"
    assert isinstance(environment, dict)
    assert set(environment) <= {"PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR"}
    assert isinstance(searched, list)
    assert str(tmp_path) not in searched
    assert "" not in searched


async def test_files_that_a_process_creates_are_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        worker = await start_worker(JOBS, folder=tmp_path)
        assert await worker.call(jobs.mode_of_new_file, str(tmp_path / "new")) == 0o600
        await worker.end()
    finally:
        os.umask(before)


async def test_modules_of_the_present_folder_are_not_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("json", "signal", "octavo", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'read')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    worker = await start_worker([argon2id.__name__, *JOBS])
    assert await worker.call(jobs.double, "x") == "xx"
    await worker.end()
    assert not (tmp_path / "read").exists()


@pytest.mark.parametrize(
    "preloaded", [[argon2id.__name__], image_tasks.PRELOADED, archive_tasks.PRELOADED]
)
async def test_process_imports_nothing_of_the_server(preloaded: Sequence[str]) -> None:
    # With trio alone, a process takes twice the memory, and three times as long to start.
    worker = await start_worker([*preloaded, *JOBS])
    imported = await worker.call(jobs.imported)
    await worker.end()
    assert set(preloaded) <= set(imported)
    assert {"trio", "sqlite3", "pydantic", "octavo.workers"}.isdisjoint(imported)


async def test_process_starts_after_the_present_folder_is_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    worker = await start_worker(JOBS)
    assert await worker.call(jobs.double, "x") == "xx"
    await worker.end()


async def test_process_that_cannot_be_started_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/not/there")
    with pytest.raises(WorkerFailed, match="can't be started"):
        await start_worker()


async def test_process_that_ends_at_its_start_is_reported(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(WorkerFailed, match="ended"):
        await start_worker(["octavo.not_there"])


async def test_signal_that_stops_the_server_leaves_the_process() -> None:
    # A service manager sends it to all processes of the service.
    worker = await start_worker(JOBS)
    os.kill(worker.pid, signal.SIGTERM)
    assert await worker.call(jobs.double, "x") == "xx"
    await worker.end()


async def test_interrupt_of_the_terminal_does_not_reach_the_process() -> None:
    worker = await start_worker(JOBS)
    assert os.getpgid(worker.pid) != os.getpgid(0)
    # Autogroups of the scheduler are sessions: its priority counts within one only.
    assert os.getsid(worker.pid) == os.getsid(0)
    await worker.end()


async def test_nonsense_for_the_process_ends_it(capfd: pytest.CaptureFixture[str]) -> None:
    worker = await start_worker(JOBS)
    with pytest.raises(WorkerFailed, match="ended"):
        await worker.exchange(b"nonsense\n")
    await worker.end()
    assert not worker.alive


SERVER = """
import trio
from octavo.workers.worker import start_worker

async def main():
    print((await start_worker()).pid, flush=True)
    await trio.sleep_forever()

trio.run(main)
"""


def test_process_ends_with_the_server_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        process = int(server.stdout.readline())
        assert alive(process)
        server.kill()
    deadline = time.monotonic() + 30
    while alive(process):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("request_line", [b"", b'["tests.workers.jobs", "double", ["x"]]\n'])
def test_process_whose_server_was_killed_ends_in_silence(request_line: bytes) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen(
        [sys.executable, "-c", "from octavo.workers.process import main; main([])"],
        stdin=subprocess.PIPE,
        stdout=writer,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(writer)
        _, complaint = process.communicate(request_line, timeout=30)
    assert (process.returncode, complaint) == (0, b"")
