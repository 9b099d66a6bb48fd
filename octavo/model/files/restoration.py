"""Restoration: return a workspace, or a folder of it, to the state that it had at a position.

A moment stands for the position of the last changeset up to it. What the changeset after that and
all later ones changed is what has to be returned. `restoration` decides for each file;
`batches` orders the files so that each changeset is valid by itself.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from octavo.model.files.changeset import MAX_OPERATIONS
from octavo.model.files.confinement import Confinement
from octavo.model.files.path import PathKey, folders_of, path_key
from octavo.model.files.reversion import Reversion, has_same_state
from octavo.model.files.revision import Revision
from octavo.model.identity import FileId, MutationId, Position

MAX_BYTES = 8 * 1024 * 1024
"""Text of one changeset."""
STEP_OPERATIONS = 250
STEP_BYTES = 1024 * 1024
"""Operations and text of each changeset, when one is not enough: others write between them."""


class BatchSizes(NamedTuple):
    """The operations of a changeset: of the only one, and of each of several."""

    only: int = MAX_OPERATIONS
    step: int = STEP_OPERATIONS


LeftReason = Literal["changed_since", "path_taken", "purged", "unacceptable"]
"""Why a file is left as it is: others have changed it since the restoration began, another file has
its path, it was purged, or its earlier text exceeds a present limit.
"""


class DivergedFile(NamedTuple):
    """A file that changed after a position.

    Attributes:
        head: its present head.
        past: its revision at the position; None when it did not exist.
    """

    head: Revision
    past: Revision | None


@dataclass(frozen=True, slots=True)
class LeftFile:
    """A file that is not returned."""

    head: Revision
    reason: LeftReason


@dataclass(frozen=True, slots=True)
class Begun:
    """A restoration that has begun.

    Attributes:
        position: the position of the workspace when it began.
        own: the mutation ids of its changesets.
        unacceptable: files whose earlier states were refused.
    """

    position: Position
    own: Set[MutationId] = frozenset()
    unacceptable: Set[FileId] = frozenset()

    def made(self, head: Revision) -> bool:
        """Return whether a changeset of the restoration made a revision."""
        return head.mutation_id in self.own


@dataclass(frozen=True, slots=True)
class Restoration:
    """What is left to do.

    Attributes:
        reversions: the files that return, by their present paths.
        left: the files that are left as they are, by their present paths.
        returned: the number of files that the restoration has returned already.
    """

    reversions: tuple[Reversion, ...]
    left: tuple[LeftFile, ...]
    returned: int


def restoration(
    changed: Iterable[DivergedFile],
    others: Iterable[str],
    folder: str = "",
    begun: Begun | None = None,
) -> Restoration:
    """Return how the files of a folder return to their state at a position.

    ``changed`` are all files of the workspace that changed after the position, ``others`` the paths
    of the other live files; an empty ``folder`` stands for all files. A file belongs to the folder
    if it is in it now, or was in it at the position. What others change after a restoration has
    ``begun`` is left.
    """
    within = Confinement(folder) if folder else None
    reversions: dict[FileId, Reversion] = {}
    left: list[LeftFile] = []
    standing = [*map(path_key, others)]
    returned = 0
    for head, past in changed:
        target = past if past is not None and past.state == "live" else None
        if has_same_state(head, target):
            if begun is not None and begun.made(head):
                returned += 1
        elif within is None or _belongs(within, head, target):
            reason = _reason_to_leave(head, begun)
            if reason is None:
                reversions[head.file_id] = Reversion(head, target)
                continue
            left.append(LeftFile(head, reason))
        if head.state == "live":
            standing.append(path_key(head.path))
    blocked = [reversions.pop(each) for each in _blocked(reversions, standing)]
    left += [LeftFile(each.head, "path_taken") for each in blocked]
    return Restoration(
        tuple(sorted(reversions.values(), key=lambda each: _place_in_list(each.head))),
        tuple(sorted(left, key=lambda each: _place_in_list(each.head))),
        returned,
    )


def _belongs(within: Confinement, head: Revision, target: Revision | None) -> bool:
    if head.state == "live" and within.covers(head.path):
        return True
    return target is not None and within.covers(target.path)


def _reason_to_leave(head: Revision, begun: Begun | None) -> LeftReason | None:
    if head.state == "purged":
        return "purged"
    if begun is not None:
        if head.position > begun.position and not begun.made(head):
            return "changed_since"
        if head.file_id in begun.unacceptable:
            return "unacceptable"
    return None


def _place_in_list(head: Revision) -> tuple[str, FileId]:
    return (head.path, head.file_id)


def _blocked(reversions: Mapping[FileId, Reversion], standing: Sequence[PathKey]) -> list[FileId]:
    """Return the files whose paths are not free, given the paths of all files that stay.

    A file that stays for that keeps its present path, which may block another one.
    """
    at: dict[PathKey, FileId] = {}
    below: dict[PathKey, list[FileId]] = {}
    for file_id, each in reversions.items():
        if each.target is not None:
            key = path_key(each.target.path)
            at[key] = file_id
            for folder in folders_of(key):
                below.setdefault(folder, []).append(file_id)
    blocked: dict[FileId, None] = {}
    open_keys = [*standing]
    while open_keys:
        key = open_keys.pop()
        found = [at[each] for each in (key, *folders_of(key)) if each in at]
        for file_id in (*found, *below.get(key, ())):
            if file_id not in blocked:
                blocked[file_id] = None
                head = reversions[file_id].head
                if head.state == "live":
                    open_keys.append(path_key(head.path))
    return [*blocked]


def batches(
    reversions: Sequence[Reversion],
    sizes: BatchSizes = BatchSizes(),  # noqa: B008 - immutable
) -> list[tuple[Reversion, ...]]:
    """Return the changesets that can be made from the present heads, each valid after those before.

    If all fit into one, it is the only one, and may swap paths. Otherwise the first ones delete:
    files that go, and files whose paths others need, which come back by the batches that follow
    once these are done. When nothing is in the way, the others return in any order.
    """
    if _fit(reversions, sizes.only):
        return [tuple(reversions)] if reversions else []
    away = _in_the_way(reversions)
    deletions = [
        Reversion(each.head, None)
        for each in reversions
        if each.target is None or each.head.file_id in away
    ]
    return _cut(deletions or reversions, sizes.step)


def _fit(reversions: Sequence[Reversion], most: int) -> bool:
    return len(reversions) <= most and sum(map(_bytes, reversions)) <= MAX_BYTES


def _in_the_way(reversions: Sequence[Reversion]) -> set[FileId]:
    """Return the files that leave paths which others get, or folders of which they are."""
    leaving: dict[PathKey, FileId] = {}
    below: dict[PathKey, list[FileId]] = {}
    for head, target in ((each.head, each.target) for each in reversions):
        if head.state != "live" or target is None:
            continue
        key = path_key(head.path)
        if key != path_key(target.path):
            leaving[key] = head.file_id
            for folder in folders_of(key):
                below.setdefault(folder, []).append(head.file_id)
    found: set[FileId] = set()
    for head, target in ((each.head, each.target) for each in reversions):
        if target is not None:
            key = path_key(target.path)
            needed = [leaving[each] for each in (key, *folders_of(key)) if each in leaving]
            found.update(each for each in (*needed, *below.get(key, ())) if each != head.file_id)
    return found


def _cut(reversions: Sequence[Reversion], most: int) -> list[tuple[Reversion, ...]]:
    result: list[tuple[Reversion, ...]] = []
    batch: list[Reversion] = []
    size = 0
    for each in reversions:
        if batch and (len(batch) == most or size + _bytes(each) > STEP_BYTES):
            result.append(tuple(batch))
            batch, size = [], 0
        batch.append(each)
        size += _bytes(each)
    if batch:
        result.append(tuple(batch))
    return result


def _bytes(reversion: Reversion) -> int:
    target = reversion.target
    return target.size if target is not None and reversion.needs_text else 0
