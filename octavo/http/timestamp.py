"""Times on the wire: RFC 3339 in UTC, with milliseconds and ``Z``."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AwareDatetime, Field

_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = timedelta(milliseconds=1)

Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time that is answered; `timestamp` writes it."""

GivenTime = AwareDatetime
"""A time that is taken, in any offset from UTC; `milliseconds_of` reads it."""


def timestamp(milliseconds: int) -> Timestamp:
    """Answer the time of so many milliseconds of Unix time."""
    moment = _EPOCH + milliseconds * _MILLISECOND
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def milliseconds_of(given: datetime) -> int:
    """Answer the whole milliseconds of Unix time of a time that was given."""
    return (given - _EPOCH) // _MILLISECOND
