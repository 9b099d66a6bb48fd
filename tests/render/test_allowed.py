"""The allow-list: what is on it, and what never is."""

import pytest

from octavo.render.allowed import (
    ALIGNMENTS,
    BLOCKS,
    CALLOUTS,
    CLASSES,
    LANGUAGE,
    MATH,
    MATH_ATTRIBUTES,
    PHRASES,
    SCHEMES,
    TABLE_PARTS,
    TAGS,
    WRITTEN,
    clean,
    clean_placed,
)
from tests.project.source import ROOT


def test_no_element_runs_loads_or_sends_anything() -> None:
    forbidden = {
        *("script", "style", "link", "meta", "base", "iframe", "frame", "object", "embed", "form"),
        *("button", "select", "textarea", "svg", "audio", "video", "source", "template", "dialog"),
        *("annotation", "annotation-xml", "maction", "semantics", "mglyph", "malignmark", "title"),
    }
    assert not TAGS & forbidden


def test_no_attribute_runs_or_styles_anything() -> None:
    attributes = MATH_ATTRIBUTES.union(*WRITTEN.values())
    assert not {"style", "href", "src", "action", "xlink:href"} & MATH_ATTRIBUTES
    assert not any(each.startswith("on") or each == "style" for each in attributes)
    assert sorted(SCHEMES) == ["http", "https", "mailto"]


@pytest.mark.parametrize(
    ("html", "cleaned"),
    [
        ('<a href="octavo:1">a</a>', '<a href="octavo:1" rel="noopener noreferrer">a</a>'),
        ('<a href="#a">a</a>', '<a href="#a" rel="noopener noreferrer">a</a>'),
        ('<a href="/a">a</a>', '<a rel="noopener noreferrer">a</a>'),
        ('<a href="//a.example">a</a>', '<a rel="noopener noreferrer">a</a>'),
        ('<a href="javascript:a">a</a>', '<a rel="noopener noreferrer">a</a>'),
        ('<p style="a" onclick="b" class="c">d</p>', '<p class="">d</p>'),
        ('<math href="a"><mi style="b">c</mi></math>', "<math><mi>c</mi></math>"),
        ('<input type="text" value="a">', "<input>"),
        ('<p align="center">b</p>', "<p>b</p>"),
        ('<td class="align-right">b</td>', "b"),
        ('<p class="align-right a">b</p>', '<p class="align-right">b</p>'),
        ("<script>a</script><style>b</style>c", "c"),
    ],
)
def test_html_of_a_note_is_sanitised(html: str, cleaned: str) -> None:
    assert clean(html) == cleaned


@pytest.mark.parametrize(
    ("html", "cleaned"),
    [
        ('<img src="../a" loading="lazy">', '<img src="../a" loading="lazy">'),
        ('<a href="/a">a</a>', '<a href="/a" rel="noopener noreferrer">a</a>'),
        ('<a href="octavo:1">a</a>', '<a rel="noopener noreferrer">a</a>'),
        ('<img src="data:image/png;base64,AA">', "<img>"),
    ],
)
def test_html_of_a_page_is_sanitised(html: str, cleaned: str) -> None:
    assert clean_placed(html) == cleaned


def test_classes_are_those_of_callouts_code_and_footnotes() -> None:
    assert {f"callout-{kind}" for kind in CALLOUTS} < CLASSES["details"]
    assert CLASSES["div"] == CLASSES["details"] | set(ALIGNMENTS.values())
    assert CLASSES.keys() <= TAGS - MATH


def test_the_page_on_security_has_the_list() -> None:
    page = (ROOT / "docs/security.md").read_text()
    own = {"checked", "class", "disabled", "id", "loading", "type"}
    for name, allowed in {
        "blocks": BLOCKS,
        "parts of tables": TABLE_PARTS,
        "phrases": PHRASES,
        "formulas": MATH,
        "attributes of any element but those of formulas": LANGUAGE,
        "attributes of some elements": own.union(*WRITTEN.values()),
        "attributes of formulas": MATH_ATTRIBUTES,
        "classes": set().union(*CLASSES.values()),
        "schemes": SCHEMES,
    }.items():
        listed = ", ".join(f"`{each}`" for each in sorted(allowed))
        assert f"\n| {name} | {listed} |\n" in page
