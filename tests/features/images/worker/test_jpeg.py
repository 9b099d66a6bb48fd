import io
import struct

import pytest
from PIL import Image

from octavo.features.images.worker.image_file import ImageFacts, InvalidImage, PartRole
from octavo.features.images.worker.jpeg import read_jpeg
from tests.fakes.image_files import (
    SRGB,
    encoded,
    jpeg_segment,
    personal_exif,
    picture,
    samples,
    with_segment,
)

JPEG = samples()["jpeg"].data


def test_segments_have_roles_and_make_the_file_again() -> None:
    data = encoded(picture((9, 7)), "JPEG", icc_profile=SRGB, exif=personal_exif(), comment=b"x")
    found = read_jpeg(data)
    assert {part.name: part.role for part in found.parts if part.role is not PartRole.PICTURE} == {
        "APP": PartRole.OTHER,
        "APP1": PartRole.EXIF,
        "ICC": PartRole.DISPLAY,
    }
    assert found.file_of(found.parts) == data
    assert found.icc_profile() == SRGB
    assert found.exif() == personal_exif().removeprefix(b"Exif\0\0")
    assert found.exif_part(found.exif()) in found.parts


def test_profile_in_several_segments_is_joined_in_their_order() -> None:
    profile = bytes(range(256)) * 600
    data = encoded(picture((9, 7)), "JPEG", icc_profile=profile)
    found = read_jpeg(data)
    assert sum(part.name == "ICC" for part in found.parts) == 3
    assert found.icc_profile() == profile
    found.parts.reverse()
    assert found.icc_profile() == profile


def test_profile_with_a_missing_segment_is_ignored() -> None:
    data = with_segment(JPEG, 0xE2, b"ICC_PROFILE\0\1\2part")
    assert read_jpeg(data).icc_profile() is None


def test_restart_markers_belong_to_their_scan() -> None:
    data = encoded(picture((200, 100)), "JPEG", restart_marker_blocks=1)
    assert data.count(b"\xff\xd3") > 1
    assert read_jpeg(data).file_of(read_jpeg(data).parts) == data


def test_fill_bytes_before_a_marker_and_bytes_after_the_end_are_left_out() -> None:
    data = JPEG[:2] + b"\xff\xff" + JPEG[2:] + b"more"
    found = read_jpeg(data)
    assert found.file_of(found.parts) == JPEG
    assert found.size == len(data)


def test_previews_are_left_out() -> None:
    jfif = b"JFIF\0\1\1\1\0\x60\0\x60\1\1rgb"
    data = b"\xff\xd8" + jpeg_segment(0xE0, jfif) + jpeg_segment(0xE0, b"JFXX\0\x10") + JPEG[20:]
    with Image.open(io.BytesIO(read_jpeg(data).picture())) as image:
        assert image.info["dpi"] == (96, 96)
    assert b"rgb" not in read_jpeg(data).picture()
    assert b"JFXX" not in read_jpeg(data).picture()


def test_transform_of_adobe_is_kept() -> None:
    found = read_jpeg(samples()["jpeg-cmyk"].data)
    assert "Adobe" in [part.name for part in found.parts if part.role is PartRole.PICTURE]
    assert found.facts == ImageFacts("image/jpeg", 37, 23, 1)


def header(marker: int) -> bytes:
    """Return the file with another process of coding."""
    at = JPEG.index(b"\xff\xc0")
    return JPEG[: at + 1] + bytes((marker,)) + JPEG[at + 2 :]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(header(0xC3), "rare form of coding", id="lossless"),
        pytest.param(header(0xC9), "rare form of coding", id="arithmetic"),
        pytest.param(with_segment(JPEG, 0xDE, bytes(6)), "rare form", id="hierarchical"),
        pytest.param(with_segment(JPEG, 0xC0, bytes(15)), "exactly one", id="two-headers"),
        pytest.param(JPEG[:2] + JPEG, "misplaced", id="two-starts"),
        pytest.param(JPEG[:20] + b"\xff\xd9", "no image data", id="no-data"),
        pytest.param(JPEG[:2] + b"\xff\xe1\0\1" + JPEG[2:], "length", id="short-length"),
        pytest.param(JPEG[:-2], "truncated", id="no-end"),
        pytest.param(JPEG[:2] + b"\xff\xe1", "truncated", id="no-length"),
        pytest.param(JPEG[:2] + b"\xff\xe1\xff\xff" + JPEG[2:], "truncated", id="long-segment"),
        pytest.param(JPEG[:2] + b"no marker", "truncated", id="no-marker"),
    ],
)
def test_invalid_structure_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(InvalidImage, match=text):
        read_jpeg(data)


def progressive(width: int, height: int, mode: str = "RGB", subsampling: int = 0) -> bytes:
    """Return a progressive JPEG whose header has another size than its data."""
    data = encoded(picture((9, 7), mode), "JPEG", progressive=True, subsampling=subsampling)
    at = data.index(b"\xff\xc2") + 5
    return data[:at] + struct.pack(">HH", height, width) + data[at + 4 :]


def test_progressive_jpeg_with_too_many_coefficients_is_refused() -> None:
    with pytest.raises(InvalidImage, match="needs too much memory"):
        read_jpeg(progressive(8000, 6250, "CMYK"))


@pytest.mark.parametrize(("mode", "subsampling"), [("RGB", 0), ("RGB", 2), ("L", 0)])
def test_progressive_jpeg_of_50_million_pixels_is_accepted(mode: str, subsampling: int) -> None:
    facts = read_jpeg(progressive(8000, 6250, mode, subsampling)).facts
    assert facts == ImageFacts("image/jpeg", 8000, 6250, 1)


def test_progressive_jpeg_without_valid_sampling_is_refused() -> None:
    data = samples()["jpeg-progressive"].data
    at = data.index(b"\xff\xc2") + 11
    broken = data[:at] + b"\0" + data[at + 1 : at + 3] + b"\0" + data[at + 4 : at + 6] + b"\0"
    with pytest.raises(InvalidImage, match="its header is invalid"):
        read_jpeg(broken + data[at + 7 :])
