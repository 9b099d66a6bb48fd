"""The check of an archive shares the worker processes with others, and does not go on forever."""

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest
import trio

from octavo.features.archives import archive_check
from octavo.features.archives.archive_check import (
    ArchiveWork,
    CheckedArchive,
    check_archive,
    read_directory,
)
from octavo.features.archives.worker import tasks
from octavo.features.archives.worker.refusal import ArchiveInvalid
from octavo.workers.worker import WorkRefused
from tests.fakes.image_files import encoded, picture
from tests.fakes.inline_work import run_inline
from tests.fakes.zip_files import Crafted, crafted, written

PNG = encoded(picture((20, 10)), "PNG")
AT_ONCE = 2

P = ParamSpec("P")
T = TypeVar("T")


class Work:
    """Does the tasks, and knows how many were there at the same time."""

    def __init__(self) -> None:
        self.calls = 0
        self.present = 0
        self.most = 0

    async def count(self, function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        self.calls += 1
        self.present += 1
        self.most = max(self.most, self.present)
        result = await run_inline(function, *given, **named)
        self.present -= 1
        return result


async def check(folder: Path, work: Work, images: int) -> CheckedArchive:
    entries = [Crafted(f"attachments/{number}.png", PNG) for number in range(images)]
    entries += [Crafted(f"{number}.md", b"text") for number in range(3)]
    place = folder / "import"
    place.mkdir()
    parts = written(folder / "parts", crafted(*entries))
    surveyed = await read_directory(work.count, parts, place)
    return await check_archive(ArchiveWork(work.count, AT_ONCE, removes_metadata=False), surveyed)


async def test_few_slices_of_an_archive_wait_for_processes(tmp_path: Path) -> None:
    work = Work()
    with trio.fail_after(20):
        found = await check(tmp_path, work, 75)
    assert (found.survey["images"], len(found.image_records)) == (75, 8)
    assert (found.survey["notes"], len(found.note_records)) == (3, 1)
    assert work.most == AT_ONCE


async def test_check_that_takes_long_is_done_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SECONDS_AT_ONCE", 0.0)
    work = Work()
    found = await check(tmp_path, work, 25)
    assert len(found.image_records) == 25
    assert len(found.note_records) == 3
    assert work.calls == 1 + 25 + 3
    # The records are in the order of the files.
    begins = [int(Path(each).name.rpartition("-")[2]) for each in found.image_records]
    assert begins == sorted(begins)


def test_time_of_a_check_is_as_documented() -> None:
    seconds = tasks.SECONDS_AT_ONCE
    assert archive_check.TURNS * seconds == 10 * 60
    assert archive_check.TURNS_PER_MEBIBYTE * seconds == 10


async def test_archive_that_takes_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SECONDS_AT_ONCE", 0.0)
    monkeypatch.setattr(archive_check, "TURNS", 20)
    with pytest.raises(ArchiveInvalid, match="too much time to check"):
        await check(tmp_path, Work(), 50)


async def test_refusal_beside_a_cancellation_is_raised_with_it() -> None:
    kind = next(each for each, of in archive_check._REFUSALS.items() if of is ArchiveInvalid)

    async def refuse() -> None:
        raise WorkRefused(kind, "It has no notes.")

    async def fail_cancelled() -> None:
        async with trio.open_nursery() as nursery:
            outer.cancel()
            nursery.start_soon(refuse)
            await trio.sleep_forever()

    with pytest.raises(BaseExceptionGroup) as raised, trio.CancelScope() as outer:
        await archive_check._refusing(fail_cancelled)
    assert raised.group_contains(ArchiveInvalid)
    assert not raised.group_contains(WorkRefused)
    assert outer.cancel_called


async def test_refusal_that_a_worker_made_is_translated_beside_other_errors() -> None:
    async def fail() -> None:
        kind = next(iter(archive_check._REFUSALS))
        refused = WorkRefused(kind, "It has no notes.")
        raise ExceptionGroup("both", [refused, OSError("full")])

    with pytest.raises(ExceptionGroup) as raised:
        await archive_check._refusing(fail)
    refusal, other = raised.value.exceptions
    assert (type(refusal), str(refusal)) == (
        next(iter(archive_check._REFUSALS.values())),
        "It has no notes.",
    )
    assert str(other) == "full"
