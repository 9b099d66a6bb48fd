"""The files of a workspace: heads by id, and the paths of the live ones."""

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from octavo.model.files.path import PathKey, folders_of, path_key
from octavo.model.files.revision import Revision
from octavo.model.identity import FileId
from octavo.model.refusal import InvalidGraph, PathConflict


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
        self._below: Counter[bytes] = Counter()
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
            self._below.update(map(_mark, folders_of(key)))

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
        for folder in map(_mark, folders_of(key)):
            self._below[folder] -= 1
            if not self._below[folder]:
                del self._below[folder]

    def check(self, changed: Mapping[FileId, Revision]) -> None:
        """Check the tree that would result from the heads ``changed``, without changing it.

        Raises `PathConflict` if two live files would have the same path, and `InvalidGraph` if a
        file would have the path of another's folder.
        """
        left: set[PathKey] = set()
        taken: dict[PathKey, Revision] = {}
        moved: Counter[bytes] = Counter()
        for head in changed.values():
            old = self.heads.get(head.file_id)
            if _stays(old, head):
                continue
            if old is not None and old.state == "live":
                key = path_key(old.path)
                left.add(key)
                moved.subtract(map(_mark, folders_of(key)))
            if head.state == "live":
                key = path_key(head.path)
                if key in taken:
                    raise PathConflict(
                        f"Two files of the changeset have the path {head.path}: choose"
                        " another path for one of them."
                    )
                taken[key] = head
                moved.update(map(_mark, folders_of(key)))
        for key in taken:
            if key in self._by_path and key not in left:
                there = self.heads[self._by_path[key]]
                raise PathConflict(
                    f"The file {there.file_id} has the path {there.path}: choose another path."
                )
        for key, head in taken.items():
            if self._below[_mark(key)] + moved[_mark(key)] > 0:
                raise InvalidGraph(f"{head.path} is a folder of other files, and can't be a file.")
            for folder in folders_of(key):
                if folder in taken or (folder in self._by_path and folder not in left):
                    raise InvalidGraph(f"A folder above {head.path} is a file: choose another.")


def _mark(folder: PathKey) -> bytes:
    """Return a key of 16 bytes for a folder: a hash of 128 bits."""
    return blake2b(folder.encode(), digest_size=16).digest()


def _stays(old: Revision | None, new: Revision) -> bool:
    """Return whether a live file keeps its path, as in nearly every save."""
    return old is not None and old.state == new.state == "live" and old.path == new.path
