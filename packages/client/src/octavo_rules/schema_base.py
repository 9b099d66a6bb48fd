"""What schemas are made of: their base, and the types of fields that any API has."""

from datetime import datetime
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

T = TypeVar("T")


class Schema(BaseModel):
    """The base of the responses; types are strict, and instances immutable."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
    )


IDENTIFIER_PATTERN = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
UUID_FIELD = Field(pattern=IDENTIFIER_PATTERN, json_schema_extra={"format": "uuid"})
Identifier = Annotated[str, UUID_FIELD]


def written_time(time: datetime) -> str:
    """Return a time in UTC by RFC 3339, in milliseconds."""
    return f"{time.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


Timestamp = Annotated[
    datetime,
    PlainSerializer(written_time, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time in UTC."""

Cursor = Annotated[str, Field(json_schema_extra={"pattern": "^[A-Za-z0-9_-]+$"})]
"""The place in a list where its next page begins."""


class ListPage(Schema, Generic[T]):
    """A page of a list."""

    items: tuple[T, ...]
    next: Cursor | None
    """The ``after`` of the next page; null on the last page."""
