"""Footnotes: links to and fro, and no more work than brackets."""

import re
import time

import pytest

from octavo.render.note import render_note


def test_reference_and_footnote_lead_to_each_other() -> None:
    html = render_note("a[^x] b[^x]\n\n[^x]: c\n\n    d\n").html
    sources = re.findall('<a href="#fn:1" id="([^"]*)"', html)
    assert sources == ["fnref:1", "fnref:1:2"]
    assert re.findall('<a href="#([^"]*)" class="footnote-back"', html) == sources
    assert '<li id="fn:1"><p>c</p>\n<p>d <a' in html


def test_footnotes_are_numbered_as_they_are_referred_to() -> None:
    html = render_note("[^b] [^a] ^[c]\n\n[^a]: A\n[^b]: B\n[^z]: Z\n").html
    assert re.findall(r'<li id="fn:(\d)"><p>(\w)', html) == [("1", "B"), ("2", "A"), ("3", "c")]
    assert "Z" not in html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[^a]", "[^a]"),
        ("`[^a]`\n\n[^a]: b", "<code>[^a]</code>"),
        (r"\[^a]" + "\n\n[^a]: b", "[^a]"),
        ("^[a", "^[a"),
        ("^[]", "^[]"),
        ("a^b^", "a^b^"),
    ],
)
def test_text_that_is_no_footnote_stays(text: str, html: str) -> None:
    assert render_note(text).html.startswith(f"<p>{html}</p>\n")


def test_text_of_a_footnote_has_inline_content() -> None:
    html = render_note("a^[b *c* [d](e.md) [[f]]]").html
    assert '<p>b <em>c</em> <a href="octavo:0" rel="noopener noreferrer">d</a>' in html
    assert '">f</a>' in html


def test_footnote_in_a_link_is_no_link() -> None:
    html = render_note("[a[^1]](b.md)\n\n[^1]: c").html
    assert 'a<sup class="footnote">1</sup></a>' in html


def test_footnotes_do_not_multiply_the_work() -> None:
    begun = time.process_time()
    for text in ("[^a" * 5000, "^[a" * 5000, "[^a]: " * 2000, "[^1]: a\n" + "[^1] " * 5000):
        render_note(text)
    assert time.process_time() - begun < 10
