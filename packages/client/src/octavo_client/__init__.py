"""A typed client of Octavo for trio programs: sign-in, changes, copies, documents and notices."""

from octavo_rules.schemas import ApiKeyCreated as NewKey
from octavo_rules.schemas import AttachmentUploadResult as UploadInfo
from octavo_rules.schemas import (
    ChangesetResult,
    DiffHunk,
    DiffLine,
    DiffPiece,
    FeedEntry,
    FileChange,
    ImportFailure,
    ListedFile,
    NoteSave,
    ReadFiles,
    SnapshotEnd,
)
from octavo_rules.schemas import FileLinks as LinksOfFile
from octavo_rules.schemas import FoundLinkDocument as BackLink
from octavo_rules.schemas import Import as ImportState
from octavo_rules.schemas import ImportPart as PartInfo
from octavo_rules.schemas import ImportWorkspaceResult as ImportSummary
from octavo_rules.schemas import Mark as HitRange
from octavo_rules.schemas import NoteDocument as DocumentState
from octavo_rules.schemas import OutgoingLinkDocument as LinkInfo
from octavo_rules.schemas import RevisionDiff as Difference
from octavo_rules.schemas import RevisionDocument as RevisionInfo
from octavo_rules.schemas import SearchResult as Hit
from octavo_rules.schemas import SearchResults as Hits
from octavo_rules.schemas import SnippetDocument as HitSnippet
from octavo_rules.schemas import Workspace as WorkspaceInfo
from octavo_rules.schemas import WorkspaceFile as WorkspaceFileInfo

from octavo_client.changes import Attach, Create, Delete, Operation, Purge, Restore, Save, Update
from octavo_client.client import Client
from octavo_client.errors import (
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
from octavo_client.images import FileContent
from octavo_client.importing import ImportProgress
from octavo_client.mirror import Mirror, Note
from octavo_client.note_document import NoteDocument
from octavo_client.notices import Notices, WorkspaceChanged, WorkspaceGone
from octavo_client.responses import AccountInfo
from octavo_client.retrying import EntropySource, Retrying
from octavo_client.workspace import WorkspaceClient

__all__ = [
    "AccountId",
    "AccountInfo",
    "ArchiveCut",
    "ArchiveDiffers",
    "Attach",
    "BackLink",
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
    "HeadMovedError",
    "Hit",
    "HitRange",
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
    "WorkspaceChanged",
    "WorkspaceClient",
    "WorkspaceFileInfo",
    "WorkspaceGone",
    "WorkspaceGoneError",
    "WorkspaceId",
    "WorkspaceInfo",
]
