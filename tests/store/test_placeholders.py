"""The placeholders of scripts on SQLite."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.store.sqlite.placeholders import MOST_KEPT, Translations, translated


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT $1, $2, $1, $10", "SELECT ?1, ?2, ?1, ?10"),
        ("SELECT '$1', $1", "SELECT '$1', ?1"),
        ("SELECT 'it''s $1', $2", "SELECT 'it''s $1', ?2"),
        ('SELECT "$1" FROM t WHERE a=$1', 'SELECT "$1" FROM t WHERE a=?1'),
        ("SELECT $1 -- not $2\n, $2", "SELECT ?1 -- not $2\n, ?2"),
        ("SELECT $1 /* not\n$2 */, $2", "SELECT ?1 /* not\n$2 */, ?2"),
        ("SELECT a$1, $$1, $a", "SELECT a$1, $$1, $a"),
    ],
)
def test_placeholder_is_translated_and_nothing_else(sql: str, expected: str) -> None:
    assert translated(sql) == expected


@given(st.text(alphabet="ab $1'\"-/*\n?"))
def test_text_in_quotes_stays_as_it_is(text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"
    assert translated(f"SELECT {quoted}, $1") == f"SELECT {quoted}, ?1"


def test_translations_are_bounded() -> None:
    translations = Translations()
    for number in range(MOST_KEPT + 1):
        assert translations[f"SELECT {number}, $1"] == f"SELECT {number}, ?1"
    assert len(translations) <= MOST_KEPT
