"""The URIs of notes: ``octavo://{workspaceId}/{fileId}``, which are also their ids in tools."""

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NOTE = re.compile(f"(?:octavo://)?({_UUID})/({_UUID})", re.IGNORECASE)
_PATH = re.compile(f"octavo://({_UUID})/notes/(.+)", re.IGNORECASE)
_WORKSPACE = re.compile(f"(?:octavo://)?({_UUID})/?", re.IGNORECASE)
_IDENTIFIER = re.compile(_UUID, re.IGNORECASE)
LONGEST_URI = 4096

NOTE_TEMPLATE = "octavo://{workspaceId}/{fileId}"
PATH_TEMPLATE = "octavo://{workspaceId}/notes/{+path}"


class NotePlace(NamedTuple):
    """The ids of a note and of its workspace."""

    workspace_id: str
    file_id: str


def note_uri(workspace_id: str, file_id: str) -> str:
    """Return the URI of a note."""
    return f"octavo://{workspace_id}/{file_id}"


def path_uri(workspace_id: str, path: str) -> str:
    """Return the URI of the note that has a path."""
    return f"octavo://{workspace_id}/notes/{quote(path)}"


def read_note_uri(text: str) -> NotePlace | None:
    """Return the note that ``text`` names, with or without the scheme; None if it is no URI."""
    found = _NOTE.fullmatch(text, 0, LONGEST_URI)
    return None if found is None else NotePlace(found[1].lower(), found[2].lower())


def read_path_uri(text: str) -> tuple[str, str] | None:
    """Return the workspace and the path in ``text``; None if it is no such URI."""
    found = _PATH.fullmatch(text, 0, LONGEST_URI)
    if found is None:
        return None
    try:
        return found[1].lower(), unquote(found[2], errors="strict")
    except UnicodeDecodeError:
        return None


def read_workspace_id(text: str) -> str | None:
    """Return the id of a workspace in ``text``; None if it has none."""
    found = _WORKSPACE.fullmatch(text, 0, LONGEST_URI)
    return None if found is None else found[1].lower()


def read_identifier(text: str) -> str | None:
    """Return the identifier ``text`` in its canonical form; None if it is none."""
    found = _IDENTIFIER.fullmatch(text, 0, LONGEST_URI)
    return None if found is None else found[0].lower()
