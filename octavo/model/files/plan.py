"""Plan a changeset: what it would make of the files, or why it can't be accepted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from octavo.model.documents.document import Documents
from octavo.model.files.changeset import (
    Changeset,
    CreateFile,
    DeleteFile,
    Operation,
    Outcome,
    PurgeFile,
    RestoreFile,
    SaveNote,
    UpdateFile,
)
from octavo.model.files.content import MARKDOWN, NoteText
from octavo.model.files.path import check_path, kind_of
from octavo.model.files.revision import Revision
from octavo.model.files.tree import Tree
from octavo.model.identity import ContentId, Digest, Epoch, FileId, Position, RevisionId
from octavo.model.refusal import (
    FileExists,
    FileLive,
    FileMissing,
    FilePurged,
    HeadMoved,
    InvalidContent,
    InvalidPath,
    refused_for,
)


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file: its head behind the changeset, and what came of the operation.

    ``content`` is the text that the store does not have yet; None when the head's was kept.
    """

    outcome: Outcome
    head: Revision
    content: NoteText | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """An acceptable changeset: its changes in the order of its operations.

    ``position`` is the place it takes when any change is more than ``unchanged``, and otherwise
    that of the newest changeset before it.
    """

    changeset: Changeset
    position: Position
    changes: tuple[Change, ...]

    @property
    def changed(self) -> tuple[Change, ...]:
        """Those that are more than ``unchanged``; when there are none, no position is taken."""
        return tuple(change for change in self.changes if change.outcome != "unchanged")


def plan(
    tree: Tree,
    position: Position,
    changeset: Changeset,
    now: int,
    new_revision_id: Callable[[], str],
    documents: Documents,
) -> Plan:
    """Plan ``changeset`` over ``tree``, whose newest changeset has ``position``.

    ``now`` is in milliseconds of Unix time. The tree is left as it is, and ``documents`` become
    what the plan makes of them. Raises a `Refusal`, and then they are as they were: purged files
    are told before missing ones, those before moved heads, all of them before what is wrong with
    paths, and what is wrong with updates of documents last.
    """
    operations = changeset.operations
    for check in (_check_purged, _check_state):
        for operation in operations:
            with refused_for(operation.file_id):
                check(tree, operation)
    moved = [each.file_id for each in operations if not _expected(tree, each)]
    if moved:
        raise HeadMoved({file_id: tree.heads[file_id].revision_id for file_id in moved})
    following = Position(position + 1)
    making = _Making(changeset, following, now, new_revision_id)
    changes: list[Change] = []
    for operation in operations:
        with refused_for(operation.file_id):
            changes.append(making.change(tree.heads, operation))
    tree.check({each.head.file_id: each.head for each in changes if each.outcome != "unchanged"})
    with documents.attempt():
        for index, operation in enumerate(operations):
            with refused_for(operation.file_id):
                changes[index] = making.document(documents, operation, changes[index])
    changed = any(each.outcome != "unchanged" for each in changes)
    return Plan(changeset, following if changed else position, tuple(changes))


def _check_purged(tree: Tree, operation: Operation) -> None:
    head = tree.heads.get(operation.file_id)
    if head is not None and head.state == "purged":
        raise FilePurged(
            f"The file {head.file_id} was purged. Its id can't be used again: make a new file."
        )


def _check_state(tree: Tree, operation: Operation) -> None:
    head = tree.heads.get(operation.file_id)
    match operation:
        case CreateFile():
            if head is not None:
                raise FileExists(f"The id {head.file_id} belongs to a file: choose another.")
        case RestoreFile() | PurgeFile():
            if head is None:
                raise _missing(operation.file_id)
            given_back = isinstance(operation, RestoreFile) and operation.content is not None
            if head.state == "live" and not given_back:
                raise FileLive(f"The file {head.file_id} is not deleted: {_way(operation)}.")
        case UpdateFile() | SaveNote() | DeleteFile():
            if head is None or head.state == "deleted":
                raise _missing(operation.file_id)
        case _:
            assert_never(operation)


def _way(operation: RestoreFile | PurgeFile) -> str:
    if isinstance(operation, PurgeFile):
        return "delete it first"
    return "to give it an earlier text, name the revisionId of that"


def _missing(file_id: FileId) -> FileMissing:
    return FileMissing(f"There is no file {file_id}, or it is deleted.")


def _expected(tree: Tree, operation: Operation) -> bool:
    if isinstance(operation, CreateFile | SaveNote | PurgeFile):
        return True
    return tree.heads[operation.file_id].revision_id in operation.if_match


@dataclass(frozen=True, slots=True)
class _Making:
    """Makes the revisions of one changeset."""

    changeset: Changeset
    position: Position
    now: int
    new_revision_id: Callable[[], str]

    def change(self, heads: Mapping[FileId, Revision], operation: Operation) -> Change:
        if isinstance(operation, CreateFile):
            return self._create(operation)
        old = heads[operation.file_id]
        match operation:
            case UpdateFile():
                return self._update(old, operation)
            case SaveNote():
                _check_note(old)
                # What becomes of it, its document tells.
                return Change("unchanged", old)
            case DeleteFile():
                return Change("deleted", replace(self._next(old), state="deleted"))
            case RestoreFile():
                return self._restore(old, operation)
            case PurgeFile():
                return Change("purged", _purged(self._next(old)))
            case _:
                assert_never(operation)

    def _create(self, operation: CreateFile) -> Change:
        _check_note_path(operation.path)
        content, revision_id = operation.content, RevisionId(self.new_revision_id())
        head = Revision(
            file_id=operation.file_id,
            state="live",
            kind="note",
            path=operation.path,
            revision_id=revision_id,
            position=self.position,
            content_id=ContentId(revision_id),
            digest=content.digest,
            size=content.size,
            media_type=MARKDOWN,
            author=self.changeset.author,
            mutation_id=self.changeset.mutation_id,
            created_at=self.now,
            origin=self.changeset.origin,
        )
        return Change("created", head, content)

    def document(self, documents: Documents, operation: Operation, change: Change) -> Change:
        """Have the document of a note follow; return the change, which an update makes."""
        file_id, head = operation.file_id, change.head
        match operation:
            case CreateFile(_, _, content):
                documents.made(file_id, head.content_id, content)
            case SaveNote(_, epoch, update):
                revision_id = RevisionId(self.new_revision_id())
                merged = documents.merge(file_id, epoch, update, Epoch(revision_id))
                if merged is None:
                    return change
                brought = merged if merged.digest != head.digest else None
                return Change("merged", self._next(head, brought, revision_id), brought)
            case UpdateFile() | RestoreFile():
                if change.content is not None:
                    documents.write(file_id, change.content, Epoch(head.revision_id))
            case PurgeFile():
                documents.purged(file_id)
            case DeleteFile():
                pass
            case _:
                assert_never(operation)
        return change

    def _update(self, old: Revision, operation: UpdateFile) -> Change:
        content = operation.content
        if content is not None:
            _check_note(old)
            content = None if content.digest == old.digest else content
        moved = _at(old, operation.path)
        if content is None:
            return (
                Change("unchanged", old) if moved is old else Change("updated", self._next(moved))
            )
        return Change("updated", self._next(moved, content), content)

    def _restore(self, old: Revision, operation: RestoreFile) -> Change:
        content = operation.content
        if content is not None:
            _check_note(old)
            content = None if content.digest == old.digest else content
        moved = _at(old, operation.path)
        if old.state == "live" and content is None and moved is old:
            return Change("unchanged", old)
        new = replace(self._next(moved, content), state="live", origin="restore")
        return Change("restored", new, content)

    def _next(
        self,
        old: Revision,
        content: NoteText | None = None,
        revision_id: RevisionId | None = None,
    ) -> Revision:
        """Return the revision behind ``old``, which keeps its content where there is none."""
        if revision_id is None:
            revision_id = RevisionId(self.new_revision_id())
        return replace(
            old,
            revision_id=revision_id,
            position=self.position,
            content_id=old.content_id if content is None else ContentId(revision_id),
            digest=old.digest if content is None else content.digest,
            size=old.size if content is None else content.size,
            author=self.changeset.author,
            mutation_id=self.changeset.mutation_id,
            created_at=self.now,
            origin=self.changeset.origin,
        )


def _check_note(head: Revision) -> None:
    if head.kind != "note":
        raise InvalidContent(f"{head.path} is an image, and takes no text.")


def _at(head: Revision, path: str | None) -> Revision:
    if path is None or path == head.path:
        return head
    if head.kind == "note":
        _check_note_path(path)
    else:
        check_path(path)
        if kind_of(path) != head.kind:
            raise InvalidPath("An image stands below attachments/, under a name of its own.")
    return replace(head, path=path)


def _check_note_path(path: str) -> None:
    check_path(path)
    if kind_of(path) != "note":
        raise InvalidPath("The path of a note ends with .md behind its name.")


def _purged(head: Revision) -> Revision:
    return replace(
        head,
        state="purged",
        path="",
        content_id=ContentId(""),
        digest=Digest(""),
        size=0,
        media_type="",
    )
