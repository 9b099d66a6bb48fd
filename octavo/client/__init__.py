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

from octavo.client.archive_responses import ImportState, ImportSummary, UploadInfo
from octavo.client.changes import Attach, Create, Delete, Operation, Purge, Restore, Save, Update
from octavo.client.client import Client
from octavo.client.errors import (
    ArchiveCut,
    ArchiveDiffers,
    ClientError,
    ConnectionFailed,
    EpochMismatchError,
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
from octavo.client.images import FileContent
from octavo.client.importing import ImportProgress
from octavo.client.mirror import Mirror, Note
from octavo.client.note_document import NoteDocument
from octavo.client.notices import Changed, Gone, Notices
from octavo.client.retrying import EntropySource, Retrying
from octavo.client.workspace import WorkspaceClient

__all__ = [
    "ArchiveCut",
    "ArchiveDiffers",
    "Attach",
    "Changed",
    "Client",
    "ClientError",
    "ConnectionFailed",
    "Create",
    "Delete",
    "EntropySource",
    "EpochMismatchError",
    "FileContent",
    "Gone",
    "HeadMovedError",
    "ImportProgress",
    "ImportRefused",
    "ImportState",
    "ImportSummary",
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
    "UploadInfo",
    "WorkspaceClient",
    "WorkspaceGoneError",
]
