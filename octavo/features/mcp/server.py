"""Process the messages of the protocol: its methods, and the results of tools.

It is stateless: an answer depends on the message and its caller alone. Lists of tools and templates
are made once, and checked by the models of the protocol. Results of tools are not: that would cost
more than most tools (the tests check them).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

from mcp_types import SERVER_INFO_META_KEY
from mcp_types.methods import serialize_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic_core import to_json

from octavo import __version__
from octavo.features.mcp import protocol, resources, tools
from octavo.features.mcp.notes import Notes, NotesRefused

Json = dict[str, object]
Method = Callable[[protocol.McpRequest, "McpCaller"], Awaitable[Json]]

INSTRUCTIONS = (
    "Octavo keeps notes in Markdown, in workspaces. Find notes with search or list_notes, read "
    "them with read_note, and continue with the ids that results contain. " + tools.DATA_NOTICE
)
_INFO: Json = {"name": "octavo", "title": "Octavo", "version": __version__}
_CAPABILITIES: Json = {"tools": {}, "resources": {}, "completions": {}}
_MODERN_MEMBERS: Json = {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: _INFO}}
_LISTS_FRESH = 300_000
"""Milliseconds for which a client may keep the lists of tools and templates."""
_NO_RETRY = "Calling it again with the same arguments does not help."


class WriteScopeMissing(Exception):
    """A tool that changes notes was called with a token that may only read."""


class McpCaller:
    """The sender of a message.

    Args:
        notes: what the caller can reach.
        may_write: whether the caller's token has the scope to change notes.
    """

    __slots__ = ("may_write", "notes")

    def __init__(self, notes: Notes, *, may_write: bool) -> None:
        self.notes = notes
        self.may_write = may_write


class McpServer:
    """The methods of the protocol.

    Args:
        tools: those to serve, in the order of their list.
    """

    def __init__(self, tools: Sequence[tools.Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._methods: Mapping[str, Method] = {
            "tools/call": self._call_tool,
            "tools/list": self._list_tools,
            "resources/read": _read_resource,
            "resources/list": _list_resources,
            "resources/templates/list": self._list_templates,
            "completion/complete": _complete,
            "server/discover": self._discover,
            "initialize": _initialize,
            "ping": _ping,
        }
        every, reading = list(tools), [tool for tool in tools if not tool.writes]
        self._listed = {
            (modern, writes): _made(
                "tools/list",
                {"tools": [_described(tool) for tool in (every if writes else reading)]},
                modern=modern,
                scope="private",
            )
            for modern in (False, True)
            for writes in (False, True)
        }
        self._templates = {
            modern: _made(
                "resources/templates/list",
                {"resourceTemplates": resources.TEMPLATES},
                modern=modern,
                scope="public",
            )
            for modern in (False, True)
        }
        self._discovered = _made(
            "server/discover",
            {
                "supportedVersions": list(protocol.VERSIONS),
                "capabilities": _CAPABILITIES,
                "instructions": INSTRUCTIONS,
            },
            modern=True,
            scope="public",
        )

    async def answer(
        self, document: object, headers: protocol.RoutingHeaders, caller: McpCaller
    ) -> Json | list[Json] | None:
        """Return the answer to a message, or to a batch; None if none is expected.

        Raises:
            ProtocolError: the message is refused as a whole.
            WriteScopeMissing: a tool needs a scope that the caller's token lacks.

        Other exceptions of the notes propagate. If cancelled, a change may have been made.
        """
        batch = protocol.batch_of(document, headers)
        if batch is None:
            return await self._answer(document, headers, caller)
        answers = [await self._answer_in_batch(message, headers, caller) for message in batch]
        return [answer for answer in answers if answer is not None] or None

    async def _answer(
        self, document: object, headers: protocol.RoutingHeaders, caller: McpCaller
    ) -> Json | None:
        try:
            request = protocol.read_message(document, headers, self._methods)
            if request is None:
                return None
            result = await self._methods[request.method](request, caller)
        except protocol.ProtocolError as error:
            if error.status != _ANSWERED:
                raise
            return protocol.error_of(error)
        return protocol.response_of(request.id, result)

    async def _answer_in_batch(
        self, document: object, headers: protocol.RoutingHeaders, caller: McpCaller
    ) -> Json | None:
        try:
            return await self._answer(document, headers, caller)
        except protocol.ProtocolError as error:
            return protocol.error_of(error)

    async def _call_tool(self, request: protocol.McpRequest, caller: McpCaller) -> Json:
        name = cast("str", request.params["name"])
        tool = self._tools.get(name)
        if tool is None:
            raise protocol.invalid_params(
                request, f"There is no tool {name[:80]!r}: list the tools."
            )
        if tool.writes and not caller.may_write:
            raise WriteScopeMissing
        arguments = cast("Mapping[str, object] | None", request.params.get("arguments"))
        try:
            structured = await tool.perform(
                caller.notes, tools.check_arguments(tool.input, arguments)
            )
        except (tools.InvalidArguments, tools.ToolRefused) as refusal:
            result = _failed(str(refusal))
        except NotesRefused as refusal:
            result = _failed(_advice(refusal))
        else:
            result = _succeeded(structured)
        return {**result, **_MODERN_MEMBERS} if request.modern else result

    async def _list_tools(self, request: protocol.McpRequest, caller: McpCaller) -> Json:
        _check_no_cursor(request)
        return self._listed[request.modern, caller.may_write]

    async def _list_templates(self, request: protocol.McpRequest, caller: McpCaller) -> Json:
        _check_no_cursor(request)
        return self._templates[request.modern]

    async def _discover(self, request: protocol.McpRequest, caller: McpCaller) -> Json:
        return self._discovered


_ANSWERED = 200


async def _initialize(request: protocol.McpRequest, caller: McpCaller) -> Json:
    return {
        "protocolVersion": protocol.negotiated(cast("str", request.params["protocolVersion"])),
        "capabilities": _CAPABILITIES,
        "serverInfo": _INFO,
        "instructions": INSTRUCTIONS,
    }


async def _ping(request: protocol.McpRequest, caller: McpCaller) -> Json:
    return {}


async def _list_resources(request: protocol.McpRequest, caller: McpCaller) -> Json:
    return _completed(request, await resources.list_resources(caller.notes, request), fresh=0)


async def _read_resource(request: protocol.McpRequest, caller: McpCaller) -> Json:
    return _completed(request, await resources.read_resource(caller.notes, request), fresh=0)


async def _complete(request: protocol.McpRequest, caller: McpCaller) -> Json:
    result = await resources.complete(caller.notes, request)
    return {**result, **_MODERN_MEMBERS} if request.modern else result


def _completed(request: protocol.McpRequest, result: Json, *, fresh: int) -> Json:
    """Return ``result`` with the members that modern revisions add to a cacheable one."""
    if not request.modern:
        return result
    return {**result, **_MODERN_MEMBERS, "ttlMs": fresh, "cacheScope": "private"}


def _check_no_cursor(request: protocol.McpRequest) -> None:
    if request.params.get("cursor") is not None:
        raise protocol.invalid_params(request, "This list has one page: send no cursor.")


def _made(method: str, result: Json, *, modern: bool, scope: str) -> Json:
    """Return a result that never changes, checked by the models of the protocol."""
    if not modern:
        return serialize_server_result(method, LATEST_HANDSHAKE_VERSION, result)
    whole = {**result, **_MODERN_MEMBERS, "ttlMs": _LISTS_FRESH, "cacheScope": scope}
    return serialize_server_result(method, LATEST_MODERN_VERSION, whole)


def _described(tool: tools.Tool) -> Json:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tools.advertised(tool.input),
        "outputSchema": tools.advertised(tool.output),
        "annotations": {
            "title": tool.title,
            "readOnlyHint": not tool.writes,
            "destructiveHint": tool.effect in ("changes", "deletes"),
            "idempotentHint": tool.repeatable,
            "openWorldHint": False,
        },
    }


def _succeeded(structured: tools.Structured) -> Json:
    # Clients without structured content read the same document as text.
    text = to_json(structured).decode()
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
        "isError": False,
    }


def _failed(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _advice(refusal: NotesRefused) -> str:
    advice = _ADVICE.get(refusal.code, _NO_RETRY)
    return f"{refusal.detail} {advice}"


_ADVICE = {
    "head_moved": "Read the note again with read_note, and use its present revision_id.",
    "not_found": "Check the id: call search, list_notes or list_workspaces for valid ones. The "
    "note may have been deleted, or this access does not cover it.",
    "file_purged": "The note was erased permanently: do not ask for it again.",
    "forbidden": "The account may not do this in the workspace: tell the person.",
    "invalid_request": "Correct the argument that is named, and call the tool again.",
    "path_conflict": "To change the note that has it instead, find its id with list_notes.",
    "invalid_path": "Choose a path such as Folder/Name.md, and call the tool again.",
    "invalid_content": "Correct the text, and call the tool again.",
    "unrenderable_note": "Make the note shorter or simpler, and call the tool again.",
    "storage_full": "There is no room at present: tell the person.",
    "workspace_busy": "Wait a moment, and call the tool again.",
}
