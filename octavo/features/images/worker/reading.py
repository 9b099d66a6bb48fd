"""Read an image file: its container, then its pixels by Pillow."""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from PIL import GifImagePlugin, Image, ImageFile, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from octavo.features.images.worker import image_file
from octavo.features.images.worker.exif import orientation_of, turns
from octavo.features.images.worker.gif import read_gif
from octavo.features.images.worker.image_file import ImageFacts, InvalidImage
from octavo.features.images.worker.jpeg import read_jpeg
from octavo.features.images.worker.png import read_png
from octavo.features.images.worker.webp import read_webp
from octavo.model.image_limits import MAX_BYTES

# Importing a plugin registers it; Pillow would import all of its 40 to find one that is missing.
_READERS: dict[str, tuple[str, Callable[[bytes], image_file.ImageContainer]]] = {
    "image/gif": (GifImagePlugin.GifImageFile.format, read_gif),
    "image/jpeg": (JpegImagePlugin.JpegImageFile.format, read_jpeg),
    "image/png": (PngImagePlugin.PngImageFile.format, read_png),
    "image/webp": (WebPImagePlugin.WebPImageFile.format, read_webp),
}

# Pillow warns at this many pixels and refuses twice as many. `check_bounds` replaces it.
Image.MAX_IMAGE_PIXELS = None


def read_container(path: str) -> image_file.ImageContainer:
    """Return the container of an image file, whose bounds are checked; decode nothing.

    Raises:
        InvalidImage: The file is empty, too large, of another format, damaged, or exceeds a bound.
        OSError: The file cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if not data:
        raise InvalidImage("The file is empty.")
    if len(data) > MAX_BYTES:
        raise InvalidImage(f"The file is too large. At most {MAX_BYTES:,} bytes are accepted.")
    media_type = image_file.media_type_of(data)
    if media_type is None:
        raise InvalidImage("The file is not a PNG, JPEG, GIF or WebP image.")
    container = _READERS[media_type][1](data)
    image_file.check_bounds(container.facts)
    return container


@contextmanager
def opened(facts: ImageFacts, picture: bytes) -> Iterator[ImageFile.ImageFile]:
    """Open the picture of a container (`ImageContainer.picture`) with Pillow.

    Callers delete the container before, which frees up to 32 MiB. Every exception of Pillow in the
    block becomes InvalidImage, also MemoryError; its warnings are discarded.
    """
    name = _READERS[facts.media_type][0]
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(io.BytesIO(picture), formats=[name]) as image,
        ):
            if image.size != (facts.width, facts.height):
                raise InvalidImage("The image is damaged: its dimensions contradict.")
            yield image
    except InvalidImage:
        raise
    except MemoryError:
        raise InvalidImage("The image is too large: decoding it needs too much memory.") from None
    except Exception:  # noqa: BLE001  # damaged files make Pillow raise almost anything
        raise InvalidImage("The image is damaged: its pixels cannot be decoded.") from None


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
