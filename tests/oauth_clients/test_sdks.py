"""The SDKs of the protocol get access and use the endpoint, with their own authorization."""

from typing import Any

import pytest

from octavo.features.mcp.reading_tools import reading_tools
from octavo.features.mcp.writing_tools import writing_tools
from tests.oauth_clients.installation import DOCUMENTED, NOTE, Installation
from tests.oauth_clients.programs import running

READ = "notes:read"
BOTH = "notes:read notes:write"
ALL = [each.name for each in (*reading_tools(), *writing_tools())]


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("python_sdk.py", "The Python SDK"),
        ("javascript_client.mjs", "The JavaScript SDK"),
    ],
)
def test_sdk_gets_access_renews_it_and_asks_for_more(
    site: Installation, program: str, name: str
) -> None:
    with running(program, site.endpoint, trust=site.trust) as sdk:
        assert site.allow(sdk.line("open")) == name
        assert site.allow(sdk.line("open"), write=True) == name
        result = sdk.line("result")
    check(site, result)
    assert result["scopes"] == [READ, READ, BOTH]
    assert result["tools"] == [each.name for each in reading_tools()]


def test_sdk_that_asks_once_gets_all_that_the_person_allows(site: Installation) -> None:
    # Where the first major version has a refresh token, it uses that to get more, in vain.
    with running("javascript_sdk.mjs", site.endpoint, trust=site.trust) as sdk:
        assert site.allow(sdk.line("open"), write=True) == "The JavaScript SDK"
        result = sdk.line("result")
    check(site, result)
    assert result["scopes"] == [BOTH, BOTH, BOTH]
    assert result["tools"] == ALL


@pytest.mark.parametrize("program", ["python_sdk.py", "javascript_sdk.mjs"])
def test_sdk_with_a_metadata_document_needs_no_registration(
    site: Installation, program: str
) -> None:
    with running(program, site.endpoint, site.document, trust=site.trust) as sdk:
        assert site.allow(sdk.line("open"), write=True) == DOCUMENTED
        result = sdk.line("result")
    check(site, result)
    assert result["client"] == site.document


def check(site: Installation, result: dict[str, Any]) -> None:
    assert result["issuer"] == site.url
    assert result["refreshed"]
    # The SDK validates each result against the schema of its tool.
    assert sorted(result["called"]) == sorted(ALL)
    assert result["found"] == "The tide"
    assert result["read"] == NOTE
    assert result["created"]["note_id"]
