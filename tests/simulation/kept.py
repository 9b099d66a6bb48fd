"""The final content of a workspace in the tables."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from octavo_rules.identity import FileId, Position, WorkspaceId

from octavo.model.files.changeset import Outcome
from octavo.model.files.revision import Revision
from octavo.store import Script, Transaction
from octavo.store.compression import decompressed
from octavo.store.queries.changesets import read_changes
from octavo.store.queries.revision_rows import (
    COLUMNS,
    SOURCES,
    WORKSPACE,
    columns_of,
    from_both,
    revision_of,
)
from tests.histories.feed_order import FeedEntry

# The texts of a workspace, each with the revision that introduced it, and those without one.
_BROUGHT = """
    SELECT {table}.workspace, {table}.content, {table}.revision_id FROM {source}
    WHERE {table}.content_revision_id IS NULL AND {table}.content IS NOT NULL
"""
_TEXTS = f"""
    SELECT contents.pk, brought.revision_id AS content_revision_id, contents.compressed
    FROM contents LEFT JOIN (
        {from_both(_BROUGHT)}
    ) AS brought ON brought.content = contents.pk
    WHERE brought.workspace IS NULL OR brought.workspace = {WORKSPACE}
"""
# The images of a workspace, and those that no revision has.
_IMAGES = f"""
    SELECT images.pk, brought.revision_id, blobs.digest, blobs.size
    FROM images LEFT JOIN blobs ON blobs.key = images.blob LEFT JOIN (
        {from_both(_BROUGHT)}
    ) AS brought ON brought.content = images.pk
    WHERE brought.workspace IS NULL OR brought.workspace = {WORKSPACE}
"""
_RECEIPTS = f"""
    SELECT mutation_id, fingerprint, position, changes FROM receipts WHERE workspace = {WORKSPACE}
"""


@dataclass(frozen=True, slots=True)
class KeptReceipt:
    """A receipt; ``changes`` are outcomes, each with the resulting revision."""

    fingerprint: str
    position: int
    changes: tuple[tuple[Outcome, str], ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """All stored data of a workspace; ``revisions`` by position, then by file.

    An image is the digest and the size of a blob.
    """

    workspace_id: WorkspaceId
    position: Position
    size: int
    heads: Mapping[FileId, Revision]
    revisions: tuple[Revision, ...]
    texts: Mapping[str, str]
    images: Mapping[str, tuple[str, int]]
    receipts: Mapping[str, KeptReceipt]

    def text_of(self, head: Revision) -> str:
        """Return the text of a note; an image has an empty one, and no links."""
        return self.texts[head.content_id] if head.kind == "note" else ""


def kept(workspace_id: WorkspaceId) -> Script[Kept]:
    """Read all of a workspace."""

    async def script(transaction: Transaction) -> Kept:
        async def rows(columns: str, table: str) -> list[tuple[Any, ...]]:
            sql = f"SELECT {columns} FROM {table} WHERE files.workspace = {WORKSPACE}"
            return [tuple(row) for row in await transaction.fetch_all(sql, workspace_id)]

        found = await transaction.fetch_one(
            "SELECT position, size FROM workspaces WHERE id = $1::uuid", workspace_id
        )
        assert found is not None
        heads = [revision_of(row) for row in await rows(COLUMNS, "files")]
        earlier = [
            revision_of(row) for row in await rows(columns_of("revisions"), SOURCES["revisions"])
        ]
        revisions = [*heads, *earlier]
        only = {each.position: each.revision_id for each in revisions}
        texts = await transaction.fetch_all(_TEXTS, workspace_id)
        images = await transaction.fetch_all(_IMAGES, workspace_id)
        receipts = await transaction.fetch_all(_RECEIPTS, workspace_id)
        return Kept(
            workspace_id,
            Position(found[0]),
            found[1],
            {head.file_id: head for head in heads},
            tuple(sorted(revisions, key=lambda each: (each.position, each.file_id))),
            {
                str(content_id or number): decompressed(data, str(number))
                for number, content_id, data in texts
            },
            {
                str(content_id or number): ("" if digest is None else digest.hex(), size)
                for number, content_id, digest, size in images
            },
            {
                str(mutation): KeptReceipt(
                    fingerprint.hex(),
                    position,
                    tuple(
                        (outcome, only.get(position, "none") if name is None else name)
                        for outcome, name in read_changes(changes)
                    ),
                )
                for mutation, fingerprint, position, changes in receipts
            },
        )

    return script


def feed_of(workspace: Kept) -> Iterator[FeedEntry]:
    """Return the accepted changesets in their order."""
    moved: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
    for revision in workspace.revisions:
        moved[revision.position, revision.mutation_id][revision.file_id] = revision.mutation_id
    for (position, mutation), swaps in moved.items():
        yield FeedEntry(position, mutation, swaps)
