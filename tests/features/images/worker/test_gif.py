import struct

import pytest

from octavo.features.images.worker.gif import read_gif
from octavo.features.images.worker.image_file import ImageFacts, InvalidImage, PartRole
from tests.fakes.image_files import animation, gif_extension, samples

PIXEL = b"\x02\x02\x44\x01\0"  # the code size, and one pixel of the first colour
TABLE = b"\0\0\0\xff\xff\xff"


def screen(width: int = 1, height: int = 1) -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + TABLE


def frame(x: int = 0, y: int = 0, width: int = 1, height: int = 1) -> bytes:
    return b"," + struct.pack("<HHHHB", x, y, width, height, 0) + PIXEL


def test_blocks_have_roles_and_make_the_file_again() -> None:
    profile = gif_extension(0xFF, b"ICCRGBG1012", b"profile")
    comment = gif_extension(0xFE, b"a comment", b"in two blocks")
    repeat = gif_extension(0xFF, b"NETSCAPE2.0", b"\1\0\0")
    xmp = gif_extension(0xFF, b"XMP DataXMP", b"<x>")
    control = gif_extension(0xF9, b"\0\5\0\0")
    unknown = gif_extension(0x42, b"?")
    parts = (screen(), repeat, profile, comment, xmp, unknown, control, frame(), b";")
    found = read_gif(b"".join(parts))
    assert [part.content for part in found.parts] == list(parts)
    assert [part.role for part in found.parts] == [
        PartRole.PICTURE,
        PartRole.PICTURE,
        PartRole.DISPLAY,
        PartRole.OTHER,
        PartRole.OTHER,
        PartRole.OTHER,
        PartRole.PICTURE,
        PartRole.PICTURE,
        PartRole.PICTURE,
    ]
    assert found.facts == ImageFacts("image/gif", 1, 1, 1)
    assert (found.exif(), found.icc_profile()) == (b"", None)


def test_frames_with_colour_tables_of_their_own_are_found() -> None:
    data = animation("GIF", (9, 7), 3)
    assert read_gif(data).facts == ImageFacts("image/gif", 9, 7, 3)
    assert read_gif(data).picture() == data


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(screen() + frame(1) + b";", "outside", id="right"),
        pytest.param(screen() + frame(0, 1) + b";", "outside", id="below"),
        pytest.param(screen() + frame(65_535, 0, 65_535) + b";", "outside", id="overflow"),
        pytest.param(screen() + frame(0, 0, 0) + b";", "a frame is empty", id="empty"),
        pytest.param(screen() + b"\0" + frame() + b";", "unknown type", id="type"),
        pytest.param(screen() + frame(), "truncated", id="no-trailer"),
        pytest.param(screen() + frame()[:-1], "truncated", id="no-end"),
        pytest.param(screen()[:-1], "truncated", id="table"),
        pytest.param(screen() + b"!", "truncated", id="label"),
        pytest.param(b"GIF89a", "truncated", id="screen"),
    ],
)
def test_invalid_structure_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(InvalidImage, match=text):
        read_gif(data)


def test_gif_has_no_exif() -> None:
    with pytest.raises(NotImplementedError):
        read_gif(samples()["gif"].data).exif_part(b"")
