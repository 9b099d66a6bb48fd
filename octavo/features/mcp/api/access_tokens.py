"""Authenticate requests to the MCP endpoint by access tokens (RFC 6750)."""

from octavo_rules.identity import READ, WRITE

from octavo.access.caller import Caller
from octavo.features.accounts.credentials import Credentials
from octavo.features.mcp.api.mcp import token_missing, token_refused
from octavo.http.contract.call import Call

_BEARER = b"bearer "


class AccessTokens:
    """Authenticates the operations of `Security.MCP`.

    Its challenges name every scope that can be granted: clients ask for the scope of the first
    challenge, and tools that write are listed only for tokens that may use them, so that a program
    would never learn that there is more. The person decides what to grant.

    Args:
        credentials: looks up access tokens.
        public_url: the address of the installation.
        writes: whether programs may be allowed to write.
    """

    def __init__(self, credentials: Credentials, *, public_url: str, writes: bool) -> None:
        self._credentials = credentials
        self._public_url = public_url
        self._scope = f"{READ} {WRITE}" if writes else READ

    async def authenticate(self, call: Call) -> Caller:
        """Return the caller, limited to what a person allowed the program.

        Raises `NotSignedIn` and `CredentialRefused` with the header by which a program finds the
        authorization server.
        """
        given = call.header(b"authorization")
        if given is None or given[:7].lower() != _BEARER:
            raise token_missing(self._public_url, self._scope)
        caller = await self._credentials.of_access_token(given[7:])
        if caller is None:
            raise token_refused(self._public_url, self._scope)
        return caller
