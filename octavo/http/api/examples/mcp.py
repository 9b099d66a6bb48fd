"""Examples for the endpoint of the Model Context Protocol."""

import json

from octavo.http.api.examples.shared import WORKSPACE
from octavo.http.contract.openapi import Example
from octavo.http.contract.schemas import Json

_WORKSPACES: Json = {
    "workspaces": [{"workspace_id": WORKSPACE, "name": "Kitchen", "role": "owner"}],
    "next_cursor": None,
}

_ANSWER: Json = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "content": [{"type": "text", "text": json.dumps(_WORKSPACES)}],
        "structuredContent": _WORKSPACES,
        "isError": False,
    },
}

MCP: dict[str, Example] = {
    "serveMcp": Example(
        request={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "list_workspaces", "arguments": {}},
        },
        response=_ANSWER,
    ),
    "openMcp": Example(response=_ANSWER),
}
