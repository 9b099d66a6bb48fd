"""Complete the declaration of an operation from the signature of its handler."""

import inspect
import types
from collections.abc import Callable
from dataclasses import fields
from typing import NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

from octavo.http.contract.bodies import BodyKind
from octavo.http.contract.contract_model import IN_PATH, HeaderModel, Model
from octavo.http.contract.declaration_check import (
    check_declaration,
    check_single_values,
    check_statuses,
)
from octavo.http.contract.operation import ContractError, Declaration, Operation
from octavo.http.contract.reply import EncodedJson, HtmlPage, NotModified, Reply, Stream
from octavo.http.contract.router import is_identifier, parameters_of

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
        **{each.name: getattr(declared, each.name) for each in fields(declared)},
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
