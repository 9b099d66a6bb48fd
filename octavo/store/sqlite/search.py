"""The full text index of SQLite: a table of FTS5 (https://www.sqlite.org/fts5.html).

One table serves all workspaces, so each token stands behind the tag of its workspace: a search
walks the entries of its own, and the beginning of a word is looked for among its words alone.

The table has no copy of what it was given, which would take more room than text and index together.
To take a note out, its tokens are made again from its text. Should a later version make others,
then what it leaves behind stands under a number that no note has, and is not found.
"""

from octavo.model.search import Clause
from octavo.model.search.tokens import name_tokens, tag_of, tagged, tokens_of
from octavo.store.transaction import IndexedNote, Matching, Value

NUMBER = "UPDATE search_numbers SET last = last + ?1 RETURNING last"
PUT = "INSERT INTO search (rowid, name, body) VALUES (?1, ?2, ?3)"
DROP = "INSERT INTO search (search, rowid, name, body) VALUES ('delete', ?1, ?2, ?3)"
TEXT = "SELECT text FROM contents WHERE workspace_id = ?1 AND content_id = ?2"

# What is taken out of the table is marked, and overwritten when the segments that hold it are
# merged. A negative number of pages begins with all segments there are.
MERGE = "INSERT INTO search (search, rank) VALUES ('merge', ?1)"
MERGED_PAGES = 64
LEAST_CHANGES = 2
"""Rows that change, at least, when there was something to merge."""

# From the index to the files: the other way round, each file would be searched by itself.
_MATCH = """
    SELECT worded.file_id FROM search CROSS JOIN worded
    ON worded.workspace_id = ?1 AND worded.number = search.rowid
    WHERE search MATCH ?2 {below} ORDER BY search.rowid DESC LIMIT ?3
"""
_BELOW = "AND worded.path >= ?4 AND worded.path < ?5"


def row_of(workspace_id: str, number: int, path: str, title: str, text: str) -> tuple[Value, ...]:
    """Answer what is put into the table, and what takes it out."""
    tag = tag_of(workspace_id)
    return number, tagged(tag, name_tokens(path, title)), tagged(tag, tokens_of(text))


def renamed(
    workspace_id: str, note: IndexedNote, path: str, text: str
) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Answer what takes a note out, and what puts it in under another path."""
    tag = tag_of(workspace_id)
    body = tagged(tag, tokens_of(text))
    old, new = (tagged(tag, name_tokens(each, note.title)) for each in (note.path, path))
    return (note.number, old, body), (note.number, new, body)


def match(workspace_id: str, matching: Matching) -> tuple[str, tuple[Value, ...]]:
    """Answer the statement that finds the files, and its arguments."""
    tag = tag_of(workspace_id)
    asked = " AND ".join(_phrase(tag, clause) for clause in matching.clauses)
    if matching.names:
        asked = f"{{name}} : ({asked})"
    below = matching.below or ()
    sql = _MATCH.format(below=_BELOW if below else "")
    return sql, (workspace_id, asked, matching.limit, *below)


def _phrase(tag: str, clause: Clause) -> str:
    # A token holds no quote: it is made of letters and digits.
    return f'"{tagged(tag, clause.tokens)}"{" *" if clause.prefix else ""}'
