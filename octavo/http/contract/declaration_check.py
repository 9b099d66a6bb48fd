"""What a declaration may say of itself, whatever its handler is.

Parameters take single values: text has no form for a list or for a model.

So a path, a query or a header is declared as text, numbers, flags, times, enums, literals, and
unions of those with each other and with None.
"""

import json
import re
from http import HTTPStatus
from typing import cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticUserError

from octavo.http.contract.operation import ContractError, Declaration, Method
from octavo.http.contract.problems import Problem

_ID = re.compile(r"[a-z][A-Za-z0-9]*", re.ASCII)
# It stands in the address of the page that explains it.
_CODE = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_METHODS = get_args(Method)
# The document tells the phrase of a status, so it has to be one that HTTP registers.
# 101 is the success of an operation that becomes a WebSocket.
_SUCCESSES = frozenset(status.value for status in HTTPStatus if 200 <= status < 300) | {101}
_REFUSALS = frozenset(status.value for status in HTTPStatus if status >= 400)


def check_declaration(declared: Declaration) -> None:
    """Raise `ContractError` where the id, the method or the problems are none."""
    _check_name(declared.id)
    if declared.method not in _METHODS:
        raise ContractError(f"{declared.method!r} is none of the methods {', '.join(_METHODS)}")
    _check_problems(declared.problems)


def check_statuses(declared: Declaration, *, not_modified: bool) -> None:
    """Raise `ContractError` where a status of ``declared`` is not that of a success.

    304 is one where the handler may answer that, ``not_modified``.
    """
    _check_other_statuses(declared.other_statuses)
    allowed = _SUCCESSES | {304} if not_modified else _SUCCESSES
    for status in (declared.status, *declared.other_statuses):
        if type(status) is not int or status not in allowed:
            raise ContractError(
                f"{status!r} is no status of a success: it is one of 200 to 299 that HTTP knows, "
                "304 goes with NotModified, and a refusal is a Problem to raise"
            )


def _check_name(name: object) -> None:
    if not (isinstance(name, str) and _ID.fullmatch(name)):
        raise ContractError("the id has to be in camelCase: a small letter, letters and digits")


def _check_other_statuses(given: object) -> None:
    if not isinstance(given, tuple):
        raise ContractError(f"other_statuses has to be a tuple of statuses, not {given!r}")


def _check_problems(given: object) -> None:
    if not isinstance(given, tuple):
        raise ContractError(f"problems has to be a tuple of Problem classes, not {given!r}")
    for kind in given:
        if not (isinstance(kind, type) and issubclass(kind, Problem)):
            raise ContractError(f"problems takes classes of Problem, not {kind!r}")
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
            f"the problem {name} has the status {status!r}: it has to be one from 400 on that "
            "HTTP knows"
        )
    if not (isinstance(code, str) and _CODE.fullmatch(code)):
        raise ContractError(f"the problem {name} has the code {code!r}: it has to be in snake_case")
    if not (isinstance(summary, str) and summary):
        raise ContractError(f"the problem {name} needs a summary in words")


_Schema = dict[str, object]
_REFERENCE = "#/$defs/"
_UNIONS = ("anyOf", "oneOf", "allOf")
_COMPOSED = ("array", "object")


def check_single_values(part: str, model: type[BaseModel]) -> None:
    """Raise `ContractError` for a field of ``model``, the model of ``part``, that no text sets."""
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
                f"{part} has {name} as a list or a model: "
                "path, query and headers take single values, the body takes the rest"
            )
        if unread := [value for value in values if not _is_read(model, name, value)]:
            raise ContractError(
                f"{part} has {name} as {unread[0]!r}, which no text is read as: "
                "declare the literals and enums of a parameter as text, or as an IntEnum"
            )


def _resolved(schema: _Schema, definitions: dict[str, _Schema]) -> _Schema:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    return _resolved(definitions[str(reference).removeprefix(_REFERENCE)], definitions)


def _is_single(schema: _Schema, definitions: dict[str, _Schema], values: list[object]) -> bool:
    """Return whether ``schema`` is that of one value; adds the values it enumerates."""
    schema = _resolved(schema, definitions)
    branches = [
        branch for union in _UNIONS for branch in cast("list[_Schema]", schema.get(union, []))
    ]
    if "enum" in schema:
        values += cast("list[object]", schema["enum"])
    elif "const" in schema:
        values.append(schema["const"])
    elif schema.get("type") in _COMPOSED:
        return False
    return all(_is_single(branch, definitions, values) for branch in branches)


def _is_read(model: type[BaseModel], name: str, value: object) -> bool:
    """Return whether text gives the field ``name`` the ``value`` that it enumerates."""
    if value is None:
        return True
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        model.model_validate_strings({name: text}, by_alias=True, by_name=False)
    except ValidationError as refused:
        return all(error["loc"][:1] != (name,) for error in refused.errors())
    return True
