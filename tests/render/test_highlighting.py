"""Highlighted code."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.render.allowed import CODE_CLASSES, clean
from octavo.render.highlighting import LANGUAGES, LONGEST_CODE, LONGEST_LINE, highlighted
from octavo.render.note import render_note
from octavo.render.renderer import MAX_HIGHLIGHTED


def test_tokens_have_classes() -> None:
    html = highlighted("if a # <b>\n", "py")
    assert html == '<span class="k">if</span> a <span class="c"># &lt;b&gt;</span>\n'


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_language_keeps_its_code(language: str) -> None:
    code = "\n\n# a <b> 'c' \"d\" = 12; // e\n-f\n+g\n\tif (h) { i(); }\n\n"
    html = highlighted(code, language)
    assert html is not None
    assert unescape(re.sub("<[^>]*>", "", html)) == code
    assert set(re.findall('class="([^"]*)"', html)) <= CODE_CLASSES
    assert clean(html) == html


@given(
    st.sampled_from(sorted(LANGUAGES)), st.text("ab1'\"<>&/*#-+=(){}[];:\n \t\\$@!", max_size=60)
)
def test_any_code_is_kept(language: str, code: str) -> None:
    html = highlighted(code, language)
    assert html is not None
    assert unescape(re.sub("<[^>]*>", "", html)) == code


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("a", "nothing"),
        ("a", ""),
        ("a\n" * LONGEST_CODE, "py"),
        ("a" * (LONGEST_LINE + 1), "py"),
    ],
)
def test_unknown_language_or_large_block_is_not_highlighted(code: str, language: str) -> None:
    assert highlighted(code, language) is None


def test_fence_has_the_language_as_its_first_word() -> None:
    assert '<span class="k">if</span>' in render_note("```Python title=a\nif\n```").html
    assert render_note("```zzz\nif <a>\n```").html == (
        '<pre tabindex="0"><code>if &lt;a&gt;\n</code></pre>\n'
    )


def test_a_note_has_a_limited_amount_of_highlighted_code() -> None:
    block = "```py\n" + "a = 1\n" * 1000 + "```\n"
    html = render_note(block * 30).html
    assert html.count('<span class="m">') == 1000 * (MAX_HIGHLIGHTED // 6000)
