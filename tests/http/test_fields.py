"""The limits that the API document gives are those that the server enforces."""

import re
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.etag import parse_entity_tags
from octavo.model.files.path import check_path
from octavo.model.refusal import InvalidPath
from octavo.service.registry import api_document

DOCUMENT = cast("dict[str, Any]", api_document())
SCHEMAS = DOCUMENT["components"]["schemas"]


def operation(name: str) -> dict[str, Any]:
    [found] = [
        each
        for path in DOCUMENT["paths"].values()
        for each in path.values()
        if each["operationId"] == name
    ]
    return cast("dict[str, Any]", found)


def parameter(name: str, parameter_name: str) -> dict[str, Any]:
    parameters = operation(name)["parameters"]
    [found] = [each for each in parameters if each.get("name") == parameter_name]
    schema = found["schema"]
    for each in schema.get("anyOf", ()):
        if each.get("type") == "string":
            schema = each
    return cast("dict[str, Any]", schema)


PATH = SCHEMAS["CreateFileInput"]["properties"]["path"]
IF_MATCH = parameter("updateFile", "if-match")
IF_NONE_MATCH = parameter("getFile", "if-none-match")


@pytest.mark.parametrize(
    ("schema", "limits"),
    [
        ("CreateFileInput.path", {"minLength": 1, "maxLength": 1024}),
        ("CreateFileInput.text", {"maxLength": 2_097_152}),
        ("ApiKeyCreateInput.name", {"minLength": 1, "maxLength": 100}),
        ("WorkspaceNameInput.name", {"minLength": 1, "maxLength": 200}),
        ("RegistrationInput.password", {"minLength": 10, "maxLength": 256}),
        ("RegistrationInput.address", {"maxLength": 254, "format": "email"}),
        ("ChangesetInput.operations", {"minItems": 1, "maxItems": 500}),
    ],
)
def test_member_has_the_limits_of_the_server(schema: str, limits: dict[str, object]) -> None:
    name, _, member = schema.partition(".")
    found = SCHEMAS[name]["properties"][member]
    assert {key: found.get(key) for key in limits} == limits


def test_parameters_have_the_limits_of_the_server() -> None:
    assert parameter("getFeed", "sync-protocol")["enum"] == ["1"]
    query = parameter("searchWorkspace", "q")
    assert (query["minLength"], query["maxLength"]) == (1, 500)
    assert parameter("listFiles", "after")["pattern"] == "^[A-Za-z0-9_-]+$"


@given(st.text(max_size=40))
def test_path_beyond_its_schema_is_refused(path: str) -> None:
    if not re.search(PATH["pattern"], path):
        with pytest.raises(InvalidPath):
            check_path(path)


@given(st.text(alphabet='W/"ab*, \t', max_size=12))
def test_entity_tags_beyond_their_schema_are_refused(value: str) -> None:
    try:
        tags = parse_entity_tags(value)
    except ValueError:
        tags = None
    assert bool(re.search(IF_NONE_MATCH["pattern"], value)) is (tags is not None)
    expected = tags is not None and not tags.anything
    assert bool(re.search(IF_MATCH["pattern"], value)) is expected
