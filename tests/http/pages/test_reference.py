"""The page of the contract, generated from the document."""

import pytest
from antechamber import SERVER_PROBLEMS

from octavo.http.contract.assembly import contract_of
from octavo.http.contract.declared_responses import possible_problems
from octavo.http.contract.openapi import openapi_document
from octavo.http.contract.operation import Operation
from octavo.http.pages.reference import (
    OperationEntry,
    Reference,
    RefusalEntry,
    Span,
    TextPart,
    reference,
    spans,
    type_of,
)
from octavo.service.health import ServiceOperations
from octavo.service.registry import api_document
from tests.fakes.example_contract import ShelfOperations

GROUPS = [ServiceOperations, ShelfOperations]


def made() -> Reference:
    return reference(openapi_document(GROUPS, title="Octavo", version="0.1.0"))


def entry(operation_id: str) -> OperationEntry:
    [found] = [each for tag in made().tags.values() for each in tag if each.id == operation_id]
    return found


def test_reference_has_every_operation_once_under_its_tag() -> None:
    found = {(tag, each.id) for tag, entries in made().tags.items() for each in entries}
    declared = contract_of(GROUPS)
    assert found == {(each.tag, each.id) for each in declared}
    assert sum(map(len, made().tags.values())) == len(declared)


def test_operation_shows_how_to_call_it() -> None:
    found = entry("putNote")
    assert (found.method, found.path) == ("PUT", "/api/shelves/{shelfId}/pages/{page}")
    assert found.callers == "session or personal API key"
    assert (found.when_locked, found.rate) == ("refused", "writes")
    places = [(each.name, each.place, each.required) for each in found.parameters]
    assert places == [
        ("shelfId", "path", True),
        ("page", "path", True),
        ("if-match", "header", True),
    ]


def test_operation_without_authentication_says_so() -> None:
    assert entry("getHealth").callers == "anybody"
    assert entry("getShelf").when_locked == "allowed"


def test_operation_shows_body_and_responses_with_their_members() -> None:
    found = entry("putNote")
    assert found.body is not None
    assert found.body.media_types == ("application/json",)
    assert found.body.type == (TextPart("NoteInput", shape=True),)
    assert [each.name for each in found.body.members] == ["text"]
    assert "100 bytes" in found.body.description
    shown = [(each.status, [m.name for m in each.members]) for each in found.responses]
    assert shown == [("201", ["text", "by"])]


def test_streamed_response_shows_its_media_type_and_its_type() -> None:
    [response] = entry("stream").responses
    assert (response.media_types, response.members) == (("text/plain",), ())
    assert response.type == (TextPart("string (binary)"),)


@pytest.mark.parametrize("declared", contract_of(GROUPS), ids=lambda each: each.id)
def test_operation_lists_its_refusals(declared: Operation) -> None:
    listed = {code for refusal in entry(declared.id).refusals for code in refusal.codes}
    of_server = {problem.code for problem in SERVER_PROBLEMS}
    assert listed - of_server == {problem.code for problem in possible_problems(declared)}
    # The others are common to all operations.
    assert listed & of_server <= {"head_timeout", "request_timeout", "too_many_connections"}


def test_refusals_of_the_server_are_listed_once() -> None:
    own = {"request_timeout", "too_many_connections", "websocket_version"}
    assert set(made().server_codes) == {each.code for each in SERVER_PROBLEMS} - own


def test_refusals_of_the_server_to_some_operations_are_listed_there() -> None:
    entries = [each for tag in reference(api_document()).tags.values() for each in tag]
    refused = RefusalEntry("426", ("websocket_version",))
    assert [each.id for each in entries if refused in each.refusals] == ["openSyncNotices"]


def test_errors_in_the_format_of_a_protocol_have_the_phrase_and_the_codes() -> None:
    entries = [each for tag in reference(api_document()).tags.values() for each in tag]
    [refused] = [
        response
        for each in entries
        if each.id == "serveMcp"
        for response in each.responses
        if response.status == "400"
    ]
    assert refused.description == "Bad Request"
    assert refused.codes == ("invalid_request", "mcp_message_refused")
    assert refused.media_types == ("application/json", "application/problem+json")


def test_type_of_several_kinds_joins_them() -> None:
    kinds = type_of({"type": ["string", "integer", "null"]})
    assert kinds == (TextPart("string or integer or null"),)


def test_refusals_of_one_status_are_together() -> None:
    assert RefusalEntry("401", ("key_refused", "not_signed_in")) in entry("getShelf").refusals


def test_schemas_are_those_of_the_document_in_order() -> None:
    names = [each.name for each in made().shapes]
    assert names == sorted(names)
    assert {"NoteInput", "Problem", "Shelf"} <= set(names)
    [shelf] = [each for each in made().shapes if each.name == "Shelf"]
    assert [each.name for each in shelf.members] == ["shelfId", "noteCount"]


def test_schema_that_is_not_an_object_shows_its_type() -> None:
    described = openapi_document(GROUPS, title="Octavo", version="0.1.0")
    components = {"schemas": {"Colour": {"enum": ["red"]}}}
    [shape] = reference({**described, "components": components, "paths": {}}).shapes
    assert (shape.type, shape.members) == ((TextPart('"red"'),), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("words", [Span("words", False)]),
        ("`code`", [Span("code", True)]),
        ("``full`` says", [Span("full", True), Span(" says", False)]),
        ("a `b` c", [Span("a ", False), Span("b", True), Span(" c", False)]),
        ("one ` alone", [Span("one ` alone", False)]),
    ],
)
def test_words_between_backticks_are_code(text: str, expected: list[Span]) -> None:
    assert list(spans(text)) == expected
