"""Plan how a workspace, or a folder of it, returns to a past state.

A moment stands for the position of the last changeset up to it. The files that later changesets
changed have to return. `restoration` decides what happens to each, `batches` in which order.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from octavo_rules.identity import FileId, MutationId, Position

from octavo.features.history.rules.reversion import Reversion, has_same_state
from octavo.model.files.changeset import MAX_OPERATIONS
from octavo.model.files.confinement import Confinement
from octavo.model.files.path import PathKey, folders_of, path_key
from octavo.model.files.revision import Revision


@dataclass(frozen=True, slots=True)
class RestorationPace:
    """The limits of the next changeset of a restoration.

    Attributes:
        most: the most operations, 1 to `MAX_OPERATIONS`; files that need each other in a circle are
            one changeset nevertheless.
        last: files that are tried last, in this order, each before those that need it.
    """

    most: int = MAX_OPERATIONS
    last: tuple[FileId, ...] = ()

    def after_refusal(self, refused: Collection[FileId]) -> "RestorationPace":
        """Return the pace after a changeset of these files was refused.

        If it could not have been smaller, its files are tried last.
        """
        last = self.last
        if self.most == 1 or len(refused) == 1:
            last = (*(file_id for file_id in last if file_id not in refused), *refused)
        return RestorationPace(max(1, min(self.most, len(refused)) // 2), last)

    def after_commit(self) -> "RestorationPace":
        """Return the pace after a changeset was accepted."""
        return RestorationPace(min(2 * self.most, MAX_OPERATIONS), self.last)

    def ranks(self) -> Mapping[FileId, int]:
        """Return numbers for the files that are tried last: the higher, the later."""
        return {file_id: rank for rank, file_id in enumerate(self.last)}


LeftReason = Literal["changed_since", "path_taken", "purged", "unacceptable", "still_deleted"]
"""Why a file is left as it is: others have changed it since the restoration began, another file has
its path, it was purged, or its earlier text exceeds a present limit. A file is still deleted if the
restoration has deleted it to make room: it comes back later, or can't, even at its former path.
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
        irretrievable: those of them that it has deleted for now, and whose former states were
            refused, too.
    """

    position: Position
    own: Set[MutationId] = frozenset()
    unacceptable: Set[FileId] = frozenset()
    irretrievable: Set[FileId] = frozenset()

    def made(self, head: Revision) -> bool:
        """Return whether a changeset of the restoration made a revision."""
        return head.mutation_id in self.own

    def moved_away(self, head: Revision, target: Revision | None) -> bool:
        """Return whether the restoration has deleted a file with a target for now."""
        return target is not None and head.state == "deleted" and self.made(head)


@dataclass(frozen=True, slots=True)
class Restoration:
    """What is left to do.

    Attributes:
        reversions: the files that return, by their present paths; those that were deleted for now
            come first.
        left: the files that are left as they are, by their present paths.
        returned: the number of files that the restoration has returned already.
        reinstated: files of ``left`` that were deleted for now, and get back the paths and the
            texts that they had before.
    """

    reversions: tuple[Reversion, ...]
    left: tuple[LeftFile, ...]
    returned: int
    reinstated: tuple[Reversion, ...] = ()

    @property
    def pending(self) -> tuple[Reversion, ...]:
        """All that is left to do."""
        return self.reinstated + self.reversions


def restoration(
    changed: Iterable[DivergedFile],
    others: Iterable[str],
    folder: str = "",
    begun: Begun | None = None,
) -> Restoration:
    """Return how the files of a folder return to their state at a position.

    ``changed`` are all files of the workspace that changed after the position, ``others`` the paths
    of the other live files; an empty ``folder`` stands for all files. A file belongs to the folder
    if it is in it now, or was in it at the position. Files that others change after a
    restoration has ``begun`` are left.
    """
    within = Confinement(folder) if folder else None
    reversions: dict[FileId, Reversion] = {}
    away: dict[FileId, Revision] = {}
    left: dict[FileId, LeftFile] = {}
    standing = [*map(path_key, others)]
    returned = 0
    for head, past in changed:
        target = past if past is not None and past.state == "live" else None
        is_away = begun is not None and begun.moved_away(head, target)
        if has_same_state(head, target):
            if begun is not None and begun.made(head):
                returned += 1
        elif within is None or is_away or _belongs(within, head, target):
            if is_away:
                away[head.file_id] = head
            reason = _reason_to_leave(head, begun)
            if reason is None:
                reversions[head.file_id] = Reversion(head, target)
                continue
            left[head.file_id] = LeftFile(head, reason)
        if head.state == "live":
            standing.append(path_key(head.path))
    irretrievable = begun.irretrievable if begun is not None else ()
    former = {
        file_id: path_key(head.path)
        for file_id, head in away.items()
        if file_id not in irretrievable
    }
    former = _free(former, standing)
    refused = [former[file_id] for file_id in left if file_id in former]
    for file_id in _blocked(reversions, [*standing, *refused], former):
        left[file_id] = LeftFile(reversions.pop(file_id).head, "path_taken")
    reinstated = []
    for file_id in left.keys() & away.keys():
        head = away[file_id]
        if file_id in former:
            reinstated.append(Reversion(head, replace(head, state="live")))
        else:
            left[file_id] = LeftFile(head, "still_deleted")
    return Restoration(
        tuple(
            sorted(
                reversions.values(),
                key=lambda reversion: (
                    reversion.head.file_id not in away,
                    _place_in_list(reversion.head),
                ),
            )
        ),
        tuple(sorted(left.values(), key=lambda file: _place_in_list(file.head))),
        returned,
        tuple(sorted(reinstated, key=lambda reversion: _place_in_list(reversion.head))),
    )


class RestorationSpan(NamedTuple):
    """What a restoration did to a workspace.

    Attributes:
        folder: '' for everything.
        target: the position whose state returned.
        before: the position of the workspace when it began.
        after: that of its last changeset; ``before`` if it changed nothing.
    """

    folder: str
    target: Position
    before: Position
    after: Position


def undoes(later: RestorationSpan, earlier: RestorationSpan) -> bool:
    """Return whether one restoration undid another one before it."""
    return (later.folder, later.target) == (
        earlier.folder,
        earlier.before,
    ) and later.before >= earlier.after > earlier.before


def moved_away(changed: Iterable[DivergedFile], begun: Begun) -> tuple[LeftFile, ...]:
    """Return the files that a restoration has deleted for now, and that have not come back."""
    away = [
        LeftFile(head, "still_deleted")
        for head, past in changed
        if begun.moved_away(head, past if past is not None and past.state == "live" else None)
    ]
    return tuple(sorted(away, key=lambda file: _place_in_list(file.head)))


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


def _free(wanted: Mapping[FileId, PathKey], standing: Sequence[PathKey]) -> dict[FileId, PathKey]:
    """Return the wanted paths that are free beside the standing ones."""
    if not wanted:
        return {}
    files = {*standing}
    folders = {folder for key in files for folder in folders_of(key)}
    return {
        file_id: key
        for file_id, key in wanted.items()
        if key not in folders and files.isdisjoint((key, *folders_of(key)))
    }


def _blocked(
    reversions: Mapping[FileId, Reversion],
    standing: Sequence[PathKey],
    former: Mapping[FileId, PathKey],
) -> list[FileId]:
    """Return the files whose targets have no free path, given the paths of all files that stay.

    Such a file stays, too: it keeps its present path, or gets its ``former`` one back, which may
    block others.
    """
    at: dict[PathKey, FileId] = {}
    below: dict[PathKey, list[FileId]] = {}
    for file_id, reversion in reversions.items():
        if reversion.target is not None:
            key = path_key(reversion.target.path)
            at[key] = file_id
            for folder in folders_of(key):
                below.setdefault(folder, []).append(file_id)
    blocked: dict[FileId, None] = {}
    open_keys = [*standing]
    while open_keys:
        key = open_keys.pop()
        occupants = [at[place] for place in (key, *folders_of(key)) if place in at]
        for file_id in (*occupants, *below.get(key, ())):
            if file_id not in blocked:
                blocked[file_id] = None
                head = reversions[file_id].head
                if head.state == "live":
                    open_keys.append(path_key(head.path))
                elif file_id in former:
                    open_keys.append(former[file_id])
    return [*blocked]


MAX_BYTES = 8 * 1024 * 1024
"""Bytes of text in one changeset."""
STEP_OPERATIONS = 250
STEP_BYTES = 1024 * 1024
"""Operations, and bytes of text, of each of several changesets: others write between them."""


class BatchSizes(NamedTuple):
    """The maximum number of operations of a changeset: of a single one, and of each of several.

    One of several may have as many as a single one if files need each other in a circle.
    """

    only: int = MAX_OPERATIONS
    step: int = STEP_OPERATIONS


Group = Sequence[int]
"""Reversions that need each other, by their numbers."""
_Needs = Mapping[int, Sequence[int]]


def batches(
    reversions: Sequence[Reversion],
    sizes: BatchSizes = BatchSizes(),  # noqa: B008 - immutable
    pace: RestorationPace = RestorationPace(),
) -> list[tuple[Reversion, ...]]:
    """Return the changesets that can be made from the present heads, each valid after those before.

    If all fit into one, it is the only one. Otherwise files that are deleted come first, and the
    others in the given order, each after the files that have to leave its path. The changesets end
    after a circle that is broken by deleting some of its files: the next plan brings these back.
    The ``pace`` says which files are tried last, and how many operations a changeset has at most,
    where files don't need each other in a circle.
    """
    if _fit(reversions, min(sizes.only, pace.most)):
        return [tuple(reversions)] if reversions else []
    needs = _needs(reversions)
    coming = [at for at, reversion in enumerate(reversions) if reversion.target is not None]
    going = [at for at, reversion in enumerate(reversions) if reversion.target is None]
    packed = _Packed(min(sizes.step, pace.most))
    ranks = pace.ranks()
    known = {at: ranks.get(reversion.head.file_id, -1) for at, reversion in enumerate(reversions)}
    for group in _ranked(_groups([*going, *coming], needs), needs, known):
        members = [reversions[at] for at in group]
        if len(group) == 1 or _fit(members, sizes.only):
            packed.add(members)
            continue
        removed, rest = _opened(
            group, needs, lambda some: _fit([reversions[at] for at in some], sizes.only)
        )
        for at in removed:
            packed.add([Reversion(reversions[at].head, None)])
        for some in rest:
            packed.add([reversions[at] for at in some])
        break
    return packed.batches()


class _Packed:
    """Changesets of at most ``most`` operations that are filled one after the other."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._full: list[tuple[Reversion, ...]] = []
        self._open: list[Reversion] = []
        self._bytes = 0

    def add(self, members: Sequence[Reversion]) -> None:
        """Add reversions that have to be in one changeset."""
        size = sum(map(_bytes, members))
        number = len(self._open) + len(members)
        if number > self._most or self._bytes + size > STEP_BYTES:
            self._close()
        self._open += members
        self._bytes += size

    def batches(self) -> list[tuple[Reversion, ...]]:
        """Return the changesets."""
        self._close()
        return self._full

    def _close(self) -> None:
        if self._open:
            self._full.append(tuple(self._open))
            self._open = []
            self._bytes = 0


def _fit(reversions: Sequence[Reversion], most: int) -> bool:
    return len(reversions) <= most and sum(map(_bytes, reversions)) <= MAX_BYTES


def _bytes(reversion: Reversion) -> int:
    target = reversion.target
    return target.size if target is not None and reversion.needs_text else 0


def _needs(reversions: Sequence[Reversion]) -> _Needs:
    """Return for each reversion the others that have to leave their paths before it."""
    leaving: dict[PathKey, int] = {}
    below: dict[PathKey, list[int]] = {}
    for at, (head, target) in enumerate(
        (reversion.head, reversion.target) for reversion in reversions
    ):
        if head.state != "live":
            continue
        key = path_key(head.path)
        if target is None or key != path_key(target.path):
            leaving[key] = at
            for folder in folders_of(key):
                below.setdefault(folder, []).append(at)
    needs: dict[int, Sequence[int]] = {}
    for at, reversion in enumerate(reversions):
        if reversion.target is not None:
            key = path_key(reversion.target.path)
            occupants = [leaving[folder] for folder in (key, *folders_of(key)) if folder in leaving]
            occupants += below.get(key, ())
            needs[at] = [other for other in occupants if other != at]
    return needs


def _groups(numbers: Iterable[int], needs: _Needs) -> list[Group]:
    """Return the strongly connected components, each after those that it needs.

    This is the algorithm of Tarjan, without recursion: a chain can have all files. Needs
    that are not among the ``numbers`` are met.
    """
    open_numbers = dict.fromkeys(numbers)
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    pending: set[int] = set()
    groups: list[Group] = []
    for root in open_numbers:
        if root in index:
            continue
        path = [(root, iter(needs.get(root, ())))]
        while path:
            at, following = path[-1]
            if at not in index:
                index[at] = lowest[at] = len(index)
                stack.append(at)
                pending.add(at)
            for other in following:
                if other not in open_numbers:
                    continue
                if other not in index:
                    path.append((other, iter(needs.get(other, ()))))
                    break
                if other in pending:
                    lowest[at] = min(lowest[at], index[other])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[at])
                if lowest[at] == index[at]:
                    group = [stack.pop()]
                    while group[-1] != at:
                        group.append(stack.pop())
                    pending.difference_update(group)
                    groups.append(group)
    return groups


def _ranked(groups: Iterable[Group], needs: _Needs, ranks: Mapping[int, int]) -> list[Group]:
    """Sort groups by the highest rank of their members and of what these need."""
    rank_of: dict[int, int] = {}
    ordered: list[tuple[int, Group]] = []
    for group in groups:
        needed = (other for at in group for other in needs.get(at, ()))
        rank = max(*(ranks[at] for at in group), *(rank_of.get(other, -1) for other in needed), -1)
        rank_of.update(dict.fromkeys(group, rank))
        ordered.append((rank, group))
    return [group for _, group in sorted(ordered, key=lambda item: item[0])]


def _opened(
    group: Group, needs: _Needs, fits: Callable[[Group], bool]
) -> tuple[list[int], list[Group]]:
    """Return the members of a group to remove, and the smaller groups of the others, in order.

    The members that most others need are removed: one at first, and twice as many each time that
    this was not enough. So few are removed, and any group falls apart in few rounds.
    """
    removed: list[int] = []
    groups: list[Group] = [group]
    count = 1
    while large := [part for part in groups if len(part) > 1 and not fits(part)]:
        for part in large:
            needed = dict.fromkeys(part, 0)
            for at in part:
                for other in needs.get(at, ()):
                    if other in needed:
                        needed[other] += 1
            removed += sorted(part, key=lambda at: -needed[at])[:count]
        gone = set(removed)
        groups = _groups([at for at in group if at not in gone], needs)
        count *= 2
    return removed, groups
