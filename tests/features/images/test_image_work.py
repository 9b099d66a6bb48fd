"""Images in real worker processes: bounded in memory and time."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from octavo.features.images.image_work import ImageWork, image_workers
from octavo.features.images.worker.image_file import MAX_PIXELS
from octavo.model.files.image import UnacceptableImage
from octavo.workers import WorkerFailed, WorkerPool
from tests.fakes.image_files import encoded, personal_exif, picture


@pytest.fixture
async def work(tmp_path: Path) -> AsyncIterator[ImageWork]:
    pool = image_workers(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        yield ImageWork(pool.run)
        nursery.cancel_scope.cancel()


async def test_image_is_inspected_and_shrunk(work: ImageWork, tmp_path: Path) -> None:
    path, out = tmp_path / "a", tmp_path / "out"
    path.write_bytes(encoded(picture((400, 300)), "JPEG", exif=personal_exif(1)))
    found = await work.inspect(path)
    assert found == ("image/jpeg", 400, 300, 1, None)
    cleaned = await work.inspect_without_metadata(path, out)
    assert cleaned.written is not None
    assert cleaned.written.size == len(out.read_bytes()) < len(path.read_bytes())
    assert await work.remove_metadata(path, out) == cleaned.written
    thumbnail = await work.make_thumbnail(path, 160, tmp_path / "small")
    assert thumbnail.size == len((tmp_path / "small").read_bytes())


async def test_refusal_is_that_of_the_image(work: ImageWork, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(UnacceptableImage, match="truncated"):
        await work.inspect(path)


async def test_largest_image_fits_into_the_memory_of_a_worker(
    work: ImageWork, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    side = int(MAX_PIXELS**0.5)
    path.write_bytes(encoded(picture((side, side)), "PNG"))
    assert (await work.inspect(path)).width == side


async def test_image_beyond_the_bounds_of_a_worker_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(encoded(picture((4000, 4000)), "PNG"))
    # The decoded image alone takes as much.
    pool = WorkerPool(1, seconds=60, max_memory=4000 * 4000 * 4, folder=tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        with pytest.raises(UnacceptableImage, match="memory"):
            await ImageWork(pool.run).inspect(path)
        nursery.cancel_scope.cancel()


async def test_file_that_is_gone_is_no_refusal(work: ImageWork, tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed):
        await work.inspect(tmp_path / "missing")
