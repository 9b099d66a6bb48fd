import re
import struct
import zlib

import pytest

from octavo.features.images.worker.image_file import ImageFacts, InvalidImage, PartRole
from octavo.features.images.worker.png import MAX_EXPANDED, read_png
from tests.fakes.image_files import (
    SRGB,
    animation,
    encoded,
    grey_png,
    personal_exif,
    picture,
    png_chunk,
    png_file,
    png_header,
    samples,
)

DATA = png_chunk(b"IDAT", zlib.compress(bytes(30)))


def frame(number: int, width: int = 5, height: int = 5, x: int = 0, y: int = 0) -> bytes:
    """Return a chunk fcTL."""
    body = struct.pack(">IIIIIHHBB", number, width, height, x, y, 1, 10, 0, 0)
    return png_chunk(b"fcTL", body)


def animated(frames: int) -> bytes:
    return png_chunk(b"acTL", struct.pack(">II", frames, 0))


def test_chunks_have_roles_and_make_the_file_again() -> None:
    data = encoded(picture((9, 7)), "PNG", icc_profile=SRGB, exif=personal_exif(), dpi=(96, 96))
    found = read_png(data)
    assert {part.name: part.role for part in found.parts} == {
        "signature": PartRole.PICTURE,
        "IHDR": PartRole.PICTURE,
        "iCCP": PartRole.DISPLAY,
        "pHYs": PartRole.DISPLAY,
        "eXIf": PartRole.EXIF,
        "IDAT": PartRole.PICTURE,
        "IEND": PartRole.PICTURE,
    }
    assert found.file_of(found.parts) == data
    assert found.icc_profile() == SRGB
    assert found.exif() == personal_exif().removeprefix(b"Exif\0\0")
    assert found.exif_part(found.exif()) in found.parts


def test_frames_count_the_default_picture_that_is_not_one_of_them() -> None:
    first = png_file(png_header(5, 5), animated(1), frame(0), DATA)
    separate = png_file(png_header(5, 5), animated(1), DATA, frame(0))
    assert [read_png(data).facts.frames for data in (first, separate)] == [1, 2]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(png_file(), "exactly one header", id="no-header"),
        pytest.param(png_file(DATA, png_header(5, 5)), "exactly one header", id="late-header"),
        pytest.param(png_file(png_header(5, 5) * 2, DATA), "exactly one header", id="two-headers"),
        pytest.param(png_file(png_chunk(b"IHDR", bytes(12)), DATA), "wrong length", id="short"),
        pytest.param(png_file(png_header(5, 5)), "no image data", id="no-data"),
        pytest.param(grey_png(5, 5, png_chunk(b"CgBI", b"")), "CgBI is unknown", id="critical"),
        pytest.param(grey_png(5, 5, png_chunk(b"a\0bc", b"")), "name of a chunk", id="name"),
        pytest.param(grey_png(5, 5, animated(2), frame(0)), "it announces (2)", id="frames"),
        pytest.param(grey_png(5, 5, animated(1) * 2, frame(0)), "misplaced", id="two-animations"),
        pytest.param(grey_png(5, 5, frame(0)), "no header of an animation", id="no-animation"),
        pytest.param(grey_png(5, 5, animated(1), frame(0, 6)), "outside", id="wide-frame"),
        pytest.param(grey_png(5, 5, animated(1), frame(0, y=1)), "outside", id="low-frame"),
        pytest.param(grey_png(5, 5, animated(1), frame(0, 0)), "empty", id="empty-frame"),
        pytest.param(
            grey_png(5, 5, animated(1), frame(0, 5, 5, 2**32 - 1)), "outside", id="overflow"
        ),
        pytest.param(
            grey_png(5, 5, animated(1), png_chunk(b"fcTL", bytes(25))), "length", id="short-frame"
        ),
        pytest.param(
            png_file(png_header(5, 5), DATA, animated(1), frame(0)),
            "misplaced",
            id="late-animation",
        ),
        pytest.param(
            png_file(png_header(5, 5)[:-1] + b"x", DATA), "checksum of a chunk IHDR", id="checksum"
        ),
        pytest.param(
            grey_png(5, 5)[:8] + b"\xff\xff\xff\xffIHDR" + bytes(30), "truncated", id="length"
        ),
    ],
)
def test_invalid_structure_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(InvalidImage, match=re.escape(text)):
        read_png(data)


def test_texts_and_profile_of_the_largest_size_are_accepted() -> None:
    text = png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(MAX_EXPANDED - 1)))
    plain = png_chunk(b"iTXt", b"Comment\0\0\0en\0\0" + bytes(2 * MAX_EXPANDED))
    damaged = png_chunk(b"iCCP", b"name\0\0damaged")
    found = read_png(grey_png(5, 5, text, plain, damaged))
    assert found.facts == ImageFacts("image/png", 5, 5, 1)
    assert found.icc_profile() is None


@pytest.mark.parametrize("name", ["png", "png-animated", "png-profile", "png-transparent-palette"])
def test_picture_leaves_out_all_metadata(name: str) -> None:
    picture_only = read_png(read_png(samples()[name].data).picture())
    assert {part.role for part in picture_only.parts} == {PartRole.PICTURE}


def test_data_of_frames_belongs_to_the_picture() -> None:
    data = animation("PNG", (9, 7), 3)
    assert read_png(data).picture() == data
