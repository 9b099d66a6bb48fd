"""The content of the API reference page, derived from the OpenAPI document.

JSON schemas become lines of text with links to named schemas.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple, cast

from antechamber.rejection import MEDIA_TYPE

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
    return tuple(
        member(name, inner, required=name in required) for name, inner in properties.items()
    )


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
    for at, alternative in enumerate(schemas):
        if at:
            yield TextPart(" or ")
        yield from _type(alternative)


def _array(schema: Schema) -> Iterator[TextPart]:
    fixed = cast("Sequence[Schema]", schema.get("prefixItems", ()))
    if fixed:
        yield TextPart("array of, in order, ")
        for at, item in enumerate(fixed):
            if at:
                yield TextPart(", ")
            yield from _type(item)
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
    notes += [bound for bound in (_bound(schema, *keywords) for keywords in _BOUNDS) if bound]
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


_SECURITY = {
    "sessionCookie": "session",
    "personalApiKey": "personal API key",
    "operatorToken": "operator token",
    "mcpAccessToken": "MCP access token",
}
_ANYBODY = "anybody"
_COMMON_PARAMETERS = "#/components/parameters/"
_RESPONSES = "#/components/responses/"
_METHODS = ("get", "post", "put", "patch", "delete")
_CODE = re.compile(r"(`+)(.+?)\1")
_LISTED_CODE = re.compile(r"^- `(\w+)`:", re.MULTILINE)


class Span(NamedTuple):
    """A piece of a description: text, or ``code``."""

    text: str
    code: bool


@dataclass(frozen=True, slots=True)
class Content:
    """A body or a response: its media types, its type, and the members of an object.

    The description of a response is the phrase of its status. ``codes`` are those of its problems.
    """

    description: str
    media_types: tuple[str, ...]
    type: tuple[TextPart, ...]
    members: tuple[Member, ...]
    status: str = ""
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusalEntry:
    """An error status and its codes."""

    status: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperationEntry:
    """One operation."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    callers: str
    when_locked: str
    rate: str | None
    parameters: tuple[Member, ...]
    body: Content | None
    responses: tuple[Content, ...]
    refusals: tuple[RefusalEntry, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A named schema: its members, or its type when it is not an object."""

    name: str
    description: str
    type: tuple[TextPart, ...]
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The content of the page: the operations by tag, and the schemas that they refer to.

    ``server_codes`` are those that the server may respond with instead of any operation.
    """

    title: str
    version: str
    description: str
    server_codes: Sequence[str]
    tags: Mapping[str, Sequence[OperationEntry]]
    shapes: Sequence[Shape]


def reference(document: Mapping[str, object]) -> Reference:
    """Return the content of the reference page for an OpenAPI ``document``."""
    info = cast("Mapping[str, str]", document["info"])
    components = cast("Mapping[str, Mapping[str, Schema]]", document["components"])
    schemas = components["schemas"]
    tags: dict[str, list[OperationEntry]] = {}
    paths = cast("Mapping[str, Mapping[str, Schema]]", document["paths"])
    operations = [
        (path, method, methods[method])
        for path, methods in paths.items()
        for method in _METHODS
        if method in methods
    ]
    shared = {
        f"{_RESPONSES}{name}": response
        for name, response in components.get("responses", {}).items()
    }
    common = _common([_responses(operation) for _, _, operation in operations])
    others = {name: response for name, response in shared.items() if name not in common}
    for path, method, operation in operations:
        tag = cast("Sequence[str]", operation["tags"])[0]
        entry = _operation(method.upper(), path, operation, schemas, others)
        tags.setdefault(tag, []).append(entry)
    shapes = [_shape(name, schemas[name]) for name in sorted(schemas)]
    return Reference(
        info["title"],
        info["version"],
        info.get("description", ""),
        [code for name, response in shared.items() if name in common for code in _codes(response)],
        tags,
        shapes,
    )


def spans(text: str) -> Iterator[Span]:
    """Yield ``text`` as plain text and as code, which is between backticks."""
    at = 0
    for code in _CODE.finditer(text):
        if code.start() > at:
            yield Span(text[at : code.start()], code=False)
        yield Span(code[2], code=True)
        at = code.end()
    if at < len(text):
        yield Span(text[at:], code=False)


def _responses(operation: Schema) -> Mapping[str, Schema]:
    return cast("Mapping[str, Schema]", operation["responses"])


def _common(operations: Sequence[Mapping[str, Schema]]) -> set[str]:
    """Return the references to responses whose status every operation has."""
    statuses = set(operations[0]).intersection(*operations) if operations else set()
    return {
        str(response["$ref"])
        for responses in operations
        for status, response in responses.items()
        if "$ref" in response and status in statuses
    }


def _operation(
    method: str,
    path: str,
    operation: Schema,
    schemas: Mapping[str, Schema],
    shared: Mapping[str, Schema],
) -> OperationEntry:
    body = cast("Schema | None", operation.get("requestBody"))
    responses = {
        status: shared.get(str(response.get("$ref")), response)
        for status, response in _responses(operation).items()
    }
    # Responses common to all operations are described once.
    responses = {
        status: response for status, response in responses.items() if "$ref" not in response
    }
    content = {
        status: _content(response, schemas, status) for status, response in responses.items()
    }
    rate = operation.get("x-rate-class")
    return OperationEntry(
        id=str(operation["operationId"]),
        method=method,
        path=path,
        summary=str(operation.get("summary", "")),
        description=str(operation.get("description", "")),
        callers=_callers(cast("Sequence[Mapping[str, object]]", operation.get("security", ()))),
        when_locked=str(operation.get("x-locked-account", "")),
        rate=None if rate is None else str(rate),
        parameters=tuple(_parameters(cast("Sequence[Schema]", operation.get("parameters", ())))),
        body=None if body is None else _content(body, schemas),
        responses=tuple(response for response in content.values() if not _is_refusal(response)),
        refusals=tuple(
            RefusalEntry(status, tuple(_codes(responses[status])))
            for status, response in content.items()
            if _is_refusal(response)
        ),
    )


def _is_refusal(response: Content) -> bool:
    """Return whether it is of problem details first, not of the errors of a protocol."""
    return response.media_types[:1] == (MEDIA_TYPE,)


def _callers(security: Sequence[Mapping[str, object]]) -> str:
    return (
        " or ".join(_SECURITY.get(name, name) for alternative in security for name in alternative)
        or _ANYBODY
    )


def _parameters(parameters: Sequence[Schema]) -> Iterator[Member]:
    for parameter in parameters:
        # Parameters common to all operations are described once.
        if not str(parameter.get("$ref", "")).startswith(_COMMON_PARAMETERS):
            yield member(
                str(parameter["name"]),
                cast("Schema", parameter["schema"]),
                required=bool(parameter.get("required")),
                description=str(parameter.get("description", "")),
                place=str(parameter["in"]),
            )


def _content(part: Schema, schemas: Mapping[str, Schema], status: str = "") -> Content:
    by_type = cast("Mapping[str, Schema]", part.get("content", {}))
    described = [media["schema"] for media in by_type.values() if "schema" in media]
    schema = cast("Schema", described[0]) if described else {}
    shape = shape_of(schema)
    description = str(part.get("description", ""))
    codes = tuple(_LISTED_CODE.findall(description)) if status else ()
    return Content(
        description=HTTPStatus(int(status)).phrase if codes else description,
        media_types=tuple(by_type),
        type=type_of(schema) if schema else (),
        members=members_of(schema if shape is None else schemas[shape]),
        status=status,
        codes=codes,
    )


def _codes(response: Schema) -> Iterator[str]:
    content = cast("Mapping[str, Schema]", response["content"])
    schema = cast("Mapping[str, Mapping[str, Schema]]", content[MEDIA_TYPE]["schema"])
    yield from cast("Sequence[str]", schema["properties"]["code"]["enum"])


def _shape(name: str, schema: Schema) -> Shape:
    members = members_of(schema)
    kind = () if members else type_of(schema)
    return Shape(name, str(schema.get("description", "")), kind, members)
