"""Changesets: operations on files that are accepted or refused together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Literal, assert_never

from octavo_rules import identity
from octavo_rules.changes import PurgeFile, SaveNote
from octavo_rules.content import NoteContent, NoteText
from octavo_rules.identity import FileId

from octavo.model.files.confinement import Confinement
from octavo.model.files.image import UploadedImage
from octavo.model.files.revision import Origin, Revision

MAX_OPERATIONS = 500


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Create a note at ``path``, with an id that was not used before."""

    file_id: identity.FileId
    path: str
    content: NoteContent


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """Change the text or the path of a live file, or both; None keeps the present one.

    With ``rewrite_links``, links to the file and links in it keep their targets after a move. Those
    of a new text are understood from the path that the file has before.
    """

    file_id: identity.FileId
    if_match: frozenset[str]
    content: NoteText | None = None
    path: str | None = None
    rewrite_links: bool = False


@dataclass(frozen=True, slots=True)
class AttachImage:
    """Create an image at ``path``, or replace a live one.

    ``if_match`` is None for an image that is expected not to exist.
    """

    file_id: identity.FileId
    path: str
    image: UploadedImage
    if_match: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Delete a live file; its revisions are kept."""

    file_id: identity.FileId
    if_match: frozenset[str]


@dataclass(frozen=True, slots=True)
class RestoreFile:
    """Restore a deleted file, at ``path`` or at its previous path.

    ``content`` is the text of the earlier ``revision_id``, which a live note can get as well.
    ``image`` is an earlier revision of an image, which gets its bytes. With ``rewrite_links``, the
    links in a note keep their targets at another path; those of an earlier text are understood from
    ``was_at``, the path of its revision.
    """

    file_id: identity.FileId
    if_match: frozenset[str]
    path: str | None = None
    content: NoteText | None = None
    revision_id: identity.RevisionId | None = None
    image: Revision | None = None
    rewrite_links: bool = False
    was_at: str | None = None


# Created once: json.dumps creates an encoder on each call with other than default options.
_encode = json.JSONEncoder(separators=(",", ":")).encode

ChangeOperation = (
    CreateFile | UpdateFile | SaveNote | AttachImage | DeleteFile | RestoreFile | PurgeFile
)
"""An operation of a changeset, on one file."""
Outcome = Literal["created", "updated", "merged", "unchanged", "deleted", "restored", "purged"]


@dataclass(frozen=True, slots=True)
class Changeset:
    """Operations on different files, accepted or refused together.

    ``mutation_id`` identifies the changeset permanently; ``fingerprint`` is the digest of the
    client's request, which tells a repetition from another change with the same id. Only a
    client that chose the id can repeat the changeset: ``repeatable``. ``program`` made it by the
    MCP endpoint. Its credential is limited to the folder ``within``; None for all files.
    """

    mutation_id: identity.MutationId
    fingerprint: identity.Digest
    author: identity.AccountId
    operations: tuple[ChangeOperation, ...]
    repeatable: bool = True
    origin: Origin = "device"
    program: identity.ProgramNumber | None = None
    within: Confinement | None = None


def fingerprint(operations: Sequence[ChangeOperation]) -> identity.Digest:
    """Return the fingerprint of a request; equal operations have equal fingerprints.

    It is 128 bits of a SHA-256 digest: only the client itself could gain from a collision.
    """
    encoded = _encode([_members(operation) for operation in operations])
    return identity.Digest(
        hashlib.sha256(encoded.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    )


def _members(operation: ChangeOperation) -> list[object]:
    match operation:
        case CreateFile(file_id, path, content):
            return ["create", file_id, path, content.digest]
        case UpdateFile(file_id, if_match, content, path, rewrite_links):
            digest = None if content is None else content.digest
            members: list[object] = ["update", file_id, sorted(if_match), path, digest]
            return [*members, "rewrite"] if rewrite_links else members
        case SaveNote(file_id, epoch, update):
            return ["save", file_id, epoch, hashlib.sha256(update).hexdigest()]
        case AttachImage(file_id, path, image, if_match):
            heads = None if if_match is None else sorted(if_match)
            return ["attach", file_id, heads, path, image.object_id]
        case DeleteFile(file_id, if_match):
            return ["delete", file_id, sorted(if_match)]
        case RestoreFile(file_id, if_match, path, _, revision_id, _, rewrite_links):
            # The text may no longer exist when the request is repeated.
            members = ["restore", file_id, sorted(if_match), path, revision_id]
            return [*members, "rewrite"] if rewrite_links else members
        case PurgeFile(file_id):
            return ["purge", file_id]
        case _:
            assert_never(operation)


def size_of(operation: ChangeOperation) -> int:
    """Return the bytes of text, or of a document update, in an operation."""
    if isinstance(operation, SaveNote):
        return len(operation.update)
    content = content_of(operation)
    return 0 if content is None else content.size


def content_of(operation: ChangeOperation) -> NoteContent | None:
    """Return the text in an operation; None if it has none, or a document update."""
    return (
        operation.content if isinstance(operation, CreateFile | UpdateFile | RestoreFile) else None
    )


def first_repeated(operations: Sequence[ChangeOperation]) -> int | None:
    """Return the index of the first operation on a file that an earlier one has; None for none."""
    seen: set[identity.FileId] = set()
    for index, operation in enumerate(operations):
        if operation.file_id in seen:
            return index
        seen.add(operation.file_id)
    return None


_TIME = slice(0, 13)


def derived_id(
    import_id: str, archive: str, kind: Literal["file", "object", "changeset"], number: int
) -> str:
    """Return the identifier of the ``number``-th thing of its kind that an import makes.

    It has the time of the import, and sorts by the number among those of its kind. The rest is
    taken from digests: only those can guess it that know the import. ``archive`` is the result of
    `archive_of`: with other parts, an import makes other things.
    """
    milliseconds, of_kind = _common(import_id, archive, kind)
    of_one = sha256(f"{import_id} {archive} {kind} {number}".encode()).digest()
    # The first three bytes are shortened to 18 bits.
    return identity.uuid7(
        milliseconds, of_kind + number.to_bytes(4, "big") + of_one[: identity.RANDOM_BYTES - 7]
    )


@lru_cache(maxsize=64)
def _common(import_id: str, archive: str, kind: str) -> tuple[int, bytes]:
    """Return what the identifiers of one kind have in common: time, and the start of the rest."""
    digest = sha256(f"{import_id} {archive} {kind}".encode()).digest()
    return int(import_id[_TIME].replace("-", ""), 16), digest[:3]


def file_moves(operations: Sequence[ChangeOperation]) -> dict[FileId, str]:
    """Return the new paths of the files whose moves rewrite links."""
    return {
        operation.file_id: operation.path
        for operation in operations
        if isinstance(operation, UpdateFile | RestoreFile)
        and operation.rewrite_links
        and operation.path is not None
    }
