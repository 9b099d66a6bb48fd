"""Tokens as HTML: lists, tasks, tables and breaks."""

import pytest

from octavo.render.note import render_note

BOX = '<input type="checkbox" disabled="" aria-label="To do">'
CHECKED = '<input type="checkbox" disabled="" checked="" aria-label="Done">'
REL = ' rel="noopener noreferrer"'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("- [ ] a", f'<ul>\n<li class="task">{BOX} a</li>\n</ul>\n'),
        ("1. [X] a", f'<ol>\n<li class="task">{CHECKED} a</li>\n</ol>\n'),
        (
            "- [x] a\n\n- b",
            f'<ul>\n<li class="task">\n<p>{CHECKED} a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n',
        ),
        ("- [ ]\n- [y] a", "<ul>\n<li>[ ]</li>\n<li>[y] a</li>\n</ul>\n"),
        ("- a\n  - b", "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>\n"),
        ("- a\n  > b", "<ul>\n<li>a\n<blockquote>\n<p>b</p>\n</blockquote>\n</li>\n</ul>\n"),
        ("a\\\nb\nc", "<p>a<br>\nb\nc</p>\n"),
        ("![a](b.png 'c')", '<p><img src="octavo:0" alt="a" title="c"></p>\n'),
        ("![a](b)", '<p><img src="octavo:0" alt="a"></p>\n'),
        ("![a](b.pdf)", f'<p><a href="octavo:0" class="embed"{REL}>a</a></p>\n'),
        ("![[a#b]]", f'<p><a href="octavo:0" class="embed"{REL}>a &gt; b</a></p>\n'),
        ("![[a|b]]", f'<p><a href="octavo:0" class="embed"{REL}>b</a></p>\n'),
        ("![[a/b.png]]", '<p><img src="octavo:0" alt="b.png"></p>\n'),
        ("![[b.PNG|c|30x20]]", '<p><img src="octavo:0" alt="c" width="30" height="20"></p>\n'),
        (
            "[![b](c.png)](d 'e')",
            f'<p><a href="octavo:0" title="e"{REL}><img src="octavo:1" alt="b"></a></p>\n',
        ),
        ("[a [[b]]](c)", f'<p><a href="octavo:0"{REL}>a b</a></p>\n'),
    ],
)
def test_markdown_has_its_html(text: str, html: str) -> None:
    assert render_note(text).html == html


def test_cells_are_aligned_and_have_wiki_links_with_an_escaped_bar() -> None:
    html = render_note("|a|b|\n|:-|-|\n|c\\|d|[[e\\|f]]|").html
    assert '<th class="align-left">a</th>\n<th>b</th>' in html
    assert f'<td class="align-left">c|d</td>\n<td><a href="octavo:0"{REL}>f</a></td>' in html
