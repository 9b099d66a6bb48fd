"""Validate the path, query and declared headers of a request.

All errors are reported together, each with a JSON pointer (RFC 6901): ``/query/limit``,
``/headers/if-match``, ``/path/fileId``.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus

from octavo_rules.problems import Header, InvalidRequest
from pydantic import BaseModel, ValidationError

from octavo.http.contract.bodies.body import MAX_LISTED, pointer
from octavo.http.contract.contract_model import NO_IDENTIFIER
from octavo.http.contract.operation import Operation
from octavo.http.contract.router import parameters_of

Errors = list[tuple[str, str]]

_REMEMBERED = 2048
"""Query strings whose models are kept."""
_REMEMBERED_LENGTH = 64
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

_MESSAGES = {
    "extra_forbidden": "This operation has no such parameter.",
    "missing": "This is required.",
    "uuid_parsing": NO_IDENTIFIER,
}


class Parameters:
    """Validates the parameters of one operation; built once.

    Args:
        operation: the operation.
    """

    def __init__(self, operation: Operation) -> None:
        self._names = parameters_of(operation.path)
        self._path = operation.path_model
        self._query = operation.query_model
        fields_of_query = {} if self._query is None else self._query.model_fields
        # Queries with secrets are not remembered.
        self._remembers = all(field.repr for field in fields_of_query.values())
        self._read = None if self._query is None else _only_read(self._query)
        self._headers = headers = operation.header_model
        fields = {} if headers is None else headers.model_fields
        named = [field.alias or name for name, field in fields.items()]
        self._header_names = {name.encode(): name for name in named}
        self._without_headers = None if headers is None else _if_valid(headers)
        # Most requests have no query; the model of defaults is frozen and shared.
        self._without_query = None if self._query is None else _if_valid(self._query)

    def check(
        self, values: Sequence[str], query: bytes, headers: Sequence[Header]
    ) -> dict[str, object]:
        """Return the models for the handler, by the names of its parameters.

        ``values`` are the decoded values of the path parameters; ``query`` is the raw query string;
        ``headers`` are those of the request, names in lower case.

        Raises `InvalidRequest` with all errors, or the first `MAX_LISTED` of them.
        """
        errors: Errors = []
        models: dict[str, object] = {}
        if self._path is not None:
            named = dict(zip(self._names, values, strict=True))
            _validate("path", self._path, named, models, errors)
        known = None
        if query and self._query and self._remembers and len(query) <= _REMEMBERED_LENGTH:
            known = _short_query(self, query)
        if known is not None:
            models["query"] = known
        elif query:
            self.read_query(query, models, errors)
        elif self._without_query is not None:
            models["query"] = self._without_query
        elif self._query is not None:
            _validate("query", self._query, {}, models, errors)
        if self._headers is not None:
            self._check_headers(self._headers, headers, models, errors)
        if errors:
            raise InvalidRequest(errors=errors[:MAX_LISTED])
        return models

    def read_query(self, query: bytes, models: dict[str, object], errors: Errors) -> None:
        """Add the model of a query to ``models``, or what is wrong with it to ``errors``."""
        parameters = read_query(query, errors, self._read)
        if self._query is not None:
            _validate("query", self._query, parameters, models, errors)
        else:
            errors += _unknown(parameters)

    def _check_headers(
        self,
        model: type[BaseModel],
        headers: Sequence[Header],
        models: dict[str, object],
        errors: Errors,
    ) -> None:
        names = self._header_names
        fields: dict[str, Any] = {}
        for header, value in headers:
            if header in names:
                name, text = names[header], value.decode("latin-1")
                # Repeated fields form one list (RFC 9110 section 5.3).
                fields[name] = f"{fields[name]}, {text}" if name in fields else text
        if not fields and self._without_headers is not None:
            models["headers"] = self._without_headers
        else:
            _validate("headers", model, fields, models, errors)


# There are few different queries, and models are frozen.
@lru_cache(maxsize=_REMEMBERED)
def _short_query(parameters: Parameters, query: bytes) -> object | None:
    """Return the model of a query; None for one that is refused."""
    models: dict[str, object] = {}
    errors: Errors = []
    parameters.read_query(query, models, errors)
    return None if errors else models["query"]


def _if_valid(model: type[BaseModel]) -> BaseModel | None:
    try:
        return model.model_validate_strings({}, by_alias=True, by_name=False)
    except ValidationError:
        return None


def _validate(
    part: str,
    model: type[BaseModel],
    values: dict[str, Any],
    models: dict[str, object],
    errors: Errors,
) -> None:
    try:
        models[part] = model.__pydantic_validator__.validate_strings(
            values, by_alias=True, by_name=False
        )
    except ValidationError as refused:
        wrong = refused.errors(include_url=False, include_context=False, include_input=False)
        errors += [
            (pointer((part, *error["loc"])), _MESSAGES.get(error["type"], error["msg"]))
            for error in wrong
        ]


def _only_read(model: type[BaseModel]) -> frozenset[str] | None:
    """Return the names of the parameters, if others are ignored; None if others are refused."""
    if model.model_config.get("extra") != "ignore":
        return None
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def read_query(query: bytes, errors: Errors, only: frozenset[str] | None = None) -> dict[str, str]:
    """Return the decoded parameters of a query string (WHATWG URL section 5.1).

    Repeated names, invalid escapes and invalid UTF-8 are added to ``errors``. If ``only`` is given,
    parameters with other names are left out, whatever they are.
    """
    parameters: dict[str, str] = {}
    for pair in query.decode("latin-1").split("&"):
        if not pair:
            continue
        name, _, value = pair.partition("=")
        if only is not None and unquote_plus(name) not in only:
            continue
        try:
            name, value = _decoded(name), _decoded(value)
        except ValueError:
            errors.append(("/query", "A name or a value is not percent-encoded UTF-8."))
            continue
        if name in parameters:
            errors.append((pointer(("query", name)), "This occurs more than once."))
        parameters[name] = value
    return parameters


def require_no_query(query: bytes) -> None:
    """Raise `InvalidRequest` unless a query string is empty."""
    errors: Errors = []
    errors += _unknown(read_query(query, errors))
    if errors:
        raise InvalidRequest(errors=errors[:MAX_LISTED])


def _unknown(names: Iterable[str]) -> Errors:
    return [(pointer(("query", name)), _MESSAGES["extra_forbidden"]) for name in names]


def _decoded(text: str) -> str:
    if "%" not in text and "+" not in text and text.isascii():
        return text
    if not text.isascii() or _BAD_ESCAPE.search(text):
        raise ValueError(text)
    return unquote_plus(text, errors="strict")
