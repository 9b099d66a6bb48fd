"""Process the messages of the MCP endpoint; loaded only where the endpoint is on."""

from antechamber.asgi import Receive, Scope
from octavo_rules.scopes import READ, WRITE

from octavo.access.caller import Caller
from octavo.features.accounts.credentials import Credentials
from octavo.features.mcp.api.mcp import (
    Exchange,
    McpHeaders,
    McpMessageRefused,
    McpMethodUnknown,
    token_missing,
    token_refused,
    write_scope_missing,
)
from octavo.features.mcp.api.mcp_notes import NotesOfApi
from octavo.features.mcp.protocol import UNKNOWN_METHOD, ProtocolError, RoutingHeaders
from octavo.features.mcp.reading_tools import reading_tools
from octavo.features.mcp.server import McpCaller, McpServer, WriteScopeMissing
from octavo.features.mcp.writing_tools import writing_tools
from octavo.http.contract.call import Call, Principal
from octavo.http.contract.error_format import RPC_MEMBER
from octavo.http.contract.in_process import PerformAs, api_as
from octavo.http.contract.problems import Problem

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


def mcp_exchange(perform: PerformAs, *, public_url: str, writes: bool) -> Exchange:
    """Return what answers messages: tools perform operations of the API.

    Args:
        perform: performs an operation for the caller of a message.
        public_url: address of the installation, without a trailing slash.
        writes: whether tools that change notes are offered to tokens with the scope for it.
    """
    server = McpServer((*reading_tools(), *(writing_tools() if writes else ())))

    async def exchange(call: Call, document: object, headers: McpHeaders) -> object:
        caller = call.principal_as(Caller)

        async def performed(
            scope: Scope, receive: Receive, request_id: str, principal: Principal
        ) -> object:
            result = await perform(scope, receive, request_id, principal)
            # What it says of a change is sent.
            call.changed |= scope["method"] != "GET"
            return result

        api = api_as(caller, performed, call.scope, call.request_id)
        sender = McpCaller(
            NotesOfApi(api, public_url), may_write=caller.scopes is None or WRITE in caller.scopes
        )
        try:
            return await server.answer(document, RoutingHeaders(*headers), sender)
        except ProtocolError as error:
            raise _problem_of(error) from None
        except WriteScopeMissing:
            raise write_scope_missing(public_url) from None

    return exchange


def _problem_of(error: ProtocolError) -> Problem:
    kind = McpMethodUnknown if error.status == UNKNOWN_METHOD else McpMessageRefused
    about = {"id": error.id, "code": error.code, "data": error.data}
    return kind(error.message, members={RPC_MEMBER: about})
