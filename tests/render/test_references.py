"""The addresses of what a note refers to, placed in its HTML."""

import pytest

from octavo.render.note import render_note
from octavo.render.references import ImageAddress, LinkAddress, place_references

ADDRESSES = [LinkAddress("/a?b&c"), ImageAddress('/d"e', 400, 200), None, ImageAddress("/f", 0, 0)]


LAZY = 'loading="lazy">'


def placed(html: str) -> str:
    return place_references(html, lambda n: ADDRESSES[n] if n < len(ADDRESSES) else None)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            '<a href="octavo:0" rel="r">x <em>y</em></a>',
            '<a href="/a?b&amp;c" rel="r">x <em>y</em></a>',
        ),
        (
            '<a href="octavo:2" rel="r">x <em>y</em></a> <a href="z">w</a>',
            'x <em>y</em> <a href="z">w</a>',
        ),
        ('<a href="octavo:1">x</a>', "x"),
        ('<a href="octavo:9">x</a>', "x"),
        ('<a href="octavo:x">x</a>', "x"),
        ('<a href="octavo:-1">x</a>', "x"),
        ('<a lang="de" href="octavo:0">x</a>', '<a lang="de" href="/a?b&amp;c">x</a>'),
        (
            '<img src="octavo:1" alt="x">',
            '<img src="/d&quot;e" alt="x" width="400" height="200" ' + LAZY,
        ),
        (
            '<img src="octavo:1" alt="x" width="100">',
            '<img src="/d&quot;e" alt="x" width="100" height="50" ' + LAZY,
        ),
        (
            '<img src="octavo:1" alt="x" height="20">',
            '<img src="/d&quot;e" alt="x" width="40" height="20" ' + LAZY,
        ),
        (
            '<img src="octavo:1" alt="x" width="9" height="8">',
            '<img src="/d&quot;e" alt="x" width="9" height="8" ' + LAZY,
        ),
        ('<img src="octavo:3" alt="x" title="y">', '<img src="/f" alt="x" title="y" ' + LAZY),
        ('<img src="octavo:3" alt="x" width="5">', '<img src="/f" alt="x" width="5" ' + LAZY),
        ('<img src="octavo:0" alt="x &lt;y">', '<span class="missing">x &lt;y</span>'),
        ('<img src="octavo:2" alt="">', ""),
        ('<img src="octavo:2" alt="&quot;x&quot;">', '<span class="missing">"x"</span>'),
        ('<img alt="x">', '<span class="missing">x</span>'),
        ('<a href="octavo:2"><img src="octavo:3" alt="x"></a>', '<img src="/f" alt="x" ' + LAZY),
        ('octavo:0 &lt;a href="octavo:0"&gt;', 'octavo:0 &lt;a href="octavo:0"&gt;'),
    ],
)
def test_tags_get_their_addresses_or_become_text(html: str, expected: str) -> None:
    assert placed(html) == expected


def test_missing_image_without_a_text_is_its_name() -> None:
    note = render_note("![[a/b.png]]")
    assert placed(note.html.replace("octavo:0", "octavo:2")).count("b.png") == 1


def test_numbers_that_a_person_wrote_lead_nowhere() -> None:
    note = render_note('[a](octavo:0) <a href="octavo:0">b</a> <img src="octavo:0" alt="c">')
    assert placed(note.html) == "<p>a b c</p>\n"
