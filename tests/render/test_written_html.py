"""HTML of a person in a note: what stays, and what becomes of addresses."""

import pytest

from octavo.render.note import render_note


@pytest.mark.parametrize(
    "html",
    [
        "<kbd>a</kbd> <sub>b</sub> <sup>c</sup> <u>d</u> <ins>e</ins> <del>f</del>",
        '<mark>a</mark> <abbr title="b">c</abbr> <q>d</q> <span lang="de">e</span>',
        "a<br>b<wbr>c",
        '<ruby>a<rt>b</rt></ruby> <time datetime="2026">c</time>',
    ],
)
def test_phrases_stay(html: str) -> None:
    assert render_note(f"x {html}").html == f"<p>x {html}</p>\n"


@pytest.mark.parametrize(
    "html",
    [
        '<details open=""><summary>a</summary>b</details>',
        "<dl><dt>a</dt><dd>b</dd></dl>",
        '<figure><img src="octavo:0" alt="a" width="3"><figcaption>b</figcaption></figure>',
        '<table tabindex="0"><tbody><tr><td colspan="2">b</td></tr></tbody></table>',
        '<ol start="3"><li value="4">a</li></ol>',
    ],
)
def test_blocks_stay(html: str) -> None:
    assert render_note(html.replace("octavo:0", "a.png")).html == html


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ('<b onclick="a" style="b" id="c" class="callout">d</b>', "<b>d</b>"),
        ("<font>a</font> <center>b</center>", "a b"),
        ("<form action=a><input name=b><button>c</button></form>", "c"),
        (
            "<input type=checkbox checked onclick=a>",
            '<input type="checkbox" disabled="" checked="">',
        ),
        ("<script>a</script><style>b</style><svg>c</svg><math>d</math>e", "e"),
        ("a<svg/>b", "ab"),
        ("<iframe src=a>b</iframe>c", "c"),
        ("<p align=justify>a</p>", "<p>a</p>"),
        # HTML has no such attribute any more.
        ("<div align=CENTER dir=rtl>a</div>", '<div class="align-center" dir="rtl">a</div>'),
        ('<p align="right" class="align-left">a</p>', '<p class="align-right">a</p>'),
        ("<td colspan=x>a</td>", "a"),
        ("<span lang='a\"b'>c</span>", "<span>c</span>"),
        ("<a name=a>b</a>", "b"),
        ("<a href=x.md>a</a>", '<a href="octavo:0" rel="noopener noreferrer">a</a>'),
        ("<a href=javascript:a>b</a>", "b"),
        ("<a href=' javascript:a'>b</a>", "b"),
        ("<a href=octavo:0>b</a>", "b"),
        ("<img src=octavo:0 alt=b>", "b"),
        ("<img src=x.png height=3 onerror=a>", '<img src="octavo:0" alt="" height="3">'),
        (
            "<a href=x.md><img src=http://a/b.png alt=c></a>",
            '<a href="octavo:0" rel="noopener noreferrer">c</a>',
        ),
        ("<h1>a</h1>", "<h2>a</h2>"),
    ],
)
def test_what_is_not_allowed_is_dropped(source: str, html: str) -> None:
    assert render_note(f"<div>{source}</div>").html == f"<div>{html}</div>"


@pytest.mark.parametrize("element", ["svg", "math", "script", "style"])
def test_only_the_dropped_element_is_missing_in_its_paragraph(element: str) -> None:
    html = render_note(f"a <{element}>x</{element}> b *c*").html
    assert html == "<p>a  b <em>c</em></p>\n"


def test_markdown_between_tags_is_markdown() -> None:
    html = render_note("<details>\n<summary>a</summary>\n\n*b*\n\n</details>\n\nc").html
    expected = "<details>\n<summary>a</summary>\n<p><em>b</em></p>\n</details>\n<p>c</p>\n"
    assert html == expected


def test_tag_that_is_not_closed_ends_with_its_block() -> None:
    assert render_note("- <b>a\n- c").html == "<ul>\n<li><b>a</b></li>\n<li>c</li>\n</ul>\n"


def test_line_feeds_at_the_beginning_of_preformatted_text_are_dropped() -> None:
    assert render_note("<pre>\n\n\na</pre>").html == '<pre tabindex="0">a</pre>'


def test_repeated_formatting_does_not_multiply() -> None:
    note = render_note("<p>" + "<b title=a>" * 90 + "x<div>y</div>" * 2000)
    assert len(note.html) < 60_000
