"""The full text index of SQLite: a table of FTS5 (https://www.sqlite.org/fts5.html).

One table serves all workspaces. Each token is preceded by the tag of its workspace, so a search
reads the entries of its own workspace only, prefixes included.

The table stores no copy of what is indexed: that would take more room than text and index together.
To remove a note, its tokens are computed again from its text. If a later version computes others,
the entries that remain belong to a number that no note has, and are not found.
"""

from octavo.model.search import Clause
from octavo.model.search.tokens import name_tokens, tag_of, tagged, tokens_of
from octavo.store.head_conditions import head_conditions
from octavo.store.transaction import Matching, Value

NUMBER = "UPDATE search_numbers SET last = last + $1 RETURNING last"
PUT = "INSERT INTO search (rowid, body, name) VALUES ($1, $2, $3)"
REMOVE = "INSERT INTO search (search, rowid, body, name) VALUES ('delete', $1, $2, $3)"
TEXT = "SELECT compressed FROM contents WHERE number = $1"

# Removed entries are marked, and overwritten when the segments that hold them are merged. A
# negative number of pages begins with all segments.
MERGE = "INSERT INTO search (search, rank) VALUES ('merge', $1)"
MERGED_PAGES = 64
LEAST_CHANGES = 2
"""How many rows change, at least, when there was something to merge."""

# From the index to the files: in the other order, the index would be searched for each file.
_MATCH = """
    SELECT files.file_id FROM search
    CROSS JOIN fulltext_notes ON fulltext_notes.number = search.rowid
    CROSS JOIN files
    ON files.workspace = fulltext_notes.workspace AND files.number = fulltext_notes.file
    WHERE search MATCH $2
    AND fulltext_notes.workspace = (SELECT number FROM workspaces WHERE id = $1::uuid)
    {below}{heads} ORDER BY search.rowid DESC LIMIT $3
"""
_BELOW = """
    AND COALESCE(fulltext_notes.path, files.path) >= $4
    AND COALESCE(fulltext_notes.path, files.path) < $5
"""


def index_row(
    workspace_id: str, number: int, path: str, title: str, text: str
) -> tuple[Value, ...]:
    """Return the row that adds a note to the table, and that removes it."""
    tag = tag_of(workspace_id)
    return number, tagged(tag, tokens_of(text)), tagged(tag, name_tokens(path, title))


def match(workspace_id: str, matching: Matching) -> tuple[str, tuple[Value, ...]]:
    """Return the statement that finds files, and its arguments."""
    tag = tag_of(workspace_id)
    asked = " AND ".join(_phrase(tag, clause) for clause in matching.clauses)
    if matching.names:
        asked = f"{{name}} : ({asked})"
    below = matching.below or ()
    given: list[Value] = [workspace_id, asked, matching.limit, *below]
    heads, values = head_conditions(matching.heads, len(given))
    sql = _MATCH.format(below=_BELOW if below else "", heads=heads)
    return sql, (*given, *values)


def _phrase(tag: str, clause: Clause) -> str:
    # Tokens contain no quotes: they consist of letters and digits.
    return f'"{tagged(tag, clause.tokens)}"{" *" if clause.prefix else ""}'
