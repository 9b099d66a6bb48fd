"""Prove that a file is an acceptable image, by decoding all of it."""

from octavo.images.facts import ImageFacts, InvalidImage, media_type_of
from octavo.images.reading import opened, read_container

__all__ = ["ImageFacts", "InvalidImage", "inspect_image", "media_type_of"]


def inspect_image(path: str) -> ImageFacts:
    """Return format, dimensions and number of frames of an image file, after decoding every frame.

    The structure of the file, its dimensions and the number of its frames are checked before
    anything is decoded. Bytes after the end of the image are ignored. Damage of the data of a JPEG
    is found only where it makes decoding impossible: its data has no checksum.

    Raises:
        InvalidImage: The file is not an acceptable image; the text says why.
        OSError: The file cannot be read.
    """
    container = read_container(path)
    facts, picture = container.facts, container.picture()
    del container
    with opened(facts, picture) as image:
        if facts.media_type == "image/jpeg":
            # All coefficients are decoded, but an eighth of the pixels in each direction is
            # computed: 50 million pixels fit into memory, also in a progressive file.
            image.draft(None, (max(1, image.width // 8), max(1, image.height // 8)))
        for frame in range(facts.frames):
            image.seek(frame)
            image.load()
    return facts
