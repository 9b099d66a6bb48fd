"""What worker processes do with image files: functions whose results are JSON.

The server imports this module, to name the functions. They import Pillow when they are called, so
that the server never loads it.
"""

import hashlib
import os
import zlib
from dataclasses import asdict, replace

from octavo.features.images.worker.exif import orientation_of, turns, without_personal_tags
from octavo.features.images.worker.facts import (
    ImageContainer,
    ImageFacts,
    ImagePart,
    InvalidImage,
    PartRole,
    media_type_of,
)
from octavo.features.images.worker.reading import opened, read_container


def remove_personal_metadata(path: str, out: str) -> bool:
    """Write a copy of an image file without personal metadata; return whether any was removed.

    The copy has what shows the picture: its compressed data byte for byte, the animation, the
    colour profile, the density, and from EXIF the orientation and the colour space. Everything else
    is removed, known or not: position, names, serial numbers, times, the camera, XMP, IPTC,
    comments, previews, and what follows the end of the image, such as further pictures or a video.

    Args:
        path: the file, of at most 32 MiB, all of which is read into memory.
        out: the copy. It is not created if nothing was removed.

    Raises:
        InvalidImage: The file is not an image, or its structure is damaged.
        OSError: The file cannot be read, or the copy cannot be written. Part of it may be written.
    """
    container = read_container(path)
    kept = _kept_parts(container)
    in_parts = len(container.file_of(container.parts))
    if kept == container.parts and container.size <= in_parts:
        return False
    with open(out, "wb") as file:
        file.write(container.file_of(kept))
    return True


def _kept_parts(container: ImageContainer) -> list[ImagePart]:
    kept: list[ImagePart] = []
    has_exif = False
    for part in container.parts:
        if part.role is PartRole.EXIF:
            # Viewers read the first one.
            if not has_exif:
                kept += _without_personal_tags(container, part)
            has_exif = True
        elif part.role is not PartRole.OTHER:
            kept.append(part)
    return kept


def _without_personal_tags(container: ImageContainer, part: ImagePart) -> list[ImagePart]:
    """Return the part itself, a smaller one instead of it, or none."""
    tiff = container.tiff_in(part)
    cleaned = without_personal_tags(tiff)
    if cleaned == tiff:
        return [part]
    return [container.exif_part(cleaned)] if cleaned else []


__all__ = ["ImageFacts", "InvalidImage", "inspect_image", "media_type_of"]


def inspect_image(path: str) -> ImageFacts:
    """Return format, dimensions and number of frames of an image file, after decoding it.

    The structure of the file, its dimensions and the number of its frames are checked before
    anything is decoded. Of an animation, only the first frame is decoded: all of them may take
    minutes. The dimensions are those that are shown, after the EXIF orientation. Bytes after the
    end of the image are ignored. Damage of the data of a JPEG is found only where it makes decoding
    impossible: its data has no checksum.

    Raises:
        InvalidImage: The file is not an acceptable image; the text says why.
        OSError: The file cannot be read.
    """
    container = read_container(path)
    facts, picture = container.facts, container.picture()
    turned = turns(orientation_of(container.exif()))
    del container
    with opened(facts, picture) as image:
        if facts.media_type == "image/jpeg":
            # All coefficients are decoded, but an eighth of the pixels in each direction is
            # computed: 50 million pixels fit into memory, also in a progressive file.
            image.draft(None, (max(1, image.width // 8), max(1, image.height // 8)))
        image.load()
    return replace(facts, width=facts.height, height=facts.width) if turned else facts


PRELOADED = (
    __name__,
    "octavo.features.images.worker.tasks",
    "octavo.features.images.worker.tasks",
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
    from octavo.features.images.worker.tasks import inspect_image  # noqa: PLC0415

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
    from octavo.features.images.worker.tasks import remove_personal_metadata  # noqa: PLC0415

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
