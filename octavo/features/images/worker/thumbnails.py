"""Thumbnails: small WebP images without metadata."""

import io

from PIL import Image, ImageCms

from octavo.features.images.worker.exif import orientation_of, turns
from octavo.features.images.worker.image_file import ImageFacts
from octavo.features.images.worker.reading import opened, read_container

WIDTHS = (160, 480, 1280)
"""The widths in which thumbnails are made, in pixels."""
MAX_HEIGHT = 4
"""The largest height of a thumbnail, as a multiple of its largest width."""
QUALITY = 80
"""The quality of the lossy encoding, of 100."""

_MAX_PROFILE = 4 * 1024 * 1024
# Reduce by an integer to this multiple first, which is fast, then resample.
_REDUCING_GAP = 2.0
_STRIP_PIXELS = 1_000_000
# A larger JPEG is decoded in the smallest size that suffices: besides its pixels, the coefficients
# of a progressive one are in memory.
_LARGE_JPEG_PIXELS = 24_000_000
_TRANSPOSITIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_PROFILE_SPACES = {"RGB": "RGB ", "RGBA": "RGB ", "CMYK": "CMYK"}


def write_thumbnail(path: str, width: int, out: str) -> ImageFacts:
    """Write a thumbnail of the first frame of an image as WebP, and return its facts.

    The thumbnail has at most ``width`` pixels in width and ``MAX_HEIGHT`` times as many in height,
    after the EXIF orientation is applied; the aspect ratio is kept and nothing is enlarged. Colours
    are converted to sRGB if the file has a valid profile. Transparency is kept, metadata is not.
    The same input gives the same bytes.

    Raises:
        InvalidImage: The file is not an acceptable image. Nothing is written.
        OSError: The file cannot be read, or the thumbnail cannot be written. Part of it may be
            written.
    """
    container = read_container(path)
    orientation = orientation_of(container.exif())
    profile = container.icc_profile()
    facts, picture = container.facts, container.picture()
    del container
    with opened(facts, picture) as image:
        stored = (width, width * MAX_HEIGHT)
        if turns(orientation):
            stored = stored[1], stored[0]
        thumbnail = _in_srgb(_shrunk(image, stored), profile)
        if orientation in _TRANSPOSITIONS:
            thumbnail = thumbnail.transpose(_TRANSPOSITIONS[orientation])
        encoded = io.BytesIO()
        thumbnail.info.clear()  # Pillow would write the profile that it finds here
        thumbnail.save(encoded, "WEBP", quality=QUALITY, method=4)
    with open(out, "wb") as file:
        file.write(encoded.getbuffer())
    return ImageFacts("image/webp", *thumbnail.size, 1)


def fitted(size: tuple[int, int], bound: tuple[int, int]) -> tuple[int, int]:
    """Return the largest size of the same aspect ratio within ``bound``; never a larger one."""
    scale = min(1.0, bound[0] / size[0], bound[1] / size[1])
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _shrunk(image: Image.Image, bound: tuple[int, int]) -> Image.Image:
    """Return the picture within ``bound``, in the mode RGB, RGBA or CMYK.

    Strips are converted and resampled in width, then their sum in height: a copy of the picture
    with a byte for each channel would not fit into memory.
    """
    size = fitted(image.size, bound)
    gap = 1.0 if image.width * image.height > _LARGE_JPEG_PIXELS else _REDUCING_GAP
    # A JPEG is decoded at 1/2, 1/4 or 1/8 of its size; the box is the picture without the part of
    # a pixel that rounding adds.
    drafted = image.draft(None, (round(size[0] * gap), round(size[1] * gap)))
    right, bottom = drafted[1][2:] if drafted else image.size
    image.load()
    rows = max(1, _STRIP_PIXELS // image.width)
    narrow: Image.Image | None = None
    for top in range(0, image.height, rows):
        strip = _resampled_mode(image.crop((0, top, image.width, min(top + rows, image.height))))
        strip = _resized(strip, (size[0], strip.height), (0, 0, right, strip.height))
        if narrow is None:
            narrow = Image.new(strip.mode, (size[0], image.height))
        narrow.paste(strip, (0, top))
    assert narrow is not None  # an image has a row
    small = _resized(narrow, size, (0, 0, size[0], bottom))
    return small.convert("RGBA") if small.mode == "RGBa" else small


def _resampled_mode(strip: Image.Image) -> Image.Image:
    """Convert to the mode in which pixels are resampled: RGB, RGBa (premultiplied) or CMYK."""
    if strip.mode == "I;16":
        # A conversion to L would clip. The one transparent shade that such a file can name is lost.
        return strip.point(lambda value: value * (1 / 256) + 0).convert("L").convert("RGB")
    if strip.mode == "CMYK":
        return strip
    if strip.has_transparency_data:
        return strip.convert("RGBA").convert("RGBa")
    return strip.convert("RGB")


def _resized(
    image: Image.Image, size: tuple[int, int], box: tuple[float, float, float, float]
) -> Image.Image:
    return image.resize(size, Image.Resampling.LANCZOS, box, _REDUCING_GAP)


def _in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Convert from the colours of ``profile``; without a valid one, take the pixels for sRGB."""
    mode = "RGBA" if image.mode == "RGBA" else "RGB"
    if profile is None or len(profile) > _MAX_PROFILE:
        return image.convert(mode)
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if source.profile.xcolor_space != _PROFILE_SPACES[image.mode]:
            return image.convert(mode)
        target = ImageCms.createProfile("sRGB")
        converted = ImageCms.profileToProfile(image, source, target, outputMode=mode)
    except (ImageCms.PyCMSError, OSError, TypeError, ValueError):
        return image.convert(mode)
    return converted or image
