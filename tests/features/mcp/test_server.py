"""The official client of the protocol against the endpoint, over real sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ResourceTemplateReference, TextContent, TextResourceContents

from octavo.features.mcp.reading_tools import reading_tools
from octavo.features.mcp.server import INSTRUCTIONS
from octavo.features.mcp.tools import NOTE_TEMPLATE, note_uri
from packages.antechamber.tests.http_server import serving
from tests.fakes.mcp_client import LEGACY, MODERN
from tests.fakes.notes_api import NotesApi

Mode = Literal["auto", "legacy"]
MODES: list[Mode] = ["auto", "legacy"]


@asynccontextmanager
async def connected(api: NotesApi, mode: Mode, token: str = "reader") -> AsyncIterator[Client]:
    """A client of the SDK with a token."""
    headers = {"authorization": f"Bearer {token}"}
    async with (
        serving(api.application) as server,
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(server.url("/mcp"), http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize(("mode", "version"), [("auto", MODERN), ("legacy", LEGACY)])
async def test_client_connects_in_its_era(api: NotesApi, mode: Mode, version: str) -> None:
    async with connected(api, mode) as client:
        assert client.protocol_version == version
        assert client.server_info is not None
        assert client.server_info.name == "octavo"
        assert client.instructions == INSTRUCTIONS
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.prompts is None


@pytest.mark.parametrize("mode", MODES)
async def test_client_uses_tools(api: NotesApi, mode: Mode) -> None:
    note = await api.note("sea/tide.md", "# The tide\n\nIt comes twice a day.")
    async with connected(api, mode) as client:
        listed = await client.list_tools()
        assert [each.name for each in listed.tools] == [each.name for each in reading_tools()]
        found = await client.call_tool("search", {"query": "tide"})
        assert found.structured_content is not None
        [result] = found.structured_content["results"]
        fetched = await client.call_tool("fetch", {"id": result["id"]})
        assert fetched.structured_content is not None
        assert fetched.structured_content["text"] == "# The tide\n\nIt comes twice a day."
        assert isinstance(fetched.content[0], TextContent)
        refused = await client.call_tool("read_note", {"note_id": "sea/tide.md"})
        assert refused.is_error
        read = await client.call_tool("read_note", {"note_id": result["id"]})
        assert read.structured_content is not None
        assert read.structured_content["revision_id"] == note.revision


@pytest.mark.parametrize("mode", MODES)
async def test_client_reads_resources(api: NotesApi, mode: Mode) -> None:
    note = await api.note("a.md", "text")
    async with connected(api, mode) as client:
        [resource] = (await client.list_resources()).resources
        assert str(resource.uri) == note_uri(api.workspace_id, note.id)
        [content] = (await client.read_resource(resource.uri)).contents
        assert isinstance(content, TextResourceContents)
        assert content.text == "text"
        templates = (await client.list_resource_templates()).resource_templates
        assert templates[0].uri_template == NOTE_TEMPLATE
        completed = await client.complete(
            ResourceTemplateReference(type="ref/resource", uri=NOTE_TEMPLATE),
            {"name": "fileId", "value": "a"},
            {"workspaceId": api.workspace_id},
        )
        assert completed.completion.values == [note.id]


@pytest.mark.parametrize("mode", MODES)
async def test_client_is_told_what_does_not_exist(api: NotesApi, mode: Mode) -> None:
    async with connected(api, mode) as client:
        with pytest.raises(MCPError, match="There is no tool 'mend'"):
            await client.call_tool("mend", {})
        with pytest.raises(MCPError, match="There is no note at this URI"):
            await client.read_resource("octavo://nothing")
        with pytest.raises(MCPError, match="There is no method 'prompts/list'"):
            await client.list_prompts()


async def test_client_without_a_valid_token_is_refused(api: NotesApi) -> None:
    api.tokens.locked.add("reader")
    with pytest.raises((MCPError, ExceptionGroup)):
        async with connected(api, "auto"):
            pass
