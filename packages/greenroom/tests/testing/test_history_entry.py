"""Entries of a history are consistent, and render as text."""

import pytest
from greenroom.testing.history_entry import HistoryEntry, Status, render_entries
from greenroom.testing.registers import ReadRegister


def test_empty_history_renders_as_nothing() -> None:
    assert render_entries([]) == ""


def test_definite_entry_needs_a_completion() -> None:
    with pytest.raises(ValueError, match="ok without a completion: read w/a"):
        HistoryEntry("p", ReadRegister("w/a"), 0, Status.OK)


def test_entry_cannot_end_before_it_begins() -> None:
    with pytest.raises(ValueError, match="completed before it was invoked: read w/a"):
        HistoryEntry("p", ReadRegister("w/a"), 5, Status.OK, 4)
