"""A client of the MCP endpoint that sends single messages, of either era."""

import json
from dataclasses import dataclass, field
from typing import Any

from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.methods import validate_server_result

from octavo.features.mcp.reading_tools import reading_tools
from octavo.features.mcp.writing_tools import writing_tools
from octavo.http.contract.application import Application
from tests.fakes.asgi_client import Response, ask

Json = dict[str, Any]
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
_NAMES = {"tools/call": "name", "resources/read": "uri"}


def meta(version: str = MODERN) -> Json:
    """What each request of a modern revision carries."""
    return {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: {"name": "tests", "version": "1"},
        CLIENT_CAPABILITIES_META_KEY: {},
    }


def check_conforms(value: object, schema: Json, place: str) -> None:
    """Raise if ``value`` is not of the strict ``schema`` of a tool."""
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    assert type(value) in {_KINDS[each] for each in kinds}, f"{place} is {value!r}, not {kinds}"
    if isinstance(value, dict):
        assert list(value) == schema["required"], f"{place} has other members"
        for name, inner in value.items():
            check_conforms(inner, schema["properties"][name], f"{place}.{name}")
    elif isinstance(value, list):
        for inner in value:
            check_conforms(inner, schema["items"], f"{place}[]")


_KINDS = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
_KINDS["null"] = type(None)
_OUTPUTS: dict[str, Json] = {
    each.name: each.output for each in (*reading_tools(), *writing_tools())
}


@dataclass
class McpClient:
    """A client with the token ``token``; results are checked by the models of the protocol."""

    application: Application
    token: str | None = "reader"
    version: str = MODERN
    headers: dict[str, str] = field(default_factory=dict)

    async def send(self, document: object, /, **headers: str | None) -> Response:
        """Send ``document`` with ``headers``; a header that is None is left out."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        given: dict[str, str | None] = {
            "content_type": "application/json",
            "content_length": str(len(body)),
            "accept": "application/json, text/event-stream",
            "authorization": None if self.token is None else f"Bearer {self.token}",
            "mcp_protocol_version": self.version,
            **self.headers,
            **headers,
        }
        sent = [
            (name.replace("_", "-").encode(), value.encode("latin-1"))
            for name, value in given.items()
            if value is not None
        ]
        return await ask(self.application, "POST", "/mcp", headers=sent, body=[body])

    async def request(self, method: str, /, **params: object) -> Response:
        """Send a request as a client of the revision does."""
        headers: dict[str, str | None] = {}
        if self.version == MODERN:
            params = {**params, "_meta": meta()}
            headers["mcp_method"] = method
            if method in _NAMES:
                headers["mcp_name"] = str(params.get(_NAMES[method]))
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await self.send(message, **headers)

    async def result(self, method: str, /, **params: object) -> Json:
        """Send a request; return its result."""
        response = await self.request(method, **params)
        document = response.json()
        assert response.status == 200, document
        assert (document["jsonrpc"], document["id"]) == ("2.0", 1)
        result: Json = document["result"]
        validate_server_result(method, self.version, result)
        return result

    async def error(self, method: str, /, **params: object) -> tuple[int, int, str]:
        """Send a request that is refused; return status, code and message."""
        response = await self.request(method, **params)
        document = response.json()
        return response.status, document["error"]["code"], document["error"]["message"]

    async def call(self, tool: str, /, **arguments: object) -> Json:
        """Call a tool; return its structured content, which its text repeats."""
        result = await self.result("tools/call", name=tool, arguments=arguments)
        [block] = result["content"]
        assert not result["isError"], block["text"]
        structured: Json = result["structuredContent"]
        check_conforms(structured, _OUTPUTS[tool], tool)
        assert json.loads(block["text"]) == structured
        return structured

    async def refusal(self, tool: str, /, **arguments: object) -> str:
        """Call a tool that fails; return what it tells the model."""
        result = await self.result("tools/call", name=tool, arguments=arguments)
        assert result["isError"]
        assert "structuredContent" not in result
        [block] = result["content"]
        return str(block["text"])
