"""Convert between revisions and rows of the tables ``files`` and ``revisions``.

The head of a file is in ``files``, the revisions before it are in ``revisions``. The id and the
kind of a file are in ``files`` only.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from octavo_rules.content import MARKDOWN
from octavo_rules.identity import ContentId, Digest

from octavo.model.files.revision import Revision
from octavo.store.transaction import Row, T, Transaction, Value

# An engine prepares a statement once for each number of names, so there are few numbers.
_SIZES = (1, 3, 10, 30, 100)


async def select_in(
    transaction: Transaction, sql: str, scope: Value, names: Sequence[Value]
) -> list[Row]:
    """Return the rows that ``sql`` selects for ``names``, in no particular order.

    Each name is looked up once. ``$1`` in ``sql`` is ``scope``. The names are the arguments of
    ``IN ($ids)`` when they are identifiers, and of ``IN ($names)`` otherwise.
    """
    rows: list[Row] = []
    for chunk in _chunks(names):
        rows += await transaction.fetch_all(_filled(sql, len(chunk)), scope, *chunk)
    return rows


def _chunks(names: Sequence[T]) -> Iterator[list[T]]:
    """Yield the distinct names in chunks of `_SIZES`."""
    distinct = list(dict.fromkeys(names))
    maximum = _SIZES[-1]
    for at in range(0, len(distinct), maximum):
        chunk = distinct[at : at + maximum]
        size = next(allowed for allowed in _SIZES if allowed >= len(chunk))
        # A name that is repeated is found once.
        yield chunk + chunk[-1:] * (size - len(chunk))


@lru_cache(maxsize=1024)
def _filled(sql: str, size: int) -> str:
    """Return a statement for ``size`` names."""
    places = [f"${number}" for number in range(2, size + 2)]
    filled = sql.replace("$names", ", ".join(places))
    return filled.replace("$ids", ", ".join(f"{place}::uuid" for place in places))


async def select_pairs(
    transaction: Transaction, sql: str, pairs: Sequence[tuple[Value, Value]]
) -> list[Row]:
    """Return the rows that ``sql`` selects for ``pairs`` of identifiers, in no particular order.

    They are the arguments of ``IN (VALUES $pairs)``. Each pair is looked up once.
    """
    rows: list[Row] = []
    for chunk in _chunks(pairs):
        rows += await transaction.fetch_all(_paired(sql, len(chunk)), *chain.from_iterable(chunk))
    return rows


@lru_cache(maxsize=64)
def _paired(sql: str, size: int) -> str:
    """Return a statement for ``size`` pairs."""
    places = [f"(${2 * index + 1}::uuid, ${2 * index + 2}::uuid)" for index in range(size)]
    return sql.replace("$pairs", ", ".join(places))


async def execute_each(transaction: Transaction, sql: str, rows: Sequence[Sequence[Value]]) -> None:
    """Execute ``sql`` for each row of arguments; do nothing without rows."""
    if len(rows) == 1:
        await transaction.execute(sql, *rows[0])
    elif rows:
        await transaction.execute_many(sql, rows)


NAMES = (
    "file_id",
    "state",
    "kind",
    "path",
    "revision_id",
    "position",
    "content_revision_id",
    "digest",
    "size",
    "media_type",
    "author_id",
    "mutation_id",
    "changed_at",
    "origin",
    "program",
)
"""The columns of heads, in the order of the fields of `Revision`."""
COLUMNS = ", ".join(NAMES)
COUNT = len(NAMES)
WORKSPACE = "(SELECT pk FROM workspaces WHERE id = $1::uuid)"
"""The number of the workspace whose id is the first argument; NULL without the workspace."""
_OF_FILES = ("file_id", "kind")
COPIED = ", ".join(name for name in (*NAMES, "content") if name not in _OF_FILES)
"""The columns that both tables have."""
SOURCES = {
    "files": "files",
    "revisions": (
        "revisions JOIN files"
        " ON files.workspace = revisions.workspace AND files.pk = revisions.file"
    ),
}
_MANY = 500
_PATH = NAMES.index("path")
_REVISION = NAMES.index("revision_id")
_CONTENT = NAMES.index("content_revision_id")
_DIGEST = NAMES.index("digest")
_MEDIA_TYPE = NAMES.index("media_type")


def columns_of(table: str) -> str:
    """Return the columns of revisions in ``table``, qualified; ``files`` has to be joined."""
    return ", ".join(f"{'files' if name in _OF_FILES else table}.{name}" for name in NAMES)


def placeholders(first: int) -> str:
    """Return the placeholders of the columns, from ``$first`` on."""
    return ", ".join(
        f"${number}::uuid" if name.endswith("_id") else f"${number}"
        for number, name in enumerate(NAMES, first)
    )


def from_both(select: str) -> str:
    """Return a query over heads and earlier revisions.

    ``{table}`` in ``select`` is the table, ``{source}`` the same joined with ``files``, and
    ``{columns}`` the columns of a revision. A view would not do: SQLite copies all of a UNION
    before it joins it.
    """
    return " UNION ALL ".join(
        select.format(table=table, source=source, columns=columns_of(table))
        for table, source in SOURCES.items()
    )


def revision_of(row: Row) -> Revision:
    """Return the revision that a row begins with."""
    values = [*row[:COUNT]]
    if not values[_PATH]:
        # It was purged, and has no content.
        values[_CONTENT] = ContentId("")
    elif values[_CONTENT] is None:
        values[_CONTENT] = ContentId(values[_REVISION])
    values[_DIGEST] = Digest(values[_DIGEST].hex())
    if values[_MEDIA_TYPE] is None:
        values[_MEDIA_TYPE] = MARKDOWN
    return Revision(*values)


def revisions_of_rows(rows: Sequence[Row]) -> list[Revision]:
    """Return the revisions that rows begin with; faster than one by one."""
    if len(rows) > _MANY:
        # More of them would not stay in the caches of the processor.
        portions = (rows[at : at + _MANY] for at in range(0, len(rows), _MANY))
        return [revision for portion in portions for revision in revisions_of_rows(portion)]
    if not rows:
        return []
    columns: list[Iterable[Any]] = []
    columns += [*zip(*rows, strict=True)][:COUNT]
    if not all(row[_PATH] for row in rows):
        return [revision_of(row) for row in rows]
    columns[_CONTENT] = [
        own if content is None else content
        for own, content in zip(columns[_REVISION], columns[_CONTENT], strict=True)
    ]
    columns[_DIGEST] = map(bytes.hex, columns[_DIGEST])
    columns[_MEDIA_TYPE] = [
        MARKDOWN if media_type is None else media_type for media_type in columns[_MEDIA_TYPE]
    ]
    return [*map(Revision, *columns)]


def values_of(revision: Revision) -> tuple[Value, ...]:
    """Return the values of a row."""
    return (
        revision.file_id,
        revision.state,
        revision.kind,
        revision.path,
        revision.revision_id,
        revision.position,
        None if revision.content_id in ("", revision.revision_id) else revision.content_id,
        bytes.fromhex(revision.digest),
        revision.size,
        None if revision.media_type == MARKDOWN else revision.media_type,
        revision.author,
        revision.mutation_id,
        revision.created_at,
        revision.origin,
        revision.program,
    )
