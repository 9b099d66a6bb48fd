"""Examples for the authorization server of the MCP endpoint, and for connected programs."""

from octavo.http.api.examples.shared import REMOVED, WORKSPACE
from octavo.http.contract.openapi import Example
from octavo.http.contract.schemas import Json

_HERE = "https://notes.example.org"
_CLIENT = "019cfd21-77d0-7c3e-9a41-5e2b8f60c4d1"
_GRANT = "019cfd22-0b6a-7f15-8e93-c7a1d45f2b08"
_CALLBACK = "http://127.0.0.1:33418/callback"
_PARAMETERS: Json = {
    "response_type": "code",
    "client_id": _CLIENT,
    "redirect_uri": _CALLBACK,
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
    "resource": f"{_HERE}/mcp",
    "scope": "notes:read",
    "state": "af0ifjsldkj",
}
_METADATA: Json = {
    "resource": f"{_HERE}/mcp",
    "authorization_servers": [_HERE],
    "scopes_supported": ["notes:read"],
    "bearer_methods_supported": ["header"],
    "resource_name": "Octavo",
    "resource_documentation": f"{_HERE}/api/docs",
}
_METHODS = ["none", "client_secret_basic", "client_secret_post"]
_DESCRIPTION: Json = {
    "client_name": "An editor",
    "redirect_uris": ["http://127.0.0.1/callback"],
    "token_endpoint_auth_method": "none",
}
_REGISTERED: Json = {
    "client_id": _CLIENT,
    "client_id_issued_at": 1773741764,
    "client_name": "An editor",
    "redirect_uris": ["http://127.0.0.1/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
    "registration_access_token": "yR2mVb8kQx4tLw7hNp0sZcXuD6aJeEfG3o1iTqH5vBU",
    "registration_client_uri": f"{_HERE}/oauth/register/{_CLIENT}",
}

_FINGERPRINT = "5d1be7a9cf6f0c4a3b2e8d7716f09c58e4a1d3b60c927f5e8ab4d2c1f7063e9a"

PROGRAMS: dict[str, Example] = {
    "getRootMcpMetadata": Example(response=_METADATA),
    "getMcpMetadata": Example(response=_METADATA),
    "getAuthorizationServer": Example(
        response={
            "issuer": _HERE,
            "authorization_endpoint": f"{_HERE}/oauth/authorize",
            "token_endpoint": f"{_HERE}/oauth/token",
            "registration_endpoint": f"{_HERE}/oauth/register",
            "revocation_endpoint": f"{_HERE}/oauth/revoke",
            "scopes_supported": ["notes:read"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": _METHODS,
            "revocation_endpoint_auth_methods_supported": _METHODS,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
        }
    ),
    "registerClient": Example(request=_DESCRIPTION, response=_REGISTERED),
    "getClient": Example(response=_REGISTERED),
    "updateClient": Example(request={"client_id": _CLIENT, **_DESCRIPTION}, response=_REGISTERED),
    "issueToken": Example(
        request={
            "grant_type": "authorization_code",
            "code": "SplxlOBeZQQYbYS6WxSbIAm3kQx4tLw7hNp0sZcXuD6",
            "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
            "redirect_uri": _CALLBACK,
            "resource": f"{_HERE}/mcp",
            "client_id": _CLIENT,
        },
        response={
            "access_token": "octa_4bUZ3k9XqLwE7mRtYc1VhNs0PaJfGd2D9kQx",
            "token_type": "Bearer",
            "expires_in": 3600,
            "refresh_token": "octr_8nWqT5rBvHx2LzKd6YjMeC0oUiSgAp3fR7tZ",
            "scope": "notes:read",
        },
    ),
    "revokeToken": Example(
        request={
            "token": "octr_8nWqT5rBvHx2LzKd6YjMeC0oUiSgAp3fR7tZ",
            "client_id": _CLIENT,
        }
    ),
    "listConnections": Example(
        response={
            "items": [
                {
                    "id": _GRANT,
                    "name": "An editor",
                    "clientId": _CLIENT,
                    "scopes": ["notes:read"],
                    "workspaceIds": [WORKSPACE],
                    "createdAt": "2026-03-17T10:04:11.902Z",
                    "expiresAt": "2026-06-15T10:04:11.902Z",
                    "lastUsedAt": "2026-03-19T07:30:00.000Z",
                }
            ]
        }
    ),
    "revokeConnection": REMOVED,
    "describeAccessRequest": Example(
        response={
            "name": "An editor",
            "home": None,
            "redirectUri": _CALLBACK,
            "redirectHost": "127.0.0.1:33418",
            "leadsToThisDevice": True,
            "scopes": ["notes:read"],
            "fingerprint": _FINGERPRINT,
        },
    ),
    "decideAccessRequest": Example(
        request={
            "parameters": _PARAMETERS,
            "allow": True,
            "scopes": ["notes:read"],
            "workspaceIds": [WORKSPACE],
            "days": 90,
            "fingerprint": _FINGERPRINT,
        },
        response={
            "redirect": f"{_CALLBACK}?code=SplxlOBeZQQYbYS6WxSbIAm3kQx4tLw7hNp0sZcXuD6"
            "&state=af0ifjsldkj&iss=https%3A%2F%2Fnotes.example.org"
        },
    ),
}
"""The examples, by operation id."""
