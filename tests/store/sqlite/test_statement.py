"""Statements of scripts on SQLite: placeholders, and arguments that are identifiers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.store.sqlite.transaction import MAX_KEPT, Statement, Statements


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
        ("SELECT $1::uuid, '$2::uuid', $12::uuid", "SELECT ?1, '$2::uuid', ?12"),
    ],
)
def test_placeholder_is_translated_and_nothing_else(sql: str, expected: str) -> None:
    assert Statement(sql).sql == expected


@given(st.text(alphabet="ab $1'\"-/*\n?"))
def test_quoted_text_is_unchanged(text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"
    assert Statement(f"SELECT {quoted}, $1").sql == f"SELECT {quoted}, ?1"


def test_statements_are_bounded() -> None:
    statements = Statements()
    for number in range(MAX_KEPT + 1):
        assert statements[f"SELECT {number}, $1"].sql == f"SELECT {number}, ?1"
    assert len(statements) <= MAX_KEPT


ID = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"


def test_only_cast_arguments_are_bound_as_bytes() -> None:
    statement = Statement("SELECT $1, $2::uuid, $3::uuid, $4::uuid")
    data = bytes.fromhex(ID.replace("-", ""))
    assert [*statement.bind((ID, ID, None, ""))] == [ID, data, None, b"\0" * 16]


@pytest.mark.parametrize("text", ["0190a1b2", f"{ID}00", "g" * 32, "ü", "\ud800"])
def test_argument_that_is_not_a_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"UUID|digit|hexadecimal|ASCII"):
        Statement("SELECT $1::uuid").bind((text * 2,))
