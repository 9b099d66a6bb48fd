"""A typed client of Octavo for trio programs: sign-in, changes, copies, documents and notices.

The types of its responses are in `octavo_rules.schemas`, those of identifiers in
`octavo_rules.identity`.
"""

from octavo_client.changes import Attach, Create, Delete, Operation, Purge, Restore, Save, Update
from octavo_client.client import AccountInfo, Client
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
from octavo_client.importing import ImportProgress
from octavo_client.mirror import Mirror, Note
from octavo_client.note_document import NoteDocument
from octavo_client.notices import Notices, WorkspaceChanged, WorkspaceGone
from octavo_client.reading import FileContent
from octavo_client.retrying import EntropySource, Retrying
from octavo_client.workspace import WorkspaceClient

__all__ = [
    "AccountInfo",
    "ArchiveCut",
    "ArchiveDiffers",
    "Attach",
    "Client",
    "ClientError",
    "ConnectionFailed",
    "Create",
    "CursorUnknownError",
    "Delete",
    "EntropySource",
    "EpochMismatchError",
    "ExportIncomplete",
    "FileContent",
    "HeadMovedError",
    "ImportProgress",
    "ImportRefused",
    "ListeningEnded",
    "Mirror",
    "NotFoundError",
    "NotSignedInError",
    "Note",
    "NoteDocument",
    "Notices",
    "Operation",
    "ProblemError",
    "Purge",
    "RateLimitedError",
    "Restore",
    "Retrying",
    "Save",
    "SnapshotCut",
    "UnavailableError",
    "UnexpectedResponse",
    "Update",
    "WorkspaceChanged",
    "WorkspaceClient",
    "WorkspaceGone",
    "WorkspaceGoneError",
]
