"""The tokens of a text."""

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.label import MAX_MARKS, stream_safe
from octavo.model.search.tokens import MAX_CHARACTERS, folded, folded_in_place, tokens_of
from tests.fakes.normalization import watch


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
def test_folding_is_idempotent(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@given(
    st.text(
        st.one_of(st.characters(), st.sampled_from("aB -\u0301\u0316é\u201cﬁか\u3099")), max_size=60
    )
)
def test_text_is_folded_as_its_compatible_composition_character_by_character(text: str) -> None:
    composed = unicodedata.normalize("NFKC", stream_safe(text))
    assert folded(text) == "".join(map(folded, composed))


@given(st.text(max_size=30))
def test_tokens_are_only_letters_and_digits(text: str) -> None:
    for token in tokens_of(text):
        assert token
        assert " " not in token
        assert all(each.isalnum() or not each.isascii() for each in token)


@given(st.text(max_size=30))
def test_each_character_of_a_folded_text_has_its_offset(text: str) -> None:
    whole, places = folded_in_place(text)
    if places is None:
        assert len(whole) == len(text)
    else:
        assert len(places) == len(whole) + 1
        assert places == sorted(places)
        assert all(at < len(text) for at in places[:-1])


@pytest.mark.parametrize("count", [31, 40_000])
def test_long_mark_runs_are_never_normalized(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = watch(monkeypatch, MAX_MARKS)
    assert tokens_of("Cafe" + "\u0300" * count + "\u0316" * count + "s b") == ["cafes", "b"]
    assert runs.longest == MAX_MARKS


LIGATURES = "\ufdfa" * 100_000
"""NFKC expands it to eighteen characters."""


def test_folded_text_is_limited_in_length(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = folded(LIGATURES)
    monkeypatch.setattr("octavo.model.search.tokens.MAX_CHARACTERS", 2 * len(whole))
    beyond = folded(LIGATURES)
    assert len(whole) == MAX_CHARACTERS < len(beyond)
    assert beyond.startswith(whole)


def test_text_beyond_the_limit_is_not_normalized(monkeypatch: pytest.MonkeyPatch) -> None:
    normalized = 0
    normalize = unicodedata.normalize

    def counted(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
        nonlocal normalized
        normalized += len(text)
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", counted)
    tokens_of(LIGATURES * 10)
    # Pieces hold 65,536 characters; eighteen times as many are more than enough.
    assert normalized < 66_000


def test_folding_in_place_ends_at_the_limit() -> None:
    whole, places = folded_in_place(f"a{LIGATURES}")
    assert places is not None
    assert MAX_CHARACTERS - 18 < len(whole) <= MAX_CHARACTERS
    assert len(places) == len(whole) + 1
    assert places[-2:] == [places[-1] - 1, places[-1]]
    assert places[-1] == 1 + (MAX_CHARACTERS - 1) // 18


@pytest.mark.parametrize("word", ["cafe\u0301", "か\u3099き\u3099", "\u1112\u1161\u11ab", "हिन्दी"])
@pytest.mark.parametrize("ahead", range(65_530, 65_540))
def test_word_at_the_end_of_a_piece_is_folded_whole(ahead: int, word: str) -> None:
    text = "x " + "東" * (ahead - 3) + " " + word
    assert "".join(tokens_of(text)).endswith("東" + "".join(tokens_of(word)))
