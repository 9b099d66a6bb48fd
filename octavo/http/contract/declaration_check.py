"""Check a declaration by itself, independently of its handler.

Path, query and header parameters are single values: text, numbers, booleans, times, enums,
literals, and unions of these with each other and with None.
"""

import json
import re
from http import HTTPStatus
from typing import cast, get_args

from octavo_rules.problems import Problem
from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticUserError

from octavo.http.contract.operation import ContractError, Declaration, Method

_ID = re.compile(r"[a-z][A-Za-z0-9]*", re.ASCII)
# It appears in the path of the page that explains it.
_CODE = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_METHODS = get_args(Method)
# The document includes the status phrase, so the status must be registered. 101 is the success of
# an operation that opens a WebSocket.
_SUCCESSES = frozenset(status.value for status in HTTPStatus if 200 <= status < 300) | {101}
_REFUSALS = frozenset(status.value for status in HTTPStatus if status >= 400)


def check_declaration(declared: Declaration) -> None:
    """Raise `ContractError` when the id, the method, the time or the problems are invalid."""
    _check_name(declared.id)
    if declared.renews_time and declared.time is None:
        raise ContractError("a time that is renewed must be given")
    if declared.method not in _METHODS:
        raise ContractError(f"{declared.method!r} is not one of the methods {', '.join(_METHODS)}")
    _check_problems(declared.problems)


def check_statuses(declared: Declaration, *, not_modified: bool) -> None:
    """Raise `ContractError` when a status of ``declared`` is not a success.

    304 is allowed if the handler may return it (``not_modified``).
    """
    _check_other_statuses(declared.other_statuses)
    allowed = _SUCCESSES | {304} if not_modified else _SUCCESSES
    for status in (declared.status, *declared.other_statuses):
        if type(status) is not int or status not in allowed:
            raise ContractError(
                f"{status!r} is not a success status: use a registered status from 200 to "
                "299, NotModified for 304, and raise a Problem for a refusal"
            )


def _check_name(name: object) -> None:
    if not (isinstance(name, str) and _ID.fullmatch(name)):
        raise ContractError("the id must be in camelCase: a small letter, then letters and digits")


def _check_other_statuses(given: object) -> None:
    if not isinstance(given, tuple):
        raise ContractError(f"other_statuses must be a tuple of statuses, not {given!r}")


def _check_problems(given: object) -> None:
    if not isinstance(given, tuple):
        raise ContractError(f"problems must be a tuple of Problem classes, not {given!r}")
    for kind in given:
        if not (isinstance(kind, type) and issubclass(kind, Problem)):
            raise ContractError(f"problems must contain subclasses of Problem, not {kind!r}")
        _check_problem(kind)


def _check_problem(kind: type[Problem]) -> None:
    name = kind.__qualname__
    names = ("status", "code", "summary")
    said: dict[str, object] = {each: getattr(kind, each, None) for each in names}
    if missing := [each for each in names if said[each] is None]:
        raise ContractError(f"the problem {name} needs {', '.join(missing)}")
    status, code, summary = said.values()
    if type(status) is not int or status not in _REFUSALS:
        raise ContractError(
            f"the problem {name} has the status {status!r}: it must be a registered "
            "status from 400 on"
        )
    if not (isinstance(code, str) and _CODE.fullmatch(code)):
        raise ContractError(f"the problem {name} has the code {code!r}: it must be in snake_case")
    if not (isinstance(summary, str) and summary):
        raise ContractError(f"the problem {name} needs a summary of several words")


_Schema = dict[str, object]
_REFERENCE = "#/$defs/"
_UNIONS = ("anyOf", "oneOf", "allOf")
_CONTAINER_TYPES = ("array", "object")


def check_single_values(part: str, model: type[BaseModel]) -> None:
    """Raise `ContractError` for a field of ``model`` that text cannot set; ``part`` is its part."""
    try:
        schema: _Schema = model.model_json_schema()
    except PydanticUserError as error:
        raise ContractError(f"{part}: {model.__name__} can't be described: {error}") from None
    definitions = cast("dict[str, _Schema]", schema.get("$defs", {}))
    fields = cast("dict[str, _Schema]", _resolved(schema, definitions).get("properties", {}))
    for name, field in fields.items():
        values: list[object] = []
        if not _is_single(field, definitions, values):
            raise ContractError(
                f"{part} has {name} as a list or a model: path, query and headers are "
                "single values, the body carries the rest"
            )
        if unread := [value for value in values if not _is_read(model, name, value)]:
            raise ContractError(
                f"{part} has {name} as {unread[0]!r}, which text is never parsed as: "
                "declare the literals and enums of a parameter as text, or as an IntEnum"
            )


def _resolved(schema: _Schema, definitions: dict[str, _Schema]) -> _Schema:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    return _resolved(definitions[str(reference).removeprefix(_REFERENCE)], definitions)


def _is_single(schema: _Schema, definitions: dict[str, _Schema], values: list[object]) -> bool:
    """Return whether ``schema`` is a single value; collects the values that it enumerates."""
    schema = _resolved(schema, definitions)
    branches = [
        branch for union in _UNIONS for branch in cast("list[_Schema]", schema.get(union, []))
    ]
    if "enum" in schema:
        values += cast("list[object]", schema["enum"])
    elif "const" in schema:
        values.append(schema["const"])
    elif schema.get("type") in _CONTAINER_TYPES:
        return False
    return all(_is_single(branch, definitions, values) for branch in branches)


def _is_read(model: type[BaseModel], name: str, value: object) -> bool:
    """Return whether text sets the field ``name`` to the enumerated ``value``."""
    if value is None:
        return True
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        model.model_validate_strings({name: text}, by_alias=True, by_name=False)
    except ValidationError as refused:
        return all(error["loc"][:1] != (name,) for error in refused.errors())
    return True
