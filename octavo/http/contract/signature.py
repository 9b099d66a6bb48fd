"""Complete the declaration of an operation from the signature of its handler, and check both.

Path, query and header parameters are single values: text, numbers, booleans, times, enums,
literals, and unions of these with each other and with None.
"""

import inspect
import json
import re
import types
from collections.abc import Callable
from dataclasses import fields
from http import HTTPStatus
from typing import NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from octavo_rules.problems import Problem
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

from octavo.http.contract.bodies.body import BodyKind
from octavo.http.contract.call import EncodedJson, HtmlPage, NotModified, Reply, Stream
from octavo.http.contract.contract_model import IN_PATH, HeaderModel, Model
from octavo.http.contract.operation import ContractError, Declaration, Method, Operation
from octavo.http.contract.router import is_identifier, parameters_of

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


def _check_other_statuses(statuses: object) -> None:
    if not isinstance(statuses, tuple):
        raise ContractError(f"other_statuses must be a tuple of statuses, not {statuses!r}")


def _check_problems(problems: object) -> None:
    if not isinstance(problems, tuple):
        raise ContractError(f"problems must be a tuple of Problem classes, not {problems!r}")
    for kind in problems:
        if not (isinstance(kind, type) and issubclass(kind, Problem)):
            raise ContractError(f"problems must contain subclasses of Problem, not {kind!r}")
        _check_problem(kind)


def _check_problem(kind: type[Problem]) -> None:
    name = kind.__qualname__
    names = ("status", "code", "summary")
    said: dict[str, object] = {attribute: getattr(kind, attribute, None) for attribute in names}
    if missing := [attribute for attribute in names if said[attribute] is None]:
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


_PARTS = ("path", "query", "headers", "body")
_STATUSES_WITHOUT_CONTENT = (101, 204, 205, 304)
# The pipeline sets these for every operation.
_RESERVED_HEADERS = frozenset({"content-type", "content-length", "x-request-id"})


def read_signature(name: str, handler: Callable[..., object], declared: Declaration) -> Operation:
    """Return the operation of the method ``handler``, called ``name``.

    Raises `ContractError` where the signature contradicts the declaration.
    """
    try:
        return _read(name, handler, declared)
    except ContractError as error:
        raise ContractError(f"{declared.id} ({handler.__qualname__}): {error}") from None


def check_schemas(operation: Operation, handler: Callable[..., object]) -> None:
    """Raise `ContractError` when models of ``operation`` cannot be described or parsed.

    Separate from `read_signature` because it takes a fifth of the server's startup time.
    """
    models = {
        "path": operation.path_model,
        "query": operation.query_model,
        "headers": operation.header_model,
    }
    try:
        for part, model in models.items():
            if model is not None:
                check_single_values(part, model)
        _check_described(operation.response_type)
    except ContractError as error:
        raise ContractError(f"{operation.id} ({handler.__qualname__}): {error}") from None


def _read(name: str, handler: Callable[..., object], declared: Declaration) -> Operation:
    check_declaration(declared)
    hints = _hints(handler)
    if not inspect.iscoroutinefunction(handler):
        raise ContractError("the handler must be an async method")
    _, *others = inspect.signature(handler).parameters or ("",)
    if others[:1] != ["call"]:
        raise ContractError(f"the handler must accept its call: async def {name}(self, call: Call)")
    accepted = others[1:]
    if unknown := [parameter for parameter in accepted if parameter not in _PARTS]:
        raise ContractError(f"a handler accepts {', '.join(_PARTS)}, not {', '.join(unknown)}")
    if missing := [part for part in (*accepted, "return") if part not in hints]:
        raise ContractError(f"{', '.join(missing)} needs an annotation")
    models = {part: _model(part, hints[part]) for part in accepted if part != "body"}
    path_model, header_model = models.get("path"), models.get("headers")
    _check_path(declared, path_model)
    if header_model is not None and not issubclass(header_model, HeaderModel):
        raise ContractError("the model of headers must be a HeaderModel")
    _check_body(declared, "body" in accepted, hints.get("body"))
    success = _success(hints["return"])
    check_statuses(declared, not_modified=success.not_modified)
    _check_success(declared, success)
    return Operation(
        **{field.name: getattr(declared, field.name) for field in fields(declared)},
        handler=name,
        path_model=path_model,
        query_model=models.get("query"),
        header_model=header_model,
        **success._asdict(),
    )


def _hints(handler: Callable[..., object]) -> dict[str, object]:
    try:
        return get_type_hints(handler, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise ContractError(
            f"an annotation can't be resolved ({error}): define or import what it names "
            "in the module itself, not in a function and not under TYPE_CHECKING"
        ) from None


def _model(part: str, hint: object) -> type[BaseModel]:
    # Any other model ignores undeclared members, and might not be frozen.
    if not (isinstance(hint, type) and issubclass(hint, Model)):
        raise ContractError(f"{part} must be a Model, not {hint}")
    return hint


def _check_path(declared: Declaration, model: type[BaseModel] | None) -> None:
    named = set(parameters_of(declared.path))
    known = {} if model is None else {f.alias or n: f for n, f in model.model_fields.items()}
    if unknown := sorted(known.keys() - named):
        raise ContractError(f"{declared.path} has no parameter {', '.join(unknown)}")
    if missing := sorted(named - known.keys()):
        raise ContractError(f"the handler needs a path parameter with {', '.join(missing)}")
    for parameter in sorted(named):
        field = known[parameter]
        if is_identifier(parameter) and IN_PATH not in field.metadata:
            raise ContractError(f"{parameter} must be marked as IN_PATH, not {field.annotation}")


def _check_body(declared: Declaration, takes: bool, hint: object) -> None:
    body: BodyKind[object] | None = declared.body
    if (body is not None) != takes:
        where = "the handler takes no body" if body else "the declaration has no body"
        raise ContractError(f"{where}, the other does")
    if body is None:
        return
    if declared.method == "GET":
        raise ContractError("a GET has no body (RFC 9110 section 9.3.1)")
    if body.model is not None and body.model is not hint:
        raise ContractError(
            f"the body is declared as {body.model.__name__}, the handler takes {hint}"
        )


class _Success(NamedTuple):
    """What a handler may return; see the attributes of `Operation`."""

    response_type: object
    empty: bool
    not_modified: bool
    streams: bool
    page: bool


def _success(hint: object) -> _Success:
    union = get_origin(hint) in (Union, types.UnionType)
    contents: list[object] = []
    for member in get_args(hint) if union else (hint,):
        content = get_args(member)[0] if get_origin(member) in (Reply, EncodedJson) else member
        if content not in (NotModified, HtmlPage, Stream, *contents):
            contents.append(content)
    marks = get_args(hint) if union else (hint,)
    nothing = (None, type(None))
    only_nothing = bool(contents) and all(content in nothing for content in contents)
    empty = only_nothing or Reply[None] in marks
    if empty and not only_nothing:
        # The status of the reply distinguishes it from the document.
        contents = [content for content in contents if content not in nothing]
    response_type: object
    if only_nothing or not contents:
        response_type = None
    elif len(contents) == 1:
        response_type = contents[0]
    else:
        response_type = Union[tuple(contents)]  # noqa: UP007 - made of values
    return _Success(response_type, empty, NotModified in marks, Stream in marks, HtmlPage in marks)


def _check_success(declared: Declaration, success: _Success) -> None:
    response_type = success.response_type
    if response_type is not None and declared.status in _STATUSES_WITHOUT_CONTENT:
        raise ContractError(
            f"{declared.status} has no content, but the handler returns {response_type}"
        )
    if success.streams != bool(declared.media_types):
        raise ContractError("media_types requires a Stream, and a Stream requires media_types")
    if reserved := sorted(_RESERVED_HEADERS & declared.headers.keys()):
        raise ContractError(f"every response sets {', '.join(reserved)} itself")
    if unusual := [name for name in declared.headers if name != name.lower()]:
        raise ContractError(f"headers must be declared in lower case: {', '.join(unusual)}")


def _check_described(response_type: object) -> None:
    try:
        TypeAdapter(cast("type[object]", response_type)).json_schema(mode="serialization")
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise ContractError(
            f"the response {response_type} can't be described: return a Model, or "
            f"another type that pydantic supports ({error})"
        ) from None
