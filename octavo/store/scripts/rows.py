"""Revisions as rows: the columns that the tables ``files`` and ``revisions`` have alike."""

from octavo.model.files.revision import Revision
from octavo.store.transaction import Row, Value

COLUMNS = (
    "file_id, state, kind, path, revision_id, position, content_id, digest, size, media_type, "
    "author, mutation_id, changed_at, origin"
)
"""In the order of the members of `Revision`."""
COUNT = 14


def columns_of(table: str) -> str:
    """Answer the columns, each with the name of its table before it."""
    return ", ".join(f"{table}.{column.strip()}" for column in COLUMNS.split(","))


def revision_of(row: Row) -> Revision:
    """Answer the revision that a row tells of; what stands behind the columns is left alone."""
    return Revision(*row[:COUNT])


def values_of(revision: Revision) -> tuple[Value, ...]:
    """Answer the values of a row."""
    return (
        revision.file_id,
        revision.state,
        revision.kind,
        revision.path,
        revision.revision_id,
        revision.position,
        revision.content_id,
        revision.digest,
        revision.size,
        revision.media_type,
        revision.author,
        revision.mutation_id,
        revision.created_at,
        revision.origin,
    )
