"""What worker processes do with image files: functions whose results are JSON.

The server imports this module, to name the functions. They import Pillow when they are called, so
that the server never loads it.
"""

import hashlib
import os
import zlib
from dataclasses import asdict

from octavo.features.images.worker.image_file import ImageFacts

PRELOADED = (
    __name__,
    "octavo.features.images.worker.reading",
    "octavo.features.images.worker.metadata",
    "octavo.features.images.worker.thumbnails",
)
"""The modules that a worker process imports when it starts."""

Facts = dict[str, str | int]
"""The attributes of `ImageFacts`, and for a file that was written ``digest``, ``size``, ``crc``."""

_CHUNK = 1024 * 1024


def inspect_file(path: str) -> Facts:
    """Return the facts of an image file, after decoding it.

    Raises `InvalidImage` and OSError.
    """
    from octavo.features.images.worker.reading import inspect_image  # noqa: PLC0415

    return asdict(inspect_image(path))


def inspect_without_metadata(path: str, out: str) -> Facts:
    """Inspect an image file, and write a durable copy without personal metadata to ``out``.

    The result says nothing of a written file if there was nothing to remove. Raises `InvalidImage`
    and OSError.
    """
    written = remove_metadata(path, out)
    return {**inspect_file(out if written else path), **written}


def remove_metadata(path: str, out: str) -> Facts:
    """Write a durable copy of an image file without personal metadata to ``out``; decode nothing.

    The result is empty if there was nothing to remove. Raises `InvalidImage` and OSError.
    """
    from octavo.features.images.worker.metadata import remove_personal_metadata  # noqa: PLC0415

    return _made_durable(out) if remove_personal_metadata(path, out) else {}


def make_thumbnail(path: str, width: int, out: str) -> Facts:
    """Write a durable thumbnail of an image file to ``out``.

    Raises `InvalidImage` and OSError.
    """
    from octavo.features.images.worker.thumbnails import write_thumbnail  # noqa: PLC0415

    facts: ImageFacts = write_thumbnail(path, width, out)
    return {**asdict(facts), **_made_durable(out)}


def _made_durable(path: str) -> Facts:
    digest, crc, size = hashlib.sha256(), 0, 0
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            crc = zlib.crc32(chunk, crc)
            size += len(chunk)
        os.fsync(file.fileno())
    return {"digest": digest.hexdigest(), "size": size, "crc": crc}
