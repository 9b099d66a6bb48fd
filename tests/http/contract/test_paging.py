"""Cursors of lists, which clients can forge."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.problems import InvalidRequest

from octavo.http.contract.paging import cursor, read_cursor


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_cursor_round_trips(parts: list[str]) -> None:
    assert read_cursor(cursor(*parts), len(parts)) == tuple(parts)


def forged(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


@pytest.mark.parametrize(
    "after",
    [
        "",
        "!",
        forged(b"{}"),
        forged(b'["a", "b"]'),
        forged(b"[1]"),
        forged(b'["\\u0000"]'),
        forged(b'["\\ud800"]'),
        forged(b"[" * 100_000),
        forged(b"\xff"),
    ],
)
def test_malformed_cursor_is_refused(after: str) -> None:
    with pytest.raises(InvalidRequest):
        read_cursor(after, 1)


@pytest.mark.parametrize("name", ["", "a", "0190A1B2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "0" * 32])
def test_cursor_whose_identifier_is_not_a_uuid_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest):
        read_cursor(cursor(name), 1, identifier=0)
