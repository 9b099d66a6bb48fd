"""The order in which files return: changesets, each of which is valid after those before.

A file that gets a path needs the files to leave first that have it, that are one of its folders, or
that have it as a folder. Files that need each other in a circle return in one changeset, which
swaps their paths. Only of a circle that is too large for one some files are deleted first, for as
long as the others need to return.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from octavo.features.history.rules.restoration import RestorationPace
from octavo.features.history.rules.reversion import Reversion
from octavo.model.files.changeset import MAX_OPERATIONS
from octavo.model.files.path import PathKey, folders_of, path_key

MAX_BYTES = 8 * 1024 * 1024
"""Text of one changeset."""
STEP_OPERATIONS = 250
STEP_BYTES = 1024 * 1024
"""Operations and text of each changeset, when one is not enough: others write between them."""


class BatchSizes(NamedTuple):
    """The most operations of a changeset: of the only one, and of each of several.

    One of several has as many as the only one where files need each other in a circle.
    """

    only: int = MAX_OPERATIONS
    step: int = STEP_OPERATIONS


Group = Sequence[int]
"""Reversions that need each other, by their numbers."""
_Needs = Mapping[int, Sequence[int]]


def batches(
    reversions: Sequence[Reversion],
    sizes: BatchSizes = BatchSizes(),  # noqa: B008 - immutable
    pace: RestorationPace = RestorationPace(),  # noqa: B008 - immutable
) -> list[tuple[Reversion, ...]]:
    """Return the changesets that can be made from the present heads, each valid after those before.

    If all fit into one, it is the only one. Otherwise files return in the given order as far as
    they need no others to leave first, but files that go come before others. The changesets end
    early with those of a circle of which some files were deleted: these are to come back next.
    The ``pace`` says which files are tried last, and how many operations a changeset has at most,
    where files don't need each other in a circle.
    """
    if _fit(reversions, min(sizes.only, pace.most)):
        return [tuple(reversions)] if reversions else []
    needs = _needs(reversions)
    coming = [at for at, each in enumerate(reversions) if each.target is not None]
    going = [at for at, each in enumerate(reversions) if each.target is None]
    packed = _Packed(min(sizes.step, pace.most))
    ranks = pace.ranks()
    known = {at: ranks.get(each.head.file_id, -1) for at, each in enumerate(reversions)}
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
    """Changesets that are filled one after the other, with so many operations at most."""

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
    """Return which others have to leave their paths before each gets its own."""
    leaving: dict[PathKey, int] = {}
    below: dict[PathKey, list[int]] = {}
    for at, (head, target) in enumerate((each.head, each.target) for each in reversions):
        if head.state != "live":
            continue
        key = path_key(head.path)
        if target is None or key != path_key(target.path):
            leaving[key] = at
            for folder in folders_of(key):
                below.setdefault(folder, []).append(at)
    needs: dict[int, Sequence[int]] = {}
    for at, each in enumerate(reversions):
        if each.target is not None:
            key = path_key(each.target.path)
            found = [leaving[folder] for folder in (key, *folders_of(key)) if folder in leaving]
            found += below.get(key, ())
            needs[at] = [other for other in found if other != at]
    return needs


def _groups(numbers: Iterable[int], needs: _Needs) -> list[Group]:
    """Return the strongly connected components, each after those that it needs.

    This is the algorithm of Tarjan, without recursion: chains are as long as there are files. A
    need that is not one of the ``numbers`` is met.
    """
    open_numbers = dict.fromkeys(numbers)
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    pending: set[int] = set()
    found: list[Group] = []
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
                    found.append(group)
    return found


def _ranked(groups: Iterable[Group], needs: _Needs, ranks: Mapping[int, int]) -> list[Group]:
    """Return groups by the highest rank of their members, and of those that these need."""
    found: dict[int, int] = {}
    ordered: list[tuple[int, Group]] = []
    for group in groups:
        needed = (other for at in group for other in needs.get(at, ()))
        rank = max(*(ranks[at] for at in group), *(found.get(other, -1) for other in needed), -1)
        found.update(dict.fromkeys(group, rank))
        ordered.append((rank, group))
    return [group for _, group in sorted(ordered, key=lambda each: each[0])]


def _opened(
    group: Group, needs: _Needs, fits: Callable[[Group], bool]
) -> tuple[list[int], list[Group]]:
    """Return the members of a group to remove, and the smaller groups of the others, in order.

    Those that most others need are removed, one at first and more each time that this was not
    enough: few are, and a group of any form falls apart in few rounds.
    """
    removed: list[int] = []
    groups: list[Group] = [group]
    count = 1
    while large := [each for each in groups if len(each) > 1 and not fits(each)]:
        for each in large:
            needed = dict.fromkeys(each, 0)
            for at in each:
                for other in needs.get(at, ()):
                    if other in needed:
                        needed[other] += 1
            removed += sorted(each, key=lambda at: -needed[at])[:count]
        gone = set(removed)
        groups = _groups([at for at in group if at not in gone], needs)
        count *= 2
    return removed, groups
