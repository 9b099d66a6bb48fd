"""A note as the parts of its page: what is shown, what is not, and that it stays as it is."""

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.model.links.extraction import links_of
from octavo.model.links.headings import headings_of
from octavo.model.refusal import UnrenderableNote
from octavo.render.allowed import clean, clean_placed
from octavo.render.note import LONGEST_DESCRIPTION, render_note
from octavo.render.references import FileReference, ImageAddress, LinkAddress, place_references
from octavo.render.rendered_note import RenderedNote
from tests.fakes.markdown_texts import MARKDOWN, PROSE
from tests.fakes.pathological_notes import PATHOLOGICAL, limit_of, readmes


@pytest.mark.parametrize(
    ("text", "title", "html"),
    [
        ("# A *b*\n\nc", "A b", "<p>c</p>\n"),
        ("---\ntitle: A\n---\n# A\n\nc", "A", "<p>c</p>\n"),
        ("---\ntitle: A\n---\n# B\n", "A", '<h2 id="b">B</h2>\n'),
        ("# A\n# B\n## C\n", "A", '<h2 id="b">B</h2>\n<h3 id="c">C</h3>\n'),
        ("# A\n## B\n", "A", '<h2 id="b">B</h2>\n'),
        ("a\n\n# B", "", '<p>a</p>\n<h2 id="b">B</h2>\n'),
        ("A\n=\n", "A", ""),
        ("%%a%%\n# B", "B", ""),
        ("###### A\n# B", "", '<h6 id="a">A</h6>\n<h2 id="b">B</h2>\n'),
        ("", "", ""),
    ],
)
def test_title_is_shown_once_and_headings_are_below_it(text: str, title: str, html: str) -> None:
    note = render_note(text)
    assert (note.title, note.html) == (title, html)


def test_outline_has_the_headings_of_the_html() -> None:
    note = render_note("# A\n## B *c* [[d|e]]\n# F\n\na[^1]\n\n[^1]: # G\n")
    assert note.outline == ((3, "B c e", "b-c-e"), (2, "F", "f"))
    for level, _, anchor in note.outline:
        assert f'<h{level} id="{anchor}">' in note.html


@pytest.mark.parametrize(
    ("tag", "language"),
    [("de", "de"), ("de-CH", "de-CH"), ("sr-Latn-RS", "sr-Latn-RS"), ("German", None), ("", None)],
)
def test_language_is_a_plausible_tag(tag: str, language: str | None) -> None:
    assert render_note(f"---\nlang: {tag}\n---\na").language == language
    assert render_note(f"---\nlanguage: {tag}\n---\na").language == language


def test_description_is_the_plain_text_of_the_first_paragraph() -> None:
    note = render_note(
        "# A\n\n> b\n\n- c\n\n![x](y)\n\nd *e* [f](g) `h`[^1] <b>i</b>\nj\n\n[^1]: k"
    )
    assert note.description == "x"
    assert render_note("- a\n\nd *e* `h`[^1] <b>i</b>\nj\n\n[^1]: k").description == "d e h i j"


def test_long_description_ends_with_a_word() -> None:
    description = render_note("word " * 100).description
    assert description.endswith("word…")
    assert len(description) <= LONGEST_DESCRIPTION


def test_words_are_those_of_the_text_without_code() -> None:
    assert render_note("# a b\n\nc *d*\n\n```\ne f\n```\n\n|g|\n|-|\n|h i|\n").words == 5


def test_references_are_those_that_the_links_of_the_note_have() -> None:
    text = "[a](b%20c.md#d) [[e#f|g]] ![h](i.png) ![[j.png|30]] ![[k]] [l](/m 'n') [o](b%20c.md#d)"
    note = render_note(text)
    expected = [
        FileReference(each.kind, each.embed, each.target, each.heading) for each in links_of(text)
    ]
    assert note.references == tuple(dict.fromkeys(expected))
    assert re.findall("octavo:([0-9]+)", note.html) == [*"0123450"]


@pytest.mark.parametrize(
    "text",
    [
        "[[a]]",
        "[[a|b]]",
        "[[a#b|c]]",
        "[[ a ]]",
        "[[#a]]",
        "![[a]]",
        "[[[a]]",
        "[[a]](b)",
        r"\[[a]]",
        "`[[a]]`",
        "[[a\nb]]",
        "[[a[b]]",
        "[x [[a]] y](b)",
        "![[a]](b)",
        "[[a\\|b]]",
        "|x|\n|-|\n|[[a\\|b]]|",
        "*[[a*b]]*",
        "[[]]",
        "[[ ]]",
        "[[|a]]",
        "    [[a]]",
        "- [[a]]\n> [[b]]",
        "x\n\n# [[a]]",
        "[[a]][[b]]",
        "!\\[[a]]",
        "[a](b) [[c]]",
        "[[a`b]]",
        "[[a<b>]]",
    ],
)
def test_wiki_links_are_those_that_are_indexed(text: str) -> None:
    indexed = {each.target for each in links_of(text) if each.kind == "wiki" and not each.in_link}
    found = {each.target for each in render_note(text).references if each.kind == "wiki"}
    assert found == indexed - {""}


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[[#B c]]\n## B c", '<a href="#b-c" rel="noopener noreferrer">B c</a>'),
        ("[a](#b-c)\n## B c", '<a href="#b-c" rel="noopener noreferrer">a</a>'),
        ("[[#Main]]\n## Main", '<a href="#main-1" rel="noopener noreferrer">Main</a>'),
        ("[a](#main)\n## Main", '<a href="#main-1" rel="noopener noreferrer">a</a>'),
        ("[[#none|a]]", "<p>a</p>"),
        ("[a]()", '<a href="#" rel="noopener noreferrer">a</a>'),
    ],
)
def test_links_to_headings_of_the_note_are_placed(text: str, html: str) -> None:
    assert html in render_note(text).html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("![a](https://b.example/c.png)", ('href="https://b.example/c.png"', ">a</a>")),
        ("![](https://b.example/c.png)", ('href="https://b.example/c.png"', ">c.png</a>")),
        ("[![a](https://b.example/c.png)](d.md)", ('<a href="octavo:0"', ">a</a>")),
        ('<img src="https://b.example/c.png" alt="a">', (">a</a>",)),
        ("![a](data:image/png;base64,AAAA)", ("<p>a</p>",)),
        ("[a](//b.example) [c](ftp://d) <ftp://e>", ("<p>a c ftp://e</p>",)),
        ('<a href="//b.example">a</a> <a href="javascript:b">c</a>', ("<p>a c</p>",)),
    ],
)
def test_nothing_is_loaded_from_other_sites(text: str, html: tuple[str, ...]) -> None:
    rendered = render_note(text).html
    assert "<img" not in rendered
    assert all(each in rendered for each in html)


@pytest.mark.parametrize(
    "text",
    [
        "a %%SECRET%% b",
        "a %%SECRET\nSECRET%% b",
        "a %%SECRET\n\n# SECRET\n\n- SECRET%% b",
        "%%\nSECRET\n%%",
        "%%\nSECRET",
        "- %%SECRET",
        "%%\n\n![SECRET](SECRET)\n\n[SECRET]: SECRET\n%%\n[SECRET]",
        "---\nSECRET: SECRET\n---\na",
        "<!-- SECRET -->",
        "a <!-- SECRET --> b",
        "<!-- SECRET\n\nSECRET",
        "<script>SECRET</script> a",
        "a <style>SECRET</style> b",
        '<b title="SECRET" onclick="SECRET">a</b>',
    ],
)
def test_what_is_hidden_does_not_leak(text: str) -> None:
    note = render_note(text)
    assert "SECRET" not in json.dumps(note.to_json()).replace("[SECRET]", "")


@given(MARKDOWN)
@settings(max_examples=300)
def test_html_is_as_the_sanitiser_leaves_it(text: str) -> None:
    check_stable(text)


@given(st.text(max_size=200))
def test_html_of_any_text_is_as_the_sanitiser_leaves_it(text: str) -> None:
    check_stable(text)


def check_stable(text: str) -> None:
    """Check that sanitising changes neither the HTML of a note nor that of its page."""
    note = render_note(text)
    assert clean(note.html) == note.html
    addresses = (None, LinkAddress("../a?b&c\"<'\xa0"), ImageAddress("/d?e&f\"'", 40, 30))

    def address_of(number: int) -> LinkAddress | ImageAddress | None:
        return addresses[number % 3] if number < len(note.references) else None

    placed = place_references(note.html, address_of)
    assert clean_placed(placed) == placed
    assert re.search('<[^>]*"octavo:', placed) is None


@given(MARKDOWN)
def test_json_gives_the_note_back(text: str) -> None:
    note = render_note(text)
    assert RenderedNote.from_json(json.loads(json.dumps(note.to_json()))) == note


@given(PROSE)
def test_anchors_are_those_by_which_headings_are_found(text: str) -> None:
    anchors = {each.anchor for each in headings_of(text)}
    assert {each.anchor for each in render_note(f"a\n\n{text}").outline} <= anchors


@pytest.mark.parametrize("unit", PATHOLOGICAL, ids=repr)
def test_pathological_text_is_rendered_in_proportion_to_its_size(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    if limit_of(text) is None:
        begun = time.process_time()
        render_note(text)
        assert time.process_time() - begun < 5


def test_readmes_of_the_installed_packages_are_rendered() -> None:
    for text in list(readmes())[:60]:
        check_stable(text)


def test_lone_surrogates_are_replaced() -> None:
    assert render_note("a\ud800b \U0001f600").html == "<p>a\ufffdb \U0001f600</p>\n"


def test_text_beyond_the_limits_is_refused() -> None:
    with pytest.raises(UnrenderableNote):
        render_note("[" * 30_000)
