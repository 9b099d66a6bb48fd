"""JSON schemas of tools, strict enough for every client, and the check of arguments against them.

Clients that constrain a model to a schema accept a subset of JSON Schema only: each object lists
all its properties as required and allows no others, an optional value is one that may be null, and
texts have no format. A model may omit what may be null nevertheless.
"""

from collections.abc import Mapping
from typing import cast

Schema = dict[str, object]
Arguments = dict[str, object]

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "array": list,
}
_MAX_NAMED = 80


class InvalidArguments(Exception):
    """Arguments that do not match the schema of their tool; the text says what to change."""


def text(description: str, *, longest: int | None = None, shortest: int | None = None) -> Schema:
    """Return the schema of a text; lengths are in characters."""
    limits = {"minLength": shortest, "maxLength": longest}
    return {"type": "string", "description": description, **_given(limits)}


def integer(description: str, *, least: int | None = None, most: int | None = None) -> Schema:
    """Return the schema of an integer."""
    limits = {"minimum": least, "maximum": most}
    return {"type": "integer", "description": description, **_given(limits)}


def boolean(description: str) -> Schema:
    """Return the schema of a truth value."""
    return {"type": "boolean", "description": description}


def optional(schema: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    return {**schema, "type": [schema["type"], "null"]}


def items(description: str, each: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "description": description, "items": each}


def record(description: str = "", /, **properties: Schema) -> Schema:
    """Return the schema of an object with exactly these properties."""
    described = {"description": description} if description else {}
    return {
        "type": "object",
        **described,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def advertised(schema: Schema) -> Schema:
    """Return ``schema`` as every client accepts it.

    It is without the lengths of texts, which strict clients refuse. What may be null has an
    alternative for it: some clients accept one type for each schema only.
    """
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kind, null = cast("list[str]", kinds)
        given = {name: value for name, value in schema.items() if name != "description"}
        alternatives = [advertised({**given, "type": kind}), {"type": null}]
        return {"description": schema["description"], "anyOf": alternatives}
    found: Schema = {}
    for name, value in schema.items():
        if name == "properties":
            properties = cast("dict[str, Schema]", value)
            found[name] = {each: advertised(inner) for each, inner in properties.items()}
        elif name == "items":
            found[name] = advertised(cast("Schema", value))
        elif name not in ("minLength", "maxLength"):
            found[name] = value
    return found


def check_arguments(schema: Schema, given: Mapping[str, object] | None) -> Arguments:
    """Return the arguments for every property of ``schema``; None for one that is omitted.

    Raises `InvalidArguments`.
    """
    properties = cast("dict[str, Schema]", schema["properties"])
    arguments = {} if given is None else given
    for name in arguments:
        if name not in properties:
            known = ", ".join(properties) or "no arguments"
            raise InvalidArguments(
                f"There is no argument {name[:_MAX_NAMED]!r}. This tool takes {known}."
            )
    found: Arguments = {}
    for name, expected in properties.items():
        value = arguments.get(name)
        if "integer" in _types(expected):
            value = whole(value)
        _check(name, expected, value, given=name in arguments)
        found[name] = value
    return found


def whole(value: object) -> object:
    """Return a number without a fraction as an integer, as JSON Schema counts it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _types(schema: Schema) -> list[str]:
    kinds = schema["type"]
    return [kinds] if isinstance(kinds, str) else cast("list[str]", kinds)


def _check(name: str, expected: Schema, value: object, *, given: bool) -> None:
    names = _types(expected)
    if value is None and "null" in names:
        return
    if not given:
        raise InvalidArguments(f"The argument {name} is missing: {expected['description']}")
    if not any(_is(value, each) for each in names):
        raise InvalidArguments(f"The argument {name} must be of type {' or '.join(names)}.")
    if isinstance(value, str):
        limits = expected.get("minLength"), expected.get("maxLength")
        _check_range(name, len(value), limits, "have", " characters")
    elif isinstance(value, int) and not isinstance(value, bool):
        _check_range(name, value, (expected.get("minimum"), expected.get("maximum")), "be")


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _check_range(
    name: str, size: int, limits: tuple[object, object], verb: str, unit: str = ""
) -> None:
    least, most = limits
    if isinstance(least, int) and size < least:
        raise InvalidArguments(f"The argument {name} must {verb} at least {_counted(least, unit)}.")
    if isinstance(most, int) and size > most:
        raise InvalidArguments(f"The argument {name} must {verb} at most {_counted(most, unit)}.")


def _counted(number: int, unit: str) -> str:
    return f"{number}{unit.removesuffix('s') if number == 1 else unit}"


def _given(limits: Mapping[str, int | None]) -> Schema:
    return {name: value for name, value in limits.items() if value is not None}
