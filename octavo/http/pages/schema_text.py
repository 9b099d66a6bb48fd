"""Describe JSON schemas in one line of text, with links to named schemas."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

Schema = Mapping[str, object]

_SHAPES = "#/components/schemas/"
_BOUNDS = (("minimum", "maximum", ""), ("minLength", "maxLength", " characters"))
_BOUNDS_OF_ITEMS = ("minItems", "maxItems", " items")


class TextPart(NamedTuple):
    """A piece of a type: plain text, or the name of a ``shape`` that has its own section."""

    text: str
    shape: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object, or a parameter of a request."""

    name: str
    type: tuple[TextPart, ...]
    required: bool
    description: str
    default: str | None = None
    place: str = ""


def shape_of(schema: Schema) -> str | None:
    """Return the name of the schema that ``schema`` refers to; None when it is inline."""
    reference = schema.get("$ref")
    return str(reference).removeprefix(_SHAPES) if reference is not None else None


def type_of(schema: Schema) -> tuple[TextPart, ...]:
    """Return the type of ``schema`` as text."""
    return tuple(_joined(_type(schema)))


def members_of(schema: Schema) -> tuple[Member, ...]:
    """Return the members of an object ``schema``, in definition order; empty for other types."""
    required = cast("Sequence[str]", schema.get("required", ()))
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    return tuple(member(name, each, required=name in required) for name, each in properties.items())


def member(
    name: str, schema: Schema, *, required: bool, description: str = "", place: str = ""
) -> Member:
    """Return the member or parameter ``name`` of ``schema``."""
    return Member(
        name,
        type_of(schema),
        required,
        description or str(schema.get("description", "")),
        json.dumps(schema["default"], ensure_ascii=False) if "default" in schema else None,
        place,
    )


def _type(schema: Schema) -> Iterator[TextPart]:
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    shape = shape_of(schema)
    if shape is not None:
        yield TextPart(shape, shape=True)
    elif alternatives:
        yield from _alternatives(cast("Sequence[Schema]", alternatives))
    elif "const" in schema:
        yield TextPart(json.dumps(schema["const"], ensure_ascii=False))
    elif "enum" in schema:
        values = cast("Sequence[object]", schema["enum"])
        yield TextPart(" or ".join(json.dumps(value, ensure_ascii=False) for value in values))
    elif schema.get("type") == "array":
        yield from _array(schema)
    elif schema.get("type") == "object":
        yield from _object(schema)
    else:
        yield TextPart(_plain(schema))


def _alternatives(schemas: Sequence[Schema]) -> Iterator[TextPart]:
    for at, each in enumerate(schemas):
        if at:
            yield TextPart(" or ")
        yield from _type(each)


def _array(schema: Schema) -> Iterator[TextPart]:
    fixed = cast("Sequence[Schema]", schema.get("prefixItems", ()))
    if fixed:
        yield TextPart("array of, in order, ")
        for at, each in enumerate(fixed):
            if at:
                yield TextPart(", ")
            yield from _type(each)
    elif "items" in schema:
        yield TextPart("array of ")
        yield from _type(cast("Schema", schema["items"]))
        bounds = _bound(schema, *_BOUNDS_OF_ITEMS)
        if bounds:
            yield TextPart(f" ({bounds})")
    else:
        yield TextPart("array")


def _object(schema: Schema) -> Iterator[TextPart]:
    values = schema.get("additionalProperties")
    names = ", ".join(cast("Mapping[str, Schema]", schema.get("properties", {})))
    if isinstance(values, Mapping):
        yield TextPart("object of any names, each ")
        yield from _type(values)
    else:
        yield TextPart(f"object of {names}" if names else "object")


def _plain(schema: Schema) -> str:
    kind = schema.get("type", "anything")
    name = kind if isinstance(kind, str) else " or ".join(cast("Sequence[str]", kind))
    notes = [str(schema[name]) for name in ("format", "contentEncoding") if name in schema]
    notes += [bound for bound in (_bound(schema, *each) for each in _BOUNDS) if bound]
    # A format describes the pattern already.
    if "pattern" in schema and "format" not in schema:
        notes.append(f"matches {schema['pattern']}")
    return f"{name} ({', '.join(notes)})" if notes else name


def _bound(schema: Schema, minimum: str, maximum: str, unit: str) -> str:
    low, high = schema.get(minimum), schema.get(maximum)
    match low, high:
        case None, None:
            return ""
        case None, _:
            return f"at most {high}{unit}"
        case _, None:
            return f"at least {low}{unit}"
        case _:
            return f"{low} to {high}{unit}"


def _joined(parts: Iterator[TextPart]) -> Iterator[TextPart]:
    """Join adjacent pieces of plain text."""
    words = ""
    for part in parts:
        if not part.shape:
            words += part.text
            continue
        if words:
            yield TextPart(words)
        yield part
        words = ""
    if words:
        yield TextPart(words)
