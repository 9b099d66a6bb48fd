"""The ids of blocks, and links to them."""

import pytest

from octavo.render.note import render_note
from octavo.render.obsidian import block_fragment


def html(text: str) -> str:
    return render_note(text).html.strip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Bread. ^evening-1", '<p id="^evening-1">Bread.</p>'),
        ("Bread,\n*slow*. ^a  ", '<p id="^a">Bread,\n<em>slow</em>.</p>'),
        ("Bread.\n^a", '<p id="^a">Bread.</p>'),
        ("^a", '<p id="^a"></p>'),
        ("- rye ^a\n- wheat", '<ul>\n<li id="^a">rye</li>\n<li>wheat</li>\n</ul>'),
        ("- rye ^a\n\n  more", '<ul>\n<li>\n<p id="^a">rye</p>\n<p>more</p>\n</li>\n</ul>'),
        ("> Bread. ^a", '<blockquote>\n<p id="^a">Bread.</p>\n</blockquote>'),
        ("Rye. ^a\n\nWheat. ^a", '<p id="^a">Rye.</p>\n<p>Wheat.</p>'),
        ("## Bread ^a", '<h2 id="bread-a">Bread ^a</h2>'),
        ("`x ^a`", "<p><code>x ^a</code></p>"),
        ("x^a", "<p>x^a</p>"),
        ("^a and more", "<p>^a and more</p>"),
        ('^a"b', '<p>^a"b</p>'),
    ],
)
def test_id_at_the_end_of_a_block_is_its_anchor(text: str, shown: str) -> None:
    assert html(text) == shown


def test_id_is_not_described_and_not_counted() -> None:
    note = render_note("Slow bread. ^evening")
    assert (note.description, note.words) == ("Slow bread.", 2)


def test_link_leads_to_a_block_of_its_note() -> None:
    assert '<a href="#%5Eevening"' in html("See [[#^evening]].")
    assert '<a href="#%5Eevening"' in html("See [[#Bread#^evening|the dough]].")


@pytest.mark.parametrize(
    ("heading", "fragment"),
    [("^a-1", "%5Ea-1"), ("Bread#^a", "%5Ea"), ("Bread", None), ("^a#Bread", None), ("", None)],
)
def test_fragment_is_that_of_the_last_part(heading: str, fragment: str | None) -> None:
    assert block_fragment(heading) == fragment
