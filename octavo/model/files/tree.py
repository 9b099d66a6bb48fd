"""The files of a workspace: heads by id, and the paths of the live ones."""

from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from hashlib import blake2b

from octavo_rules.identity import FileId
from octavo_rules.problems import Problem

from octavo.model.files.path import PathKey, folders_of, path_key
from octavo.model.files.revision import Revision
from octavo.model.refusal import InvalidGraph, PathConflict

# Files that are changed together are often in the same folders.
_FOLDERS_REMEMBERED = 1024


class Tree:
    """The heads of all files of a workspace, including purged ones.

    Attributes:
        heads: the head of each file by its id.
    """

    __slots__ = ("_below", "_by_path", "heads")

    def __init__(self, heads: Iterable[Revision] = ()) -> None:
        self.heads: dict[FileId, Revision] = {}
        self._by_path: dict[PathKey, FileId] = {}
        # The number of live files below each folder, by hash: folder paths have more text than
        # file paths in a deep tree.
        self._below: dict[bytes, int] = {}
        for head in heads:
            self.put(head)

    def put(self, head: Revision) -> None:
        """Set ``head`` as the head of its file; the change must have been checked."""
        if _stays(self.heads.get(head.file_id), head):
            self.heads[head.file_id] = head
            return
        self._leave(head.file_id)
        self.heads[head.file_id] = head
        if head.state == "live":
            key = path_key(head.path)
            self._by_path[key] = head.file_id
            for mark in _marks(_folder(key)):
                self._below[mark] = self._below.get(mark, 0) + 1

    def forget(self, file_id: FileId) -> None:
        """Remove a file, which undoes the `put` that added it."""
        self._leave(file_id)
        del self.heads[file_id]

    def _leave(self, file_id: FileId) -> None:
        old = self.heads.get(file_id)
        if old is None or old.state != "live":
            return
        key = path_key(old.path)
        # In a changeset that swaps paths, the path may already belong to the new file.
        if self._by_path.get(key) == file_id:
            del self._by_path[key]
        for mark in _marks(_folder(key)):
            self._below[mark] -= 1
            if not self._below[mark]:
                del self._below[mark]

    def check(self, changed: Mapping[FileId, Revision]) -> None:
        """Check the tree that would result from the heads ``changed``, without changing it.

        Raises `PathConflict` if two live files would have the same path, and `InvalidGraph` if a
        file would have the path of another's folder; both name a file of ``changed``.
        """
        left: set[PathKey] = set()
        taken: dict[PathKey, Revision] = {}
        # The changes of the numbers of files below folders.
        moved: dict[PathKey, int] = {}
        for head in changed.values():
            old = self.heads.get(head.file_id)
            if _stays(old, head):
                continue
            if old is not None and old.state == "live":
                key = path_key(old.path)
                left.add(key)
                folder = _folder(key)
                moved[folder] = moved.get(folder, 0) - 1
            if head.state == "live":
                key = path_key(head.path)
                if key in taken:
                    raise _of_file(
                        head,
                        PathConflict(
                            f"Two files of the changeset have the path {head.path}: choose"
                            " another path for one of them."
                        ),
                    )
                taken[key] = head
                folder = _folder(key)
                moved[folder] = moved.get(folder, 0) + 1
        for key, head in taken.items():
            if key in self._by_path and key not in left:
                there = self.heads[self._by_path[key]]
                taken_already = f"There is a file {there.path} already: choose another path."
                raise _of_file(head, PathConflict(taken_already))
        self._check_folders(taken, left, _with_folders_above(moved))

    def unplaceable(self, changed: Mapping[FileId, Revision]) -> frozenset[FileId]:
        """Return the files of the heads ``changed`` that can't have their paths.

        Without these, `check` accepts the others.
        """
        rest = dict(changed)
        while True:
            try:
                self.check(rest)
            except (PathConflict, InvalidGraph) as refusal:
                if refusal.file_id is None:
                    raise
                del rest[refusal.file_id]
            else:
                return frozenset(changed.keys() - rest.keys())

    def _check_folders(
        self,
        taken: Mapping[PathKey, Revision],
        left: Set[PathKey],
        moved: Mapping[bytes, int],
    ) -> None:
        free: set[PathKey] = set()
        for key, head in taken.items():
            mark = _mark(key)
            if self._below.get(mark, 0) + moved.get(mark, 0) > 0:
                raise _of_file(
                    head,
                    InvalidGraph(f"{head.path} is a folder of other files, and can't be a file."),
                )
            folder = _folder(key)
            if folder in free:
                continue
            for above in folders_of(key):
                if above in taken or (above in self._by_path and above not in left):
                    raise _of_file(
                        head,
                        InvalidGraph(f"A folder above {head.path} is a file: choose another."),
                    )
            free.add(folder)


def _of_file(head: Revision, refusal: Problem) -> Problem:
    refusal.file_id = head.file_id
    return refusal


def _folder(key: PathKey) -> PathKey:
    """Return the folder of a file; the empty key for none."""
    return PathKey(key.rpartition("/")[0])


def _mark(folder: PathKey) -> bytes:
    """Return a key of 16 bytes for a folder: a hash of 128 bits."""
    return blake2b(folder.encode(), digest_size=16).digest()


@lru_cache(maxsize=_FOLDERS_REMEMBERED)
def _marks(folder: PathKey) -> tuple[bytes, ...]:
    """Return the keys of a folder and of those above it; none for the empty key."""
    return (*map(_mark, folders_of(folder)), _mark(folder)) if folder else ()


def _with_folders_above(moved: Mapping[PathKey, int]) -> dict[bytes, int]:
    """Add up the numbers of folders, for the keys of each and of those above it."""
    result: dict[bytes, int] = {}
    for folder, number in moved.items():
        for mark in _marks(folder):
            result[mark] = result.get(mark, 0) + number
    return result


def _stays(old: Revision | None, new: Revision) -> bool:
    """Return whether a live file keeps its path, as in nearly every save."""
    return old is not None and old.state == new.state == "live" and old.path == new.path
