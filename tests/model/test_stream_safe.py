"""Limited runs of combining marks."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.label import MAX_MARKS, is_mark, stream_safe

GRAVE, BELOW = "\u0300", "\u0316"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("", ""),
        ("a" * 100, "a" * 100),
        ("─" * 100, "─" * 100),
        ("हिन्दी शुभकामनाएँ", "हिन्दी शुभकामनाएँ"),
        ("a" + GRAVE * 30, "a" + GRAVE * 30),
        ("a" + GRAVE * 31 + "b" + BELOW, "a" + GRAVE * 30 + "b" + BELOW),
        ("a" + (GRAVE + BELOW) * 30, "a" + (GRAVE + BELOW) * 15),
        (GRAVE * 40, GRAVE * 30),
        ("ｶ" + "\uff9e" * 40, "ｶ" + "\uff9e" * 30),
        (GRAVE * 20 + "\ufe0f" + GRAVE * 20, GRAVE * 20 + "\ufe0f" + GRAVE * 20),
    ],
)
def test_letter_keeps_thirty_marks(text: str, safe: str) -> None:
    assert stream_safe(text) == safe


@given(st.text(alphabet=f"a一─{GRAVE}{BELOW}\u0f73\u093f\uff9e", max_size=40), st.integers(3, 5))
def test_safe_text_has_no_longer_runs_and_is_otherwise_complete(text: str, maximum: int) -> None:
    kept, run = "", 0
    for character in text:
        run = run + 1 if is_mark(character) else 0
        kept += character if run <= maximum else ""
    assert stream_safe(text, maximum) == kept


def test_character_that_decomposes_to_a_leading_mark_is_a_mark() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        begins = any(
            unicodedata.combining(unicodedata.normalize(form, character)[0])
            for form in ("NFD", "NFKD")
        )
        assert is_mark(character) is begins, hex(code)
        if begins:
            assert stream_safe(character * 40) == character * MAX_MARKS, hex(code)
