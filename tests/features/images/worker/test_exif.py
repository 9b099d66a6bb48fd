import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from octavo.features.images.worker.exif import orientation_of, without_personal_tags
from tests.fakes.image_files import personal_exif

PERSONAL = personal_exif().removeprefix(b"Exif\0\0")


def entries(order: str, *fields: bytes, following: int = 0) -> bytes:
    """Return a TIFF structure with a directory of these fields of 12 bytes."""
    header = struct.pack(f"{order}2sHI", b"II" if order == "<" else b"MM", 42, 8)
    return (
        header
        + struct.pack(f"{order}H", len(fields))
        + b"".join(fields)
        + struct.pack(f"{order}I", following)
    )


def orientation(order: str, value: int) -> bytes:
    return struct.pack(f"{order}HHIHH", 0x0112, 3, 1, value, 0)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("value", range(1, 9))
def test_orientation_is_found_in_both_byte_orders(order: str, value: int) -> None:
    assert orientation_of(entries(order, orientation(order, value))) == value


@pytest.mark.parametrize(
    "tiff",
    [
        b"",
        b"II*\0",
        b"XX*\0\x08\0\0\0" + bytes(20),
        entries("<"),
        entries("<", orientation("<", 0)),
        entries("<", orientation("<", 9)),
        entries("<", struct.pack("<HHIHH", 0x0112, 3, 2, 6, 6)),
        entries("<", struct.pack("<HHII", 0x0112, 4, 1, 6)),
        entries("<", orientation("<", 6))[:16],
    ],
)
def test_orientation_that_is_missing_or_invalid_is_upright(tiff: bytes) -> None:
    assert orientation_of(tiff) == 1


def test_personal_tags_are_removed_and_the_display_is_kept() -> None:
    exif = Image.Exif()
    exif.load(b"Exif\0\0" + without_personal_tags(PERSONAL))
    assert exif.get_ifd(0x8769) == {0xA001: 1}
    del exif[0x8769]
    assert dict(exif) == {0x0112: 6, 0x011A: 300.0, 0x011B: 300.0, 0x0128: 2}
    assert exif.get_ifd(0x8825) == {}


def test_preview_is_removed() -> None:
    tiff = entries("<", orientation("<", 6), following=26) + entries("<")[8:] + b"a preview"
    assert without_personal_tags(tiff) == entries("<", orientation("<", 6))


@pytest.mark.parametrize("order", "<>")
def test_data_without_personal_tags_is_returned_as_it_is(order: str) -> None:
    tiff = entries(order, orientation(order, 3))
    assert without_personal_tags(tiff) is tiff


def test_data_with_personal_tags_only_becomes_empty() -> None:
    exif = Image.Exif()
    exif[0x013B] = "Ada Artist"
    assert without_personal_tags(exif.tobytes()[6:]) == b""


def test_removal_from_what_was_removed_changes_nothing() -> None:
    once = without_personal_tags(PERSONAL)
    assert without_personal_tags(once) is once


@pytest.mark.parametrize("tiff", [b"damaged", b"MM\0*", b"II*\0\xff\xff\xff\xff secret"])
def test_damaged_data_is_removed(tiff: bytes) -> None:
    assert without_personal_tags(tiff) == b""


@given(at=st.lists(st.tuples(st.integers(0, len(PERSONAL) - 1), st.integers(0, 255)), max_size=30))
def test_damaged_data_leaves_nothing_but_small_numbers(at: list[tuple[int, int]]) -> None:
    changed = bytearray(PERSONAL)
    for place, value in at:
        changed[place] = value
    cleaned = without_personal_tags(bytes(changed))
    # Eight tags, and what contains them.
    assert len(cleaned) <= 8 + 2 * 6 + 9 * 12 + 2 * 8
    assert orientation_of(cleaned) == orientation_of(bytes(changed))
    assert without_personal_tags(cleaned) is cleaned


def test_directory_that_a_thousand_entries_point_to_is_read_once() -> None:
    pointer = struct.pack("<HHII", 0x8769, 4, 1, 8)
    tiff = b"II*\0" + struct.pack("<IH", 8, 1000) + pointer * 1000
    begun = time.perf_counter()
    assert without_personal_tags(tiff) == b""
    # A million entries take seconds.
    assert time.perf_counter() - begun < 0.5
