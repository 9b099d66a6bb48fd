"""A typed client for trio programs: sign-in, changes, copies, documents and notifications.

Of the rest of Octavo it uses only pure rules and the documents, and nothing of the server.
"""

try:
    import httpx as httpx
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    raise ImportError(
        "octavo.client needs httpx: run .venv/bin/pip install -e '.[client]' in the clone of Octavo"
    ) from None

from octavo.client.archive_responses import (
    ImportFailure,
    ImportState,
    ImportSummary,
    PartInfo,
    UploadInfo,
)
from octavo.client.changes import Attach, Create, Delete, Operation, Purge, Restore, Save, Update
from octavo.client.client import Client
from octavo.client.errors import (
    ArchiveCut,
    ArchiveDiffers,
    ClientError,
    ConnectionFailed,
    CursorUnknownError,
    EpochMismatchError,
    ExportIncomplete,
    HeadMovedError,
    ImportRefused,
    ListeningEnded,
    NotFoundError,
    NotSignedInError,
    ProblemError,
    RateLimitedError,
    SnapshotCut,
    UnavailableError,
    UnexpectedResponse,
    WorkspaceGoneError,
)
from octavo.client.findings import BackLink, Hit, Hits, HitSnippet, LinkInfo, LinksOfFile, Mark
from octavo.client.images import FileContent
from octavo.client.importing import ImportProgress
from octavo.client.mirror import Mirror, Note
from octavo.client.note_document import NoteDocument
from octavo.client.notices import Changed, Gone, Notices
from octavo.client.responses import (
    AccountInfo,
    ChangesetResult,
    Difference,
    DiffHunk,
    DiffLine,
    DiffPiece,
    DocumentState,
    FeedEntry,
    FileChange,
    ListedFile,
    NewKey,
    NoteSave,
    ReadFiles,
    RevisionInfo,
    SnapshotEnd,
    WorkspaceFileInfo,
    WorkspaceInfo,
)
from octavo.client.retrying import EntropySource, Retrying
from octavo.client.workspace import WorkspaceClient
from octavo.model.identity import (
    AccountId,
    Epoch,
    FileId,
    MutationId,
    Position,
    RevisionId,
    WorkspaceId,
)

__all__ = [
    "AccountId",
    "AccountInfo",
    "ArchiveCut",
    "ArchiveDiffers",
    "Attach",
    "BackLink",
    "Changed",
    "ChangesetResult",
    "Client",
    "ClientError",
    "ConnectionFailed",
    "Create",
    "CursorUnknownError",
    "Delete",
    "DiffHunk",
    "DiffLine",
    "DiffPiece",
    "Difference",
    "DocumentState",
    "EntropySource",
    "Epoch",
    "EpochMismatchError",
    "ExportIncomplete",
    "FeedEntry",
    "FileChange",
    "FileContent",
    "FileId",
    "Gone",
    "HeadMovedError",
    "Hit",
    "HitSnippet",
    "Hits",
    "ImportFailure",
    "ImportProgress",
    "ImportRefused",
    "ImportState",
    "ImportSummary",
    "LinkInfo",
    "LinksOfFile",
    "ListedFile",
    "ListeningEnded",
    "Mark",
    "Mirror",
    "MutationId",
    "NewKey",
    "NotFoundError",
    "NotSignedInError",
    "Note",
    "NoteDocument",
    "NoteSave",
    "Notices",
    "Operation",
    "PartInfo",
    "Position",
    "ProblemError",
    "Purge",
    "RateLimitedError",
    "ReadFiles",
    "Restore",
    "Retrying",
    "RevisionId",
    "RevisionInfo",
    "Save",
    "SnapshotCut",
    "SnapshotEnd",
    "UnavailableError",
    "UnexpectedResponse",
    "Update",
    "UploadInfo",
    "WorkspaceClient",
    "WorkspaceFileInfo",
    "WorkspaceGoneError",
    "WorkspaceId",
    "WorkspaceInfo",
]
