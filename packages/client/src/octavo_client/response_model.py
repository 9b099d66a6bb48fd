"""Validation of the server's responses, and of what programs keep of them.

Types are checked strictly; unknown members are ignored, so that newer servers may add some. Times
are timezone-aware, in UTC.
"""

from base64 import b64decode, b64encode
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ConfigDict, PlainSerializer, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from octavo_client.errors import UnexpectedResponse

T = TypeVar("T")


class ResponseModel:
    """The base of response types: frozen dataclasses with members in camelCase in JSON."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(
        alias_generator=to_camel, extra="ignore", strict=True, hide_input_in_errors=True
    )


def _decoded(value: object) -> object:
    # The bytes type of pydantic ignores characters outside the base64 alphabet.
    return b64decode(value, validate=True) if isinstance(value, str) else value


def _encoded(value: bytes) -> str:
    return b64encode(value).decode()


Base64 = Annotated[bytes, BeforeValidator(_decoded), PlainSerializer(_encoded)]
"""Bytes, represented in JSON as standard base64 (RFC 4648 section 4)."""


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401  # any type
    return TypeAdapter(kind)


def to_json(value: ResponseModel) -> bytes:
    """Return ``value`` as JSON, which `parse_response` reads."""
    encoded: bytes = TypeAdapter(type(value)).dump_json(value, by_alias=True)
    return encoded


def parse_response(kind: type[T], body: bytes | str) -> T:
    """Parse the JSON ``body`` as a ``kind``. Raises `UnexpectedResponse` if it does not match."""
    reader: TypeAdapter[T] = _reader(kind)  # type: ignore[arg-type]  # a type is hashable
    try:
        return reader.validate_json(body)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_context=False)
        place = "/".join(map(str, first["loc"]))
        raise UnexpectedResponse(f"not a {kind.__name__}: {first['msg']} at /{place}") from None
