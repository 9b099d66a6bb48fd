"""Times in JSON."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.contract.contract_model import LATEST, milliseconds_of, timestamp


@given(st.integers(0, LATEST))
def test_time_round_trips_in_rfc_3339(milliseconds: int) -> None:
    expected = timestamp(milliseconds)
    assert expected.endswith("Z")
    assert len(expected) == len("2026-01-31T12:00:00.000Z")
    assert milliseconds_of(datetime.fromisoformat(expected)) == milliseconds


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        (-1, "1970-01-01T00:00:00.000Z"),
        (LATEST, "9999-12-31T23:59:59.999Z"),
        (LATEST + 1, "9999-12-31T23:59:59.999Z"),
        (1 << 62, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_time_without_a_notation_is_written_as_the_nearest(
    milliseconds: int, expected: str
) -> None:
    assert timestamp(milliseconds) == expected


def test_offset_from_utc_is_subtracted() -> None:
    given = datetime.fromisoformat("2026-01-31T12:00:00+01:00")
    assert timestamp(milliseconds_of(given)) == "2026-01-31T11:00:00.000Z"
    assert given.astimezone(UTC).hour == 11
