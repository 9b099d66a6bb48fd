"""Callouts."""

import pytest

from octavo.render.note import render_note


def block(kind: str, title: str, rest: str = "") -> str:
    head = f'<p class="callout-title">{title}</p>'
    return f'<div class="callout callout-{kind}">\n{head}\n{rest}</div>\n'


def folded(kind: str, title: str, rest: str = "", attribute: str = "") -> str:
    head = f'<summary class="callout-title">{title}</summary>'
    return f'<details class="callout callout-{kind}"{attribute}>\n{head}\n{rest}</details>\n'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("> [!note] A *b*\n> c", block("note", "A <em>b</em>", "<p>c</p>\n")),
        ("> [!tip]", block("tip", "Tip")),
        ("> [!WARNING]\n> a", block("warning", "WARNING", "<p>a</p>\n")),
        ("> [!faq]- A\n> b", folded("question", "A", "<p>b</p>\n")),
        ("> [!bug]+ A", folded("bug", "A", attribute=' open=""')),
        ("> [!mine|x] A", block("note", "A")),
        ("> [!mine]", block("note", "Mine")),
        ("> [!tip]a", "<blockquote>\n<p>[!tip]a</p>\n</blockquote>\n"),
        ("> a\n> [!tip]", "<blockquote>\n<p>a\n[!tip]</p>\n</blockquote>\n"),
        ("[!tip] a", "<p>[!tip] a</p>\n"),
    ],
)
def test_quote_with_a_kind_is_a_callout(text: str, html: str) -> None:
    assert render_note(text).html == html


def test_callouts_are_nested() -> None:
    html = render_note("> [!tip] A\n> > [!bug]- B\n> > c\n>\n> d\n\n> e").html
    assert html == (
        '<div class="callout callout-tip">\n<p class="callout-title">A</p>\n'
        '<details class="callout callout-bug">\n<summary class="callout-title">B</summary>\n'
        "<p>c</p>\n</details>\n<p>d</p>\n</div>\n<blockquote>\n<p>e</p>\n</blockquote>\n"
    )
