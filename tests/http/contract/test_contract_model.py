"""Times in JSON."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.schema_base import written_time
from pydantic import ConfigDict, TypeAdapter, ValidationError

from octavo.http.contract.contract_model import (
    LATEST,
    GivenTime,
    milliseconds_of,
    timestamp,
)


@given(st.integers(0, LATEST))
def test_time_round_trips_in_rfc_3339(milliseconds: int) -> None:
    expected = written_time(timestamp(milliseconds))
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
    assert written_time(timestamp(milliseconds)) == expected


def test_offset_from_utc_is_subtracted() -> None:
    given = datetime.fromisoformat("2026-01-31T12:00:00+01:00")
    assert written_time(timestamp(milliseconds_of(given))) == "2026-01-31T11:00:00.000Z"
    assert given.astimezone(UTC).hour == 11


@pytest.mark.parametrize("text", ["2026-01-31T12:00:00+01:00", "2026-01-31T11:00:00.000Z"])
def test_time_of_a_request_is_read(text: str) -> None:
    times = TypeAdapter(GivenTime, config=ConfigDict(strict=True))
    for found in (times.validate_strings(text), times.validate_json(f'"{text}"')):
        assert written_time(timestamp(milliseconds_of(found))) == "2026-01-31T11:00:00.000Z"


@pytest.mark.parametrize("text", ["2026", "1769860800", "20260131", "2026-01-31", "12:00Z", ""])
def test_number_and_date_alone_are_no_time_of_a_request(text: str) -> None:
    times = TypeAdapter(GivenTime, config=ConfigDict(strict=True))
    with pytest.raises(ValidationError, match="must be a time with its UTC offset, such as 2026"):
        times.validate_strings(text)
    with pytest.raises(ValidationError, match="must be a time with its UTC offset, such as 2026"):
        times.validate_json(f'"{text}"')
    if text.isdigit():
        with pytest.raises(ValidationError, match="must be a time with its UTC offset"):
            times.validate_json(text)
