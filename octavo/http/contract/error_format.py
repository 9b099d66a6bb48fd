"""Formats of errors that a protocol prescribes, in place of problem details."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorFormat:
    """The JSON documents with which the operations of a protocol refuse.

    The status and the headers of a refusal are those of its problem.

    Attributes:
        name: of the documents' schema in the contract document.
        schema: their JSON schema.
        body: returns the document for a problem: its status, its code and its detail.
    """

    name: str
    schema: Mapping[str, object]
    body: Callable[[int, str, str], Mapping[str, object]]


def _oauth_error(status: int, code: str, detail: str) -> Mapping[str, object]:
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
