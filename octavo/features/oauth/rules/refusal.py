"""Refusals of the authorization server, by the codes of OAuth 2.0."""

from octavo_rules.problems import CHALLENGE, Problem

_AGAIN = "Start again from the program: it asks for access anew."


class OAuthRefusal(Problem):
    """A request to the authorization server was refused, and changed nothing."""

    heading = "This program can't be connected"
    preface = (
        "The program that sent you here got no access to your notes. Start again from there. If"
        " that does not help, show its makers this page:"
    )


class InvalidClient(OAuthRefusal):
    """The program is unknown, or did not authenticate (RFC 6749 section 5.2)."""

    status, code = 401, "invalid_client"
    summary = "The program is unknown, or did not prove who it is."
    remedy = "Connect the program again, so that it registers anew."
    described_headers = CHALLENGE

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail, headers=[(b"www-authenticate", b'Basic realm="octavo"')])


class InvalidGrant(OAuthRefusal):
    """A code or a token is not valid (RFC 6749 section 5.2)."""

    status, code = 400, "invalid_grant"
    summary = "The code or token is not valid any more."
    remedy = _AGAIN


class InvalidScope(OAuthRefusal):
    """A scope is unknown, or was not granted (RFC 6749 section 5.2)."""

    status, code = 400, "invalid_scope"
    summary = "The scope is unknown, or was not allowed."
    remedy = "Ask for one of the scopes in the metadata of the server."


class InvalidTarget(OAuthRefusal):
    """Another resource is meant (RFC 8707 section 2)."""

    status, code = 400, "invalid_target"
    summary = "The resource is not one of this installation."
    remedy = "Name the resource as the metadata of the MCP endpoint does."


class InvalidOAuthRequest(OAuthRefusal):
    """A parameter is missing or not valid (RFC 6749 section 5.2)."""

    status, code = 400, "invalid_oauth_request"
    summary = "The request of the program is not valid."
    remedy = "The detail says what is missing. Its makers must correct the program."


class InvalidRedirectUri(OAuthRefusal):
    """An address can't be used for responses (RFC 7591 section 3.2.2)."""

    status, code = 400, "invalid_redirect_uri"
    summary = "The program gives an address that it may not use."
    remedy = "Nothing was sent to that address. Its makers must correct the program."


class InvalidClientMetadata(OAuthRefusal):
    """Metadata of a program can't be served (RFC 7591 section 3.2.2)."""

    status, code = 400, "invalid_client_metadata"
    summary = "The program describes itself in a way that can't be served."
    remedy = "The detail names the member. Its makers must correct the program."


class UnsupportedGrantType(OAuthRefusal):
    """The grant type is unknown (RFC 6749 section 5.2)."""

    status, code = 400, "unsupported_grant_type"
    summary = "The grant type is not one of this server."
    remedy = "Use authorization_code or refresh_token."


TOKEN_PROBLEMS = (
    InvalidClient,
    InvalidGrant,
    InvalidScope,
    InvalidTarget,
    InvalidOAuthRequest,
    UnsupportedGrantType,
)
"""Of the token endpoint."""
REGISTRATION_PROBLEMS = (InvalidClient, InvalidClientMetadata, InvalidRedirectUri)
"""Of the registration of programs."""
REQUEST_PROBLEMS = (
    InvalidClientMetadata,
    InvalidOAuthRequest,
    InvalidRedirectUri,
    InvalidScope,
    InvalidTarget,
)
"""Of requests for access."""
