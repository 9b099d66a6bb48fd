"""The tools that change notes.

A change names the revision that the model has read. If the note has moved on, nothing is changed,
and the refusal has the present text and revision, so that the model can decide again.

Changesets of an access token have the origin ``mcp``.
"""

from typing import cast

from octavo.features.mcp import tools
from octavo.features.mcp.notes import NoteChange, NoteContent, Notes, NotesRefused
from octavo.features.mcp.reading_tools import (
    LONGEST_ID,
    LONGEST_PATH,
    NOTE_ID,
    WORKSPACE_ID,
    excerpt,
)

_HEAD_MOVED = "head_moved"
_REVISION_ID = tools.text(
    "The revision_id of the note that you read last, from read_note or a change.",
    longest=LONGEST_ID,
)
_PATH = tools.text(
    "The path of the note, such as Folder/Name.md.", shortest=1, longest=LONGEST_PATH
)


def writing_tools() -> tuple[tools.Tool, ...]:
    """Return the tools, in the order in which clients list them."""
    return _TOOLS


async def _create_note(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id = tools.workspace_argument(arguments)
    path, content = cast("str", arguments["path"]), cast("str", arguments["text"])
    return _changed(workspace_id, await notes.create(workspace_id, path, content))


async def _update_note(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id, file_id = tools.note_argument(arguments)
    expected, content = tools.revision_argument(arguments), cast("str", arguments["text"])
    try:
        changed = await notes.update(workspace_id, file_id, expected, content)
    except NotesRefused as refusal:
        raise await _explained(notes, workspace_id, file_id, refusal) from None
    return _changed(workspace_id, changed)


async def _edit_note(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id, file_id = tools.note_argument(arguments)
    expected = tools.revision_argument(arguments)
    old, new = cast("str", arguments["old_text"]), cast("str", arguments["new_text"])
    note = await notes.note(workspace_id, file_id)
    if note.revision_id != expected:
        raise _moved(note)
    content, count = replaced(note.text, old, new, every=arguments["replace_all"] is True)
    try:
        changed = await notes.update(workspace_id, file_id, expected, content)
    except NotesRefused as refusal:
        raise await _explained(notes, workspace_id, file_id, refusal) from None
    return {**_changed(workspace_id, changed), "replacements": count}


def replaced(content: str, old: str, new: str, *, every: bool) -> tuple[str, int]:
    """Return ``content`` with ``old`` replaced, and how often.

    Raises `ToolRefused` when it does not occur, or more than once without ``every``.
    """
    count = content.count(old)
    if not count:
        raise tools.ToolRefused(
            "old_text does not occur in the note: nothing was changed. It must equal the text "
            "exactly, including spaces and line feeds. Read the note again with read_note."
        )
    if count > 1 and not every:
        raise tools.ToolRefused(
            f"old_text occurs {count} times: nothing was changed. Give more of the text around "
            "the place to change, or set replace_all to true."
        )
    return content.replace(old, new), count


async def _move_note(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id, file_id = tools.note_argument(arguments)
    expected, path = tools.revision_argument(arguments), cast("str", arguments["path"])
    try:
        changed = await notes.move(workspace_id, file_id, expected, path)
    except NotesRefused as refusal:
        raise await _explained(notes, workspace_id, file_id, refusal) from None
    return _changed(workspace_id, changed)


async def _delete_note(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id, file_id = tools.note_argument(arguments)
    expected = tools.revision_argument(arguments)
    try:
        changed = await notes.delete(workspace_id, file_id, expected)
    except NotesRefused as refusal:
        raise await _explained(notes, workspace_id, file_id, refusal) from None
    return _changed(workspace_id, changed)


async def _explained(
    notes: Notes, workspace_id: str, file_id: str, refusal: NotesRefused
) -> Exception:
    """Return the exception for a refused change, with the present text if the note has moved on."""
    if refusal.code != _HEAD_MOVED:
        return refusal
    return _moved(await notes.note(workspace_id, file_id))


def _moved(note: NoteContent) -> tools.ToolRefused:
    part = excerpt(note.text)
    more = "" if part.next is None else f" Only the first {part.end_character} characters follow."
    return tools.ToolRefused(
        "The note has changed since that revision was read: nothing was changed. Merge your change "
        f"with its present text, and call the tool again with revision_id {note.revision_id}. "
        f"{tools.DATA_NOTICE}{more} Its path: {note.path}\nIts text:\n\n{part.text}"
    )


def _changed(workspace_id: str, changed: NoteChange) -> tools.Structured:
    return {
        "note_id": tools.note_uri(workspace_id, changed.file_id),
        "path": changed.path,
        "revision_id": changed.revision_id,
        "outcome": changed.outcome,
    }


_RESULT = {
    "note_id": NOTE_ID,
    "path": tools.optional(tools.text("The path of the note.")),
    "revision_id": tools.text("The new revision: give it to the next change of the note."),
    "outcome": tools.text("What was done, such as created, updated or unchanged."),
}
_OUTPUT = tools.record(**_RESULT)
_TOOLS = (
    tools.Tool(
        "create_note",
        "Create a note",
        "Create a note in Markdown at a path that no file has yet.",
        tools.record(
            workspace_id=WORKSPACE_ID,
            path=_PATH,
            text=tools.text("The Markdown of the note."),
        ),
        _OUTPUT,
        _create_note,
        effect="adds",
        repeatable=False,
    ),
    tools.Tool(
        "update_note",
        "Replace the text of a note",
        "Replace the whole text of a note that you have read. For a small change, use edit_note. "
        "The earlier text remains in the history.",
        tools.record(
            note_id=NOTE_ID,
            revision_id=_REVISION_ID,
            text=tools.text("The whole new Markdown of the note."),
        ),
        _OUTPUT,
        _update_note,
        effect="changes",
    ),
    tools.Tool(
        "edit_note",
        "Edit a note",
        "Replace a piece of the text of a note that you have read. The piece must occur exactly "
        "once, unless replace_all is true.",
        tools.record(
            note_id=NOTE_ID,
            revision_id=_REVISION_ID,
            old_text=tools.text("The piece to replace, exactly as it is in the note.", shortest=1),
            new_text=tools.text("What replaces it; empty to remove it."),
            replace_all=tools.optional(tools.boolean("Whether every occurrence is replaced.")),
        ),
        tools.record(**_RESULT, replacements=tools.integer("How many pieces were replaced.")),
        _edit_note,
        effect="changes",
        repeatable=False,
    ),
    tools.Tool(
        "move_note",
        "Move a note",
        "Move or rename a note that you have read. Links of other notes to it follow.",
        tools.record(note_id=NOTE_ID, revision_id=_REVISION_ID, path=_PATH),
        _OUTPUT,
        _move_note,
        effect="changes",
    ),
    tools.Tool(
        "delete_note",
        "Delete a note",
        "Delete a note that you have read. People can restore it from its history.",
        tools.record(note_id=NOTE_ID, revision_id=_REVISION_ID),
        _OUTPUT,
        _delete_note,
        effect="deletes",
    ),
)
