"""Plain text of inline content."""

import pytest

from octavo.render.parser import parse
from octavo.render.renderer import first_words, plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a *b* `c` &amp;\nd  \ne", "a b c & d e"),
        ("[a](b) [[c|d]] ![e|30](f) ![[g.png|40]] ![[h|i]]", "a d e i"),
        ("a <b>c</b> $d$ ==e==", "a c d e"),
        ("a <script>b</script> c <style>*d</style>* <svg/>e", "a c e"),
    ],
)
def test_plain_text_is_what_is_read(text: str, plain: str) -> None:
    assert plain_text(parse(text)[1].children or ()) == plain


@pytest.mark.parametrize(
    ("text", "longest", "first"),
    [
        ("a b", 3, "a b"),
        ("one two three", 9, "one two…"),
        ("one two three", 8, "one two…"),
        ("one two three", 7, "one…"),
        ("one, two", 6, "one…"),
        ("onetwo", 4, "one…"),
    ],
)
def test_text_is_cut_after_a_word(text: str, longest: int, first: str) -> None:
    assert first_words(text, longest) == first
    assert len(first) <= longest
