"""Parameters take single values: text has no form for a list or for a model.

So a path, a query or a header is declared as text, numbers, flags, times, enums, literals, and
unions of those with each other and with None.
"""

import json
from typing import cast

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticUserError

from octavo.http.operation import ContractError

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
    """Answer whether ``schema`` is that of one value; adds the values it enumerates."""
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
    """Answer whether text gives the field ``name`` the ``value`` that it enumerates."""
    if value is None:
        return True
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        model.model_validate_strings({name: text}, by_alias=True, by_name=False)
    except ValidationError as refused:
        return all(error["loc"][:1] != (name,) for error in refused.errors())
    return True
