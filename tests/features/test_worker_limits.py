"""Every pool that reads what may be crafted limits the memory of its processes."""

from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from octavo.features.accounts.passwords import hash_workers
from octavo.features.archives.archive_check import archive_workers
from octavo.features.images.image_work import image_workers
from octavo.features.publishing.renderings import render_workers
from octavo.workers import WorkerPool, WorkTooLarge

POOLS: dict[str, Callable[[Path], WorkerPool]] = {
    "archives": archive_workers,
    "images": image_workers,
    "passwords": lambda folder: hash_workers(),
    "renderings": lambda folder: render_workers(),
}


@pytest.mark.parametrize("name", POOLS)
async def test_process_that_needs_a_gigabyte_more_is_refused(name: str, tmp_path: Path) -> None:
    pool = POOLS[name](tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        with pytest.raises(WorkTooLarge, match="more memory"):
            await pool.run(bytearray, 1024 * 1024 * 1024)
        nursery.cancel_scope.cancel()
