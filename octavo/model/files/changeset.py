"""Changesets: what a client wants to change at once, all of it or nothing."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from octavo.model.files.content import NoteText
from octavo.model.files.revision import Origin
from octavo.model.identity import AccountId, Digest, Epoch, FileId, MutationId, RevisionId

MOST_OPERATIONS = 500


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Make a note at ``path``, whose id was not used before."""

    file_id: FileId
    path: str
    content: NoteText


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """Give a live file new text, a new path, or both; None keeps the head's.

    With ``rewrite_links`` the links to it follow where it moves, and its own stay what they are.
    """

    file_id: FileId
    if_match: frozenset[str]
    content: NoteText | None = None
    path: str | None = None
    rewrite_links: bool = False


@dataclass(frozen=True, slots=True)
class SaveNote:
    """Merge an update into the document of a live note, whatever its head is by now."""

    file_id: FileId
    epoch: Epoch
    update: bytes


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Delete a live file; its revisions stay."""

    file_id: FileId
    if_match: frozenset[str]


@dataclass(frozen=True, slots=True)
class RestoreFile:
    """Bring a deleted file back, at ``path`` or where it stood.

    ``content`` is the text of the earlier ``revision_id``, which a live note can be given, too.
    """

    file_id: FileId
    if_match: frozenset[str]
    path: str | None = None
    content: NoteText | None = None
    revision_id: RevisionId | None = None


@dataclass(frozen=True, slots=True)
class PurgeFile:
    """Destroy what a deleted file held, for ever."""

    file_id: FileId


# Made once: json.dumps makes an encoder at each call that is not of its own form.
_encode = json.JSONEncoder(separators=(",", ":")).encode

Operation = CreateFile | UpdateFile | SaveNote | DeleteFile | RestoreFile | PurgeFile
Outcome = Literal["created", "updated", "merged", "unchanged", "deleted", "restored", "purged"]


@dataclass(frozen=True, slots=True)
class Changeset:
    """Operations on different files, to be accepted together.

    ``mutation_id`` names the changeset for good; ``fingerprint`` is that of what the client sent,
    which tells a repetition from another change under the same name. Only a client that chose the
    name itself can repeat the changeset: ``repeatable``.
    """

    mutation_id: MutationId
    fingerprint: Digest
    author: AccountId
    operations: tuple[Operation, ...]
    repeatable: bool = True
    origin: Origin = "device"


def fingerprint(operations: Sequence[Operation]) -> Digest:
    """Return the fingerprint of what a client asks for, which is equal for equal operations."""
    told = _encode([_told(operation) for operation in operations])
    return Digest(hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest())


def _told(operation: Operation) -> list[object]:
    match operation:
        case CreateFile(file_id, path, content):
            return ["create", file_id, path, content.digest]
        case UpdateFile(file_id, if_match, content, path, rewrite_links):
            digest = None if content is None else content.digest
            told: list[object] = ["update", file_id, sorted(if_match), path, digest]
            return [*told, "rewrite"] if rewrite_links else told
        case SaveNote(file_id, epoch, update):
            return ["save", file_id, epoch, hashlib.sha256(update).hexdigest()]
        case DeleteFile(file_id, if_match):
            return ["delete", file_id, sorted(if_match)]
        case RestoreFile(file_id, if_match, path, _, revision_id):
            # The text may be gone when it is sent again.
            return ["restore", file_id, sorted(if_match), path, revision_id]
        case PurgeFile(file_id):
            return ["purge", file_id]
        case _:
            assert_never(operation)


def size_of(operation: Operation) -> int:
    """Return the bytes of text, or of an update, that an operation brings."""
    if isinstance(operation, SaveNote):
        return len(operation.update)
    content = content_of(operation)
    return 0 if content is None else content.size


def content_of(operation: Operation) -> NoteText | None:
    """Return the text that an operation brings; None for an update of a document, too."""
    return (
        operation.content if isinstance(operation, CreateFile | UpdateFile | RestoreFile) else None
    )


def writes_document(operation: Operation) -> bool:
    """Return whether an operation may change the document that a note has."""
    match operation:
        case SaveNote():
            return True
        case UpdateFile() | RestoreFile():
            return operation.content is not None
        case _:
            return False


def first_repeated(operations: Sequence[Operation]) -> int | None:
    """Return the index of the first operation on a file that one before it has; None for none."""
    seen: set[FileId] = set()
    for index, operation in enumerate(operations):
        if operation.file_id in seen:
            return index
        seen.add(operation.file_id)
    return None
