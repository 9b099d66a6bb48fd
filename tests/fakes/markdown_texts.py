"""Markdown texts for property tests: any signs and tags, and plain notes."""

from hypothesis import strategies as st

_SIGNS = [
    *("a", "b", " ", "\n", "\t", ">", "-", "*", "+", "1.", ")", "[", "]", "(", "|", "`", "~", "_"),
    *(":", "#", "=", "&", ";", "<", "!", "\\", '"', "'", "/", "é", "\0", "^", "$", "%", "{", "}"),
    *("  ", "\n\n", "    ", "<!--", "-->", "<?", "?>", "<![CDATA[", "]]>", "==", "%%", "$$"),
    *("[[a", "]]", "![[b.png|", "300]]", "^[", "[^1]", "[^1]: ", "> [!tip]- T\n", "> [!x]+\n"),
    *("- [ ] ", "- [x] ", "```py\n", "```\n", "|a|b|\n|-|-|\n", "![a|30](x.png)", "[a](octavo:0)"),
    *(
        '<a href="octavo:1">',
        r"\frac{1}{2}",
        r"\text{<script>}",
        "\xa0",
        "javascript:",
        "http://x/",
    ),
    *("---\n", "===\n", "# ", "[a](b.md)", "<http://a.b>", "[a]: b\n", "http&colon;//x"),
]
_NAMES = [
    *("a", "b", "i", "p", "div", "span", "table", "tr", "td", "th", "tbody", "thead", "caption"),
    *("ul", "ol", "li", "dl", "dt", "dd", "details", "summary", "pre", "code", "h1", "h2", "sup"),
    *("img", "br", "hr", "input", "script", "style", "svg", "math", "mtext", "mi", "section"),
    *("figure", "ruby", "rt", "rp", "form", "select", "option", "textarea", "title", "template"),
    *("iframe", "object", "button", "nobr", "font", "center", "head", "body", "html", "frameset"),
    *(
        "plaintext",
        "xmp",
        "noscript",
        "blockquote",
        "em",
        "mark",
        "annotation-xml",
        "foreignobject",
    ),
]
_TAGS = [
    *(f"<{name}>" for name in _NAMES),
    *(f"</{name}>" for name in _NAMES),
    *(
        '<a href="x.md">',
        '<a href="http://e">',
        '<img src="y.png" alt="q" width=3>',
        "<li value=3>",
    ),
    *('<img src="http://e/z.png">', "<td colspan=2 align=LEFT>", '<p align="center">', "<b a='"),
    *('<a href="#x" title="t">', "<input type=checkbox>", "<div class=callout id=main style=x>"),
    *("<ol start=2>", '<a href="javascript:x">', "<details open>", '">', "<b onclick=y lang=de>"),
]
MARKDOWN = st.lists(st.sampled_from(_SIGNS) | st.sampled_from(_TAGS), max_size=40).map("".join)
"""Texts of signs and tags in any order."""

_LINES = st.sampled_from(
    [
        *(
            "# a",
            "## B *c*",
            "### `d` e",
            "a\n===",
            "Mainly\n---",
            "## a-1",
            "# f [g](h)",
            "## [[i|j]]",
        ),
        *(
            "> # k",
            "- ## l",
            "m",
            "",
            "```\n# n\n```",
            "    # o",
            "## é Ü #",
            "# <b>p</b>",
            "# q_r_s",
        ),
    ]
)
PROSE = st.lists(_LINES, max_size=12).map("\n\n".join)
"""Notes with headings."""
