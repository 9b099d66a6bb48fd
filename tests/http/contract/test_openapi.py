"""The API document: valid, complete, and deterministic."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from antechamber import SERVER_PROBLEMS, ServerProblem
from octavo_rules.problems import Problem
from openapi_spec_validator import OpenAPIV31SpecValidator

from octavo.http.contract.assembly import contract_of
from octavo.http.contract.declared_responses import possible_problems
from octavo.http.contract.openapi import openapi_document
from octavo.http.contract.operation import Operation
from octavo.service.health import ServiceOperations
from tests.fakes.example_contract import ShelfOperations

GROUPS = [ServiceOperations, ShelfOperations]
# Only the handshake of a WebSocket has a version.
FROM_SERVER = [each for each in SERVER_PROBLEMS if each.code != "websocket_version"]


def written() -> dict[str, Any]:
    made = openapi_document(
        GROUPS, title="Octavo", version="0.1.0", servers=["https://notes.example"]
    )
    # As its readers get it.
    read: dict[str, Any] = json.loads(json.dumps(made))
    return read


def entry(operation_id: str) -> dict[str, Any]:
    [found] = [
        each
        for path in written()["paths"].values()
        for each in path.values()
        if each["operationId"] == operation_id
    ]
    return found  # type: ignore[no-any-return]


def resolved(response: dict[str, Any]) -> dict[str, Any]:
    """The response, which may be common to all operations."""
    name = response.get("$ref", "").removeprefix("#/components/responses/")
    common: dict[str, dict[str, Any]] = written()["components"]["responses"]
    return common[name] if name else response


def references(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        for name, value in part.items():
            if name == "$ref":
                yield value
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def test_document_is_valid_openapi() -> None:
    OpenAPIV31SpecValidator(written()).validate()


def test_document_has_title_and_version() -> None:
    made = written()
    assert made["openapi"] == "3.1.0"
    assert made["jsonSchemaDialect"] == "https://json-schema.org/draft/2020-12/schema"
    assert (made["info"]["title"], made["info"]["version"]) == ("Octavo", "0.1.0")
    assert made["servers"] == [{"url": "https://notes.example"}]
    assert made["tags"] == [{"name": "service"}, {"name": "shelves"}, {"name": "notes"}]


def test_document_is_deterministic() -> None:
    assert json.dumps(written()) == json.dumps(written())


def test_document_has_no_unused_schema() -> None:
    made = written()
    used = {ref.removeprefix("#/components/schemas/") for ref in references(made)}
    assert set(made["components"]["schemas"]) <= used


@pytest.mark.parametrize("each", contract_of(GROUPS), ids=lambda each: each.id)
def test_operation_lists_its_responses_and_takes_an_id(each: Operation) -> None:
    found = written()["paths"][each.path][each.method.lower()]
    assert (found["operationId"], found["tags"]) == (each.id, [each.tag])
    problems: list[type[Problem] | ServerProblem] = [*possible_problems(each), *FROM_SERVER]
    statuses = {*each.statuses, *(problem.status for problem in problems)}
    responses = {status: resolved(response) for status, response in found["responses"].items()}
    assert set(responses) == {str(status) for status in statuses}
    for problem in problems:
        response = responses[str(problem.status)]
        schema = response["content"]["application/problem+json"]["schema"]
        assert problem.code in schema["properties"]["code"]["enum"]
    assert {"$ref": "#/components/parameters/RequestId"} in found["parameters"]
    assert all("x-request-id" in response["headers"] for response in responses.values())


def test_parameters_have_location_schema_and_description() -> None:
    by_name = {p["name"]: p for p in entry("getReadiness")["parameters"] if "name" in p}
    assert by_name["detail"] == {
        "name": "detail",
        "in": "query",
        "required": False,
        "description": "``full`` includes an explanation of each requirement.",
        "schema": {
            "default": "full",
            "enum": ["summary", "full"],
            "title": "Detail",
            "type": "string",
        },
    }


@pytest.mark.parametrize(
    ("name", "place", "required"),
    [("shelfId", "path", True), ("page", "path", True), ("if-match", "header", True)],
)
def test_parameters_are_required_as_declared(name: str, place: str, required: bool) -> None:
    [found] = [p for p in entry("putNote")["parameters"] if p.get("name") == name]
    assert (found["in"], found["required"]) == (place, required)


def test_body_is_described_by_its_kind() -> None:
    assert entry("putNote")["requestBody"] == {
        "description": "At most 100 bytes.",
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NoteInput"}}},
    }


def test_success_has_its_headers_and_its_content() -> None:
    responses = entry("getShelf")["responses"]
    assert set(responses["200"]["headers"]) == {"x-request-id", "etag", "cache-control"}
    assert responses["200"]["content"] == {
        "application/json": {"schema": {"$ref": "#/components/schemas/Shelf"}}
    }
    assert "content" not in responses["304"]
    assert "content" not in entry("removeShelf")["responses"]["204"]
    assert entry("stream")["responses"]["200"]["content"] == {
        "text/plain": {"schema": {"type": "string", "format": "binary"}}
    }


@pytest.mark.parametrize(
    ("operation_id", "security", "locked"),
    [
        ("getHealth", [], None),
        ("getShelf", [{"sessionCookie": []}, {"personalApiKey": []}], "allowed"),
        ("putNote", [{"sessionCookie": []}, {"personalApiKey": []}], "refused"),
    ],
)
def test_operation_has_its_security(
    operation_id: str, security: list[object], locked: str | None
) -> None:
    found = entry(operation_id)
    assert (found["security"], found.get("x-locked-account")) == (security, locked)


def test_operation_has_its_rate_class_and_retry_header() -> None:
    found = entry("putNote")
    assert found["x-rate-class"] == "writes"
    assert "retry-after" in found["responses"]["429"]["headers"]
