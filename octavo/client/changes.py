"""What a changeset may do, each operation on one file."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from octavo.model.files.changeset import PurgeFile as Purge
from octavo.model.files.changeset import SaveNote as Save
from octavo.model.identity import FileId, RevisionId

__all__ = ["Create", "Delete", "Operation", "Purge", "Restore", "Save", "Update", "given", "told"]


@dataclass(frozen=True, slots=True)
class Create:
    """Make a note, under an id of the client's own."""

    file_id: FileId
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Update:
    """Give a file new text, a new path, or both.

    Attributes:
        if_match: the revision that is its head as far as is known.
        rewrite_links: links to the file follow it to its new path.
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
    """Bring a deleted file back, or an earlier text.

    Attributes:
        path: where it goes; None for where it stood.
        revision_id: of which it gets the text; None for that of its head.
    """

    file_id: FileId
    if_match: RevisionId
    path: str | None = None
    revision_id: RevisionId | None = None


Operation = Create | Update | Save | Delete | Restore | Purge


def told(operations: Sequence[Operation]) -> list[dict[str, Any]]:
    """Answer ``operations`` as they are sent."""
    return [_told(each) for each in operations]


def given(**members: Any) -> dict[str, Any]:  # noqa: ANN401  # what JSON holds
    """Answer those members that are not None: what is left out says so itself."""
    return {name: value for name, value in members.items() if value is not None}


def _told(each: Operation) -> dict[str, Any]:
    file_id = each.file_id
    match each:
        case Create(_, path, text):
            return {"op": "create", "fileId": file_id, "path": path, "text": text}
        case Update(_, if_match, text, path, rewrite):
            # Known to newer servers alone: the others refuse what they don't know.
            more = given(text=text, path=path, rewriteLinks=rewrite or None)
            return {"op": "update", "fileId": file_id, "ifMatch": if_match, **more}
        case Save(_, epoch, update):
            sent = b64encode(update).decode()
            return {"op": "save", "fileId": file_id, "epoch": epoch, "update": sent}
        case Delete(_, if_match):
            return {"op": "delete", "fileId": file_id, "ifMatch": if_match}
        case Restore(_, if_match, path, revision_id):
            more = given(path=path, revisionId=revision_id)
            return {"op": "restore", "fileId": file_id, "ifMatch": if_match, **more}
        case Purge():
            return {"op": "purge", "fileId": file_id}
        case _:
            assert_never(each)
