"""The API form of files, revisions, changes and feed entries, and the fields of their requests.

The limits of some fields are in the API document but enforced by the domain model: pydantic does
not check them. The model refuses violations with specific codes, such as ``invalid_path``, where
pydantic would cause ``invalid_request``.
"""

from typing import Annotated, Literal, cast

from octavo_rules import schemas
from octavo_rules.documents.document import DocumentUpdate, StoredDocument
from octavo_rules.identity import FileId, MutationId, WorkspaceId
from octavo_rules.problems import Problem
from pydantic import Field
from pydantic_core import MISSING

from octavo.http import contract
from octavo.model.access.account import LONGEST as LONGEST_ADDRESS
from octavo.model.files.path import LONGEST_PATH
from octavo.model.files.plan import FileOutcome, Receipt
from octavo.model.files.revision import Revision
from octavo.model.search.query import LONGEST_QUERY
from octavo.model.workspace import Workspace
from octavo.render.limits import LIMITS
from octavo.store.queries.files import StoredFile

_WITHOUT_NUL = "^[^\\u0000]*$"
_ETAG = '(W/)?"[\\x21\\x23-\\x7e\\x80-\\uffff]*"'
_ETAGS = f"[ \\t,]*{_ETAG}([ \\t]*,[ \\t,]*{_ETAG})*[ \\t,]*"

PathText = Annotated[
    str,
    Field(
        json_schema_extra={
            "minLength": 1,
            "maxLength": LONGEST_PATH,
            "pattern": '^[^\\u0000-\\u001f\\u007f"*:<>?\\\\|]+$',
        }
    ),
]
"""The path of a file; at most 1024 bytes in UTF-8."""

FolderPath = Annotated[str, Field(json_schema_extra={"pattern": _WITHOUT_NUL})]
"""A folder, or a prefix of paths; empty for all."""

MarkdownText = Annotated[
    str, Field(json_schema_extra={"maxLength": LIMITS["length"], "pattern": _WITHOUT_NUL})
]
"""The text of a note; at most 2 MiB in UTF-8."""

EmailAddress = Annotated[
    str,
    Field(
        max_length=1_000,
        json_schema_extra={"minLength": 3, "maxLength": LONGEST_ADDRESS, "format": "email"},
    ),
]
"""The address of an account, in upper or lower case."""

QueryText = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": LONGEST_QUERY})]
"""A search query."""

ExpectedHead = Annotated[str, Field(json_schema_extra={"pattern": f"^{_ETAGS}$"})]
"""The header ``if-match``: entity tags (RFC 9110 section 13.1.1), without ``*``."""

KnownHeads = Annotated[str, Field(json_schema_extra={"pattern": f"^[ \\t]*(\\*|{_ETAGS})[ \\t]*$"})]
"""The header ``if-none-match``: entity tags, or ``*`` (RFC 9110 section 13.1.2)."""


def label(longest: int) -> dict[str, int]:
    """Return the limits of a label of at most ``longest`` characters, for ``json_schema_extra``."""
    return {"minLength": 1, "maxLength": longest}


VERSIONS = (1,)


class UnsupportedProtocol(Problem):
    """The request uses an unsupported version of the protocol."""

    status, code = 400, "unsupported_protocol"
    summary = "This version of the sync protocol is not supported."
    remedy = "Get the supported versions from getSyncProtocol, and update the client."


class SyncProtocol(contract.HeaderModel):
    """The version of the sync protocol that the client uses."""

    sync_protocol: (
        Annotated[str, Field(json_schema_extra={"enum": [str(version) for version in VERSIONS]})]
        | None
    ) = None
    """A number; 1 if omitted."""


def check_protocol(headers: SyncProtocol) -> None:
    """Raise `UnsupportedProtocol` for an unsupported version."""
    version = headers.sync_protocol
    if version is not None and version not in map(str, VERSIONS):
        served = ", ".join(map(str, VERSIONS))
        raise UnsupportedProtocol(f"The supported versions of the sync protocol are {served}.")


class WorkspacePath(contract.Model):
    """One workspace."""

    workspace_id: Annotated[WorkspaceId, contract.IN_PATH]


def workspace_document(workspace: Workspace) -> schemas.Workspace:
    """Return a workspace in its API form."""
    return schemas.Workspace(
        id=workspace.workspace_id,
        name=workspace.name,
        role=workspace.role,
        created_at=contract.timestamp(workspace.created_at),
    )


def revision_document(revision: Revision) -> schemas.RevisionDocument:
    """Return a revision in its API form."""
    # Stored values were validated when they were written.
    return schemas.RevisionDocument.model_construct(
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


def file_change(outcome: FileOutcome) -> schemas.FileChange:
    """Return the result of an operation in its API form."""
    head = outcome.head
    return schemas.FileChange.model_construct(
        file_id=head.file_id,
        outcome=outcome.outcome,
        revision=revision_document(head),
        position=head.position,
        path=head.path or None,
    )


def note_save(outcome: FileOutcome, missing: DocumentUpdate) -> schemas.NoteSave:
    """Return the result of a save in its API form."""
    head = outcome.head
    return schemas.NoteSave.model_construct(
        file_id=head.file_id,
        outcome=outcome.outcome,
        revision=revision_document(head),
        position=head.position,
        path=head.path or None,
        epoch=missing.epoch,
        update=missing.update,
        state_vector=missing.vector,
    )


def note_document(document: StoredDocument) -> schemas.NoteDocument:
    """Return the document of a note in its API form."""
    return schemas.NoteDocument.model_construct(
        epoch=document.epoch,
        state=document.state,
        state_vector=document.vector,
    )


async def changeset_result(receipt: Receipt) -> schemas.ChangesetResult:
    """Return a receipt in its API form. Cancellation loses this alone: the changes are made."""
    return schemas.ChangesetResult.model_construct(
        mutation_id=receipt.mutation_id,
        position=receipt.position,
        mark=receipt.cursor.mark,
        changes=tuple(await contract.converted(receipt.outcomes, file_change)),
    )


def workspace_file(
    workspace_id: WorkspaceId, stored: StoredFile, document: schemas.NoteDocument | None = None
) -> schemas.WorkspaceFile:
    """Return a file with its text, and with its document if given."""
    revision = stored.revision
    return schemas.WorkspaceFile.model_construct(
        id=revision.file_id,
        workspace_id=workspace_id,
        path=revision.path or None,
        kind=revision.kind,
        state=revision.state,
        head=revision_document(revision),
        text=stored.text,
        document=document,
    )


def listed_file(workspace_id: WorkspaceId, revision: Revision) -> schemas.ListedFile:
    """Return a file that was not purged in its API form."""
    return schemas.ListedFile.model_construct(
        id=revision.file_id,
        workspace_id=workspace_id,
        path=revision.path,
        kind=revision.kind,
        state=cast('Literal["live", "deleted"]', revision.state),
        head=revision_document(revision),
    )


def feed_entry(stored: StoredFile, *, text: bool) -> schemas.FeedEntry:
    """Return a head as an entry of the feed."""
    revision = stored.revision
    shown = stored.text if revision.state == "live" else None
    return schemas.FeedEntry.model_construct(
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
