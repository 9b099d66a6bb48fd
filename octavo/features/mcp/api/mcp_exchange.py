"""Process the messages of the MCP endpoint; loaded only where the endpoint is on."""

from antechamber.asgi import Receive, Scope
from octavo_rules.identity import WRITE
from octavo_rules.problems import Problem

from octavo.features.mcp.api.mcp import (
    Exchange,
    McpHeaders,
    McpMessageRefused,
    McpMethodUnknown,
    write_scope_missing,
)
from octavo.features.mcp.api.mcp_notes import NotesOfApi
from octavo.features.mcp.protocol import UNKNOWN_METHOD, ProtocolError, RoutingHeaders
from octavo.features.mcp.reading_tools import reading_tools
from octavo.features.mcp.server import McpCaller, McpServer, WriteScopeMissing
from octavo.features.mcp.writing_tools import writing_tools
from octavo.http import contract
from octavo.http.callers import caller_of


def mcp_exchange(perform: contract.PerformAs, *, public_url: str, writes: bool) -> Exchange:
    """Return what answers messages: tools perform operations of the API.

    Args:
        perform: performs an operation for the caller of a message.
        public_url: address of the installation, without a trailing slash.
        writes: whether tools that change notes are offered to tokens with the scope for it.
    """
    server = McpServer((*reading_tools(), *(writing_tools() if writes else ())))

    async def exchange(call: contract.Call, document: object, headers: McpHeaders) -> object:
        caller = caller_of(call)

        async def performed(
            scope: Scope, receive: Receive, request_id: str, principal: contract.Principal
        ) -> object:
            result = await perform(scope, receive, request_id, principal)
            # What it says of a change is sent.
            call.changed |= scope["method"] != "GET"
            return result

        api = contract.api_as(caller, performed, call.scope, call.request_id)
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
    return kind(error.message, members={contract.RPC_MEMBER: about})
