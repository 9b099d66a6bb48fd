"""Highlighted text."""

import pytest

from octavo.render.note import render_note


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("==a==", "<mark>a</mark>"),
        ("==a *b*==", "<mark>a <em>b</em></mark>"),
        ("*==a==*", "<em><mark>a</mark></em>"),
        ("[==a==](#)", '<a href="#" rel="noopener noreferrer"><mark>a</mark></a>'),
        ("== a ==", "== a =="),
        ("===a===", "===a==="),
        ("a == b", "a == b"),
        ("a=b", "a=b"),
        ("==a", "==a"),
        ("`==a==`", "<code>==a==</code>"),
        (r"\==a==", "==a=="),
    ],
)
def test_text_between_two_signs_is_marked(text: str, html: str) -> None:
    assert render_note(f"x {text}").html == f"<p>x {html}</p>\n"
