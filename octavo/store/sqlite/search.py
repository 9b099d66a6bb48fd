"""The full text index of SQLite: a table of FTS5 (https://www.sqlite.org/fts5.html).

One table serves all workspaces. Each token is preceded by the tag of its workspace, so a search
reads the entries of its own workspace only, prefixes included.

The table stores no copy of what is indexed: that would take more room than text and index together.
To remove a note, its tokens are computed again from its text. If a later version computes others,
the entries that remain belong to a number that no note has, and are not found.

A long note has a row for each portion of its text, and one for its name, so that no transaction
adds or removes many tokens. The numbers of these rows are negative. The clauses of a query may be
matched in different rows of a note.
"""

from collections.abc import Sequence

from octavo.model.search.query import Clause
from octavo.model.search.searched_text import overlapping, portion, portions_of
from octavo.model.search.tokens import name_tokens, tag_of, tagged, tokens_of
from octavo.store.head_conditions import head_conditions
from octavo.store.transaction import (
    FORGET_WORDS,
    MATCHED,
    IndexedNote,
    Matching,
    Value,
    indexed_title,
)

NUMBER = "UPDATE search_numbers SET last = last + $1 RETURNING last"
PUT = "INSERT INTO search (rowid, body, name) VALUES ($1, $2, $3)"
REMOVE = "INSERT INTO search (search, rowid, body, name) VALUES ('delete', $1, $2, $3)"
TEXT = "SELECT compressed FROM contents WHERE pk = $1"

# Long notes have so many rows, at most.
_ROWS = 1 << 16

# Removed entries are marked, and overwritten when the segments that hold them are merged. A
# negative number of pages begins with all segments.
MERGE = "INSERT INTO search (search, rank) VALUES ('merge', $1)"
MERGED_PAGES = 64
LEAST_CHANGES = 2
"""The minimum number of changed rows if there was something to merge."""

STRUCTURE = "SELECT block FROM search_data WHERE id = 10"
CLEAR = (
    "DELETE FROM search_data",
    "DELETE FROM search_idx",
    "INSERT INTO search_data (id, block) VALUES (1, x''), (10, x'00000000000000')",
    "INSERT INTO search (search) VALUES ('delete-all')",
)
"""Empty the index in any state.

A new connection can't load one that is damaged, for the last statement either: so its tables get
the rows of a new index before.
"""
RENEW = (*CLEAR, *FORGET_WORDS)
"""Empty the index, even if it is damaged, and have all notes indexed anew."""
MOST_LEVELS = 1_000
"""Levels of the index after which it is made anew.

Before SQLite 3.41, each merge that begins with all segments leaves two empty levels, and an index
with more than 2,000 counts as damaged.
"""
_COOKIE = 4
# Follows the cookie in a structure of the second version.
_VERSION_2 = b"\xff\x00\x00\x01"

# From the index to the files: in the other order, the index would be searched for each file.
_MATCH = f"""
    SELECT {MATCHED} FROM search
    CROSS JOIN fulltext_notes ON fulltext_notes.pk = search.rowid
    CROSS JOIN files
    ON files.workspace = fulltext_notes.workspace AND files.pk = fulltext_notes.file
    WHERE search MATCH $2 AND search.rowid > 0 AND files.state = 'live'
    AND fulltext_notes.workspace = (SELECT pk FROM workspaces WHERE id = $1::uuid)
    {{below}}{{heads}} ORDER BY search.rowid DESC LIMIT $3
"""
_BELOW = """
    AND COALESCE(fulltext_notes.path, files.path) >= $4
    AND COALESCE(fulltext_notes.path, files.path) < $5
"""

HAS_LONG = """
    SELECT 1 FROM fulltext_notes
    WHERE workspace = (SELECT pk FROM workspaces WHERE id = $1::uuid) AND portions > 0 LIMIT 1
"""
"""Whether a workspace has long notes, by an index of these alone."""
_FOUND = f"""
    SELECT -search.rowid / {_ROWS} AS pk FROM search
    WHERE search MATCH {{phrase}} AND search.rowid < 0
"""
_MATCH_LONG = f"""
    SELECT {MATCHED} FROM ({{matches}}) AS matching
    CROSS JOIN fulltext_notes ON fulltext_notes.pk = matching.pk
    CROSS JOIN files
    ON files.workspace = fulltext_notes.workspace AND files.pk = fulltext_notes.file
    WHERE fulltext_notes.workspace = (SELECT pk FROM workspaces WHERE id = $1::uuid)
    AND files.state = 'live' {{below}}{{heads}} ORDER BY fulltext_notes.pk DESC LIMIT $3
"""


def index_row(
    workspace_id: str, number: int, path: str, title: str, text: str
) -> tuple[Value, ...]:
    """Return the row that adds a note to the table, and that removes it."""
    tag = tag_of(workspace_id)
    return number, tagged(tag, tokens_of(text)), tagged(tag, name_tokens(path, title))


def long_row(number: int, portion: int | None) -> int:
    """Return the number of the row of a long note's portion, or of its name."""
    return -(number * _ROWS + (0 if portion is None else portion + 1))


def name_row(workspace_id: str, number: int, path: str, title: str) -> tuple[Value, ...]:
    """Return the row of a long note's name."""
    return long_row(number, None), "", tagged(tag_of(workspace_id), name_tokens(path, title))


def portion_row(
    workspace_id: str, number: int, portion: int, tokens: Sequence[str]
) -> tuple[Value, ...]:
    """Return the row of a portion of a long note."""
    return long_row(number, portion), tagged(tag_of(workspace_id), tokens), ""


def removal(
    workspace_id: str, note: IndexedNote, text: str, number: int
) -> tuple[tuple[Value, ...], int, int] | None:
    """Return the row that removes a portion of a note, and how many tokens it has.

    The third value is how many rows the table has to count more, as the portions of a note that is
    one row are removed separately. None when the note has no such portion.
    """
    name: Sequence[str] = ()
    if number == 0 and note.path is not None:
        name = name_tokens(note.path, indexed_title(text))
    tag = tag_of(workspace_id)
    if not note.portions and note.path is not None:
        count = portions_of(text)
        if number >= count:
            return None
        body = portion(text, number)
        row = (note.pk, tagged(tag, body), tagged(tag, name))
        return row, len(body) + len(name), count - 1 if number == 0 else 0
    if number >= note.portions or (number and not text):
        return None
    body = overlapping(text, number)
    return portion_row(workspace_id, note.pk, number, body), len(body), 0


def match(workspace_id: str, matching: Matching) -> tuple[str, tuple[Value, ...]]:
    """Return the statement that finds short notes, and its arguments; the last ones first."""
    tag = tag_of(workspace_id)
    asked = " AND ".join(_phrase(tag, clause) for clause in matching.clauses)
    if matching.names:
        asked = f"{{name}} : ({asked})"
    below = matching.below or ()
    arguments: list[Value] = [workspace_id, asked, matching.limit, *below]
    heads, values = head_conditions(matching.heads, len(arguments))
    sql = _MATCH.format(below=_BELOW if below else "", heads=heads)
    return sql, (*arguments, *values)


def match_long(workspace_id: str, matching: Matching) -> tuple[str, tuple[Value, ...]]:
    """Return the statement that finds long notes, and its arguments; the last ones first."""
    tag = tag_of(workspace_id)
    phrases = [_phrase(tag, clause) for clause in matching.clauses]
    if matching.names:
        phrases = [f"{{name}} : ({' AND '.join(phrases)})"]
    below = matching.below or (None, None)
    arguments: list[Value] = [workspace_id, None, matching.limit, *below]
    matches = []
    for phrase in phrases:
        arguments.append(phrase)
        matches.append(_FOUND.format(phrase=f"${len(arguments)}"))
    heads, values = head_conditions(matching.heads, len(arguments))
    sql = _MATCH_LONG.format(
        matches=" INTERSECT ".join(matches), below=_BELOW if matching.below else "", heads=heads
    )
    return sql, (*arguments, *values)


def _phrase(tag: str, clause: Clause) -> str:
    # Tokens contain no quotes: they consist of letters and digits.
    return f'"{tagged(tag, clause.tokens)}"{" *" if clause.prefix else ""}'


def is_worn_out(structure: bytes | None) -> bool:
    """Return whether an index with this record of its structure is to be made anew.

    The record has a cookie of 4 bytes, the mark of its version if that is the second, and the
    number of levels as a variable-length integer (SQLite, ext/fts5/fts5_index.c, "Structure
    record"; https://www.sqlite.org/fileformat2.html#varint). Without one, the index is damaged.
    """
    if structure is None:
        return True
    rest = structure[_COOKIE:].removeprefix(_VERSION_2)
    levels = 0
    for byte in rest[:9]:
        levels = levels << 7 | byte & 0x7F
        if byte < 0x80:
            return levels > MOST_LEVELS
    return True
