"""Image files of every accepted format, made with Pillow, and the pieces to craft other ones."""

from __future__ import annotations

import io
import random
import struct
import zlib
from dataclasses import dataclass
from functools import cache

from PIL import Image, ImageCms

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


@dataclass(frozen=True)
class Sample:
    """A file, and what Pillow made."""

    media_type: str
    size: tuple[int, int]
    frames: int
    data: bytes


def picture(size: tuple[int, int], mode: str = "RGB", seed: int = 0) -> Image.Image:
    """Return a picture of smooth colours with some noise, which differs by seed."""
    rng = random.Random(seed)
    bands = [
        Image.linear_gradient("L").rotate(90 * rng.randrange(4)).resize(size) for _ in range(4)
    ]
    for band in bands:
        for _ in range(20):
            band.putpixel((rng.randrange(size[0]), rng.randrange(size[1])), rng.randrange(256))
    if mode == "I;16":
        return bands[0].convert("I").point(lambda value: value * 257 + 0).convert("I;16")
    if mode in ("RGBA", "CMYK"):
        return Image.merge(mode, bands)
    return Image.merge("RGB", bands[:3]).convert(mode)


def encoded(image: Image.Image, form: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def animation(form: str, size: tuple[int, int], frames: int, **options: object) -> bytes:
    first, *rest = (picture(size, seed=number) for number in range(frames))
    return encoded(first, form, save_all=True, append_images=rest, duration=50, **options)


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def pixels(data: bytes) -> list[tuple[tuple[int, int], bytes]]:
    """Return the size and the pixels of every frame."""
    image = Image.open(io.BytesIO(data))
    found = []
    for frame in range(getattr(image, "n_frames", 1)):
        image.seek(frame)
        found.append((image.size, image.convert("RGBA").tobytes()))
    return found


def png_chunk(name: bytes, body: bytes) -> bytes:
    content = name + body
    return struct.pack(">I", len(body)) + content + struct.pack(">I", zlib.crc32(content))


def png_header(width: int, height: int, depth: int = 8, colour: int = 0) -> bytes:
    return png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))


def png_file(*chunks: bytes) -> bytes:
    return PNG_SIGNATURE + b"".join(chunks) + png_chunk(b"IEND", b"")


def grey_png(width: int, height: int, *chunks: bytes) -> bytes:
    """Return a PNG file of one shade, with more chunks before the data."""
    lines = zlib.compress(bytes((width + 1) * height))
    return png_file(png_header(width, height), *chunks, png_chunk(b"IDAT", lines))


def jpeg_segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def with_segment(jpeg: bytes, marker: int, body: bytes) -> bytes:
    """Return a JPEG file with one more segment at its beginning."""
    return jpeg[:2] + jpeg_segment(marker, body) + jpeg[2:]


def gif_extension(label: int, *blocks: bytes) -> bytes:
    sub_blocks = b"".join(bytes((len(block),)) + block for block in blocks)
    return bytes((0x21, label)) + sub_blocks + b"\0"


def riff_chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def webp_file(*chunks: bytes) -> bytes:
    content = b"WEBP" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(content)) + content


def personal_exif(orientation: int = 6) -> bytes:
    """Return EXIF data as a phone writes it: a position, names, serial numbers, a maker's note."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "Maker of phones"
    exif[0x013B] = "Ada Artist"
    exif[0x8298] = "Ada Owner"
    exif[0x013C] = "adas-phone"
    exif[0x9C9D] = "Ada".encode("utf-16-le")  # XPAuthor
    exif[0x9C9C] = "A comment".encode("utf-16-le")
    exif[0x011A] = exif[0x011B] = 300.0
    exif[0x0128] = 2
    camera = exif.get_ifd(0x8769)
    camera[0xA001] = 1
    camera[0xA430] = "Ada Owner"
    camera[0xA431] = "SERIAL-BODY"
    camera[0xA435] = "SERIAL-LENS"
    camera[0x927C] = b"SECRET-NOTE" * 40
    camera[0x9286] = b"ASCII\0\0\0SECRET-COMMENT"
    position = exif.get_ifd(0x8825)
    position[1], position[2] = "N", (48.0, 12.0, 30.0)
    position[3], position[4] = "E", (16.0, 22.0, 10.0)
    return exif.tobytes()


@cache
def samples() -> dict[str, Sample]:
    """Return a file of every kind that is accepted, by name."""
    size = (37, 23)
    palette = picture(size).quantize(64)
    transparent = picture(size).quantize(8)
    transparent.info["transparency"] = 3
    stills = {
        "png": encoded(picture(size), "PNG"),
        "png-alpha": encoded(picture(size, "RGBA"), "PNG"),
        "png-grey": encoded(picture(size, "L"), "PNG"),
        "png-16-bit": encoded(picture(size, "I;16"), "PNG"),
        "png-black-and-white": encoded(picture(size, "1"), "PNG"),
        "png-palette": encoded(palette, "PNG"),
        "png-transparent-palette": encoded(transparent, "PNG"),
        "png-interlaced": interlaced_png(),
        "png-profile": encoded(picture(size), "PNG", icc_profile=SRGB, exif=personal_exif()),
        "jpeg": encoded(picture(size), "JPEG"),
        "jpeg-progressive": encoded(picture(size), "JPEG", progressive=True),
        "jpeg-grey": encoded(picture(size, "L"), "JPEG"),
        "jpeg-cmyk": encoded(picture(size, "CMYK"), "JPEG"),
        "jpeg-exif": encoded(picture(size), "JPEG", exif=personal_exif(), icc_profile=SRGB),
        "gif": encoded(palette, "GIF"),
        "gif-interlaced": encoded(palette, "GIF", interlace=1),
        "gif-transparent": encoded(transparent, "GIF", transparency=3, comment=b"A comment"),
        "webp": encoded(picture(size), "WEBP"),
        "webp-lossless": encoded(picture(size, "RGBA"), "WEBP", lossless=True),
        "webp-alpha": encoded(picture(size, "RGBA"), "WEBP"),
        "webp-exif": encoded(picture(size), "WEBP", exif=personal_exif(), icc_profile=SRGB),
    }
    animations = {
        "png-animated": animation("PNG", size, 4),
        "gif-animated": animation("GIF", size, 4, loop=0, disposal=2),
        "webp-animated": animation("WEBP", size, 4),
    }
    found = {}
    for name, data in {**stills, **animations}.items():
        media_type = f"image/{name.partition('-')[0]}"
        expected = (13, 11) if name == "png-interlaced" else size
        found[name] = Sample(media_type, expected, 4 if name in animations else 1, data)
    return found


def interlaced_png() -> bytes:
    """Return a grey PNG of 13 by 11 pixels in Adam7 order, which Pillow does not write."""
    width, height = 13, 11
    passes = (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    )
    lines = b"".join(
        b"\0" + bytes(17 * x % 256 for x in range(left, width, right))
        for left, top, right, down in passes
        for _ in range(top, height, down)
        if left < width
    )
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 1))
    return png_file(header, png_chunk(b"IDAT", zlib.compress(lines)))
