"""Remove what identifies people and places from an image file; its pixels are not encoded again."""

from octavo.features.images.worker.exif import without_personal_tags
from octavo.features.images.worker.image_file import ImageContainer, ImagePart, PartRole
from octavo.features.images.worker.reading import read_container


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
