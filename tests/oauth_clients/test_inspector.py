"""The inspector of MCP gets access by itself, and accepts what it is shown."""

import json
from functools import partial
from typing import NamedTuple

import pytest

from tests.oauth_clients.inspector import Inspected, Inspector
from tests.oauth_clients.installation import NOTE, Installation

TOOLS = 13
FINDING = "Issue:"
"""Begins what it finds in a schema."""


class Signed(NamedTuple):
    """An inspector that has access, and what it printed on its way to it."""

    inspector: Inspector
    first: Inspected


@pytest.fixture(scope="module")
def signed(site: Installation, tmp_path_factory: pytest.TempPathFactory) -> Signed:
    inspector = Inspector(site.endpoint, site.trust, tmp_path_factory.mktemp("inspector"))
    allow = partial(site.allow, write=True)
    return Signed(inspector, inspector.sign_in(allow, "--method", "tools/list", "--strict"))


def test_inspector_signs_in_and_finds_nothing_in_the_schemas(signed: Signed) -> None:
    assert (signed.first.code, len(signed.first.result["tools"])) == (0, TOOLS), signed.first.notes
    assert FINDING not in signed.first.notes


def test_inspector_finds_nothing_in_the_schemas_of_the_modern_era(signed: Signed) -> None:
    found = signed.inspector.call("--protocol-era", "modern", "--method", "tools/list", "--strict")
    assert (found.code, len(found.result["tools"])) == (0, TOOLS), found.notes
    assert FINDING not in found.notes


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_calls_a_tool(signed: Signed, era: str) -> None:
    query = json.dumps({"query": "tide"})
    arguments = ("--method", "tools/call", "--tool-name", "search", "--tool-args-json", query)
    found = signed.inspector.call("--protocol-era", era, *arguments)
    assert found.code == 0, found.notes
    assert "The tide" in {each["title"] for each in found.result["structuredContent"]["results"]}


def test_inspector_lists_and_reads_resources(signed: Signed) -> None:
    call = partial(signed.inspector.call, "--protocol-era", "auto", "--method")
    templates = call("resources/templates/list").result["resourceTemplates"]
    assert [each["name"] for each in templates] == ["note", "note-at-path"]
    listed = call("resources/list").result["resources"]
    [uri] = [each["uri"] for each in listed if each["name"] == "tide.md"]
    [content] = call("resources/read", "--uri", uri).result["contents"]
    assert content["text"] == NOTE
