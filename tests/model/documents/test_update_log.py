"""The updates that are stored beside a document, and when it is stored whole instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.problems import DocumentMalformed

from octavo.model.documents.update_log import (
    FREE_BYTES,
    MAX_UPDATES,
    outgrows,
    packed,
    splits_at_most,
    unpacked,
)
from tests.yjs.wire import Section, Update, text

UPDATES = st.lists(st.binary(max_size=200), max_size=10)


@given(st.lists(UPDATES))
def test_updates_are_unpacked_as_they_were_packed_also_from_several_rows(
    rows: list[list[bytes]],
) -> None:
    together = b"".join(map(packed, rows))
    assert [*unpacked(together)] == [each for row in rows for each in row]


@given(st.lists(st.binary(min_size=1, max_size=200), min_size=1, max_size=10), st.data())
def test_what_is_cut_off_is_never_read_as_other_updates(
    updates: list[bytes], data: st.DataObject
) -> None:
    whole = packed(updates)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        found = unpacked(cut)
    except DocumentMalformed:
        return
    assert [*found] == updates[: len(found)]
    assert packed(found) == cut


@pytest.mark.parametrize("damaged", [b"\5abc", b"\1a\2b", b"\x80", b"\x80\0"])
def test_damage_is_reported(damaged: bytes) -> None:
    with pytest.raises(DocumentMalformed):
        unpacked(damaged)


@pytest.mark.parametrize(
    ("updates", "state", "whole"),
    [
        ([b"x"] * MAX_UPDATES, 0, False),
        ([b"x"] * (MAX_UPDATES + 1), 1 << 20, True),
        ([b"x" * FREE_BYTES], 0, False),
        ([b"x" * (FREE_BYTES + 1)], 0, True),
        ([b"x" * (FREE_BYTES + 1)], 2 * FREE_BYTES + 2, False),
        ([b"x" * FREE_BYTES, b"xx"], 2 * FREE_BYTES + 2, True),
    ],
)
def test_document_is_stored_whole_after_many_or_long_updates(
    updates: list[bytes], state: int, whole: bool
) -> None:
    assert outgrows(updates, state, 0) is whole


def test_number_of_updates_can_be_lower() -> None:
    assert outgrows([b"x"] * 3, 1 << 20, 0, 2)
    assert not outgrows([b"x"] * 2, 1 << 20, 0, 2)


def test_updates_that_split_a_long_text_often_are_few() -> None:
    typed = [b"x" * 30]
    # Each may split a text after its origin, and one before its right origin.
    assert not outgrows(typed * 64, 150_000, 64 * 2)
    assert not outgrows(typed * 10, 1_000_000, 10 * 2)
    assert outgrows(typed * 11, 1_000_000, 11 * 2)


@given(st.lists(st.integers(0, 400), max_size=8))
def test_splits_of_stored_updates_are_never_underestimated(lengths: list[int]) -> None:
    # The shortest structs that there are: a character, after and before others of one client.
    structs = [text("x", (1, clock), (1, clock + 1)) for clock in range(400)]
    updates = [Update([Section(2, 0, structs[:length])]).encoded() for length in lengths]
    assert splits_at_most(updates) >= 2 * sum(lengths)
