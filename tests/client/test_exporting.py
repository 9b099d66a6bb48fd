"""Exports are written to a file that is complete, or not at all."""

import os
from pathlib import Path

import httpx
import pytest
from octavo_client import ArchiveCut, ExportIncomplete, RateLimitedError
from octavo_rules.export_report import REPORT, export_report
from trio.testing import MockClock

from octavo.features.archives.worker.selection import ExportLayout
from octavo.features.archives.worker.zip_writer import ZipWriter
from packages.client.tests.stub_server import Stub, problem, workspace_of


def archive() -> bytes:
    writer = ZipWriter(ExportLayout())
    return writer.note("a.md", b"one") + writer.end()


async def test_export_is_written_with_its_size_reported(tmp_path: Path) -> None:
    stub = Stub([lambda: httpx.Response(200, content=archive())])
    sizes: list[int] = []
    async with stub.client() as client:
        size = await workspace_of(client).export_archive(
            tmp_path / "a.zip", format="history", progress=sizes.append
        )
    assert (tmp_path / "a.zip").read_bytes() == archive()
    assert size == sizes[-1] == len(archive())
    assert dict(stub.requests[0].url.params) == {"format": "history"}


async def test_export_that_lacks_images_is_written_and_they_are_named(tmp_path: Path) -> None:
    writer = ZipWriter(ExportLayout())
    lacked = ["attachments/a\u2028- b.png", ".history/3/p.png"]
    entries = [("a.md", "one"), ("octavo-export-report.md", ""), (REPORT, export_report(lacked))]
    data = b"".join(writer.note(path, text.encode()) for path, text in entries) + writer.end()
    async with Stub([lambda: httpx.Response(200, content=data)]).client() as client:
        with pytest.raises(ExportIncomplete) as incomplete:
            await workspace_of(client).export_archive(tmp_path / "a.zip")
    assert (incomplete.value.size, incomplete.value.paths) == (len(data), lacked)
    assert (tmp_path / "a.zip").read_bytes() == data


async def test_note_about_the_report_is_no_report(tmp_path: Path) -> None:
    writer = ZipWriter(ExportLayout())
    data = writer.note(f"about {REPORT}.md", b"- x.png") + writer.end()
    async with Stub([lambda: httpx.Response(200, content=data)]).client() as client:
        assert await workspace_of(client).export_archive(tmp_path / "a.zip") == len(data)


@pytest.mark.parametrize("missing", [1, 30, len(archive())])
async def test_cut_export_leaves_what_was_there(missing: int, tmp_path: Path) -> None:
    """A proxy may end a response as if it were complete."""
    (tmp_path / "a.zip").write_bytes(b"old")
    cut = archive()[:-missing]
    async with Stub([lambda: httpx.Response(200, content=cut)]).client() as client:
        with pytest.raises(ArchiveCut):
            await workspace_of(client).export_archive(tmp_path / "a.zip")
    assert os.listdir(tmp_path) == ["a.zip"]
    assert (tmp_path / "a.zip").read_bytes() == b"old"


async def test_refused_export_writes_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    stub = Stub([lambda: problem(429, "archive_job_running", 10)])
    async with stub.client(attempts=2) as client:
        with pytest.raises(RateLimitedError):
            await workspace_of(client).export_archive(tmp_path / "a.zip")
    assert len(stub.requests) == 2
    assert os.listdir(tmp_path) == []
