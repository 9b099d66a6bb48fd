import subprocess
import sys

import pytest

from octavo.features.images.worker.image_file import (
    MAX_FRAMES,
    MAX_SIDE,
    ImageFacts,
    InvalidImage,
    check_bounds,
    media_type_of,
)
from tests.fakes.image_files import samples
from tests.project.source import ROOT


@pytest.mark.parametrize("name", samples())
def test_media_type_of_an_image_is_found_in_12_bytes(name: str) -> None:
    assert media_type_of(samples()[name].data[:12]) == samples()[name].media_type


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\x89PNG",
        b"\xff\xd8",
        b"GIF88a",
        b"RIFF\0\0\0\0WAVE",
        b"RIFF",
        b"BM",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%PDF-1.7",
        b"II*\0",
        b" GIF89a",
    ],
)
def test_media_type_of_other_bytes_is_none(head: bytes) -> None:
    assert media_type_of(head) is None


@pytest.mark.parametrize(
    ("media_type", "width", "height", "frames"),
    [
        ("image/png", MAX_SIDE, 3051, 1),
        ("image/png", 1, MAX_SIDE, 1),
        ("image/gif", 70, 70, MAX_FRAMES),
        ("image/gif", 1425, 818, 194),
        ("image/gif", 10_000, 5_000, MAX_FRAMES),
        ("image/webp", 6000, 4000, 2),
    ],
)
def test_dimensions_at_a_bound_are_accepted(
    media_type: str, width: int, height: int, frames: int
) -> None:
    check_bounds(ImageFacts(media_type, width, height, frames))


@pytest.mark.parametrize(
    ("media_type", "width", "height", "frames", "text"),
    [
        ("image/png", 0, 5, 1, "is empty"),
        ("image/png", 5, 0, 1, "is empty"),
        ("image/gif", 5, 5, 0, "is empty"),
        ("image/png", MAX_SIDE + 1, 1, 1, "16,385 by 1 pixels. At most 16,384 a side"),
        ("image/png", 1, MAX_SIDE + 1, 1, "At most 16,384 a side"),
        ("image/png", MAX_SIDE, 3052, 1, "At most 50,000,000 pixels"),
        ("image/gif", 1, 1, MAX_FRAMES + 1, "2,001 frames. At most 2,000"),
        ("image/gif", 10_000, 5_001, 4, "At most 50,000,000 pixels"),
        ("image/webp", 6000, 4001, 1, "at most 24,000,000 pixels"),
    ],
)
def test_dimensions_past_a_bound_are_refused_with_the_bound(
    media_type: str, width: int, height: int, frames: int, text: str
) -> None:
    with pytest.raises(InvalidImage, match=text):
        check_bounds(ImageFacts(media_type, width, height, frames))


def test_facts_are_imported_without_pillow() -> None:
    code = "import sys, octavo.features.images.worker.image_file; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
