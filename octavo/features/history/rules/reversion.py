"""Reversion: return a file to an earlier state, by a new revision."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from octavo_rules.content import NoteText
from octavo_rules.identity import Digest

from octavo.model import refusal
from octavo.model.files.changeset import ChangeOperation, DeleteFile, RestoreFile, UpdateFile
from octavo.model.files.revision import Revision

KeptReason = Literal["changed_since", "path_taken", "purged"]
"""Why a file is left as it is: others have changed it, another file has its path now, or it was
purged.
"""
OUTDATED_BY = (
    refusal.FileLive,
    refusal.FileMissing,
    refusal.FilePurged,
    refusal.HeadMoved,
    refusal.PathConflict,
    refusal.InvalidGraph,
)
"""Refusals of reversions that mean that others changed the files, or took their paths, since their
heads were read.
"""
Action = Literal["deleted", "restored", "reverted"]
"""A file that returns is deleted, comes back, or gets its earlier text or path."""


class _Place(NamedTuple):
    """What a person sees of a live file."""

    path: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class Reversion:
    """A file that returns to an earlier state.

    Attributes:
        head: its present head.
        target: the revision that it returns to; None when it did not exist then, or was deleted.
    """

    head: Revision
    target: Revision | None

    @property
    def result(self) -> Revision:
        """The head that the file would have, but for what identifies the new revision."""
        if self.target is None:
            return replace(self.head, state="deleted")
        return replace(self.target, revision_id=self.head.revision_id)

    @property
    def action(self) -> Action:
        """What happens to the file, as a person sees it."""
        if self.target is None:
            return "deleted"
        return "restored" if self.head.state == "deleted" else "reverted"

    @property
    def needs_text(self) -> bool:
        """Whether the text of the target has to be read: it differs from that of the head."""
        return (
            self.target is not None
            and self.target.kind == "note"
            and self.target.digest != self.head.digest
        )


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that is left as it is."""

    head: Revision
    reason: KeptReason


class FileEnds(NamedTuple):
    """A file that a program has changed.

    Attributes:
        before: the revision before its first change; None if the program created the file.
        head: its present head.
    """

    before: Revision | None
    head: Revision


def is_undone(files: Collection[FileEnds], is_own: Callable[[Revision], bool]) -> bool:
    """Return whether others have undone all that a program changed.

    That is so if revisions of others made each file as it was before: `undo` would return none of
    them. Files that the program itself took back don't count as undone, nor do purged ones.
    """
    return bool(files) and all(
        not is_own(head) and head.state != "purged" and has_same_state(before, head)
        for before, head in files
    )


def undo(
    history: Sequence[Revision], is_undone: Callable[[Revision], bool]
) -> Reversion | KeptFile | None:
    """Return how the changes of one program to a file are undone; None if nothing is left of them.

    ``history`` are the revisions of the file, oldest first: the one before the first change that is
    to be undone, if there was any, and all from that change on. A file that others have changed
    since is left as it is. A revision of others that only went back to a state before or
    between the undone changes, like an earlier undo, does not count as a change; one that brings
    back what was undone does.
    """
    first, head = history[0], history[-1]
    base = None if is_undone(first) or first.state != "live" else first
    if head.state == "purged":
        return KeptFile(head, "purged")
    # The states to which one can go back from each revision.
    past = [_place(base)]
    for revision in history:
        place = _place(revision)
        if is_undone(revision):
            past.append(place)
        elif revision is not first:
            if place not in past:
                return KeptFile(head, "changed_since")
            while past[-1] != place:
                past.pop()
    return None if _place(head) == _place(base) else Reversion(head, base)


def operation_of(reversion: Reversion, text: NoteText | None) -> ChangeOperation:
    """Return the operation that reverts a file, guarded by its present head.

    ``text`` is that of the target, where `Reversion.needs_text`. Raises ValueError without it.
    """
    head, target = reversion.head, reversion.target
    expected = frozenset({str(head.revision_id)})
    if target is None:
        return DeleteFile(head.file_id, expected)
    if reversion.needs_text and text is None:
        raise ValueError(f"the text of the revision {target.revision_id} is needed")
    if target.kind == "attachment" and target.digest != head.digest:
        return RestoreFile(
            head.file_id, expected, target.path, revision_id=target.revision_id, image=target
        )
    if head.state == "live" and text is None:
        return UpdateFile(head.file_id, expected, path=target.path)
    revision_id = None if text is None else target.revision_id
    return RestoreFile(head.file_id, expected, target.path, text, revision_id)


def has_same_state(one: Revision | None, other: Revision | None) -> bool:
    """Return whether a person sees no difference: both are not live, or have one path and text."""
    return _place(one) == _place(other)


def _place(revision: Revision | None) -> _Place | None:
    """Return what is visible of a file; None when it is not live."""
    if revision is None or revision.state != "live":
        return None
    return _Place(revision.path, revision.digest)
