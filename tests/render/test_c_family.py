"""The lexer of the family of C."""

import time

import pytest

from octavo.render.highlighting import highlighted


@pytest.mark.parametrize(
    ("code", "html"),
    [
        ("// a\n", '<span class="c">// a</span>\n'),
        ("/* a\n* b */ c", '<span class="c">/* a\n* b */</span> c'),
        ("/* a", '<span class="c">/* a</span>'),
        ("int a 0x1F;", '<span class="k">int</span> a <span class="m">0x1F</span>;'),
        ('f("a\\"b")', '<span class="nf">f</span>(<span class="s">"a\\"b"</span>)'),
        ("'a' 'b", "<span class=\"s\">'a'</span> 'b"),
        ("#include <a>", '<span class="c">#include &lt;a&gt;</span>'),
        ("returned", "returned"),
    ],
)
def test_tokens_are_found(code: str, html: str) -> None:
    assert highlighted(code, "c") == html


@pytest.mark.parametrize("unit", ["\n", "a\n", "a a\n", "@a\n", "'", '"', "/*", "a ", "\\", "1."])
def test_lexing_takes_linear_time(unit: str) -> None:
    begun = time.process_time()
    for language in ("c", "c#", "java"):
        highlighted("\n".join([(unit * 500)[:500]] * 19), language)
    assert time.process_time() - begun < 3
