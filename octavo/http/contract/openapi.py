"""Generate the OpenAPI 3.1 document from the declarations.

The same declarations always produce the same document, byte for byte once encoded.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Literal, NamedTuple, cast

from antechamber import SERVER_PROBLEMS, ServerProblem
from antechamber.rejection import MEDIA_TYPE
from octavo_rules.problems import (
    CHALLENGE,
    BodyTimeout,
    InternalError,
    InvalidRequest,
    Problem,
)
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from octavo.http.contract.assembly import contract_of, operations_of
from octavo.http.contract.bodies.body import BYTES, BodyKind
from octavo.http.contract.call import HtmlPage
from octavo.http.contract.contract_model import SUFFIX, attribute_docstrings
from octavo.http.contract.declared_responses import possible_problems
from octavo.http.contract.operation import Operation, Security
from octavo.http.contract.prepared_response import API_HEADERS, READING_HEADERS

Json = dict[str, object]
Mode = Literal["validation", "serialization"]

_REFERENCE = "#/components/schemas/"


class Parameter(NamedTuple):
    """A path or query parameter, or a header."""

    name: str
    required: bool
    schema: Json


class _ModelSchemas(GenerateJsonSchema):
    """Names each schema after its model, without the suffix ``Schema``; adds its docstrings."""

    def normalize_name(self, name: str) -> str:
        return super().normalize_name(name).removesuffix(SUFFIX)

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Return the schema of a model, with the docstrings of its members."""
        made = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        properties = made.get("properties", {})
        for name, text in attribute_docstrings(model, BaseModel).items():
            field = model.model_fields.get(name)
            known = field and (field.serialization_alias or field.alias or name)
            if known in properties:
                properties[known].setdefault("description", text)
        return made


class Schemas:
    """The schemas of all inputs and responses of ``operations``.

    Attributes:
        components: the referenced schemas, by name.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        wanted: dict[tuple[object, Mode], None] = {}
        parts: dict[type[BaseModel], None] = {}
        for operation in operations:
            models = (operation.path_model, operation.query_model, operation.header_model)
            parts |= dict.fromkeys(model for model in models if model is not None)
            if operation.body is not None and operation.body.model is not None:
                wanted[operation.body.model, "validation"] = None
            if operation.response_type is not None:
                wanted[operation.response_type, "serialization"] = None
        keys = [*wanted, *((part, "validation") for part in parts)]
        made, shared = TypeAdapter.json_schemas(
            [
                (at, mode, TypeAdapter(cast("type[object]", kind)))
                for at, (kind, mode) in enumerate(keys)
            ],
            by_alias=True,
            ref_template=f"{_REFERENCE}{{model}}",
            schema_generator=_ModelSchemas,
        )
        schemas = [cast("Json", made[at, mode]) for at, (_, mode) in enumerate(keys)]
        definitions = cast("dict[str, Json]", shared.get("$defs", {}))
        self._schemas = dict(zip(wanted, schemas, strict=False))
        self._parameters: dict[type[BaseModel], list[Parameter]] = {}
        taken: set[str] = set()
        for part, schema in zip(parts, schemas[len(wanted) :], strict=True):
            name = _referred(schema)
            taken.add(name)
            self._parameters[part] = _parameters(definitions[name])
        # Parameters are described where they occur; the model that groups them is left out.
        referenced = {_referred(schema) for schema in self._schemas.values()}
        self.components = {
            name: definitions[name]
            for name in sorted(definitions)
            if name not in taken - referenced
        }

    def of(self, kind: object, mode: Mode) -> Json:
        """Return the schema of a body (``validation``) or of a response (``serialization``)."""
        return self._schemas[kind, mode]

    def parameters(self, model: type[BaseModel] | None) -> list[Parameter]:
        """Return the parameters in ``model``, in definition order."""
        return [] if model is None else self._parameters[model]


def _referred(schema: Json) -> str:
    return str(schema.get("$ref", "")).removeprefix(_REFERENCE)


def _parameters(model: Json) -> list[Parameter]:
    required = cast("list[str]", model.get("required", []))
    properties = cast("dict[str, Json]", model.get("properties", {}))
    return [Parameter(name, name in required, schema) for name, schema in properties.items()]


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_JSON = "application/json"
_SCHEMAS = "#/components/schemas/"
_REQUEST_ID: Json = {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"}
_REQUEST_ID_HEADER: Json = {
    "x-request-id": {"$ref": "#/components/headers/RequestId"},
}
_RETRY_AFTER: Json = {
    "retry-after": {
        "description": "Seconds to wait before the next attempt, where known.",
        "schema": {"type": "string", "pattern": "^[0-9]{1,16}$"},
    }
}
_TEMPORARY_STATUSES = (429, 503, 507)
_OF_HANDSHAKES: dict[str, Json] = {
    "websocket_version": {
        "sec-websocket-version": {
            "description": "The supported version.",
            "schema": {"type": "string", "const": "13"},
        }
    }
}
_SECURITY_HEADERS = ", ".join(
    f"`{name}`" for name in sorted({name.decode() for name, _ in (*API_HEADERS, *READING_HEADERS)})
)
_SHARED = (InvalidRequest, BodyTimeout, InternalError)
"""The problems of the application with which the server responds, too: alone with BodyTimeout."""
AnyProblem = type[Problem] | ServerProblem

_SECURITY: dict[Security, list[Json]] = {
    Security.NONE: [],
    Security.SESSION_OR_KEY: [{"sessionCookie": []}, {"personalApiKey": []}],
    Security.OPERATOR: [{"operatorToken": []}],
    Security.MCP: [{"mcpAccessToken": ["notes:read"]}],
}

_SECURITY_SCHEMES: Json = {
    "sessionCookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-octavo",
        "description": "Set by signing in. Changes also require the origin of the installation.",
    },
    "personalApiKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, with all rights of its account.",
    },
    "operatorToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token named in the settings of the installation.",
    },
    "mcpAccessToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "An access token of the MCP resource, with the scopes listed.",
    },
}

_PROBLEM: Json = {
    "type": "object",
    "description": "Problem details (RFC 9457). Further members depend on the code.",
    "required": ["type", "title", "status", "detail", "code", "requestId"],
    "properties": {
        "type": {
            "type": "string",
            "format": "uri-reference",
            "description": "Address of the page that explains the code.",
        },
        "title": {"type": "string", "description": "The phrase of the status."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong and what to do, for people."},
        "code": {"type": "string", "description": "What is wrong, for programs; stable."},
        "requestId": _REQUEST_ID,
        "errors": {
            "type": "array",
            "description": "Each part of the request that does not match this document.",
            "items": {
                "type": "object",
                "required": ["pointer", "message"],
                "properties": {
                    "pointer": {
                        "type": "string",
                        "description": "A JSON pointer (RFC 6901): into the body, or below /path, "
                        "/query or /headers.",
                    },
                    "message": {"type": "string"},
                },
            },
        },
    },
}


class Example(NamedTuple):
    """A request body and the success response of an operation; None without."""

    request: object = None
    response: object = None


_NO_EXAMPLE = Example()


def openapi_document(
    groups: Iterable[type],
    *,
    title: str,
    version: str,
    servers: Sequence[str] = (),
    examples: Mapping[str, Example] | None = None,
    operations_of: Callable[[type], tuple[Operation, ...]] = operations_of,
) -> Json:
    """Return the document of the operations that the classes ``groups`` declare.

    ``servers`` are their addresses, ``examples`` are by operation id, and ``operations_of`` reads
    each class. Raises `ContractError`.
    """
    operations = contract_of(groups, operations_of)
    schemas = Schemas(operations)
    paths: dict[str, Json] = {}
    for operation in operations:
        example = (examples or {}).get(operation.id, _NO_EXAMPLE)
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(
            operation, schemas, example
        )
    tags = dict.fromkeys(operation.tag for operation in operations)
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": _DIALECT,
        "info": {
            "title": title,
            "version": version,
            "description": "Every path that supports GET also supports HEAD, and every path "
            "supports OPTIONS. Every response whose headers don't list `cache-control` has "
            "`cache-control: no-store`. Responses may have the security headers "
            f"{_SECURITY_HEADERS}.",
        },
        "servers": [{"url": url} for url in servers] or [{"url": "/"}],
        "tags": [{"name": tag} for tag in tags],
        "paths": paths,
        "components": {
            "schemas": {
                **schemas.components,
                **_named(operations),
                **_errors(operations),
                **_shapes(operations),
            },
            "parameters": {
                "RequestId": {
                    "name": "x-request-id",
                    "in": "header",
                    "description": "The id of the request; generated if absent.",
                    "schema": _REQUEST_ID,
                }
            },
            "responses": _server_responses(),
            "headers": {
                "RequestId": {
                    "description": "The id of the request.",
                    "required": True,
                    "schema": _REQUEST_ID,
                }
            },
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def _operation(operation: Operation, schemas: Schemas, example: Example) -> Json:
    parameters = [
        *(_parameter(one, "path") for one in schemas.parameters(operation.path_model)),
        *(_parameter(one, "query") for one in schemas.parameters(operation.query_model)),
        *(_parameter(one, "header") for one in schemas.parameters(operation.header_model)),
        {"$ref": "#/components/parameters/RequestId"},
    ]
    described: Json = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
    }
    if operation.description:
        described["description"] = operation.description
    described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = _body(operation.body, schemas, example.request)
    described["responses"] = {
        **_successes(operation, schemas, example.response),
        **_refusals(operation),
    }
    described["security"] = _SECURITY[operation.security]
    if operation.security is Security.SESSION_OR_KEY:
        described["x-locked-account"] = operation.locked.value
        described["x-scope"] = operation.scope
        described["x-folder-keys"] = operation.confinable
    if operation.rate is not None:
        described["x-rate-class"] = operation.rate
    return described


def _parameter(parameter: Parameter, place: str) -> Json:
    schema = dict(parameter.schema)
    described: Json = {"name": parameter.name, "in": place, "required": parameter.required}
    if "description" in schema:
        described["description"] = schema.pop("description")
    return {**described, "schema": schema}


def _body(body: BodyKind[object], schemas: Schemas, example: object) -> Json:
    content: Json = {}
    if body.schema is not None:
        content["schema"] = _referenced(body.schema)
    else:
        content["schema"] = schemas.of(body.model, "validation")
    if example is not None:
        content["example"] = example
    return {
        "description": f"At most {body.limit} bytes.",
        "required": True,
        "content": dict.fromkeys(body.media_types, content),
    }


def _successes(operation: Operation, schemas: Schemas, example: object) -> dict[str, Json]:
    headers: Json = {
        **_REQUEST_ID_HEADER,
        **{
            name: {"description": description, "schema": {"type": "string"}}
            for name, description in operation.headers.items()
        },
    }
    content: Json = {
        media_type: {"schema": _streamed(media_type)} for media_type in operation.media_types
    }
    if operation.page:
        content[HtmlPage.MEDIA_TYPE] = {"schema": {"type": "string"}}
    if operation.response_type is not None:
        described: Json = {"schema": schemas.of(operation.response_type, "serialization")}
        if example is not None:
            described["example"] = example
        content[_JSON] = described
    responses: dict[str, Json] = {}
    # Beside a document, the success without content has another status.
    without = (
        operation.other_statuses if operation.empty and operation.response_type is not None else ()
    )
    for status in sorted(operation.statuses):
        response: Json = {"description": HTTPStatus(status).phrase, "headers": headers}
        if content and status not in (204, 304, *without):
            response["content"] = content
        responses[str(status)] = response
    return responses


def _streamed(media_type: str) -> Json:
    """Return the schema of a stream: a JSON document, or bytes, as which text counts."""
    return {"type": "object"} if media_type == _JSON else {**BYTES}


def _refusals(operation: Operation) -> dict[str, Json]:
    by_status: dict[int, list[AnyProblem]] = {}
    all_problems: list[AnyProblem] = [*possible_problems(operation), *_server_problems(operation)]
    for problem in all_problems:
        by_status.setdefault(problem.status, []).append(problem)
    return {
        str(status): _refusal(operation, status, problems)
        for status, problems in sorted(by_status.items())
    }


def _server_problems(operation: Operation) -> list[ServerProblem]:
    """Return the problems with which the server may respond instead of the operation."""
    opens = HTTPStatus.SWITCHING_PROTOCOLS in operation.statuses
    return [one for one in SERVER_PROBLEMS if opens or one.code not in _OF_HANDSHAKES]


def _errors(operations: Sequence[Operation]) -> Json:
    """Return the schemas of the error formats, by name."""
    declared = [operation.errors for operation in operations if operation.errors is not None]
    others = [one for errors in declared for formats in errors.others.values() for one in formats]
    return {errors.name: dict(errors.schema) for errors in (*declared, *others)}


def _named(operations: Sequence[Operation]) -> Json:
    """Return the schemas of forms and headers that have a title, by it."""
    schemas: list[Mapping[str, object]] = []
    for operation in operations:
        if operation.body is not None and operation.body.schema is not None:
            schemas.append(operation.body.schema)
        for problem in possible_problems(operation):
            schemas += [header.schema for header in problem.described_headers.values()]
    return {str(schema["title"]): schema for schema in schemas if "title" in schema}


def _referenced(schema: Mapping[str, object]) -> Json:
    """Return a reference to a schema that has a title; any other schema as it is."""
    return {"$ref": f"{_SCHEMAS}{schema['title']}"} if "title" in schema else {**schema}


def _shapes(operations: Sequence[Operation]) -> Json:
    """Return the schemas of problem details, by name."""
    shapes: Json = {Problem.shape: _PROBLEM}
    for operation in operations:
        for problem in possible_problems(operation):
            if problem.shape not in shapes:
                members = cast("Json", _PROBLEM["properties"])
                shapes[problem.shape] = {
                    **_PROBLEM,
                    "description": problem.summary,
                    "properties": {
                        **members,
                        "status": {"type": "integer", "const": problem.status},
                        "code": {"type": "string", "const": problem.code},
                    },
                }
    return shapes


def _refusal(operation: Operation, status: int, problems: Sequence[AnyProblem]) -> Json:
    own = [problem for problem in problems if not isinstance(problem, ServerProblem)]
    if not own:
        [only] = problems
        return {"$ref": f"#/components/responses/{_response_name(only.code)}"}
    headers = {**_REQUEST_ID_HEADER, **(_RETRY_AFTER if status in _TEMPORARY_STATUSES else {})}
    described = [problem.described_headers for problem in own]
    if operation.security is Security.MCP and status == HTTPStatus.UNAUTHORIZED:
        described.append(CHALLENGE)
    for of_problem in described:
        for name, header in of_problem.items():
            headers[name] = {
                "description": header.description,
                "schema": _referenced(header.schema),
            }
    content: Json = {}
    if operation.errors is None:
        shapes = {problem.shape for problem in own}
        content[MEDIA_TYPE] = {"schema": _problem_schema(problems, *shapes)}
    else:
        # The server does not know the format of the protocol.
        formats = [{"$ref": f"{_SCHEMAS}{one.name}"} for one in operation.errors.at(status)]
        if any(problem is not BodyTimeout for problem in own):
            content[_JSON] = {"schema": {"anyOf": formats} if formats[1:] else formats[0]}
        if by_server := [one for one in problems if one in (*_SHARED, *SERVER_PROBLEMS)]:
            content[MEDIA_TYPE] = {"schema": _problem_schema(by_server)}
    if operation.page:
        content[HtmlPage.MEDIA_TYPE] = {"schema": {"type": "string"}}
    return {
        "description": "\n".join(f"- `{problem.code}`: {problem.summary}" for problem in problems),
        "headers": headers,
        "content": content,
    }


def _problem_schema(problems: Iterable[AnyProblem], *shapes: str) -> Json:
    shape = shapes[0] if len(shapes) == 1 else Problem.shape
    return {
        "$ref": f"{_SCHEMAS}{shape}",
        "properties": {"code": {"enum": [problem.code for problem in problems]}},
    }


def _server_responses() -> Json:
    """Return the responses of the server to requests for any operation, by name."""
    return {
        _response_name(problem.code): {
            "description": f"- `{problem.code}`: {problem.summary}",
            "headers": {**_REQUEST_ID_HEADER, **_OF_HANDSHAKES.get(problem.code, {})},
            "content": {MEDIA_TYPE: {"schema": _problem_schema([problem])}},
        }
        for problem in SERVER_PROBLEMS
        # Every operation has a response with this status.
        if problem.status != HTTPStatus.SERVICE_UNAVAILABLE
    }


def _response_name(code: str) -> str:
    return code.title().replace("_", "")
