"""A program with Authlib, which authenticates by a secret in the form."""

import sys
from urllib.parse import parse_qs, urlsplit

import httpx
from authlib.common.errors import AuthlibBaseError  # type: ignore[import-untyped]
from authlib.common.security import generate_token  # type: ignore[import-untyped]
from authlib.integrations.httpx_client import OAuth2Client  # type: ignore[import-untyped]
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url  # type: ignore[import-untyped]

from tests.oauth_clients.loopback import Loopback, say

METHOD = "client_secret_post"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def get_access(endpoint: str) -> dict[str, object]:
    loopback = Loopback()
    issuer = endpoint.removesuffix("/mcp")
    found = httpx.get(get_well_known_url(issuer, external=True)).raise_for_status().json()
    server = AuthorizationServerMetadata(found)
    server.validate()
    asked = {
        "client_name": "Authlib",
        "redirect_uris": [loopback.redirect],
        "token_endpoint_auth_method": METHOD,
    }
    made = httpx.post(server["registration_endpoint"], json=asked).raise_for_status().json()
    with OAuth2Client(
        made["client_id"],
        made["client_secret"],
        token_endpoint_auth_method=METHOD,
        revocation_endpoint_auth_method=METHOD,
        redirect_uri=loopback.redirect,
        scope="notes:read notes:write",
        code_challenge_method="S256",
        token_endpoint=server["token_endpoint"],
    ) as client:
        verifier = generate_token(48)
        address, state = client.create_authorization_url(
            server["authorization_endpoint"], code_verifier=verifier, resource=endpoint
        )
        say(open=address)
        response = loopback.response()
        first = client.fetch_token(
            authorization_response=response, state=state, code_verifier=verifier, resource=endpoint
        )
        statuses = [client.post(endpoint, json=PING).status_code]
        second = client.refresh_token(refresh_token=first["refresh_token"], resource=endpoint)
        statuses.append(client.post(endpoint, json=PING).status_code)
        revoked = client.revoke_token(
            server["revocation_endpoint"], second["refresh_token"], "refresh_token"
        )
        try:
            client.refresh_token(refresh_token=second["refresh_token"])
        except AuthlibBaseError as error:
            ended = error.error
    return {
        "issuer": server["issuer"],
        # Authlib leaves it to the program to compare.
        "iss": parse_qs(urlsplit(response).query)["iss"],
        "scopes": [first["scope"], second["scope"]],
        "statuses": statuses,
        "revoked": revoked.status_code,
        "ended": ended,
    }


if __name__ == "__main__":
    say(result=get_access(sys.argv[1]))
