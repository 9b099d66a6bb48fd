"""A QR code as a picture within a page."""

import re
from xml.etree import ElementTree

import pytest

from octavo.features.publishing.pages.publications import qr_code

ADDRESS = "https://notes.example/published/" + "A" * 32
HOSTILE = "</title><script>alert('1')</script>"


def test_picture_has_a_title_a_quiet_zone_and_no_style() -> None:
    root = ElementTree.fromstring(qr_code(ADDRESS, "The address"))
    assert root.get("role") == "img"
    assert root.findtext("title") == "The address"
    names = {name for element in root.iter() for name in element.attrib}
    assert names & {"style", "class", "id"} == set()
    ground, modules = root.findall("path")
    assert (ground.get("fill"), modules.get("stroke")) == ("#fff", "#000")
    # The first module is after a quiet zone of four.
    assert (modules.get("d") or "").startswith("M4 4.5h7")


@pytest.mark.parametrize("length", [0, 40, 120, 400])
def test_modules_are_whole_pixels_and_the_picture_fits_a_phone(length: int) -> None:
    root = ElementTree.fromstring(qr_code(ADDRESS + "x" * length, "x"))
    modules = int((root.get("viewBox") or "").split()[2])
    width = int(root.get("width") or 0)
    assert root.get("height") == root.get("width")
    assert width % modules == 0
    assert 180 <= width <= 256


def test_title_is_escaped() -> None:
    text = qr_code(ADDRESS, HOSTILE)
    assert "<script" not in text
    assert ElementTree.fromstring(text).findtext("title") == HOSTILE


def test_texts_have_different_pictures() -> None:
    found = {re.sub("<title>.*</title>", "", qr_code(f"{ADDRESS}{n}", "x")) for n in range(3)}
    assert len(found) == 3


def test_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        qr_code("x" * 3000, "x")
