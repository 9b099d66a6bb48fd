"""The base models and field types of the contract; undeclared input is refused.

Members are in camelCase in JSON and in snake_case in code. Requests are validated by the JSON names
only (``by_alias=True, by_name=False``); code constructs responses by the names in code, which the
type checker knows.

Identifiers are UUIDs in the notation of RFC 9562 section 4, in lower case. Times are RFC 3339 in
UTC, with milliseconds and ``Z``. Bytes are standard base64 with padding (RFC 4648 section 4).
"""

import ast
import inspect
import re
import sys
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Annotated, Literal

from octavo_rules.schema_base import Identifier, Schema
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


def attribute_docstrings(kind: type, root: type) -> dict[str, str]:
    """Return the docstrings of the annotated attributes of ``kind``, by name.

    Those of its bases are included, up to the base ``root``, which is not. They are read from the
    source: pydantic can read them when a class is created, but that takes a tenth of the server's
    startup time, and only the API document needs them.
    """
    docstrings: dict[str, str] = {}
    for base in reversed(kind.__mro__[: kind.__mro__.index(root)]):
        docstrings |= _docstrings_in(base.__module__).get(base.__qualname__, {})
    return docstrings


@cache
def _docstrings_in(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of a module's classes, by qualified name.

    All at once: `inspect.getsource` of a class parses the whole module each time.
    """
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        # Created dynamically, or in C.
        return {}
    docstrings: dict[str, dict[str, str]] = {}
    for name, definition in _definitions(ast.parse(source), ""):
        # As for `inspect`, the first of several classes of one name counts.
        docstrings.setdefault(name, _own_docstrings(definition))
    return docstrings


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield the classes below ``node`` with their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            name = prefix + child.name
            yield name, child
            yield from _definitions(child, f"{name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _definitions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _definitions(child, prefix)


def _own_docstrings(definition: ast.ClassDef) -> dict[str, str]:
    docstrings: dict[str, str] = {}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str() as text)),
            ):
                docstrings[name] = inspect.cleandoc(text)
    return docstrings


SUFFIX = "Schema"


def header_name(name: str) -> str:
    """Return the header of a field: ``if_match`` is ``if-match``."""
    return name.replace("_", "-")


def public_name(model: type) -> str:
    """Return the name of ``model`` in the API document: without the suffix ``Schema``.

    The suffix distinguishes the model from the domain class of the same name.
    """
    return model.__name__.removesuffix(SUFFIX)


class Model(Schema):
    """A body, a part of one, or the path and query parameters of an operation.

    Types are strict: ``"1"`` is not a number in JSON. Text in a path or a query is parsed as the
    declared type.
    """

    model_config = ConfigDict(
        model_title_generator=public_name,
        # A cache of short values would keep passwords and titles after their requests.
        cache_strings="keys",
    )


class HeaderModel(Model):
    """The headers that an operation reads; others are ignored."""

    model_config = ConfigDict(alias_generator=header_name)


_IN_EITHER_CASE = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
NO_IDENTIFIER = "This must be a UUID: 32 hexadecimal digits in groups 8-4-4-4-12."
_NIL = "00000000-0000-0000-0000-000000000000"


def _not_nil(identifier: str) -> str:
    if identifier == _NIL:
        raise PydanticCustomError("nil_identifier", "This is the nil UUID: choose another id.")
    return identifier


ChosenIdentifier = Annotated[
    Identifier,
    AfterValidator(_not_nil),
    Field(json_schema_extra={"format": "uuid", "not": {"const": _NIL}}),
]
"""An identifier that a client chooses for a file; not the nil UUID, which sorts before others."""


class _IdentifierInPath:
    """Reads the identifier in a path: in either case, while responses have lower case."""

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.custom_error_schema(
            core_schema.str_schema(pattern=_IN_EITHER_CASE, to_lower=True),
            custom_error_type="identifier",
            custom_error_message=NO_IDENTIFIER,
        )

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "format": "uuid"}


IN_PATH = _IdentifierInPath()
"""Marks the identifiers in paths: ``Annotated[FileId, IN_PATH]``."""

LATEST = 253_402_300_799_999
"""The last millisecond that RFC 3339 can represent: the end of the year 9999 in UTC."""
_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = timedelta(milliseconds=1)
_NOT_A_TIME = "This must be a time with its UTC offset, such as 2026-01-31T12:00:00Z."
_DATE_FIRST = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")
_TIMES = TypeAdapter(AwareDatetime)


def _with_date(value: object) -> object:
    """Return a time that begins with its date.

    Others are refused: pydantic takes a number as seconds or milliseconds, but ``2026`` is not
    a time.
    """
    if isinstance(value, str) and _DATE_FIRST.match(value):
        try:
            # A strict model takes no text from this function.
            return _TIMES.validate_strings(value)
        except ValidationError as refused:
            reason = refused.errors()[0].get("ctx", {}).get("error")
            if reason is not None:
                raise PydanticCustomError("not_a_time", f"{_NOT_A_TIME} ({reason})") from None
    raise PydanticCustomError("not_a_time", _NOT_A_TIME)


GivenTime = Annotated[AwareDatetime, BeforeValidator(_with_date)]
"""A time in a request (RFC 3339), with any UTC offset, converted by `milliseconds_of`."""


@lru_cache(maxsize=4096)
def timestamp(milliseconds: int) -> datetime:
    """Return the time of so many milliseconds of Unix time, clamped to what RFC 3339 represents."""
    return _EPOCH + timedelta(milliseconds=min(max(milliseconds, 0), LATEST))


def milliseconds_of(time: datetime) -> int:
    """Return the milliseconds of Unix time of a time from a request, rounded down."""
    return (time - _EPOCH) // _MILLISECOND


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
"""Marks the integers in bodies, after their bounds: ``Annotated[int, Field(ge=0), WHOLE]``.

JSON Schema counts ``100.0`` and ``1e2`` as integers (Core, section 4.2.3).
"""

_GIVEN_SCHEMA = WithJsonSchema(
    {
        "type": "string",
        "contentEncoding": "base64",
        "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    }
)


def _decode(value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError("Use a string of standard base64.")
    try:
        return b64decode(value, validate=True)
    except (Error, ValueError):
        raise ValueError("This is not standard base64 with padding.") from None


GivenBytes = Annotated[bytes, BeforeValidator(_decode), _GIVEN_SCHEMA]
"""Bytes in a request."""


class Removed(Model):
    """The object was removed."""

    removed: Literal[True] = True


REMOVED = Removed()
