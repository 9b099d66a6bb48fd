"""Imports: which parts are sent, what is repeated, and how a completion survives failures."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import trio
from octavo_client import (
    ArchiveDiffers,
    ConnectionFailed,
    ImportProgress,
    ImportRefused,
    ProblemError,
    UnavailableError,
)
from octavo_client.importing import POLL_SECONDS
from trio.testing import MockClock

from .stub_imports import IMPORT, RESULT, StubImports, breaking, refusing
from .stub_server import ok, workspace_of

PART = 8 * 1024 * 1024
ARCHIVE = bytes(range(256)) * (2 * PART // 256) + b"the end"


class Chunks:
    """Chunks that can be read once."""

    def __init__(self, data: bytes, size: int = 1_000_003) -> None:
        self._pieces = [data[at : at + size] for at in range(0, len(data), size)]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        await trio.lowlevel.checkpoint()
        if not self._pieces:
            raise StopAsyncIteration
        return self._pieces.pop(0)


async def test_archive_is_sent_in_parts_and_completed() -> None:
    stub = StubImports()
    async with stub.client() as client:
        summary = await workspace_of(client).import_archive(ARCHIVE)
    assert stub.requests == ["POST ", *(f"PUT /parts/{n}" for n in (1, 2, 3)), "POST /complete"]
    assert stub.archive() == ARCHIVE
    assert stub.sizes == [len(ARCHIVE)]
    assert (summary.notes, summary.attachments, summary.position) == (3, 1, 4)
    assert summary.left_out == RESULT["leftOut"]


async def test_file_and_chunks_are_sent_as_bytes_are(tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    path.write_bytes(ARCHIVE)
    for source, size in ((path, len(ARCHIVE)), (Chunks(ARCHIVE), 0)):
        stub = StubImports()
        async with stub.client() as client:
            await workspace_of(client).import_archive(source)
        assert stub.archive() == ARCHIVE
        assert stub.sizes == [size]


async def test_parts_are_as_large_as_a_large_archive_needs() -> None:
    size = 3000 * PART
    stub = StubImports(part_size=32 * 1024 * 1024)
    async with stub.client() as client:
        await workspace_of(client).import_archive(Chunks(ARCHIVE), size=size)
    assert len(stub.parts[1]) == -(-size // 2048)


async def test_parts_are_no_larger_than_the_server_takes() -> None:
    stub = StubImports(part_size=1000)
    async with stub.client() as client:
        await workspace_of(client).import_archive(ARCHIVE[:2500])
    assert [len(stub.parts[number]) for number in (1, 2, 3)] == [1000, 1000, 500]


async def test_file_that_does_not_exist_fails_before_anything_is_sent(tmp_path: Path) -> None:
    stub = StubImports()
    async with stub.client() as client:
        with pytest.raises(FileNotFoundError):
            await workspace_of(client).import_archive(tmp_path / "notes.zip")
    assert stub.requests == []


@pytest.mark.parametrize(
    "failure",
    [
        breaking(httpx.ReadError),
        breaking(httpx.ConnectError),
        breaking(httpx.WriteError),
        refusing(503, "storage_unavailable"),
        refusing(429, "rate_limited", 2),
        refusing(507, "storage_full", 5),
    ],
)
async def test_part_that_failed_is_sent_again(failure: object, autojump_clock: MockClock) -> None:
    stub = StubImports(failures={"PUT /parts/2": [failure, failure]})  # type: ignore[list-item]
    async with stub.client() as client:
        await workspace_of(client).import_archive(ARCHIVE)
    assert stub.archive() == ARCHIVE
    assert stub.requests.count("PUT /parts/1") == 1
    assert stub.requests.count("PUT /parts/2") == 3


async def test_part_that_keeps_failing_ends_the_import_which_can_be_continued(
    autojump_clock: MockClock,
) -> None:
    stub = StubImports(failures={"PUT /parts/2": [breaking(httpx.ReadError)] * 3})
    known: list[ImportProgress] = []
    async with stub.client(attempts=3) as client:
        workspace = workspace_of(client)
        with pytest.raises(ConnectionFailed):
            await workspace.import_archive(ARCHIVE, progress=known.append)
        stub.requests.clear()
        await workspace.import_archive(ARCHIVE, import_id=known[0].import_id)
    assert stub.requests == ["GET ", "PUT /parts/2", "PUT /parts/3", "POST /complete"]
    assert stub.archive() == ARCHIVE


async def test_part_that_differs_is_sent_again() -> None:
    stub = StubImports(parts={1: ARCHIVE[:PART], 2: bytes(PART)})
    async with stub.client() as client:
        await workspace_of(client).import_archive(Chunks(ARCHIVE), import_id=IMPORT)
    assert stub.requests == ["GET ", "PUT /parts/2", "PUT /parts/3", "POST /complete"]
    assert stub.archive() == ARCHIVE


async def test_parts_are_cut_as_they_were_before() -> None:
    stub = StubImports(parts={1: ARCHIVE[: PART + 5]})
    async with stub.client() as client:
        await workspace_of(client).import_archive(Chunks(ARCHIVE), import_id=IMPORT)
    assert stub.requests == ["GET ", "PUT /parts/2", "POST /complete"]
    assert stub.archive() == ARCHIVE


async def test_shorter_archive_is_not_mixed_with_the_rest_of_a_longer_one() -> None:
    stub = StubImports(parts={1: ARCHIVE[:PART], 2: ARCHIVE[:PART], 3: b"more"})
    async with stub.client() as client:
        with pytest.raises(ArchiveDiffers, match=IMPORT):
            await workspace_of(client).import_archive(ARCHIVE[: PART + 1], import_id=IMPORT)
    assert "POST /complete" not in stub.requests


async def test_import_that_is_done_returns_its_result_without_reading_the_source() -> None:
    stub = StubImports(state="done")
    async with stub.client() as client:
        summary = await workspace_of(client).import_archive(Chunks(b""), import_id=IMPORT)
    assert summary.notes == 3
    assert stub.requests == ["GET "]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (429, "archive_job_running"),
        (503, "archive_jobs_busy"),
        (503, "import_incomplete"),
        (507, "storage_full"),
    ],
)
async def test_completion_is_repeated_after_the_requested_time(
    status: int, code: str, autojump_clock: MockClock
) -> None:
    stub = StubImports(failures={"POST /complete": [refusing(status, code, 10)] * 2})
    began = trio.current_time()
    async with stub.client(first=1.0) as client:
        await workspace_of(client).import_archive(b"zip")
    assert stub.requests.count("POST /complete") == 3
    assert trio.current_time() - began == pytest.approx(10 + 1 + 10 + 2)


async def test_completion_that_makes_no_progress_fails_after_the_attempts(
    autojump_clock: MockClock,
) -> None:
    stub = StubImports(failures={"POST /complete": [refusing(503, "import_incomplete", 10)] * 9})
    async with stub.client(attempts=3) as client:
        with pytest.raises(UnavailableError):
            await workspace_of(client).import_archive(b"zip")
    assert stub.requests.count("POST /complete") == 3


async def test_completion_that_makes_progress_does_not_use_up_the_attempts(
    autojump_clock: MockClock,
) -> None:
    stub = StubImports()

    def incomplete() -> httpx.Response:
        stub.read += 1
        return refusing(503, "import_incomplete", 10)()  # type: ignore[return-value]

    stub.failures["POST /complete"] = [incomplete] * 9
    async with stub.client(attempts=3) as client:
        await workspace_of(client).import_archive(b"zip")
    assert stub.requests.count("POST /complete") == 10


@pytest.mark.parametrize("code", ["archive_invalid", "archive_too_large", "path_conflict"])
async def test_refused_archive_is_not_completed_again(code: str) -> None:
    stub = StubImports(failures={"POST /complete": [refusing(422, code)]})
    async with stub.client() as client:
        with pytest.raises(ProblemError) as refused:
            await workspace_of(client).import_archive(b"zip")
    assert refused.value.code == code
    assert stub.requests.count("POST /complete") == 1


@pytest.mark.parametrize(
    "failure", [breaking(httpx.ReadError), refusing(504, ""), refusing(502, "")]
)
async def test_lost_response_is_replaced_by_the_state(
    failure: object, autojump_clock: MockClock
) -> None:
    """The import goes on without the client, which waits for its end."""
    stub = StubImports(failures={"POST /complete": [failure]})  # type: ignore[list-item]
    stub.state = "running"

    async def end() -> None:
        await trio.sleep(60)
        stub.state = "done"

    async with stub.client() as client, trio.open_nursery() as nursery:
        nursery.start_soon(end)
        assert (await workspace_of(client).import_archive(b"zip")).notes == 3
    assert stub.requests.count("POST /complete") == 1


async def test_progress_is_reported_while_the_completion_runs(autojump_clock: MockClock) -> None:
    stub = StubImports()
    seen: list[ImportProgress] = []

    async def completing() -> httpx.Response | None:
        stub.state = "running"
        for stub.read in (10, 60, 100):
            await trio.sleep(POLL_SECONDS)
        return None

    stub.failures["POST /complete"] = [completing]
    async with stub.client() as client:
        await workspace_of(client).import_archive(ARCHIVE, progress=seen.append)
    assert {each.import_id for each in seen} == {IMPORT}
    sent = [each.done for each in seen if each.step == "sending"]
    assert sent == sorted(sent)
    assert (sent[0], sent[-1]) == (0, len(ARCHIVE))
    imported = [(each.done, each.total) for each in seen if each.step == "importing"]
    assert imported[0] in [(10, 100), (60, 100)]
    assert imported[-1] in [(60, 100), (100, 100)]


async def test_response_that_never_comes_is_noticed_by_the_state(
    autojump_clock: MockClock,
) -> None:
    stub = StubImports(failures={"POST /complete": [trio.sleep_forever]})
    async with stub.client() as client:
        await workspace_of(client).import_archive(b"zip")
    assert stub.requests.count("POST /complete") == 2


async def test_result_is_returned_though_the_response_never_comes(
    autojump_clock: MockClock,
) -> None:
    stub = StubImports()

    async def complete_silently() -> httpx.Response:
        stub.state = "done"
        await trio.sleep_forever()

    stub.failures["POST /complete"] = [complete_silently]
    async with stub.client() as client:
        assert (await workspace_of(client).import_archive(b"zip")).position == 4
    assert stub.requests.count("POST /complete") == 1


async def test_continued_import_that_runs_is_waited_for(autojump_clock: MockClock) -> None:
    stub = StubImports(state="running")

    async def end() -> None:
        await trio.sleep(60)
        stub.state = "done"

    async with stub.client() as client, trio.open_nursery() as nursery:
        nursery.start_soon(end)
        await workspace_of(client).import_archive(b"zip", import_id=IMPORT)
    assert set(stub.requests) == {"GET "}


@pytest.mark.parametrize(
    ("status", "code", "removed"),
    [
        (422, "archive_invalid", True),
        (413, "archive_too_large", True),
        (409, "path_conflict", True),
        (413, "storage_limit", False),
        (403, "forbidden", False),
    ],
)
async def test_refused_import_is_removed_unless_it_was_continued(
    status: int, code: str, removed: bool, autojump_clock: MockClock
) -> None:
    for given, gone in ((None, removed), (IMPORT, False)):
        stub = StubImports(failures={"POST /complete": [refusing(status, code)]})
        async with stub.client() as client:
            with pytest.raises(ProblemError) as refused:
                await workspace_of(client).import_archive(b"zip", import_id=given)
        assert refused.value.code == code
        assert (stub.state == "aborted") is gone


async def test_source_that_is_no_file_opens_no_import(tmp_path: Path) -> None:
    stub = StubImports()
    async with stub.client() as client:
        with pytest.raises(IsADirectoryError):
            await workspace_of(client).import_archive(tmp_path)
    assert stub.requests == []


async def test_wait_that_is_too_long_ends_the_import_at_once(autojump_clock: MockClock) -> None:
    stub = StubImports(failures={"POST /complete": [refusing(503, "storage_busy", 600_000)]})
    async with stub.client() as client:
        with pytest.raises(UnavailableError) as refused:
            await workspace_of(client).import_archive(b"zip")
    assert (refused.value.code, refused.value.retry_after) == ("storage_busy", 600_000)
    assert stub.requests.count("POST /complete") == 1
    assert trio.current_time() < 60


@pytest.mark.parametrize("abort", [False, True])
async def test_cancelled_import_is_aborted_only_if_asked(
    abort: bool, autojump_clock: MockClock
) -> None:
    stub = StubImports(failures={"POST /complete": [trio.sleep_forever]})
    async with stub.client() as client:
        with trio.move_on_after(5) as scope:
            await workspace_of(client).import_archive(b"zip", abort_on_cancel=abort)
    assert scope.cancelled_caught
    assert (stub.state == "aborted") is abort


async def test_import_can_be_aborted() -> None:
    stub = StubImports()
    async with stub.client() as client:
        await workspace_of(client).abort_import(IMPORT)
    assert stub.requests == ["DELETE "]


async def test_part_that_arrives_changed_is_an_error() -> None:
    changed = ok({"number": 1, "size": 3, "digest": "0" * 64})
    stub = StubImports(failures={"PUT /parts/1": [lambda: changed]})
    async with stub.client() as client:
        with pytest.raises(Exception, match="part 1 was changed on its way"):
            await workspace_of(client).import_archive(b"zip")


async def test_refusal_whose_response_was_lost_is_raised(autojump_clock: MockClock) -> None:
    failure = {"code": "archive_invalid", "detail": "a.md: It is not UTF-8."}
    stub = StubImports(failures={"POST /complete": [breaking(httpx.ReadError)]})
    stub.state, stub.failure = "failed", failure
    async with stub.client() as client:
        with pytest.raises(ImportRefused, match=r"archive_invalid: a\.md") as refused:
            await workspace_of(client).import_archive(ARCHIVE)
    assert refused.value.code == "archive_invalid"
    assert stub.requests.count("POST /complete") == 1
