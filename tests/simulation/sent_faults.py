"""Every field of every revision, compared with the changeset that a device has sent."""

from collections.abc import Iterator

from octavo_rules.changes import SaveNote
from octavo_rules.content import MARKDOWN
from octavo_rules.identity import FileId

from octavo.model.files.changeset import (
    AttachImage,
    ChangeOperation,
    Changeset,
    RestoreFile,
    UpdateFile,
    content_of,
)
from octavo.model.files.revision import Revision
from tests.simulation.kept import Kept
from tests.simulation.ledger import Ledger, now


def faults_of_sent(workspace: Kept, ledger: Ledger) -> Iterator[str]:
    """Return the revisions that are not what was sent."""
    name = workspace.workspace_id
    before: dict[FileId, Revision] = {}
    latest = 0
    for revision in workspace.revisions:
        receipt = workspace.receipts.get(revision.mutation_id)
        sent = ledger.sent.get((revision.mutation_id, receipt.fingerprint if receipt else ""))
        if sent is None:
            yield f"{name}: {revision} was sent by nobody"
            continue
        changeset, sent_at = sent
        if not max(sent_at, latest) <= revision.created_at <= now() * 1000:
            yield f"{name}: {revision} was sent at {sent_at}, and is from after {latest}"
        latest = max(latest, revision.created_at)
        purged = workspace.heads[revision.file_id].state == "purged"
        for field, expected in _expected(changeset, revision, before.get(revision.file_id), purged):
            if getattr(revision, field) != expected:
                yield f"{name}: the {field} of {revision} should be {expected!r}"
        before[revision.file_id] = revision


def _expected(
    changeset: Changeset, revision: Revision, before: Revision | None, purged: bool
) -> Iterator[tuple[str, object]]:
    """Return fields with their values, as far as the changeset determines them."""
    operation = next((o for o in changeset.operations if o.file_id == revision.file_id), None)
    restored = isinstance(operation, RestoreFile)
    yield "author", changeset.author
    yield "program", changeset.program
    yield "origin", "restore" if restored else changeset.origin
    if isinstance(operation, AttachImage):
        yield "kind", "attachment"
    elif before is not None:
        yield "kind", before.kind
    if purged:
        return
    yield "media_type", MARKDOWN if revision.kind == "note" else "image/png"
    path = None if operation is None else _path_of(operation)
    if path is not None or before is not None:
        yield "path", path if path is not None or before is None else before.path
    if isinstance(operation, AttachImage):
        yield "digest", operation.image.digest
        yield "size", operation.image.size
    elif operation is not None and not isinstance(operation, SaveNote):
        content = content_of(operation)
        if content is not None:
            yield "digest", content.digest
            yield "size", content.size
        elif before is not None and not any(map(_may_bring_content, changeset.operations)):
            yield "digest", before.digest
            yield "size", before.size
            yield "content_id", before.content_id


def _may_bring_content(operation: ChangeOperation) -> bool:
    """Return whether an operation without a text may change the content all the same."""
    if isinstance(operation, RestoreFile):
        return operation.image is not None
    return isinstance(operation, UpdateFile) and operation.rewrite_links


def _path_of(operation: ChangeOperation) -> str | None:
    return getattr(operation, "path", None)
