"""Plan changesets: the new revisions, or why one can't be accepted; alone, and in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, assert_never

from attrs import define, field
from octavo_rules import identity
from octavo_rules.changes import PurgeFile, SaveNote
from octavo_rules.content import MARKDOWN, NoteContent, NoteText
from octavo_rules.documents.document import Documents
from octavo_rules.problems import InvalidContent, Problem

from octavo.model import refusal
from octavo.model.files.changeset import (
    AttachImage,
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    Outcome,
    RestoreFile,
    UpdateFile,
)
from octavo.model.files.confinement import Confinement
from octavo.model.files.image import ObjectId, UploadedImage, UploadMissing, check_image_path
from octavo.model.files.path import Kind, check_path, kind_of
from octavo.model.files.revision import Revision
from octavo.model.files.tree import Tree
from octavo.model.usage import StorageLimitReached

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change:
    """The result of one operation: the new head of its file.

    Attributes:
        outcome: what the operation does.
        head: the new head.
        base: the revision that it replaces; None for a new file.
        content: the text that the store does not have yet; None if the text is unchanged.
        image: the uploaded image that the file gets; None if it keeps its image, or gets an earlier
            one, which the head names.
    """

    outcome: Outcome
    head: Revision
    base: identity.RevisionId | None
    content: NoteContent | None = None
    image: UploadedImage | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """An acceptable changeset: its changes in the order of its operations.

    ``cursor`` is that of the changeset if any change is more than ``unchanged``, and otherwise that
    of the newest changeset before it. ``growth`` is the difference in bytes that it makes to the
    sizes of the heads of the workspace, ``needed`` the storage that it needs: uploaded images use
    some already. ``changed`` are the changes that are more than ``unchanged``; without any, no
    position is used.
    """

    changeset: Changeset
    cursor: identity.Cursor
    changes: tuple[Change, ...]
    changed: tuple[Change, ...]
    growth: int
    needed: int

    @property
    def position(self) -> identity.Position:
        """The position of the cursor."""
        return self.cursor.position


def plan(
    tree: Tree,
    cursor: identity.Cursor,
    changeset: Changeset,
    now: int,
    new_revision_id: Callable[[], str],
    documents: Documents,
    room: int | None = None,
) -> Plan:
    """Plan ``changeset`` over ``tree``, whose newest changeset has ``cursor``.

    ``now`` is Unix time in milliseconds, ``room`` the bytes by which the storage of the workspace
    may grow; None for any number. The tree is not changed; ``documents`` are. Raises a
    `Problem`, and ``documents`` are unchanged then. The order of precedence is: files that are
    not visible, purged files, missing files, moved heads, paths, document updates, and storage.
    """
    operations = changeset.operations
    check_confinement(changeset, tree.heads)
    heads = [tree.heads.get(operation.file_id) for operation in operations]
    # New files are not purged, and have no heads that move.
    if any(heads):
        _for_each(_check_purged, operations, heads)
    _for_each(_check_state, operations, heads)
    if any(heads):
        _check_expected(operations, heads)
    following = identity.Position(cursor.position + 1)
    planner = _ChangesetPlanner(changeset, following, now, new_revision_id)
    changes = _for_each(planner.change, operations, heads)
    tree.check(
        {change.head.file_id: change.head for change in changes if change.outcome != "unchanged"}
    )
    with documents.attempt():
        changes = _for_each(partial(planner.document, documents), operations, changes)
        growth = uploaded = 0
        for old, change in zip(heads, changes, strict=True):
            growth += change.head.size - (0 if old is None else old.size)
            if change.image is not None:
                uploaded += change.image.size
        needed = growth - uploaded
        if room is not None and needed > max(0, room):
            raise StorageLimitReached
    changed = (*[change for change in changes if change.outcome != "unchanged"],)
    reached = identity.Cursor(following, changed[-1].head.revision_id) if changed else cursor
    return Plan(changeset, reached, (*changes,), changed, growth, needed)


def check_confinement(changeset: Changeset, heads: Mapping[identity.FileId, Revision]) -> None:
    """Refuse what a credential that is limited to a folder may not change.

    An existing file outside is refused as one that does not exist, but its id can't be used again.
    Raises `FileMissing`, `FileExists` or `OutsideFolder`.
    """
    within = changeset.within
    if within is None:
        return
    operations = changeset.operations
    _for_each(
        partial(_check_visible, within), operations, [heads.get(o.file_id) for o in operations]
    )
    _for_each(partial(_check_place, within), operations, operations)


def _check_visible(within: Confinement, operation: ChangeOperation, head: Revision | None) -> None:
    if head is None or within.covers(head.path):
        return
    if isinstance(operation, CreateFile) or (
        isinstance(operation, AttachImage) and operation.if_match is None
    ):
        raise _taken(operation.file_id)
    raise _missing(operation.file_id)


def _check_place(within: Confinement, operation: ChangeOperation, _: object) -> None:
    if isinstance(operation, PurgeFile):
        raise refusal.OutsideFolder("Erasing a file permanently requires full access.")
    if isinstance(operation, SaveNote | DeleteFile) or operation.path is None:
        return
    if not within.covers(operation.path):
        raise refusal.OutsideFolder(
            f"The key or token is limited to the folder {within.folder}, and {operation.path} is "
            "not in it: choose a path below the folder."
        )


def _for_each(
    work: Callable[[ChangeOperation, S], T],
    operations: Sequence[ChangeOperation],
    states: Iterable[S],
) -> list[T]:
    """Return what ``work`` returns for each operation; its refusals name the file."""
    results: list[T] = []
    for operation, state in zip(operations, states, strict=True):
        try:
            results.append(work(operation, state))
        except Problem as problem:
            problem.file_id = operation.file_id
            raise
    return results


def _check_purged(_: ChangeOperation, head: Revision | None) -> None:
    if head is not None and head.state == "purged":
        raise refusal.FilePurged(
            f"The file {head.file_id} was purged, and its id can't be used again: use a new id."
        )


def _check_state(operation: ChangeOperation, head: Revision | None) -> None:
    match operation:
        case CreateFile():
            if head is not None:
                raise _taken(head.file_id)
        case RestoreFile() | PurgeFile():
            if head is None:
                raise _missing(operation.file_id)
            if head.state == "live" and not _has_content(operation):
                raise refusal.FileLive(
                    f"The file {head.file_id} is not deleted: {_remedy(operation)}."
                )
        case UpdateFile() | SaveNote() | DeleteFile():
            if head is None or head.state == "deleted":
                raise _missing(operation.file_id)
        case AttachImage(_, _, _, if_match):
            if head is None and if_match is None:
                return
            if head is None or head.state == "deleted":
                raise _missing(operation.file_id)
            if if_match is None:
                raise refusal.HeadNotNamed(
                    f"The file {head.file_id} exists: give the revision that you know, or another"
                    " id for a new file."
                )
        case _:
            assert_never(operation)


def _has_content(operation: RestoreFile | PurgeFile) -> bool:
    if isinstance(operation, PurgeFile):
        return False
    return operation.content is not None or operation.image is not None


def _remedy(operation: RestoreFile | PurgeFile) -> str:
    if isinstance(operation, PurgeFile):
        return "delete it first"
    return "to restore an earlier text, give its revisionId"


def _taken(file_id: identity.FileId) -> refusal.FileExists:
    return refusal.FileExists(f"The id {file_id} belongs to a file: use another id.")


def _missing(file_id: identity.FileId) -> refusal.FileMissing:
    return refusal.FileMissing(f"The file {file_id} does not exist, or is deleted.")


def _check_expected(
    operations: Sequence[ChangeOperation], heads: Sequence[Revision | None]
) -> None:
    moved = {
        head.file_id: head.revision_id
        for operation, head in zip(operations, heads, strict=True)
        if head is not None and not _expects(operation, head)
    }
    if moved:
        raise refusal.HeadMoved(moved)


def _expects(operation: ChangeOperation, head: Revision) -> bool:
    if isinstance(operation, CreateFile | SaveNote | PurgeFile) or operation.if_match is None:
        return True
    return head.revision_id in operation.if_match


@dataclass(frozen=True, slots=True)
class _ChangesetPlanner:
    """Plans the new revisions of one changeset."""

    changeset: Changeset
    position: identity.Position
    now: int
    new_revision_id: Callable[[], str]

    def change(self, operation: ChangeOperation, old: Revision | None) -> Change:
        if isinstance(operation, CreateFile):
            return self._create(operation)
        if isinstance(operation, AttachImage):
            return self._attach(old, operation)
        if old is None:
            raise _missing(operation.file_id)
        match operation:
            case UpdateFile():
                return self._update(old, operation)
            case SaveNote():
                _check_note(old)
                # The document determines the outcome.
                return Change("unchanged", old, old.revision_id)
            case DeleteFile():
                deleted = replace(self._next(old), state="deleted")
                return Change("deleted", deleted, old.revision_id)
            case RestoreFile():
                return self._restore(old, operation)
            case PurgeFile():
                return Change("purged", _purged(self._next(old)), old.revision_id)
            case _:
                assert_never(operation)

    def _create(self, operation: CreateFile) -> Change:
        _check_note_path(operation.path)
        content = operation.content
        head = self._new(operation, "note", content.digest, content.size, MARKDOWN)
        return Change("created", head, None, content)

    def _attach(self, old: Revision | None, operation: AttachImage) -> Change:
        image, path = operation.image, operation.path
        if old is not None and old.kind != "attachment":
            raise InvalidContent(f"{old.path} is a note and can't be an image.")
        check_image_path(path, image.media_type, "" if old is None else old.path)
        if old is not None and (old.digest, old.path) == (image.digest, path):
            return Change("unchanged", old, old.revision_id)
        head = self._new(operation, "attachment", image.digest, image.size, image.media_type)
        if old is None:
            return Change("created", head, None, image=image)
        return Change("updated", head, old.revision_id, image=image)

    def _new(
        self,
        operation: CreateFile | AttachImage,
        kind: Kind,
        digest: identity.Digest,
        size: int,
        media_type: str,
    ) -> Revision:
        """Return a live revision at the path of ``operation``, with a content of its own."""
        revision_id = identity.RevisionId(self.new_revision_id())
        return Revision(
            operation.file_id,
            "live",
            kind,
            operation.path,
            revision_id,
            self.position,
            identity.ContentId(revision_id),
            digest,
            size,
            media_type,
            self.changeset.author,
            self.changeset.mutation_id,
            self.now,
            self.changeset.origin,
            self.changeset.program,
        )

    def document(self, documents: Documents, operation: ChangeOperation, change: Change) -> Change:
        """Apply the operation to the note's document; return the change, updated by a merge."""
        file_id, head = operation.file_id, change.head
        match operation:
            case CreateFile(_, _, content):
                documents.created(file_id, head.content_id, content)
            case SaveNote(_, epoch, update):
                revision_id = identity.RevisionId(self.new_revision_id())
                merged = documents.merge(file_id, epoch, update, identity.Epoch(revision_id))
                if merged is None:
                    return change
                text = merged if merged.digest != head.digest else None
                following = self._next(head, text, revision_id)
                return Change("merged", following, change.base, text)
            case UpdateFile() | RestoreFile():
                if change.content is not None:
                    documents.write(file_id, head.content_id, change.content)
            case PurgeFile():
                documents.purged(file_id)
            case DeleteFile() | AttachImage():
                pass
            case _:
                assert_never(operation)
        return change

    def _update(self, old: Revision, operation: UpdateFile) -> Change:
        content = operation.content
        if content is not None:
            _check_note(old)
            content = None if content.digest == old.digest else content
        moved = self._at(old, operation.path)
        if content is None:
            if moved is old:
                return Change("unchanged", old, old.revision_id)
            return Change("updated", self._next(moved), old.revision_id)
        return Change("updated", self._next(moved, content), old.revision_id, content)

    def _restore(self, old: Revision, operation: RestoreFile) -> Change:
        content = operation.content
        if content is not None:
            _check_note(old)
            content = None if content.digest == old.digest else content
        moved = self._at(_with_image(old, operation.image), operation.path)
        if old.state == "live" and content is None and moved is old:
            return Change("unchanged", old, old.revision_id)
        new = replace(self._next(moved, content), state="live", origin="restore")
        return Change("restored", new, old.revision_id, content)

    def _at(self, head: Revision, path: str | None) -> Revision:
        if path is None or path == head.path:
            return head
        # A path that returns is none that anybody gives now.
        kept = path if self.changeset.origin == "restore" else head.path
        if head.kind == "note":
            _check_note_path(path, kept)
        else:
            check_image_path(path, head.media_type, kept)
        return replace(head, path=path)

    def _next(
        self,
        old: Revision,
        content: NoteText | None = None,
        revision_id: identity.RevisionId | None = None,
    ) -> Revision:
        """Return the revision after ``old``; it keeps the content if ``content`` is None."""
        if revision_id is None:
            revision_id = identity.RevisionId(self.new_revision_id())
        changeset = self.changeset
        # Every save makes one: `replace` takes three times as long.
        return Revision(
            old.file_id,
            old.state,
            old.kind,
            old.path,
            revision_id,
            self.position,
            old.content_id if content is None else identity.ContentId(revision_id),
            old.digest if content is None else content.digest,
            old.size if content is None else content.size,
            old.media_type,
            changeset.author,
            changeset.mutation_id,
            self.now,
            changeset.origin,
            changeset.program,
        )


def _check_note(head: Revision) -> None:
    if head.kind != "note":
        raise InvalidContent(f"{head.path} is an image and can't have text.")


def _with_image(head: Revision, image: Revision | None) -> Revision:
    """Return a head with the bytes of an earlier revision of the same file."""
    if image is None or image.digest == head.digest:
        return head
    return replace(
        head,
        path=image.path,
        content_id=image.content_id,
        digest=image.digest,
        size=image.size,
        media_type=image.media_type,
    )


def _check_note_path(path: str, kept: str = "") -> None:
    check_path(path, kept)
    if kind_of(path) != "note":
        raise refusal.InvalidPath("The path of a note must end with a name and .md.")


def _purged(head: Revision) -> Revision:
    return replace(
        head,
        state="purged",
        path="",
        content_id=identity.ContentId(""),
        digest=identity.Digest(""),
        size=0,
        media_type="",
    )


_MOVING = (UpdateFile, AttachImage, RestoreFile)


def may_move(plan: Plan) -> bool:
    """Return whether a plan moves a file, as far as its operations tell."""
    for operation in plan.changeset.operations:
        # An earlier text of a live note can be restored at another path.
        if isinstance(operation, _MOVING) and operation.path is not None:
            return True
    return False


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome of one operation, and the head of its file after it."""

    outcome: Outcome
    head: Revision


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of one changeset.

    Attributes:
        fingerprint: the digest of the request (`octavo.model.files.changeset.fingerprint`).
        cursor: that of the changeset, or of the one before it if nothing changed.
        outcomes: the outcomes in the order of the operations.
    """

    mutation_id: identity.MutationId
    fingerprint: identity.Digest
    cursor: identity.Cursor
    outcomes: tuple[FileOutcome, ...]

    @property
    def position(self) -> identity.Position:
        """The position of the cursor."""
        return self.cursor.position

    def within(self, folder: Confinement) -> Receipt | None:
        """Return the receipt with the outcomes that are visible in a folder; None without any."""
        outcomes = tuple(outcome for outcome in self.outcomes if folder.covers(outcome.head.path))
        return replace(self, outcomes=outcomes) if outcomes else None


def receipt_of(plan: Plan) -> Receipt:
    """Return the receipt of an accepted plan."""
    return Receipt(
        plan.changeset.mutation_id,
        plan.changeset.fingerprint,
        plan.cursor,
        (*[FileOutcome(change.outcome, change.head) for change in plan.changes],),
    )


def portions(items: Sequence[T], size_of: Callable[[T], int], maximum: int) -> Iterator[list[T]]:
    """Split ``items`` into portions of total size ``maximum``, or of a single larger item.

    Portions are in order and not empty. They bound how long later items wait for one portion.
    """
    portion: list[T] = []
    total = 0
    for item in items:
        size = size_of(item)
        if portion and total + size > maximum:
            yield portion
            portion, total = [], 0
        portion.append(item)
        total += size
    if portion:
        yield portion


@define(eq=False)
class Batch:
    """Plans changesets over a tree, which shows their effects until they are rolled back.

    Args:
        tree: the tree; every plan changes it.
        cursor: that of the newest changeset in it.
        now: Unix time in milliseconds.
        new_revision_id: returns an id for a revision.
        documents: the documents of the notes that the changesets change; every plan changes them.
            `roll_back` does not restore them.
        room: the bytes by which the storage of the workspace may grow; None for any number.

    Attributes:
        plans: the plans, in order.
        purges: whether one of them purges a file.
        cursor: that after the plans.
    """

    _tree: Tree
    cursor: identity.Cursor
    _now: int
    _new_revision_id: Callable[[], str]
    _documents: Documents
    _room: int | None = None
    _before: list[tuple[identity.FileId, Revision | None]] = field(factory=list, init=False)
    _attached: set[ObjectId] = field(factory=set, init=False)
    plans: list[Plan] = field(factory=list, init=False)
    purges: bool = field(default=False, init=False)

    def add(self, changeset: Changeset) -> Plan:
        """Plan ``changeset`` after the others; raises a `Problem` and changes nothing then."""
        attached = self._newly_attached(changeset)
        planned = plan(
            self._tree,
            self.cursor,
            changeset,
            self._now,
            self._new_revision_id,
            self._documents,
            self._room,
        )
        if self._room is not None:
            self._room -= planned.needed
        for change in planned.changed:
            head = change.head
            self._before.append((head.file_id, self._tree.heads.get(head.file_id)))
            self._tree.put(head)
            if change.outcome == "purged":
                self.purges = True
        self._attached |= attached
        self.plans.append(planned)
        self.cursor = planned.cursor
        return planned

    def _newly_attached(self, changeset: Changeset) -> set[ObjectId]:
        """Return the uploads that a changeset attaches; raises `UploadMissing` for a second use."""
        attached: set[ObjectId] = set()
        for operation in changeset.operations:
            if isinstance(operation, AttachImage):
                object_id = operation.image.object_id
                if object_id in attached or object_id in self._attached:
                    raise UploadMissing(operation.file_id)
                attached.add(object_id)
        return attached

    def roll_back(self) -> None:
        """Restore the tree as it was before the first plan."""
        # In reverse order, so that the first holder of a path gets it back.
        while self._before:
            file_id, old = self._before.pop()
            if old is None:
                self._tree.forget(file_id)
            else:
                self._tree.put(old)
        self.plans.clear()
        self._attached.clear()
