"""The files of a workspace as they stand: heads by id, and the tree that the live ones make."""

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from octavo.model.files.path import PathKey, folders_of, path_key
from octavo.model.files.revision import Revision
from octavo.model.identity import FileId
from octavo.model.refusal import InvalidGraph, PathConflict


class Tree:
    """The heads of all files of a workspace, purged ones among them.

    Attributes:
        heads: head of each file by its id.
    """

    __slots__ = ("_below", "_places", "heads")

    def __init__(self, heads: Iterable[Revision] = ()) -> None:
        self.heads: dict[FileId, Revision] = {}
        self._places: dict[PathKey, FileId] = {}
        # How many live files stand below each folder; by marks, as a deep tree has more text in
        # its folders than in its files.
        self._below: Counter[bytes] = Counter()
        for head in heads:
            self.put(head)

    def put(self, head: Revision) -> None:
        """Take ``head`` as that of its file; the tree was checked before."""
        if _stays(self.heads.get(head.file_id), head):
            self.heads[head.file_id] = head
            return
        self._leave(head.file_id)
        self.heads[head.file_id] = head
        if head.state == "live":
            key = path_key(head.path)
            self._places[key] = head.file_id
            self._below.update(map(_mark, folders_of(key)))

    def forget(self, file_id: FileId) -> None:
        """Undo the `put` that brought the file."""
        self._leave(file_id)
        del self.heads[file_id]

    def _leave(self, file_id: FileId) -> None:
        old = self.heads.get(file_id)
        if old is None or old.state != "live":
            return
        key = path_key(old.path)
        # In a changeset that swaps paths the place may have its new file already.
        if self._places.get(key) == file_id:
            del self._places[key]
        for folder in map(_mark, folders_of(key)):
            self._below[folder] -= 1
            if not self._below[folder]:
                del self._below[folder]

    def check(self, changed: Mapping[FileId, Revision]) -> None:
        """Check the tree that the heads ``changed`` would make; nothing is changed.

        Raises `PathConflict` when two live files would have one place, and `InvalidGraph` when
        one would stand where the folder of another is.
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
                        f"Two files of the changeset would stand at {head.path}: choose another"
                        " path for one of them."
                    )
                taken[key] = head
                moved.update(map(_mark, folders_of(key)))
        for key, head in taken.items():
            if key in self._places and key not in left:
                there = self.heads[self._places[key]]
                raise PathConflict(
                    f"The file {there.file_id} stands at {there.path}: choose another path than"
                    f" {head.path}."
                )
        for key, head in taken.items():
            if self._below[_mark(key)] + moved[_mark(key)] > 0:
                raise InvalidGraph(f"{head.path} is a folder of other files, and can't be a file.")
            for folder in folders_of(key):
                if folder in taken or (folder in self._places and folder not in left):
                    raise InvalidGraph(f"A folder above {head.path} is a file: choose another.")


def _mark(folder: PathKey) -> bytes:
    """Return 16 bytes that no other folder has: a hash with 128 bits."""
    return blake2b(folder.encode(), digest_size=16).digest()


def _stays(old: Revision | None, new: Revision) -> bool:
    """Whether a live file stays where it is, as it does in nearly every save."""
    return old is not None and old.state == new.state == "live" and old.path == new.path
