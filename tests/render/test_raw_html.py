"""HTML that a person wrote: its tags and its text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.render.written_html import Tag, read_html


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("a", ["a"]),
        ("a &lt; b &amp;amp; &copy", ["a < b &amp; ©"]),
        ("<B>a</b >", [Tag("b", False, {}), "a", Tag("b", True, {})]),
        ("<br/>", [Tag("br", False, {}, True)]),
        (
            "<a HREF='b>c' d=e f g=\"&amp;h&copy=i\">",
            [Tag("a", False, {"href": "b>c", "d": "e", "f": "", "g": "&h&copy=i"})],
        ),
        ("<a b=c b=d>", [Tag("a", False, {"b": "c"})]),
        ("a<!-- <b> -->c<!-->d<!--->e<!--f", ["a", "c", "d", "e"]),
        ("a<?b?>c<!D>e<![CDATA[f>g]]></ h>i", ["a", "c", "e", "g]]>", "i"]),
        ("a<b", ["a"]),
        ("a < b <1>", ["a < b <1>"]),
        ("<script>a<b></SCRIPT>c", [Tag("script", False, {}), Tag("script", True, {}), "c"]),
        ("<style>a", [Tag("style", False, {})]),
        ("<x-y>", [Tag("x-y", False, {})]),
    ],
)
def test_tags_and_text_are_those_of_browsers(source: str, found: list[Tag | str]) -> None:
    assert list(read_html(source)) == found


@given(st.text("<>/!-?=\"' abscript&;", max_size=40))
def test_any_text_is_read(source: str) -> None:
    for each in read_html(source):
        assert each or isinstance(each, str)


@pytest.mark.parametrize(
    "unit", ["<", "<!--", "<a ", '<a b="', "<a b='c", "</", "<?", "<script>", "&"]
)
def test_reading_takes_linear_time(unit: str) -> None:
    for _ in read_html(unit * 100_000):
        pass
