"""Refusals of the authorization server, with the codes of OAuth 2.0."""

from typing import Literal

OAuthCode = Literal[
    "access_denied",
    "invalid_client",
    "invalid_client_metadata",
    "invalid_grant",
    "invalid_redirect_uri",
    "invalid_request",
    "invalid_scope",
    "invalid_target",
    "unauthorized_client",
    "unsupported_grant_type",
    "unsupported_response_type",
]
"""RFC 6749 sections 4.1.2.1 and 5.2, RFC 7591 section 3.2.2, RFC 8707 section 2."""


class OAuthRefusal(Exception):
    """A request to the authorization server was refused, and changed nothing.

    Attributes:
        code: what is wrong, for programs.
        detail: what is wrong and what to do, for people.
    """

    def __init__(self, code: OAuthCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
