"""Parsing of queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.search.query import InvalidQuery, parse_query


def described(query: str) -> list[str]:
    """Each clause: its tokens, and * if the last one is a prefix."""
    return [" ".join(clause.tokens) + "*" * clause.prefix for clause in parse_query(query).clauses]


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        ("hello", ["hello*"]),
        ("Hello World", ["hello", "world*"]),
        ("hel* world", ["hel*", "world*"]),
        ('"hello world"', ["hello world"]),
        ('"hello wor"*', ["hello wor*"]),
        ('a "b c" d', ["a", "b c", "d*"]),
        ('a "b', ["a", "b"]),
        ('a"b c"', ["a", "b c"]),
        ("foo-bar x", ["foo bar", "x*"]),
        ("a a b a", ["a", "b", "a*"]),
        ("AND OR NOT NEAR(a)", ["and", "or", "not", "near a*"]),
        ("name:x ^y -z & | ! ( )", ["name x", "y", "z"]),
        ("'; DROP TABLE x --", ["drop", "table", "x"]),
        ("Éa", ["ea*"]),
        ("東", ["東*"]),
        ("東京", ["東京"]),
        ("東京都", ["東京 京都"]),
        ('"東京 x"', ["東京 京 x"]),
        ("GPT模", ["gpt 模*"]),
        ("模GPT", ["模 gpt*"]),
        ("模GPT x", ["模 gpt", "x*"]),
    ],
)
def test_query_has_clauses(query: str, clauses: list[str]) -> None:
    assert described(query) == clauses


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("", "query is empty"),
        (' "" * - ', "query is empty"),
        ("x" * 501, "500 characters"),
        (" ".join(map(str, range(17))), "16 words"),
        ('"' + "x " * 33 + '"', "32 words"),
    ],
)
def test_query_that_asks_for_nothing_or_too_much_is_refused(query: str, complaint: str) -> None:
    with pytest.raises(InvalidQuery, match=complaint):
        parse_query(query)


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        ("x" * 500, 1),
        (" ".join(["0", *map(str, range(16))]), 16),
        ('"' + "x " * 32 + '"', 1),
    ],
)
def test_query_may_be_as_large_as_the_limits(query: str, clauses: int) -> None:
    assert len(parse_query(query).clauses) == clauses


@given(st.text(max_size=40))
def test_any_text_is_a_query_or_refused(query: str) -> None:
    try:
        clauses = parse_query(query).clauses
    except InvalidQuery:
        return
    for clause in clauses:
        assert clause.tokens
        assert clause.runs
