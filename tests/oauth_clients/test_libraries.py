"""Libraries of OAuth, which know nothing of MCP, get access, renew it and give it back."""

from typing import Any

import pytest

from tests.oauth_clients.installation import Installation
from tests.oauth_clients.programs import running

BOTH = "notes:read notes:write"


@pytest.mark.parametrize(
    ("program", "name"),
    [("oauth4webapi.mjs", "oauth4webapi"), ("openid_client.mjs", "openid-client")],
)
def test_library_validates_every_response_of_the_server(
    site: Installation, program: str, name: str
) -> None:
    result = access(site, program, name)
    assert result["challenge"] == {
        "error": "invalid_token",
        "resource_metadata": f"{site.url}/.well-known/oauth-protected-resource/mcp",
        "scope": BOTH,
    }
    # The metadata say that responses name the issuer: another one is refused, and none.
    other, none = result["mixups"]
    assert other == 'unexpected "iss" (issuer) response parameter value'
    assert none == 'response parameter "iss" (issuer) missing'


def test_authlib_gets_access_with_a_secret_in_the_form(site: Installation) -> None:
    result = access(site, "authlib_client.py", "Authlib")
    assert result["iss"] == [site.url]
    assert result["revoked"] == 200


def access(site: Installation, program: str, name: str) -> dict[str, Any]:
    """Run a program, which the person allows to write; return what it says of its access."""
    with running(program, site.endpoint, trust=site.trust) as library:
        assert site.allow(library.line("open"), write=True) == name
        result: dict[str, Any] = library.line("result")
    assert result["issuer"] == site.url
    assert result["scopes"] == [BOTH, BOTH]
    assert result["statuses"] == [200, 200]
    assert result["ended"] == "invalid_grant"
    return result
