"""Identifiers as bytes and as text."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.store import identifiers
from octavo.store.identifiers import (
    NIL,
    identifier_columns,
    to_bytes,
    to_text,
    to_texts,
    with_texts,
)


@pytest.fixture(scope="module", autouse=True)
def columns_at_once() -> Iterator[None]:
    """Convert columns together, which the short names of other tests don't allow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identifiers, "FEW", 6)
        yield


IDS = st.uuids(version=4).map(str)


@given(IDS)
def test_identifier_has_16_bytes_and_round_trips(identifier: str) -> None:
    data = to_bytes(identifier)
    assert len(data) == 16
    assert to_text(data) == identifier


@given(IDS, IDS)
def test_bytes_sort_as_texts_do(one: str, other: str) -> None:
    assert (to_bytes(one) < to_bytes(other)) == (one < other)


def test_empty_text_sorts_before_all_others() -> None:
    assert to_bytes("") == NIL


@pytest.mark.parametrize("text", ["0190a1b2-c3d4-7e5f", "0190a1b2" * 5, "g" * 32])
def test_text_that_is_not_a_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"UUID|digit|hexadecimal"):
        to_bytes(text)


@given(
    st.lists(st.one_of(st.none(), IDS), max_size=40),
    st.booleans(),
    st.integers(min_value=1, max_value=60),
)
def test_column_is_converted_as_its_values_are(
    column: list[str | None], filled: bool, times: int
) -> None:
    names = [name for name in column if name is not None or not filled] * times
    data = [None if name is None else to_bytes(name) for name in names]
    assert to_texts(data) == names
    rows = [(number, each, each) for number, each in enumerate(data)]
    expected = [(number, each, each) for number, each in enumerate(names)]
    assert [*with_texts(rows, (1, 2))] == expected


def test_columns_of_identifiers_are_recognized_by_name() -> None:
    assert identifier_columns(["id", "name", "file_id", "position", "kid"]) == (0, 2)
