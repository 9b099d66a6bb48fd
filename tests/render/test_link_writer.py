"""Links and images of a note."""

import pytest

from octavo.render.html_writer import HtmlWriter
from octavo.render.link_writer import LinkWriter, is_image, name_of
from octavo.render.obsidian import SizedText
from octavo.render.references import FileReference


@pytest.fixture
def writer() -> HtmlWriter:
    return HtmlWriter()


@pytest.fixture
def links(writer: HtmlWriter) -> LinkWriter:
    return LinkWriter(writer, {"a": "a-1"})


@pytest.mark.parametrize(
    ("written", "attributes"),
    [
        ("b.md#c", ' href="octavo:0" title="&quot;"'),
        ("#a", ' href="#a-1" title="&quot;"'),
        ("#é b", ' href="#%C3%A9%20b" title="&quot;"'),
        ("https://b.example/?c&d", ' href="https://b.example/?c&amp;d" title="&quot;"'),
        ("ftp://b", None),
    ],
)
def test_link_has_an_address_and_a_title(
    links: LinkWriter, written: str, attributes: str | None
) -> None:
    assert links.link_attributes(written, '"') == attributes


def test_files_are_numbered_once(links: LinkWriter, writer: HtmlWriter) -> None:
    for target in ("a", "b", "a"):
        links.file_link("wiki", False, target, "", target)
    assert links.references == (
        FileReference("wiki", False, "a", ""),
        FileReference("wiki", False, "b", ""),
    )
    assert [part[:18] for part in writer.parts] == [f'<a href="octavo:{n}"' for n in (0, 1, 0)]


def test_image_of_another_site_within_a_link_is_its_text(
    links: LinkWriter, writer: HtmlWriter
) -> None:
    writer.open("a")
    links.write_image("https://b.example/c.png", SizedText("d", 0, 0), "")
    assert writer.html() == "<a>d</a>"


def test_images_are_known_by_their_names() -> None:
    assert [is_image(each) for each in ("a.PNG", "b/c.webp", "png", "a.md")] == [
        *(True, True, False, False)
    ]
    assert [name_of(each) for each in ("a/b.png", "https://c/", "d")] == ["b.png", "c", "d"]
