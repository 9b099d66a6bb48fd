"""Times on the wire: RFC 3339 in UTC, with milliseconds and ``Z``."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated

from pydantic import AwareDatetime, Field

LATEST = 253_402_300_799_999
"""The last millisecond that RFC 3339 has a notation for: the end of the year 9999 in UTC."""
_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = timedelta(milliseconds=1)

Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time that is answered; `timestamp` writes it."""

GivenTime = AwareDatetime
"""A time that is taken, in any offset from UTC; `milliseconds_of` reads it."""


def timestamp(milliseconds: int) -> Timestamp:
    """Answer the time of so many milliseconds of Unix time, or the nearest that can be told."""
    seconds, rest = divmod(min(max(milliseconds, 0), LATEST), 1000)
    return f"{_spelled(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=1024)
def _spelled(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()


def milliseconds_of(given: datetime) -> int:
    """Answer the whole milliseconds of Unix time of a time that was given."""
    return (given - _EPOCH) // _MILLISECOND
