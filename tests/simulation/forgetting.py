"""What is left of purged files, once their contents were swept: nothing that anyone wrote."""

from collections.abc import Iterable, Iterator, Sequence

from octavo_rules.identity import FileId, MutationId

from octavo.documents import DocumentCache
from octavo.features.search.sql.fulltext_index import erase_removed_words
from octavo.model.files.changeset import AttachImage, ChangeOperation, content_of
from octavo.store.queries.revision_rows import WORKSPACE
from octavo.store.queries.sweeping import sweep
from octavo.store.transaction import Script, Transaction
from tests.simulation.disk import Disk
from tests.simulation.kept import Kept
from tests.simulation.ledger import Ledger

_KEPT_OF_PURGED = ("revisions", "folder_purges", "index_cursors")
"""Tables that name purged files, or have a column of that name for something else."""
_PURGED = f"""
    SELECT workspace, pk FROM files WHERE workspace = {WORKSPACE} AND state = 'purged'
"""


async def sweep_all(disk: Disk) -> None:
    """Remove what is to be removed in the background."""
    for script in (sweep, erase_removed_words):
        while await disk.write(script()):
            pass


async def faults_of_purged(disk: Disk, workspaces: Sequence[Kept], ledger: Ledger) -> list[str]:
    """Return what the database has of purged files; for one that was swept."""
    purged = [row for each in workspaces for row in await disk.read(_numbers(each))]
    if not purged:
        return []
    found: list[str] = []
    values: set[object] = set()
    files = set(purged)
    for table, columns, everything in disk.everything():
        # An upload of the same bytes that was interrupted keeps its reservation for a time.
        stored = columns.index("stored") if table == "blobs" else None
        rows = [row for row in everything if stored is None or row[stored]]
        values.update(value for row in rows for value in row)
        if table in ("purged_contents", "fulltext_removals") and rows:
            found.append(f"{rows} are left to be swept in {table}")
        if {"workspace", "file"} <= {*columns} and table not in _KEPT_OF_PURGED:
            at = columns.index("workspace"), columns.index("file")
            left = [row for row in rows if tuple(row[each] for each in at) in files]
            if left:
                found.append(f"{table} has {left} of purged files")
    kept = {mark for each in workspaces for mark in _marks(each)}
    for each in workspaces:
        left_over = sorted(map(str, values & (_marks_of_purged(each, ledger) - kept)))
        if left_over:
            found.append(f"{each.workspace_id}: {left_over} are left of purged files")
    return found


def faults_of_cache(cache: DocumentCache, workspaces: Iterable[Kept]) -> Iterator[str]:
    """Return the documents of purged files that are still in memory."""
    for each in workspaces:
        for head in each.heads.values():
            if head.state == "purged" and cache.take(each.workspace_id, head.file_id):
                yield f"{each.workspace_id}: the document of {head.file_id} is in memory"


def _numbers(workspace: Kept) -> Script[list[tuple[object, ...]]]:
    async def read(transaction: Transaction) -> list[tuple[object, ...]]:
        return [tuple(r) for r in await transaction.fetch_all(_PURGED, workspace.workspace_id)]

    return read


def _marks_of_purged(workspace: Kept, ledger: Ledger) -> set[object]:
    """Return the paths and digests of purged files, as they were sent."""
    purged = {each.file_id for each in workspace.heads.values() if each.state == "purged"}
    marks: set[object] = set()
    for mutation, receipt in workspace.receipts.items():
        changeset, _ = ledger.sent[MutationId(mutation), receipt.fingerprint]
        for operation in changeset.operations:
            if operation.file_id in purged:
                marks.update(_marks_in(operation))
    return marks


def _marks_in(operation: ChangeOperation) -> Iterator[object]:
    path, content = getattr(operation, "path", None), content_of(operation)
    if path is not None:
        yield path
    if content is not None:
        yield bytes.fromhex(content.digest)
    if isinstance(operation, AttachImage):
        yield bytes.fromhex(operation.image.digest)


def _marks(workspace: Kept) -> set[object]:
    """Return the paths and digests that are kept of other files."""
    gone = {FileId(each.file_id) for each in workspace.heads.values() if each.state == "purged"}
    marks: set[object] = set()
    for each in workspace.revisions:
        if each.file_id not in gone:
            marks |= {each.path, bytes.fromhex(each.digest)}
    return marks
