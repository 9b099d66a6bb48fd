"""The tokens of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.search import tokens_of
from octavo.model.search.folding import folded, folded_in_place


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("  -- ", []),
        ("Hello, World!", ["hello", "world"]),
        ("snake_case x2", ["snake", "case", "x2"]),
        ("don't", ["don", "t"]),
        ("Café cafe\u0301 CAFÉ", ["cafe", "cafe", "cafe"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ﬁne x² ½", ["fine", "x2", "1", "2"]),
        ("ǅ İstanbul", ["dz", "istanbul"]),
        ("Ελλάδα ΣΊΣΥΦΟΣ", ["ελλαδα", "σισυφοσ"]),
        ("co\u00adop", ["coop"]),
        ("हिन्दी", ["हिन्दी"]),
        ("ไทย", ["ไทย"]),
        ("שָׁלוֹם", ["שלום"]),
        ("東", ["東"]),
        ("東京都", ["東京", "京都", "都"]),
        ("東京 都", ["東京", "京", "都"]),
        ("GPT模型v2", ["gpt", "模型", "型", "v2"]),
        ("한국어", ["한국", "국어", "어"]),
        ("がぎ か\u3099き\u3099", ["がぎ", "ぎ", "がぎ", "ぎ"]),
        ("ｶﾞｷﾞ \uff21\uff22", ["ガギ", "ギ", "ab"]),
        ("𠀀𠀁", ["𠀀𠀁", "𠀁"]),
        ("a" * 70, ["a" * 64]),
        ("é" + "a" * 70, ["e" + "a" * 63]),
    ],
)
def test_text_has_tokens(text: str, tokens: list[str]) -> None:
    assert tokens_of(text) == tokens


@given(st.text(max_size=30))
def test_folding_what_is_folded_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@given(st.text(max_size=30))
def test_tokens_are_letters_and_digits_alone(text: str) -> None:
    for token in tokens_of(text):
        assert token
        assert " " not in token
        assert all(each.isalnum() or not each.isascii() for each in token)


@given(st.text(max_size=30))
def test_each_character_of_a_folded_text_has_its_place(text: str) -> None:
    whole, places = folded_in_place(text)
    if places is None:
        assert len(whole) == len(text)
    else:
        assert len(places) == len(whole) + 1
        assert places == sorted(places)
        assert all(at < len(text) for at in places[:-1])
