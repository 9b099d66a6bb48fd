"""The API form of files, revisions, changes and feed entries."""

from typing import Annotated, Literal, cast

from octavo_rules.documents.document import DocumentUpdate, StoredDocument
from octavo_rules.identity import FileId, MutationId, WorkspaceId
from octavo_rules.schemas import (
    ChangesetResult,
    FeedEntry,
    FileChange,
    ListedFile,
    NoteDocument,
    NoteSave,
    RevisionDocument,
    WorkspaceFile,
)
from octavo_rules.schemas import Workspace as WorkspaceSchema
from pydantic_core import MISSING

from octavo.http import contract
from octavo.model.files.receipt import FileOutcome, Receipt
from octavo.model.files.revision import Revision
from octavo.model.workspace import Workspace
from octavo.store.queries.files import StoredFile


class WorkspacePath(contract.Model):
    """One workspace."""

    workspace_id: Annotated[WorkspaceId, contract.IN_PATH]


def workspace_document(workspace: Workspace) -> WorkspaceSchema:
    """Return a workspace in its API form."""
    return WorkspaceSchema(
        id=workspace.workspace_id,
        name=workspace.name,
        role=workspace.role,
        created_at=contract.timestamp(workspace.created_at),
    )


def revision_document(revision: Revision) -> RevisionDocument:
    """Return a revision in its API form."""
    # Stored values were validated when they were written.
    return RevisionDocument.model_construct(
        id=revision.revision_id,
        file_id=revision.file_id,
        position=revision.position,
        kind=revision.kind,
        path=revision.path or None,
        digest=revision.digest or None,
        size=revision.size,
        media_type=revision.media_type or None,
        author=revision.author,
        created_at=contract.timestamp(revision.created_at),
        mutation_id=revision.mutation_id,
        origin=revision.origin,
    )


def file_change(outcome: FileOutcome) -> FileChange:
    """Return the result of an operation in its API form."""
    head = outcome.head
    return FileChange.model_construct(
        file_id=head.file_id,
        outcome=outcome.outcome,
        revision=revision_document(head),
        position=head.position,
        path=head.path or None,
    )


def note_save(outcome: FileOutcome, missing: DocumentUpdate) -> NoteSave:
    """Return the result of a save in its API form."""
    head = outcome.head
    return NoteSave.model_construct(
        file_id=head.file_id,
        outcome=outcome.outcome,
        revision=revision_document(head),
        position=head.position,
        path=head.path or None,
        epoch=missing.epoch,
        update=missing.update,
        state_vector=missing.vector,
    )


def note_document(document: StoredDocument) -> NoteDocument:
    """Return the document of a note in its API form."""
    return NoteDocument.model_construct(
        epoch=document.epoch,
        state=document.state,
        state_vector=document.vector,
    )


async def changeset_result(receipt: Receipt) -> ChangesetResult:
    """Return a receipt in its API form. Cancellation loses this alone: the changes are made."""
    return ChangesetResult.model_construct(
        mutation_id=receipt.mutation_id,
        position=receipt.position,
        mark=receipt.cursor.mark,
        changes=tuple(await contract.converted(receipt.outcomes, file_change)),
    )


def workspace_file(
    workspace_id: WorkspaceId, stored: StoredFile, document: NoteDocument | None = None
) -> WorkspaceFile:
    """Return a file with its text, and with its document if given."""
    revision = stored.revision
    return WorkspaceFile.model_construct(
        id=revision.file_id,
        workspace_id=workspace_id,
        path=revision.path or None,
        kind=revision.kind,
        state=revision.state,
        head=revision_document(revision),
        text=stored.text,
        document=document,
    )


def listed_file(workspace_id: WorkspaceId, revision: Revision) -> ListedFile:
    """Return a file that was not purged in its API form."""
    return ListedFile.model_construct(
        id=revision.file_id,
        workspace_id=workspace_id,
        path=revision.path,
        kind=revision.kind,
        state=cast('Literal["live", "deleted"]', revision.state),
        head=revision_document(revision),
    )


def feed_entry(stored: StoredFile, *, text: bool) -> FeedEntry:
    """Return a head as an entry of the feed."""
    revision = stored.revision
    shown = stored.text if revision.state == "live" else None
    return FeedEntry.model_construct(
        position=revision.position,
        file_id=FileId(revision.file_id),
        path=revision.path or None,
        kind=revision.kind,
        state=revision.state,
        revision_id=revision.revision_id,
        digest=revision.digest or None,
        size=revision.size,
        mutation_id=MutationId(revision.mutation_id),
        changed_at=contract.timestamp(revision.created_at),
        text=shown if text else MISSING,
    )
