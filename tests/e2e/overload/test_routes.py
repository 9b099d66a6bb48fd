"""Every page, form and operation is attacked, or says why it is not."""

import re

import pytest

from octavo.service.registry import api_document
from tests.e2e.operations.common import operations
from tests.e2e.overload.routes import (
    CHANGING,
    NOT_ASKED,
    changing,
    forms,
    is_unlimited,
    page_paths,
    pages,
    readings,
    requests,
)
from tests.e2e.overload.vault import IDS

OPERATIONS = {each["operationId"]: each for each in operations(api_document())}


def test_every_operation_that_reads_is_asked_or_says_why_not() -> None:
    reading = {name for name, each in OPERATIONS.items() if each["method"] == "GET"}
    asked = {each.name for each in readings()}
    assert reading - asked <= NOT_ASKED.keys()
    assert asked.isdisjoint(NOT_ASKED)
    assert NOT_ASKED.keys() <= OPERATIONS.keys()


def test_every_change_with_a_long_response_is_asked_or_says_why_not() -> None:
    assert changing() == CHANGING.keys()


def test_every_request_is_made_of_the_ids_of_the_installation() -> None:
    made = requests(dict.fromkeys(IDS, "x"))
    assert {name.partition(" ")[0] for name in made} == {each.name for each in readings()}
    assert not [each.path for each in made.values() if "{" in each.path]


def test_named_values_of_parameters_are_asked_for_with_the_greatest_limit() -> None:
    names = set(requests(dict.fromkeys(IDS, "x")))
    assert {"diffRevisions context=1000 by=lines", "diffRevisions context=1000 by=words"} <= {
        " ".join([first, *sorted(rest, reverse=True)])
        for first, *rest in (name.split() for name in names)
    }
    assert "getFile content=full" in names


def test_every_page_and_form_has_an_address() -> None:
    ids = dict.fromkeys(IDS, "x")
    assert len(forms(ids)) == len(page_paths("POST")) > 40
    assert len(pages(ids)) > len(page_paths("GET")) > 60
    assert not re.search("[{<]", "".join((*pages(ids), *forms(ids))))


@pytest.mark.parametrize(
    ("schema", "unlimited"),
    [
        ({"type": "integer"}, False),
        ({"type": "object", "properties": {"a": {"enum": ["b"]}}}, False),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {}}}}, True),
        ({"anyOf": [{"type": "null"}, {"type": "object"}]}, True),
        ({"type": "string", "contentEncoding": "base64"}, True),
        ({}, True),
    ],
)
def test_list_or_encoded_bytes_make_a_response_unlimited(
    schema: dict[str, object], unlimited: bool
) -> None:
    described = {"responses": {"200": {"content": {"application/json": {"schema": schema}}}}}
    assert is_unlimited({}, described) is unlimited
