"""Prove that a file is an acceptable image, by decoding it."""

from dataclasses import replace

from octavo.features.images.worker.exif import orientation_of, turns
from octavo.features.images.worker.facts import ImageFacts, InvalidImage, media_type_of
from octavo.features.images.worker.reading import opened, read_container

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
