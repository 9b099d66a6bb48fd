"""Texts are split into portions between their tokens."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.search import searched_text
from octavo.model.search.query import MAX_TOKENS
from octavo.model.search.searched_text import PORTION, overlapping, portion, portions_of
from octavo.model.search.tokens import tokens_of

_PARTS = (
    *("a", "B", "9", "-", "_", ".", "\u00b7", "\u00e9", "e\u0301", "\u0301", "\u00df", "\u0130"),
    *("\u00ad", "\u200d", "\ufb01", "\uff41", "\ufdfa"),
    *("中", "文", "字", "か", "が", "か\u3099", "ー", "한", "\U00020000"),
)
_TEXTS = st.lists(st.sampled_from([*_PARTS, " ", "\n"]), max_size=200).map("".join)


@given(text=_TEXTS, size=st.sampled_from([3, 7, 20]))
def test_tokens_of_all_portions_are_those_of_the_text(text: str, size: int) -> None:
    with patch.object(searched_text, "PORTION", size):
        found = [each for at in range(portions_of(text)) for each in portion(text, at)]
    assert found == tokens_of(text)


@given(text=_TEXTS, size=st.sampled_from([40, 60]))
def test_every_phrase_is_within_a_portion_and_what_follows_it(text: str, size: int) -> None:
    with patch.object(searched_text, "PORTION", size):
        found = [overlapping(text, at) for at in range(portions_of(text))]
    tokens = tokens_of(text)
    for at in range(len(tokens) - MAX_TOKENS + 1):
        phrase = tokens[at : at + MAX_TOKENS]
        assert any(
            phrase == some[begin : begin + MAX_TOKENS]
            for some in found
            for begin in range(len(some) - MAX_TOKENS + 1)
        )


@pytest.mark.parametrize("text", ["", "a", "中" * PORTION])
def test_short_text_is_one_portion(text: str) -> None:
    assert portions_of(text) == 1
    assert portion(text, 0) == overlapping(text, 0) == tokens_of(text)


@pytest.mark.parametrize("unit", ["x", "中", "\u0915", "a ", "-", " ", "\ufdfa "])
def test_no_portion_has_many_tokens(unit: str) -> None:
    text = unit * (3 * PORTION)
    count = portions_of(text)
    assert [each for at in range(count) for each in portion(text, at)] == tokens_of(text)
    assert max(len(overlapping(text, at)) for at in range(count)) <= 4 * PORTION + 600


def test_word_over_several_portions_is_one_token() -> None:
    text = f"before {'x' * (5 * PORTION)} after"
    assert [portion(text, at) for at in range(portions_of(text))][:2] == [["before", "x" * 64], []]
    assert [each for at in range(portions_of(text)) for each in portion(text, at)] == tokens_of(
        text
    )
