"""The operations of a changeset, each on one file."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from octavo_rules.changes import PurgeFile as Purge
from octavo_rules.changes import SaveNote as Save
from octavo_rules.identity import FileId, RevisionId

__all__ = [
    "Attach",
    "Create",
    "Delete",
    "Operation",
    "Purge",
    "Restore",
    "Save",
    "Update",
    "encoded",
    "present_members",
]


@dataclass(frozen=True, slots=True)
class Create:
    """Create a note with an id chosen by the client."""

    file_id: FileId
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Update:
    """Change the text or the path of a file, or both.

    Attributes:
        if_match: the expected head.
        rewrite_links: whether links to the file are rewritten when it moves.
    """

    file_id: FileId
    if_match: RevisionId
    text: str | None = None
    path: str | None = None
    rewrite_links: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a file; it can be restored."""

    file_id: FileId
    if_match: RevisionId


@dataclass(frozen=True, slots=True)
class Restore:
    """Restore a deleted file, or an earlier text.

    Attributes:
        path: the path to restore to; None for the previous path.
        revision_id: the revision whose text is restored; None for the head.
        rewrite_links: whether the links of a note keep their targets at another path.
    """

    file_id: FileId
    if_match: RevisionId
    path: str | None = None
    revision_id: RevisionId | None = None
    rewrite_links: bool = False


@dataclass(frozen=True, slots=True)
class Attach:
    """Make an uploaded image a file, or the next revision of one.

    Attributes:
        file_id: the image file to replace, or an id chosen for a new one.
        object_id: the upload, which can be attached once.
        path: below ``attachments/``, with an ending of the type of the image.
        if_match: the expected head of an existing file; None for a new one.
    """

    file_id: FileId
    object_id: str
    path: str
    if_match: RevisionId | None = None


Operation = Create | Update | Save | Delete | Restore | Attach | Purge


def encoded(operations: Sequence[Operation]) -> list[dict[str, Any]]:
    """Return ``operations`` in their JSON form."""
    return [_encoded(operation) for operation in operations]


def present_members(**members: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON values
    """Return the members that are not None, as optional members are omitted in JSON."""
    return {name: value for name, value in members.items() if value is not None}


def _encoded(operation: Operation) -> dict[str, Any]:
    file_id = operation.file_id
    match operation:
        case Create(_, path, text):
            return {"op": "create", "fileId": file_id, "path": path, "text": text}
        case Update(_, if_match, text, path, rewrite):
            # Omitted unless set, as older servers refuse unknown members.
            more = present_members(text=text, path=path, rewriteLinks=rewrite or None)
            return {"op": "update", "fileId": file_id, "ifMatch": if_match, **more}
        case Save(_, epoch, update):
            sent = b64encode(update).decode()
            return {"op": "save", "fileId": file_id, "epoch": epoch, "update": sent}
        case Delete(_, if_match):
            return {"op": "delete", "fileId": file_id, "ifMatch": if_match}
        case Restore(_, if_match, path, revision_id, rewrite):
            more = present_members(path=path, revisionId=revision_id, rewriteLinks=rewrite or None)
            return {"op": "restore", "fileId": file_id, "ifMatch": if_match, **more}
        case Attach(_, object_id, path, if_match):
            more = present_members(ifMatch=if_match)
            return {
                "op": "attach",
                "fileId": file_id,
                "objectId": object_id,
                "path": path,
                **more,
            }
        case Purge():
            return {"op": "purge", "fileId": file_id}
        case _:
            assert_never(operation)
