"""The API form of files, revisions, changes and feed entries."""

from typing import Annotated, Literal, cast

from octavo_rules.documents.document import DocumentUpdate, StoredDocument
from octavo_rules.identity import FileId, MutationId, WorkspaceId
from pydantic_core import MISSING

from octavo.http.contract.contract_model import (
    IN_PATH,
    Base64,
    ContractModel,
    Identifier,
    Timestamp,
    base64_of,
    timestamp,
)
from octavo.http.contract.paging import ListPage
from octavo.http.contract.slices import converted
from octavo.model.files.changeset import Outcome
from octavo.model.files.path import Kind
from octavo.model.files.receipt import FileOutcome, Receipt
from octavo.model.files.revision import Origin, Revision, State
from octavo.model.workspace import Role, Workspace
from octavo.store.queries.files import StoredFile


class WorkspacePath(ContractModel):
    """One workspace."""

    workspace_id: Annotated[WorkspaceId, IN_PATH]


class WorkspaceSchema(ContractModel):
    """A workspace as the account sees it."""

    id: Identifier
    name: str
    role: Role
    """The role of the account in it."""
    created_at: Timestamp


class WorkspaceList(ListPage[WorkspaceSchema]):
    """A page of workspaces, oldest first."""


def workspace_document(workspace: Workspace) -> WorkspaceSchema:
    """Return a workspace in its API form."""
    return WorkspaceSchema(
        id=workspace.workspace_id,
        name=workspace.name,
        role=workspace.role,
        created_at=timestamp(workspace.created_at),
    )


class RevisionDocument(ContractModel):
    """A revision of a file; it never changes."""

    id: Identifier
    file_id: Identifier
    position: int
    """The position of its changeset in the workspace."""
    kind: Kind
    """A Markdown note, or an image."""
    path: str | None
    """Null for a purged file."""
    digest: str | None
    """SHA-256 of the content, in hexadecimal; null for a purged file."""
    size: int
    """Size of the content in bytes."""
    media_type: str | None
    author: Identifier
    """Id of the account that made it."""
    created_at: Timestamp
    mutation_id: Identifier
    origin: Origin
    """How it was made: on a signed-in device, on a page, with a personal API key, or otherwise."""


class FileChangeSchema(ContractModel):
    """The result for one file."""

    file_id: Identifier
    outcome: Outcome
    revision: RevisionDocument
    """The accepted head, without its text."""
    position: int
    path: str | None


class ChangesetResultSchema(ContractModel):
    """The result of a changeset."""

    mutation_id: Identifier
    position: int
    """Its position in the workspace; if it changed nothing, the position of the previous one."""
    mark: Identifier
    """The mark of ``position``: see ``getFeed``."""
    changes: list[FileChangeSchema]


class NoteDocumentSchema(ContractModel):
    """The document of a note: a Yjs document with a single text named ``text``."""

    epoch: Identifier
    """Its epoch. Updates of one epoch cannot be applied to another."""
    state: Base64
    """A Yjs update (version 1) that contains the whole document."""
    state_vector: Base64
    """The Yjs state vector of the document."""


class NoteSaveSchema(FileChangeSchema):
    """The result of a save, and what the device lacks."""

    outcome: Literal["merged", "unchanged"]
    """``unchanged``: the document already contained the update."""
    epoch: Identifier
    """The current epoch of the document. If it differs from that of the save, the document was
    recreated and includes the edits of the save: load ``update`` into a new document.
    """
    update: Base64
    """A Yjs update with everything that the given state vector lacks; the whole document if the
    epoch differs or no state vector was given.
    """
    state_vector: Base64
    """The server's state vector: encode the next update against it."""


class WorkspaceFile(ContractModel):
    """A file at its head, or at one of its revisions."""

    id: Identifier
    workspace_id: Identifier
    path: str | None
    kind: Kind
    """A Markdown note, or an image."""
    state: State
    head: RevisionDocument
    text: str | None
    """The Markdown; null for a file without text, such as a purged one."""
    document: NoteDocumentSchema | None = None
    """Null for a file without text, in lists, and when only the text is requested."""


class ListedFileSchema(ContractModel):
    """A file without its text."""

    id: Identifier
    workspace_id: Identifier
    path: str
    kind: Kind
    """A Markdown note, or an image."""
    state: Literal["live", "deleted"]
    head: RevisionDocument


class FeedEntrySchema(ContractModel):
    """The state of a file at the position of its last change."""

    position: int
    file_id: Identifier
    path: str | None
    kind: Kind
    """A Markdown note, or an image."""
    state: State
    revision_id: Identifier
    digest: str | None
    size: int
    mutation_id: Identifier
    changed_at: Timestamp
    text: str | MISSING | None = MISSING
    """The Markdown of a live note, if requested."""


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
        created_at=timestamp(revision.created_at),
        mutation_id=revision.mutation_id,
        origin=revision.origin,
    )


def file_change(outcome: FileOutcome) -> FileChangeSchema:
    """Return the result of an operation in its API form."""
    head = outcome.head
    return FileChangeSchema.model_construct(
        file_id=head.file_id,
        outcome=outcome.outcome,
        revision=revision_document(head),
        position=head.position,
        path=head.path or None,
    )


def note_save(outcome: FileOutcome, missing: DocumentUpdate) -> NoteSaveSchema:
    """Return the result of a save in its API form."""
    head = outcome.head
    return NoteSaveSchema.model_construct(
        file_id=head.file_id,
        outcome=outcome.outcome,
        revision=revision_document(head),
        position=head.position,
        path=head.path or None,
        epoch=missing.epoch,
        update=base64_of(missing.update),
        state_vector=base64_of(missing.vector),
    )


def note_document(document: StoredDocument) -> NoteDocumentSchema:
    """Return the document of a note in its API form."""
    return NoteDocumentSchema.model_construct(
        epoch=document.epoch,
        state=base64_of(document.state),
        state_vector=base64_of(document.vector),
    )


async def changeset_result(receipt: Receipt) -> ChangesetResultSchema:
    """Return a receipt in its API form. Cancellation loses this alone: the changes are made."""
    return ChangesetResultSchema.model_construct(
        mutation_id=receipt.mutation_id,
        position=receipt.position,
        mark=receipt.cursor.mark,
        changes=await converted(receipt.outcomes, file_change),
    )


def workspace_file(
    workspace_id: WorkspaceId, stored: StoredFile, document: NoteDocumentSchema | None = None
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


def listed_file(workspace_id: WorkspaceId, revision: Revision) -> ListedFileSchema:
    """Return a file that was not purged in its API form."""
    return ListedFileSchema.model_construct(
        id=revision.file_id,
        workspace_id=workspace_id,
        path=revision.path,
        kind=revision.kind,
        state=cast('Literal["live", "deleted"]', revision.state),
        head=revision_document(revision),
    )


def feed_entry(stored: StoredFile, *, text: bool) -> FeedEntrySchema:
    """Return a head as an entry of the feed."""
    revision = stored.revision
    shown = stored.text if revision.state == "live" else None
    return FeedEntrySchema.model_construct(
        position=revision.position,
        file_id=FileId(revision.file_id),
        path=revision.path or None,
        kind=revision.kind,
        state=revision.state,
        revision_id=revision.revision_id,
        digest=revision.digest or None,
        size=revision.size,
        mutation_id=MutationId(revision.mutation_id),
        changed_at=timestamp(revision.created_at),
        text=shown if text else MISSING,
    )
