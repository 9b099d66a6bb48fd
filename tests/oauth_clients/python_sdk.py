"""A program with the Python SDK of the protocol: all of authorization is the SDK's own."""

import asyncio
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp_types import TextResourceContents

from tests.oauth_clients.loopback import Loopback, say

_WHOLE = ("first_line", "last_line", "start_character")


class Storage:
    """Keeps tokens in memory."""

    def __init__(self) -> None:
        self.tokens: list[OAuthToken] = []
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens[-1] if self.tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens.append(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def call_tools(client: Client, workspace_id: str) -> list[str]:
    """Call every tool; return their names. The SDK refuses results of another schema."""
    called = []

    async def call(tool: str, **given: object) -> dict[str, Any]:
        result = await client.call_tool(tool, given)
        assert not result.is_error, result.content
        called.append(tool)
        structured: dict[str, Any] = result.structured_content
        return structured

    start = {"workspace_id": workspace_id, "cursor": None}
    text = "See [[tide]]."
    made = await call("create_note", workspace_id=workspace_id, path=f"{uuid4()}.md", text=text)
    note = {"note_id": made["note_id"]}
    last = made["revision_id"]
    last = (await call("update_note", **note, revision_id=last, text="Again."))["revision_id"]
    edit = {"old_text": "Again", "new_text": "Twice", "replace_all": None}
    last = (await call("edit_note", **note, revision_id=last, **edit))["revision_id"]
    last = (await call("move_note", **note, revision_id=last, path=f"{uuid4()}/moved.md"))[
        "revision_id"
    ]
    await call("list_workspaces", cursor=None)
    await call("list_notes", **start, folder=None)
    await call("read_note", **note, revision_id=None, **dict.fromkeys(_WHOLE))
    await call("backlinks", **note, cursor=None)
    await call("recent_changes", **start)
    await call("note_history", **note, cursor=None)
    await call("search", query="twice")
    await call("fetch", id=note["note_id"])
    await call("delete_note", **note, revision_id=last)
    return called


async def use_endpoint(endpoint: str, document: str | None = None) -> dict[str, object]:
    loopback, storage = Loopback(), Storage()

    async def redirect(address: str) -> None:
        say(open=address)

    async def response() -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(await asyncio.to_thread(loopback.response)).query)
        return AuthorizationCodeResult(
            code=query["code"][0], state=query["state"][0], iss=query["iss"][0]
        )

    metadata = OAuthClientMetadata.model_validate(
        {"client_name": "The Python SDK", "redirect_uris": [loopback.redirect]}
    )
    provider = OAuthClientProvider(endpoint, metadata, storage, redirect, response, document)
    async with (
        httpx2.AsyncClient(auth=provider, timeout=60) as http,
        Client(streamable_http_client(endpoint, http_client=http)) as client,
    ):
        tools = await client.list_tools()
        searched = await client.call_tool("search", {"query": "tide"})
        assert searched.structured_content is not None
        [found] = searched.structured_content["results"]
        resources = (await client.list_resources()).resources
        [uri] = [each.uri for each in resources if each.uri == found["id"]]
        [content] = (await client.read_resource(uri)).contents
        assert isinstance(content, TextResourceContents)
        first = storage.tokens[-1]
        # The SDK renews a token when its time is over: it may be now.
        provider.context.token_expiry_time = 1.0
        await client.call_tool("list_workspaces", {})
        second = storage.tokens[-1]
        note = {
            "workspace_id": found["id"].split("/")[2],
            "path": f"{uuid4()}.md",
            "text": "Written by a program.",
        }
        created = await client.call_tool("create_note", note)
        called = await call_tools(client, str(note["workspace_id"]))
    assert provider.context.oauth_metadata is not None
    assert storage.client is not None
    return {
        "tools": [each.name for each in tools.tools],
        "found": found["title"],
        "read": content.text,
        "refreshed": first.access_token != second.access_token,
        "scopes": [first.scope, second.scope, storage.tokens[-1].scope],
        "created": created.structured_content,
        "called": called,
        "client": storage.client.client_id,
        "issuer": str(provider.context.oauth_metadata.issuer),
    }


if __name__ == "__main__":
    say(result=asyncio.run(use_endpoint(*sys.argv[1:])))
