"""New texts of notes as one statement: each statement of its own would be a round trip.

It does what `octavo.store.queries.changesets` does with eight statements for the changes that are
most frequent by far: notes that stay where they are get new texts. A statement sees the rows as
they were before it, so the old heads become revisions while they are replaced.
"""

from octavo.store.queries.revision_rows import COPIED, NAMES
from octavo.store.transaction import TextSaves

_TYPES = {"position": "bigint", "digest": "bytea", "size": "bigint", "changed_at": "bigint"}
_TYPES |= {"program": "bigint"}
_RECEIPT = {
    "mutation_id": "uuid",
    "fingerprint": "bytea",
    "position": "bigint",
    "mark_id": "uuid",
    "changes": "bytea",
    "created_at": "bigint",
}
_REPLACED = [name for name in NAMES if name not in ("file_id", "state", "kind", "path")]
_FIRST = 9


def _type_of(name: str) -> str:
    return "uuid" if name.endswith("_id") else _TYPES.get(name, "text")


def _columns(first: int, types: dict[str, str]) -> str:
    """Return ``unnest`` of arguments from ``$first`` on, an array for each column."""
    arrays = ", ".join(f"${number}::{each}[]" for number, each in enumerate(types.values(), first))
    return f"unnest({arrays}) AS given ({', '.join(types)})"


_HEAD = {name: _type_of(name) for name in (*NAMES, "base_id")} | {"compressed": "bytea"}
_OLD = (
    "FROM saved JOIN files ON files.workspace = saved.workspace AND files.file_id = saved.file_id"
)
SAVE = f"""
    WITH moved AS (
        UPDATE workspaces SET position = $4, mark_id = $5::uuid, size = size + $6
        WHERE id = $1::uuid AND position = $2 AND mark_id = $3::uuid
        RETURNING pk, documents_were_read
    ), saved AS (
        SELECT moved.pk AS workspace, moved.documents_were_read, given.*,
            nextval('content_numbers') AS content
        FROM moved, {_columns(_FIRST, _HEAD)}
    ), preserved AS (
        INSERT INTO documents (workspace, file, epoch_id, content_revision_id, base_state, vector)
        SELECT files.workspace, files.pk, COALESCE(files.content_revision_id, files.revision_id),
            COALESCE(files.content_revision_id, files.revision_id), contents.compressed, ''::bytea
        {_OLD} JOIN contents ON contents.pk = files.content
        WHERE saved.documents_were_read = 1 ON CONFLICT (workspace, file) DO NOTHING
    ), superseded AS (
        INSERT INTO revisions (workspace, file, {COPIED})
        SELECT files.workspace, files.pk, {", ".join(f"files.{e}" for e in COPIED.split(", "))}
        {_OLD}
    ), replaced AS (
        UPDATE files SET {", ".join(f"{name} = saved.{name}" for name in (*_REPLACED, "content"))}
        FROM saved WHERE files.workspace = saved.workspace AND files.file_id = saved.file_id
            AND files.kind = saved.kind AND files.state = saved.state AND files.path = saved.path
            AND files.revision_id = saved.base_id
        RETURNING 1
    ), texts AS (
        INSERT INTO contents (pk, compressed) SELECT content, compressed FROM saved
    ), remembered AS (
        INSERT INTO receipts (workspace, {", ".join(_RECEIPT)})
        SELECT moved.pk, given.* FROM moved, {_columns(_FIRST + len(_HEAD), _RECEIPT)}
        ON CONFLICT DO NOTHING RETURNING 1
    )
    SELECT 1 / CAST(
            (SELECT COUNT(*) FROM replaced) = CARDINALITY(${_FIRST}::uuid[])
            AND (SELECT COUNT(*) FROM remembered) = CARDINALITY(${_FIRST + len(_HEAD)}::uuid[])
        AS INTEGER),
        pg_notify($7, $8)::text
    FROM moved
"""
"""Divides by zero, which undoes everything, unless all heads were where they should be and all
receipts are new; does nothing and returns no row when the cursor has moved."""


def arguments_of(saves: TextSaves) -> list[object]:
    """Return the arguments of `SAVE`."""
    columns: list[object] = [list(column) for column in zip(*saves.heads, strict=True)]
    receipts: list[object] = [list(column) for column in zip(*saves.receipts, strict=True)]
    return [
        saves.workspace_id,
        *saves.planned_at,
        *saves.reached,
        saves.growth,
        *saves.notice,
        *columns,
        list(saves.texts),
        *(receipts or [[] for _ in _RECEIPT]),
    ]
