"""How answers are read.

Types are checked strictly; members that are not known here are passed over, so that a newer server
can tell more. Times are aware, in UTC.
"""

from base64 import b64decode
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from octavo.client.errors import UnexpectedAnswer

T = TypeVar("T")


class Answer:
    """What every answer is: a frozen dataclass, whose members are in camelCase on the wire."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(
        alias_generator=to_camel, extra="ignore", strict=True, hide_input_in_errors=True
    )


def _decoded(value: object) -> object:
    # The type of pydantic passes over characters that are none of base64.
    return b64decode(value, validate=True) if isinstance(value, str) else value


Base64 = Annotated[bytes, BeforeValidator(_decoded)]
"""Bytes, which stand in JSON as standard base64 (RFC 4648 section 4)."""


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401  # a type, whose name says more
    return TypeAdapter(kind)


def read_answer(kind: type[T], body: bytes | str) -> T:
    """Answer what ``body`` holds, in JSON. Raises `UnexpectedAnswer` when it is no ``kind``."""
    reader: TypeAdapter[T] = _reader(kind)  # type: ignore[arg-type]  # a type is hashable
    try:
        return reader.validate_json(body)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_context=False)
        place = "/".join(map(str, first["loc"]))
        raise UnexpectedAnswer(f"no {kind.__name__}: {first['msg']} at /{place}") from None
