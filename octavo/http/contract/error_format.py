"""Formats of errors that a protocol prescribes, in place of problem details."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast


@dataclass(frozen=True, slots=True)
class ErrorFormat:
    """The JSON documents with which the operations of a protocol refuse.

    The status and the headers of a refusal are those of its problem.

    Attributes:
        name: of the documents' schema in the contract document.
        schema: their JSON schema.
        body: returns the document for a problem: its status, its code, its detail and its members.
        others: the formats of the statuses at which the documents have other schemas.
    """

    name: str
    schema: Mapping[str, object]
    body: Callable[[int, str, str, Mapping[str, object]], Mapping[str, object]]
    others: Mapping[int, tuple["ErrorFormat", ...]] = field(default_factory=dict)

    def at(self, status: int) -> tuple["ErrorFormat", ...]:
        """Return the formats of the documents with ``status``."""
        return self.others.get(status, (self,))


def _oauth_error(
    status: int, code: str, detail: str, members: Mapping[str, object]
) -> Mapping[str, object]:
    known = _OAUTH_CODES.get(code, "invalid_request" if status < _SERVER_ERROR else "server_error")
    return {"error": code if code in _OAUTH_NAMES else known, "error_description": detail}


_SERVER_ERROR = 500
# RFC 6749 section 5.2, RFC 6750 section 3.1, RFC 7591 section 3.2.2, RFC 8707 section 2.
_OAUTH_NAMES = frozenset(
    {
        "access_denied",
        "insufficient_scope",
        "invalid_client",
        "invalid_client_metadata",
        "invalid_grant",
        "invalid_redirect_uri",
        "invalid_request",
        "invalid_scope",
        "invalid_target",
        "invalid_token",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_grant_type",
        "unsupported_token_type",
    }
)
_OAUTH_CODES = {
    "invalid_oauth_request": "invalid_request",
    "not_signed_in": "invalid_token",
    "credential_refused": "invalid_token",
    "rate_limited": "temporarily_unavailable",
    "server_busy": "temporarily_unavailable",
    "storage_unavailable": "temporarily_unavailable",
    "storage_full": "temporarily_unavailable",
    "not_ready": "temporarily_unavailable",
}

OAUTH_ERROR = ErrorFormat(
    "OAuthError",
    {
        "type": "object",
        "description": "An error of OAuth 2.0 (RFC 6749 section 5.2).",
        "required": ["error", "error_description"],
        "properties": {
            "error": {"type": "string", "description": "What is wrong, for programs."},
            "error_description": {"type": "string", "description": "What to do, for people."},
        },
    },
    _oauth_error,
)
"""The errors of the authorization server."""


JSON_RPC_REFUSED = -32600
JSON_RPC_FAILED = -32603
RPC_MEMBER = "rpc"
"""The member of a problem that is a JSON-RPC error itself: ``id``, ``code`` and ``data``."""


def _mcp_error(
    status: int, code: str, detail: str, members: Mapping[str, object]
) -> Mapping[str, object]:
    if status == _UNAUTHORIZED or code == "insufficient_scope":
        return _oauth_error(status, code, detail, members)
    rpc = cast("Mapping[str, object]", members.get(RPC_MEMBER, {"data": {"code": code}}))
    rpc_code = JSON_RPC_REFUSED if status < _SERVER_ERROR else JSON_RPC_FAILED
    error = {"code": rpc.get("code", rpc_code), "message": detail}
    if rpc.get("data") is not None:
        error["data"] = rpc["data"]
    return {"jsonrpc": "2.0", "id": rpc.get("id"), "error": error}


_UNAUTHORIZED, _FORBIDDEN = 401, 403
_MCP_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "description": "An error of the Model Context Protocol (JSON-RPC 2.0 section 5.1).",
    "required": ["jsonrpc", "id", "error"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {
            "type": ["string", "integer", "null"],
            "description": "The id of the message; null if it was not read.",
        },
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "integer", "description": "What is wrong, for programs."},
                "message": {"type": "string", "description": "What to do, for people."},
                "data": {
                    "description": "What the protocol defines for the code; otherwise an object "
                    "with the code of the problem.",
                },
            },
        },
    },
}
_MCP_ONLY = ErrorFormat("McpError", _MCP_SCHEMA, _mcp_error)

MCP_ERROR = ErrorFormat(
    "McpError",
    _MCP_SCHEMA,
    _mcp_error,
    {_UNAUTHORIZED: (OAUTH_ERROR,), _FORBIDDEN: (OAUTH_ERROR, _MCP_ONLY)},
)
"""The errors of the MCP endpoint: of OAuth about the token, otherwise of JSON-RPC."""
