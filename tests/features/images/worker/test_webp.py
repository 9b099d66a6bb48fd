import pytest

from octavo.features.images.worker.image_file import ImageFacts, InvalidImage, PartRole
from octavo.features.images.worker.webp import read_webp
from tests.fakes.image_files import (
    SRGB,
    encoded,
    personal_exif,
    picture,
    riff_chunk,
    samples,
    webp_file,
)

LOSSY = samples()["webp"].data[12:]
HEADER = riff_chunk(b"VP8X", bytes(4) + b"\x24\0\0\x16\0\0")  # 37 by 23 pixels
ANIMATED = riff_chunk(b"VP8X", b"\2" + bytes(3) + b"\x24\0\0\x16\0\0")


def frame(x: int = 0, y: int = 0, content: bytes = LOSSY) -> bytes:
    """Return a chunk ANMF of 37 by 23 pixels."""
    place = (x // 2).to_bytes(3, "little") + (y // 2).to_bytes(3, "little")
    return riff_chunk(b"ANMF", place + b"\x24\0\0\x16\0\0" + bytes(4) + content)


def test_chunks_have_roles_and_make_the_file_again() -> None:
    data = encoded(picture((9, 7)), "WEBP", icc_profile=SRGB, exif=personal_exif(), xmp=b"<x>")
    found = read_webp(data)
    assert {part.name: part.role for part in found.parts} == {
        "VP8X": PartRole.PICTURE,
        "ICCP": PartRole.DISPLAY,
        "VP8 ": PartRole.PICTURE,
        "EXIF": PartRole.EXIF,
        "XMP ": PartRole.OTHER,
    }
    assert found.file_of(found.parts) == data
    assert found.icc_profile() == SRGB
    assert found.exif() == personal_exif().removeprefix(b"Exif\0\0")


def test_flags_of_the_header_follow_the_chunks() -> None:
    data = encoded(picture((9, 7)), "WEBP", icc_profile=SRGB, exif=personal_exif(), xmp=b"<x>")
    found = read_webp(data)
    assert [data[20], found.picture()[20]] == [0x2C, 0]


@pytest.mark.parametrize("name", [n for n in samples() if n.startswith("webp")])
def test_every_kind_of_bitstream_has_its_size(name: str) -> None:
    found = read_webp(samples()[name].data)
    assert found.facts == ImageFacts("image/webp", 37, 23, samples()[name].frames)


def test_frames_may_touch_the_edge_of_the_canvas() -> None:
    canvas = riff_chunk(b"VP8X", b"\2" + bytes(3) + b"\x26\0\0\x18\0\0")
    data = webp_file(canvas, riff_chunk(b"ANIM", bytes(6)), frame(2, 2), frame())
    assert read_webp(data).facts == ImageFacts("image/webp", 39, 25, 2)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(webp_file(), "does not have the image data", id="empty"),
        pytest.param(webp_file(HEADER), "does not have the image data", id="no-data"),
        pytest.param(webp_file(LOSSY, LOSSY), "does not have the image data", id="two-pictures"),
        pytest.param(webp_file(ANIMATED, LOSSY), "does not have the image data", id="still"),
        pytest.param(webp_file(HEADER, frame()), "does not have the image data", id="frames"),
        pytest.param(webp_file(LOSSY, HEADER), "misplaced", id="late-header"),
        pytest.param(webp_file(riff_chunk(b"VP8X", bytes(9)), LOSSY), "misplaced", id="short"),
        pytest.param(webp_file(ANIMATED, frame(2)), "outside", id="right"),
        pytest.param(webp_file(ANIMATED, frame(0, 2)), "outside", id="below"),
        pytest.param(webp_file(ANIMATED, riff_chunk(b"ANMF", bytes(15))), "header", id="frame"),
        pytest.param(webp_file(frame()), "header", id="frame-alone"),
        pytest.param(webp_file(ANIMATED, frame(content=b"VP8 ")), "truncated", id="frame-data"),
        pytest.param(webp_file(riff_chunk(b"VP8 ", bytes(20))), "invalid", id="lossy"),
        pytest.param(webp_file(riff_chunk(b"VP8L", bytes(20))), "invalid", id="lossless"),
        pytest.param(webp_file(LOSSY)[:-4], "truncated", id="cut"),
        pytest.param(webp_file(LOSSY, b"EXIF\xff\xff\xff\xff"), "truncated", id="long-chunk"),
        pytest.param(b"RIFF\0\0\0\0", "truncated", id="head"),
    ],
)
def test_invalid_structure_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(InvalidImage, match=text):
        read_webp(data)
