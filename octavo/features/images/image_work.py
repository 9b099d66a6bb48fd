"""Work on image files in worker processes, which are bounded in memory and time."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, ParamSpec

from octavo_rules.identity import Digest

from octavo.features.images.worker import tasks
from octavo.model.files.image import UnacceptableImage
from octavo.workers import RunWork, WorkerPool, WorkRefused, WorkTooLarge

MAX_MEMORY = 512 * 1024 * 1024
"""The address space of a worker process, in bytes."""
MAX_SECONDS = 30
"""Processor time that the work on one image may take."""
WAIT_SECONDS = 120.0
"""Seconds after which a worker is given up. It runs at low priority; allow for a busy machine."""

P = ParamSpec("P")


def image_workers(folder: Path) -> WorkerPool:
    """Return the processes that work on images in ``folder``."""
    return WorkerPool(
        seconds=WAIT_SECONDS,
        preloaded=tasks.PRELOADED,
        max_memory=MAX_MEMORY,
        max_seconds=MAX_SECONDS,
        folder=folder,
    )


class WrittenFile(NamedTuple):
    """A durable file.

    Attributes:
        path: the file.
        digest: the SHA-256 digest of its bytes.
        size: their number.
        crc: their CRC-32.
    """

    path: Path
    digest: Digest
    size: int
    crc: int


class InspectedImage(NamedTuple):
    """An image, and the file that has it.

    Attributes:
        media_type: one of `octavo.model.files.image.MEDIA_TYPES`.
        width, height: in pixels.
        frames: 1 for an image that does not move.
        written: the file that was written; None if none was.
    """

    media_type: str
    width: int
    height: int
    frames: int
    written: WrittenFile | None


class ImageWork:
    """Inspects images, makes thumbnails, and removes metadata.

    Every method raises `UnacceptableImage` for a file that is not an acceptable image, or whose
    decoding takes too much memory or time, and `octavo.workers.WorkerFailed`. If cancelled, the
    process is killed; a file may have been written in part.

    Args:
        run: runs a task.
    """

    def __init__(self, run: RunWork) -> None:
        self._run = run

    async def inspect(self, path: Path) -> InspectedImage:
        """Return what the image in a file is, after decoding all of it."""
        return _image(await self._image_task(tasks.inspect_file, str(path)), path)

    async def inspect_without_metadata(self, path: Path, out: Path) -> InspectedImage:
        """Inspect an image, and write it to ``out`` if it has personal metadata."""
        facts = await self._image_task(tasks.inspect_without_metadata, str(path), str(out))
        return _image(facts, out)

    async def remove_metadata(self, path: Path, out: Path) -> WrittenFile | None:
        """Write an accepted image to ``out`` without personal metadata; None if it has none."""
        return _written(await self._image_task(tasks.remove_metadata, str(path), str(out)), out)

    async def make_thumbnail(self, path: Path, width: int, out: Path) -> WrittenFile:
        """Write a thumbnail of an image to ``out``."""
        facts = await self._image_task(tasks.make_thumbnail, str(path), width, str(out))
        written = _written(facts, out)
        if written is None:
            raise RuntimeError("a thumbnail was not written")
        return written

    async def _image_task(
        self, task: Callable[P, tasks.Facts], *arguments: P.args, **named: P.kwargs
    ) -> tasks.Facts:
        try:
            return await self._run(task, *arguments, **named)
        except WorkRefused as refused:
            raise UnacceptableImage(str(refused)) from None
        except WorkTooLarge:
            raise UnacceptableImage(
                "The image takes too much time or memory to decode: save it again in another"
                " program, or make it smaller."
            ) from None


def _written(facts: tasks.Facts, path: Path) -> WrittenFile | None:
    if "digest" not in facts:
        return None
    digest = Digest(str(facts["digest"]))
    return WrittenFile(path, digest, int(facts["size"]), int(facts["crc"]))


def _image(facts: tasks.Facts, path: Path) -> InspectedImage:
    return InspectedImage(
        str(facts["media_type"]),
        int(facts["width"]),
        int(facts["height"]),
        int(facts["frames"]),
        _written(facts, path),
    )
