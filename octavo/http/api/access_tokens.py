"""Authenticate requests to the MCP endpoint by access tokens (RFC 6750)."""

from octavo.accounts.caller import Caller
from octavo.accounts.credentials import Credentials
from octavo.http.contract.call import Call
from octavo.http.contract.problems import CredentialRefused, NotFound, NotSignedIn

_BEARER = b"bearer "


class AccessTokens:
    """Authenticates the operations of `Security.MCP`.

    Args:
        credentials: looks up access tokens; None while the endpoint is off.
        public_url: the address of the installation.
    """

    def __init__(self, credentials: Credentials | None, *, public_url: str) -> None:
        self._credentials = credentials
        metadata = f"{public_url}/.well-known/oauth-protected-resource/mcp"
        self._where = f'resource_metadata="{metadata}", scope="notes:read"'

    async def authenticate(self, call: Call) -> Caller:
        """Return the caller, limited to what a person allowed the program.

        Raises `NotSignedIn` and `CredentialRefused` with the header by which a program finds the
        authorization server (RFC 9728 section 5.1), and `NotFound` while the endpoint is off.
        """
        if self._credentials is None:
            raise NotFound
        given = call.header(b"authorization")
        if given is None or given[:7].lower() != _BEARER:
            raise _with_challenge(
                NotSignedIn("Send an access token as authorization: Bearer."),
                f"Bearer {self._where}",
            )
        caller = await self._credentials.of_access_token(given[7:])
        if caller is None:
            raise _with_challenge(
                CredentialRefused("This access token is not valid, has expired or was revoked."),
                f'Bearer error="invalid_token", {self._where}',
            )
        return caller


def _with_challenge(
    problem: NotSignedIn | CredentialRefused, challenge: str
) -> NotSignedIn | CredentialRefused:
    problem.headers = (*problem.headers, (b"www-authenticate", challenge.encode()))
    return problem
