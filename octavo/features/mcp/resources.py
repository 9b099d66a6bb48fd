"""The resources: every note, by its id or by its path, and completions of both."""

import base64
import json
from collections.abc import Mapping
from typing import cast

from octavo.features.mcp import tools
from octavo.features.mcp.notes import NoteContent, Notes, NotesRefused, WorkspaceEntry
from octavo.features.mcp.protocol import McpRequest, Params, invalid_params, no_resource

MEDIA_TYPE = "text/markdown"
PAGE = 100
MAX_COMPLETIONS = 100
_MAX_WORKSPACES = 500
_MAX_EMPTY = 20

Json = dict[str, object]

TEMPLATES: list[Json] = [
    {
        "name": "note",
        "title": "A note by its id",
        "uriTemplate": tools.NOTE_TEMPLATE,
        "mimeType": MEDIA_TYPE,
        "description": f"The Markdown of a note. {tools.DATA_NOTICE}",
    },
    {
        "name": "note-at-path",
        "title": "A note by its path",
        "uriTemplate": tools.PATH_TEMPLATE,
        "mimeType": MEDIA_TYPE,
        "description": f"The Markdown of the note at a path. {tools.DATA_NOTICE}",
    },
]


async def list_resources(notes: Notes, request: McpRequest) -> Json:
    """Return a page of the notes of all workspaces, workspace by workspace."""
    cursor = cast("str | None", request.params.get("cursor"))
    workspaces = await _workspaces(notes)
    at, after = 0, None
    if cursor is not None:
        workspace_id, after = _read_cursor(request, cursor)
        # A workspace that is gone meanwhile ends the list.
        ids = [workspace.workspace_id for workspace in workspaces]
        at = ids.index(workspace_id) if workspace_id in ids else len(ids)
    for _ in range(_MAX_EMPTY):
        if at >= len(workspaces):
            return {"resources": []}
        workspace = workspaces[at]
        page = await notes.notes(workspace.workspace_id, "", after, PAGE)
        following = None
        if page.next is not None:
            following = _cursor(workspace.workspace_id, page.next)
        elif at + 1 < len(workspaces):
            following = _cursor(workspaces[at + 1].workspace_id, None)
        if page.items or following is None:
            break
        at, after = (at, page.next) if page.next is not None else (at + 1, None)
    result: Json = {
        "resources": [
            {
                "uri": tools.note_uri(workspace.workspace_id, note.file_id),
                "name": note.path,
                "description": f"A note of the workspace {workspace.name}.",
                "mimeType": MEDIA_TYPE,
                "size": note.size,
                "annotations": {"lastModified": note.changed_at},
            }
            for note in page.items
        ]
    }
    return result if following is None else {**result, "nextCursor": following}


async def read_resource(notes: Notes, request: McpRequest) -> Json:
    """Return the text of a note. Raises `ProtocolError` for one that does not exist."""
    uri = cast("str", request.params["uri"])
    try:
        note = await _note_at(notes, uri)
    except NotesRefused:
        raise no_resource(request, uri) from None
    if note is None:
        raise no_resource(request, uri)
    return {
        "contents": [
            {
                "uri": uri,
                "mimeType": MEDIA_TYPE,
                "text": note.text,
                "_meta": {
                    "path": note.path,
                    "revisionId": note.revision_id,
                    "notice": tools.DATA_NOTICE,
                },
            }
        ]
    }


async def complete(notes: Notes, request: McpRequest) -> Json:
    """Return values for an argument of a template: workspaces by name, notes by path."""
    params = request.params
    reference = cast("Mapping[str, object]", params["ref"])
    argument = cast("Mapping[str, str]", params["argument"])
    template = reference.get("uri")
    if reference.get("type") != "ref/resource" or template not in (
        tools.NOTE_TEMPLATE,
        tools.PATH_TEMPLATE,
    ):
        raise invalid_params(request, "Only the arguments of the resource templates are completed.")
    name, value = argument["name"], argument["value"]
    if name == "workspaceId":
        wanted = value.casefold()
        values = [
            workspace.workspace_id
            for workspace in await _workspaces(notes)
            if workspace.name.casefold().startswith(wanted)
            or workspace.workspace_id.startswith(wanted)
        ]
        return _completion(values, more=False)
    expected = "fileId" if template == tools.NOTE_TEMPLATE else "path"
    if name != expected:
        raise invalid_params(request, f"The template has no argument {name[:80]!r}.")
    workspace_id = _workspace_of(params)
    if workspace_id is None:
        return _completion([], more=False)
    try:
        page = await notes.notes(workspace_id, value.replace("\0", ""), None, MAX_COMPLETIONS)
    except NotesRefused:
        return _completion([], more=False)
    values = [note.path if expected == "path" else note.file_id for note in page.items]
    return _completion(values, more=page.next is not None)


async def _note_at(notes: Notes, uri: str) -> NoteContent | None:
    place = tools.read_note_uri(uri)
    if place is not None and uri.startswith("octavo:"):
        return await notes.note(place.workspace_id, place.file_id)
    by_path = tools.read_path_uri(uri)
    if by_path is None or "\0" in by_path[1]:
        return None
    workspace_id, path = by_path
    # The path itself sorts before all others that start with it.
    page = await notes.notes(workspace_id, path, None, 1)
    if not page.items or page.items[0].path != path:
        return None
    return await notes.note(workspace_id, page.items[0].file_id)


async def _workspaces(notes: Notes) -> list[WorkspaceEntry]:
    return list((await notes.workspaces(None, _MAX_WORKSPACES)).items)


def _workspace_of(params: Params) -> str | None:
    context = cast("Mapping[str, object]", params.get("context") or {})
    arguments = cast("Mapping[str, str]", context.get("arguments") or {})
    return tools.read_identifier(arguments.get("workspaceId", ""))


def _completion(values: list[str], *, more: bool) -> Json:
    shown = values[:MAX_COMPLETIONS]
    return {"completion": {"values": shown, "hasMore": more or len(values) > len(shown)}}


def _cursor(workspace_id: str, after: str | None) -> str:
    return base64.urlsafe_b64encode(json.dumps([workspace_id, after]).encode()).decode()


def _read_cursor(request: McpRequest, cursor: str) -> tuple[str, str | None]:
    try:
        parts = json.loads(base64.b64decode(cursor, altchars="-_", validate=True))
        match parts:
            case [str(workspace_id), str() | None as after]:
                return workspace_id, after
            case _:
                raise ValueError(cursor)
    except (ValueError, RecursionError):
        message = "This is not a cursor of this list: use nextCursor of the previous page."
        raise invalid_params(request, message) from None
