"""The tools that read notes, and the excerpts of long texts that they return."""

import re
from typing import NamedTuple, cast

from octavo.features.mcp import tools
from octavo.features.mcp.notes import NoteContent, Notes, RecentChange
from octavo.model.search.searched_text import title_of

MAX_CHARACTERS = 40_000
"""Maximum length of the text of a note in one result."""


class Excerpt(NamedTuple):
    """A part of a text.

    Lines count from 1, characters (code points) from 0; ``end_character`` is excluded. ``next`` is
    the character at which the next part starts, None at the end of the text.
    """

    text: str
    first_line: int
    last_line: int
    start_character: int
    end_character: int
    total_lines: int
    total_characters: int
    next: int | None


def excerpt(
    text: str,
    *,
    first_line: int | None = None,
    last_line: int | None = None,
    start: int | None = None,
    limit: int = MAX_CHARACTERS,
) -> Excerpt:
    """Return the lines ``first_line`` to ``last_line``, or the text from the character ``start``.

    At most ``limit`` characters are returned; a part that is cut ends with a whole line if it has
    one. Raises ValueError, with a message for models, for a part that is not in the text.
    """
    size = len(text)
    if first_line is None and last_line is None and not start and size <= limit:
        lines = _lines(text)
        return Excerpt(text, 1, lines, 0, size, lines, size, None)
    lines = _lines(text)
    if first_line is not None or last_line is not None:
        if start is not None:
            raise ValueError("Give lines or start_character, not both.")
        begin, end = _characters_of(text, first_line or 1, last_line, lines)
    else:
        begin, end = start or 0, size
        if begin > size:
            raise ValueError(f"The note ends at character {size}: start_character is too large.")
    if end - begin > limit:
        end = begin + limit
        line_feed = text.rfind("\n", begin, end)
        if line_feed > begin:
            end = line_feed + 1
    part = text[begin:end]
    line = text.count("\n", 0, begin) + 1
    last = line + max(0, part.count("\n") - part.endswith("\n"))
    return Excerpt(part, line, last, begin, end, lines, size, end if end < size else None)


def _lines(text: str) -> int:
    """Return the number of lines; a line feed at the end begins no further one."""
    return text.count("\n") + (0 if text.endswith("\n") else 1)


def _characters_of(text: str, first: int, last: int | None, lines: int) -> tuple[int, int]:
    if first > lines:
        raise ValueError(f"The note ends at line {lines}: first_line is too large.")
    if last is not None and last < first:
        raise ValueError("last_line must not be before first_line.")
    begin = 0
    for _ in range(first - 1):
        begin = text.index("\n", begin) + 1
    if last is None or last >= lines:
        return begin, len(text)
    end = begin
    for _ in range(last - first + 1):
        end = text.index("\n", end) + 1
    return begin, end


MAX_RESULTS = 20
"""Maximum number of results of a search."""
PAGE = 100
"""Maximum number of items in a page."""
MAX_FETCHED = 100_000
"""Maximum length in characters of a text that is fetched."""
_LONGEST_QUERY = 500
LONGEST_PATH = 1024
LONGEST_ID = 200
_LONGEST_CURSOR = 2048
_WINDOW = 50
_MAX_WINDOWS = 8
_MAX_NUMBER = 2**53 - 1
_LAST_FILE = "~"
# Control characters, separators of lines, directions of text, and invisible tags.
_NOT_ON_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]+")
_CHANGES_CURSOR = re.compile(r"([0-9]{1,15})\.([0-9a-f-]{36}|~)")

NOTE_ID = tools.text("The id of a note: octavo://{workspaceId}/{fileId}.", longest=LONGEST_ID)
WORKSPACE_ID = tools.text("The id of a workspace, from list_workspaces.", longest=LONGEST_ID)
_CURSOR = tools.optional(
    tools.text("next_cursor of the previous page; null for the first one.", longest=_LONGEST_CURSOR)
)
_NEXT = tools.optional(tools.text("The cursor of the next page; null on the last one."))
_REVISION_ID = tools.text("The id of the revision.")
_PATH = tools.text("The path of the note in its workspace.")
_NOTICE = tools.text("How to treat the text.")
_TIME = tools.text("When it was made (RFC 3339).")


def reading_tools() -> tuple[tools.Tool, ...]:
    """Return the tools, in the order in which clients list them."""
    return _TOOLS


async def _list_workspaces(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    page = await notes.workspaces(tools.optional_text(arguments, "cursor"), PAGE)
    return {
        "workspaces": [
            {"workspace_id": workspace.workspace_id, "name": workspace.name, "role": workspace.role}
            for workspace in page.items
        ],
        "next_cursor": page.next,
    }


async def _list_notes(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id = tools.workspace_argument(arguments)
    folder = (tools.optional_text(arguments, "folder") or "").strip("/")
    prefix = f"{folder}/" if folder else ""
    page = await notes.notes(workspace_id, prefix, tools.optional_text(arguments, "cursor"), PAGE)
    return {
        "notes": [
            {
                "note_id": tools.note_uri(workspace_id, note.file_id),
                "path": note.path,
                "revision_id": note.revision_id,
                "size": note.size,
                "changed_at": note.changed_at,
            }
            for note in page.items
        ],
        "next_cursor": page.next,
    }


async def _search(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    hits = await notes.search(cast("str", arguments["query"]), MAX_RESULTS)
    return {
        "results": [
            {
                "id": tools.note_uri(hit.workspace_id, hit.file_id),
                "title": shown_title(hit.title, hit.path),
                "url": notes.address(hit.workspace_id, hit.file_id),
            }
            for hit in hits
        ]
    }


async def _fetch(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id, file_id = tools.note_argument(arguments, "id")
    note = await notes.note(workspace_id, file_id)
    part = excerpt(note.text, limit=MAX_FETCHED)
    return {
        "id": tools.note_uri(workspace_id, file_id),
        "title": shown_title(title_of(note.text), note.path),
        "text": part.text,
        "url": notes.address(workspace_id, file_id),
        "metadata": {
            "path": note.path,
            "workspace_id": workspace_id,
            "revision_id": note.revision_id,
            "changed_at": note.changed_at,
            "truncated": part.next is not None,
            "notice": tools.DATA_NOTICE,
        },
    }


async def _read_note(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id, file_id = tools.note_argument(arguments)
    if arguments["revision_id"] is None:
        note = await notes.note(workspace_id, file_id)
    else:
        note = await notes.revision(workspace_id, file_id, tools.revision_argument(arguments))
    return note_result(workspace_id, note, arguments)


def note_result(
    workspace_id: str, note: NoteContent, arguments: tools.Arguments
) -> tools.Structured:
    """Return a note in the form of ``read_note``. Raises `ToolRefused`."""
    try:
        part = excerpt(
            note.text,
            first_line=tools.optional_number(arguments, "first_line"),
            last_line=tools.optional_number(arguments, "last_line"),
            start=tools.optional_number(arguments, "start_character"),
        )
    except ValueError as error:
        raise tools.ToolRefused(str(error)) from None
    return {
        "note_id": tools.note_uri(workspace_id, note.file_id),
        "path": note.path,
        "revision_id": note.revision_id,
        "changed_at": note.changed_at,
        "notice": tools.DATA_NOTICE,
        "text": part.text,
        "first_line": part.first_line,
        "last_line": part.last_line,
        "total_lines": part.total_lines,
        "start_character": part.start_character,
        "total_characters": part.total_characters,
        "next_character": part.next,
    }


async def _backlinks(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id, file_id = tools.note_argument(arguments)
    after = tools.optional_text(arguments, "cursor")
    page = await notes.back_links(workspace_id, file_id, after, PAGE)
    return {
        "links": [
            {
                "note_id": tools.note_uri(workspace_id, link.file_id),
                "path": link.path,
                "title": shown_title(link.title, link.path),
                "target": link.target,
                "heading": link.heading,
            }
            for link in page.items
        ],
        "next_cursor": page.next,
    }


async def _recent_changes(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id = tools.workspace_argument(arguments)
    cursor = tools.optional_text(arguments, "cursor")
    if cursor is None:
        before = ((await notes.changes(workspace_id, 0, 1)).position, _LAST_FILE)
    else:
        before = _read_place(cursor)
    changes: list[RecentChange] = []
    lower = before[0]
    # Most positions of a busy workspace are superseded: widen the window until it has notes.
    for number in range(_MAX_WINDOWS):
        if changes or not lower:
            break
        upper, lower = lower, max(0, lower - _WINDOW * 2**number)
        between = await _between(notes, workspace_id, lower, upper)
        changes = [change for change in between if _place(change) < before]
    changes.sort(key=_place, reverse=True)
    page = changes[:PAGE]
    following = _place(page[-1]) if len(changes) > PAGE else (lower, _LAST_FILE)
    return {
        "changes": [
            {
                "note_id": tools.note_uri(workspace_id, change.file_id),
                "path": change.path,
                "state": change.state,
                "revision_id": change.revision_id,
                "changed_at": change.changed_at,
            }
            for change in page
        ],
        "next_cursor": f"{following[0]}.{following[1]}" if following[0] else None,
    }


def _place(changed: RecentChange) -> tuple[int, str]:
    return changed.position, changed.file_id


def _read_place(cursor: str) -> tuple[int, str]:
    match = _CHANGES_CURSOR.fullmatch(cursor)
    if match is None:
        raise tools.ToolRefused("cursor must be next_cursor of the previous page, or null.")
    return int(match[1]), match[2]


async def _between(notes: Notes, workspace_id: str, after: int, last: int) -> list[RecentChange]:
    """Return the notes whose last changes are after a position and not after another."""
    changes: list[RecentChange] = []
    while after < last:
        page = await notes.changes(workspace_id, after, PAGE)
        changes += [change for change in page.files if change.is_note and change.position <= last]
        if page.next <= after:
            break
        after = page.next
    return changes


async def _note_history(notes: Notes, arguments: tools.Arguments) -> tools.Structured:
    workspace_id, file_id = tools.note_argument(arguments)
    page = await notes.revisions(
        workspace_id, file_id, tools.optional_text(arguments, "cursor"), PAGE
    )
    return {
        "note_id": tools.note_uri(workspace_id, file_id),
        "revisions": [
            {
                "revision_id": revision.revision_id,
                "path": revision.path,
                "size": revision.size,
                "author": revision.author,
                "origin": revision.origin,
                "program": revision.program,
                "created_at": revision.created_at,
            }
            for revision in page.items
        ],
        "next_cursor": page.next,
    }


def shown_title(title: str | None, path: str) -> str:
    """Return the title of a note on one line: its heading, or the last segment of its path.

    What moves a cursor or reorders text is left out: clients show titles outside of the note.
    """
    shown = _NOT_ON_A_LINE.sub(" ", title or "").strip()
    return shown or path.rpartition("/")[2].removesuffix(".md")


def _listed(name: str, description: str, /, **properties: tools.Schema) -> tools.Schema:
    return tools.record(
        **{name: tools.items(description, tools.record(**properties)), "next_cursor": _NEXT}
    )


READ_NOTE_OUTPUT = tools.record(
    note_id=NOTE_ID,
    path=_PATH,
    revision_id=tools.text("The revision that was read: give it to tools that change the note."),
    changed_at=_TIME,
    notice=_NOTICE,
    text=tools.text("The Markdown of the note, or the requested part of it."),
    first_line=tools.integer("The first line of the text, from 1."),
    last_line=tools.integer("The last line of the text."),
    total_lines=tools.integer("The number of lines of the whole note."),
    start_character=tools.integer("The first character of the text, from 0."),
    total_characters=tools.integer("The number of characters of the whole note."),
    next_character=tools.optional(
        tools.integer("The start_character of the next part; null when the note ends here.")
    ),
)
_TOOLS = (
    tools.Tool(
        "search",
        "Search notes",
        "Search the notes of all workspaces by words in their text, title or path; all words must "
        "occur, and quotes mark a phrase. Returns the best matches with their ids: read them with "
        "fetch or read_note.",
        tools.record(
            query=tools.text("Words, and phrases in quotes.", shortest=1, longest=_LONGEST_QUERY)
        ),
        tools.record(
            results=tools.items(
                "Matching notes, best first.",
                tools.record(
                    id=NOTE_ID,
                    title=tools.text("The first heading of the note, or its name."),
                    url=tools.text("The address of the note."),
                ),
            )
        ),
        _search,
    ),
    tools.Tool(
        "fetch",
        "Fetch a note",
        f"Return a note with its text (at most {MAX_FETCHED:,} characters) by an id from search. "
        f"{tools.DATA_NOTICE}",
        tools.record(id=NOTE_ID),
        tools.record(
            id=NOTE_ID,
            title=tools.text("The first heading of the note, or its name."),
            text=tools.text("The Markdown of the note."),
            url=tools.text("The address of the note."),
            metadata=tools.record(
                "More about the note.",
                path=_PATH,
                workspace_id=WORKSPACE_ID,
                revision_id=_REVISION_ID,
                changed_at=_TIME,
                truncated=tools.boolean(
                    "Whether the note is longer: read the rest with read_note."
                ),
                notice=_NOTICE,
            ),
        ),
        _fetch,
    ),
    tools.Tool(
        "list_workspaces",
        "List workspaces",
        "List the workspaces that this access covers, with their ids for the other tools.",
        tools.record(cursor=_CURSOR),
        _listed(
            "workspaces",
            "Workspaces, oldest first.",
            workspace_id=WORKSPACE_ID,
            name=tools.text("Its name."),
            role=tools.text(
                "The role of the account in it: owner, administrator, editor or reader."
            ),
        ),
        _list_workspaces,
    ),
    tools.Tool(
        "list_notes",
        "List notes",
        "List the notes of a workspace, or of one of its folders, by path. To find notes by their "
        "content, use search.",
        tools.record(
            workspace_id=WORKSPACE_ID,
            folder=tools.optional(
                tools.text(
                    "A folder, including its subfolders; null for all.", longest=LONGEST_PATH
                )
            ),
            cursor=_CURSOR,
        ),
        _listed(
            "notes",
            "Notes, sorted by path.",
            note_id=NOTE_ID,
            path=_PATH,
            revision_id=_REVISION_ID,
            size=tools.integer("The size of its text in bytes."),
            changed_at=_TIME,
        ),
        _list_notes,
    ),
    tools.Tool(
        "read_note",
        "Read a note",
        f"Return the text of a note and its present revision, at most {MAX_CHARACTERS:,} "
        "characters at a time: continue a longer one with start_character, or choose lines. "
        f"{tools.DATA_NOTICE}",
        tools.record(
            note_id=NOTE_ID,
            revision_id=tools.optional(
                tools.text("An earlier revision; null for the present one.", longest=LONGEST_ID)
            ),
            first_line=tools.optional(
                tools.integer("The first line to return, from 1.", least=1, most=_MAX_NUMBER)
            ),
            last_line=tools.optional(
                tools.integer("The last line to return.", least=1, most=_MAX_NUMBER)
            ),
            start_character=tools.optional(
                tools.integer("The character to start at, from 0.", least=0, most=_MAX_NUMBER)
            ),
        ),
        READ_NOTE_OUTPUT,
        _read_note,
    ),
    tools.Tool(
        "backlinks",
        "Find links to a note",
        "List the links from other notes to a note.",
        tools.record(note_id=NOTE_ID, cursor=_CURSOR),
        _listed(
            "links",
            "Links, each with the note that contains it.",
            note_id=NOTE_ID,
            path=_PATH,
            title=tools.text("The first heading of that note, or its name."),
            target=tools.text("The target as written in the link."),
            heading=tools.optional(tools.text("The heading that the link names.")),
        ),
        _backlinks,
    ),
    tools.Tool(
        "recent_changes",
        "List recent changes",
        "List the notes of a workspace that changed last, newest first, including deleted ones. "
        "A note that changes while you page is on the first page again, and on no other.",
        tools.record(workspace_id=WORKSPACE_ID, cursor=_CURSOR),
        _listed(
            "changes",
            "Changed notes, newest first.",
            note_id=NOTE_ID,
            path=tools.optional(_PATH),
            state=tools.text("live, deleted or purged."),
            revision_id=_REVISION_ID,
            changed_at=_TIME,
        ),
        _recent_changes,
    ),
    tools.Tool(
        "note_history",
        "List the revisions of a note",
        "List the revisions of a note, newest first; read one with read_note and its revision_id.",
        tools.record(note_id=NOTE_ID, cursor=_CURSOR),
        tools.record(
            note_id=NOTE_ID,
            revisions=tools.items(
                "Revisions, newest first.",
                tools.record(
                    revision_id=_REVISION_ID,
                    path=tools.optional(_PATH),
                    size=tools.integer("The size of its text in bytes."),
                    author=tools.optional(tools.text("Who made it; null for a removed account.")),
                    origin=tools.text("How it was made, such as on a device or with a key."),
                    program=tools.optional(tools.text("The program that made it, if one did.")),
                    created_at=_TIME,
                ),
            ),
            next_cursor=_NEXT,
        ),
        _note_history,
    ),
)
