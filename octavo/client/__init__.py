"""A typed client for trio programs: sign in, push, pull, documents, notices.

It stands alone: of Octavo it takes pure rules and the documents, and nothing of the server.
"""

from octavo.client.changes import Create, Delete, Operation, Purge, Restore, Save, Update
from octavo.client.client import Client
from octavo.client.errors import (
    ClientError,
    ConnectionFailed,
    EpochMismatch,
    HeadMoved,
    ListeningEnded,
    NotFound,
    NotSignedIn,
    ProblemError,
    RateLimited,
    SnapshotCut,
    Unavailable,
    UnexpectedAnswer,
    WorkspaceGone,
)
from octavo.client.mirror import Mirror, Note
from octavo.client.note_document import NoteDocument
from octavo.client.notices import Changed, Gone, Notices
from octavo.client.retrying import Chance, Retrying
from octavo.client.workspace import Workspace

__all__ = [
    "Chance",
    "Changed",
    "Client",
    "ClientError",
    "ConnectionFailed",
    "Create",
    "Delete",
    "EpochMismatch",
    "Gone",
    "HeadMoved",
    "ListeningEnded",
    "Mirror",
    "NotFound",
    "NotSignedIn",
    "Note",
    "NoteDocument",
    "Notices",
    "Operation",
    "ProblemError",
    "Purge",
    "RateLimited",
    "Restore",
    "Retrying",
    "Save",
    "SnapshotCut",
    "Unavailable",
    "UnexpectedAnswer",
    "Update",
    "Workspace",
    "WorkspaceGone",
]
