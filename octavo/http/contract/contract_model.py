"""The bases of every model that stands in the contract: what is not declared is refused.

Members are named in camelCase on the wire and in snake_case here. A request is validated by the
names of the wire alone (``by_alias=True, by_name=False``); code makes an answer by the names
here, as the type checker knows them.

Identifiers on the wire: UUIDs in the one notation of RFC 9562 section 4, in lower case.

Times on the wire: RFC 3339 in UTC, with milliseconds and ``Z``.

Bytes within JSON: standard base64 with its padding (RFC 4648 section 4).

What is answered when something was removed.
"""

from base64 import b64decode, b64encode
from binascii import Error
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from octavo.http.contract.attribute_docstrings import attribute_docstrings

SUFFIX = "Schema"


def header_name(name: str) -> str:
    """Return the header that a field is named for: ``if_match`` is ``if-match``."""
    return name.replace("_", "-")


def public_name(model: type) -> str:
    """Return the name of ``model`` in the API document: without the suffix ``Schema``.

    The suffix tells the form of a thing in the API from the thing itself, which may have the same
    name.
    """
    return model.__name__.removesuffix(SUFFIX)


class ContractModel(BaseModel):
    """A body, a part of one, or the path and query parameters of an operation.

    A member is of the type declared or refused: ``"1"`` is no number in JSON. Text in a path or
    a query is read as the type declared.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        model_title_generator=public_name,
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of the model, with the docstrings of its members."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, text in attribute_docstrings(cls).items():
            field = cls.model_fields.get(name)
            if field is None:
                continue
            for known in (field.serialization_alias, field.alias, name):
                if known in properties:
                    properties[known].setdefault("description", text)
                    break
        return schema


class HeaderModel(ContractModel):
    """The headers that an operation reads; any other is none of its business."""

    model_config = ConfigDict(alias_generator=header_name)


Identifier = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        json_schema_extra={"format": "uuid"},
    ),
]
"""An identifier, given or answered."""


LATEST = 253_402_300_799_999
"""The last millisecond that RFC 3339 has a notation for: the end of the year 9999 in UTC."""
_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = timedelta(milliseconds=1)

Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time that is answered; `timestamp` writes it."""

GivenTime = AwareDatetime
"""A time that is taken, in any offset from UTC; `milliseconds_of` reads it."""


def timestamp(milliseconds: int) -> Timestamp:
    """Return the time of so many milliseconds of Unix time, or the nearest that can be told."""
    seconds, rest = divmod(min(max(milliseconds, 0), LATEST), 1000)
    return f"{_spelled(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=1024)
def _spelled(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()


def milliseconds_of(given: datetime) -> int:
    """Return the whole milliseconds of Unix time of a time that was given."""
    return (given - _EPOCH) // _MILLISECOND


_SCHEMA = WithJsonSchema({"type": "string", "contentEncoding": "base64"})
_GIVEN_SCHEMA = WithJsonSchema(
    {
        "type": "string",
        "contentEncoding": "base64",
        "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    }
)


def _decode(given: object) -> bytes:
    if not isinstance(given, str):
        raise ValueError("Give bytes as a string of standard base64.")
    try:
        return b64decode(given, validate=True)
    except (Error, ValueError):
        raise ValueError("This is no standard base64 with padding.") from None


GivenBytes = Annotated[bytes, BeforeValidator(_decode), _GIVEN_SCHEMA]
"""Bytes that are taken."""

Base64 = Annotated[str, _SCHEMA]
"""Bytes that are answered; `base64_of` writes them."""


def base64_of(data: bytes) -> Base64:
    """Return bytes as they stand in JSON."""
    return b64encode(data).decode("ascii")


class Removed(ContractModel):
    """It is gone."""

    removed: Literal[True] = True


REMOVED = Removed()
