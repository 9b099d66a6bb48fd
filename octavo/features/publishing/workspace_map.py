"""The live files of a workspace, as the links of its published notes find them.

Links between notes are resolved among the notes that a published link opens, as if there were no
others. So what a reader sees does not depend on any other note. Images are found in the whole
workspace, by what a published note names.
"""

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple
from urllib.parse import quote

import trio
from octavo_rules.identity import START, Cursor, FileId

from octavo.features.publishing.rules import LinkTarget, is_below
from octavo.features.publishing.sql.site_changes import ChangedFile, changed_since
from octavo.model.links.extraction import LinkKind
from octavo.model.links.resolution import keys_of_link, keys_of_path, place_rank
from octavo.store import Store

REMEMBERED = 50_000
"""Maximum number of link keys whose files are remembered until the shape changes."""


class Subfolder(NamedTuple):
    """A folder in a folder.

    Attributes:
        name: without the folders above it.
        notes: the number of notes below it.
        address: its path as the query of an address has it, percent-encoded.
    """

    name: str
    notes: int
    address: str


class FolderContents(NamedTuple):
    """What is directly in a folder, in the order of a reader."""

    folders: Sequence[Subfolder]
    notes: Sequence[ChangedFile]


_Place = tuple[tuple[int, str, str], ...]
_FIRST_FOLDER = (1, "", "")
_LAST = (2, "", "")
"""Sorts after every file and folder of a folder."""


class WorkspaceMap:
    """The live files of one workspace at a cursor.

    Args:
        shapes: yields the numbers for `shape`, each once; the maps of a workspace share it.

    Attributes:
        cursor: the cursor that the files are exact at.
        shape: a number that changes with every path and every image: a link may lead elsewhere.
    """

    def __init__(self, shapes: Iterator[int] | None = None) -> None:
        self._shapes = count() if shapes is None else shapes
        self.cursor = START
        self.shape = next(self._shapes)
        self._files: dict[FileId, ChangedFile] = {}
        # Most keys have one file. A list for each would keep the garbage collector busy.
        self._by_key: dict[str, FileId | list[FileId]] = {}
        # What `_least` has found: many notes may have the same name.
        self._found: dict[tuple[str, LinkTarget | None], FileId | None] = {}
        # The notes in the order of a reader, in which those below a folder follow each other.
        self._order: list[tuple[_Place, FileId]] = []
        # What `folder` has found, until a note in the folder changes.
        self._contents: dict[str, FolderContents] = {}

    def __len__(self) -> int:
        return len(self._files)

    def put(self, change: ChangedFile) -> None:
        """Apply one change."""
        file_id, new = change.file_id, change if change.live else None
        old = self._files.get(file_id)
        if old is not None and (new is None or new.path != old.path):
            self._remove(old)
        if new is None:
            self._files.pop(file_id, None)
        else:
            self._files[file_id] = new
            if old is None or old.path != new.path:
                self._add(new)
            else:
                self._contents.pop(new.path.rpartition("/")[0], None)
        if (old is None) is not (new is None) or (
            old is not None
            and new is not None
            and (old.path != new.path or (new.kind == "attachment" and new != old))
        ):
            self.shape = next(self._shapes)
            self._found.clear()

    def _add(self, file: ChangedFile) -> None:
        for key in keys_of_path(file.path):
            named = self._by_key.setdefault(key, file.file_id)
            if isinstance(named, list):
                named.append(file.file_id)
            elif named != file.file_id:
                self._by_key[key] = [named, file.file_id]
        if file.kind == "note":
            insort(self._order, (_place_of(file.path), file.file_id))
            self._forget_folders(file.path)

    def _remove(self, file: ChangedFile) -> None:
        for key in keys_of_path(file.path):
            named = self._by_key[key]
            if isinstance(named, list) and len(named) > 1:
                named.remove(file.file_id)
            else:
                del self._by_key[key]
        if file.kind == "note":
            del self._order[bisect_left(self._order, (_place_of(file.path), file.file_id))]
            self._forget_folders(file.path)

    def _forget_folders(self, path: str) -> None:
        """Forget the folders above a note that is new or gone: they count the notes below them."""
        while path:
            path = path.rpartition("/")[0]
            self._contents.pop(path, None)

    def note(self, target: LinkTarget, file_id: FileId) -> ChangedFile | None:
        """Return a live note that a target opens; None for any other file."""
        file = self._files.get(file_id)
        return file if file is not None and opens(target, file) else None

    def image(self, file_id: FileId) -> ChangedFile | None:
        """Return a live image; None for any other file."""
        file = self._files.get(file_id)
        return file if file is not None and file.kind == "attachment" else None

    def notes_below(self, folder: str) -> Sequence[ChangedFile]:
        """Return the live notes below a folder in the order of a reader.

        The notes of a folder come before those of the folders in it.
        """
        start, end = self._range(folder)
        return [self._files[file_id] for _, file_id in self._order[start:end]]

    def folder(self, path: str) -> FolderContents:
        """Return what is directly in a folder, in the order of a reader; '' is the workspace.

        The first call, and the first after a change, takes time for each entry of the folder, but
        not for what is below the folders in it.
        """
        known = self._contents.get(path)
        if known is None:
            known = self._read_folder(path)
            if known.folders or known.notes:
                self._contents[path] = known
        return known

    def _read_folder(self, path: str) -> FolderContents:
        above = _folders(path.split("/")) if path else ()
        at, end = self._range(path)
        first = bisect_left(self._order, ((*above, _FIRST_FOLDER), ""))
        notes = [self._files[file_id] for _, file_id in self._order[at:first]]
        folders: list[Subfolder] = []
        at = first
        while at < end:
            entry = self._order[at][0][len(above)]
            following = bisect_left(self._order, ((*above, entry, _LAST), ""))
            address = quote(f"{path}/{entry[2]}".lstrip("/"))
            folders.append(Subfolder(entry[2], following - at, address))
            at = following
        return FolderContents(folders, notes)

    def file(self, file_id: FileId) -> ChangedFile | None:
        """Return a live file; None for any other one."""
        return self._files.get(file_id)

    def neighbours(
        self, folder: str, note: ChangedFile
    ) -> tuple[ChangedFile | None, ChangedFile | None]:
        """Return the notes before and after one in the order of `notes_below`."""
        start, end = self._range(folder)
        at = bisect_left(self._order, (_place_of(note.path), note.file_id))
        if not start <= at < end or self._order[at][1] != note.file_id:
            return None, None
        before = self._files[self._order[at - 1][1]] if at > start else None
        after = self._files[self._order[at + 1][1]] if at + 1 < end else None
        return before, after

    def _range(self, folder: str) -> tuple[int, int]:
        """Return where the notes below a folder are in the order."""
        above = _folders(folder.split("/")) if folder else ()
        start = bisect_left(self._order, (above, ""))
        return start, bisect_left(self._order, ((*above, _LAST), ""))

    def linked_note(
        self, target: LinkTarget, kind: LinkKind, to: str, at: str
    ) -> ChangedFile | None:
        """Return the note that a link leads to, among those that a published target opens.

        Args:
            target: what is published.
            kind: the syntax of the link.
            to: its target; empty for its own note, which the caller handles.
            at: the path of the note with the link.
        """
        for key in keys_of_link(kind, to, at):
            note = self._least(key, target)
            if note is not None:
                return note
        return None

    def linked_image(self, kind: LinkKind, to: str, at: str) -> ChangedFile | None:
        """Return the image that a link leads to; the arguments are those of `linked_note`."""
        for key in keys_of_link(kind, to, at):
            image = self._least(key, None)
            if image is not None:
                return image
        return None

    def _least(self, key: str, target: LinkTarget | None) -> ChangedFile | None:
        """Return the first note of ``target`` with a key; with None, the first image."""
        if (key, target) not in self._found:
            named = self._by_key.get(key, [])
            ids = named if isinstance(named, list) else [named]
            files = (self._files[file_id] for file_id in ids)
            least = min(
                (
                    candidate
                    for candidate in files
                    if (
                        candidate.kind == "attachment"
                        if target is None
                        else opens(target, candidate)
                    )
                ),
                key=lambda file: place_rank(file.path),
                default=None,
            )
            if len(self._found) >= REMEMBERED:
                self._found.clear()
            self._found[key, target] = None if least is None else least.file_id
        file_id = self._found[key, target]
        return None if file_id is None else self._files[file_id]


def opens(target: LinkTarget, file: ChangedFile) -> bool:
    """Return whether a published target opens a live file as a note."""
    if file.kind != "note":
        return False
    if target.kind == "note":
        return file.file_id == target.file_id
    return is_below(file.path, target.path)


def _folders(names: Sequence[str]) -> _Place:
    return tuple((1, name.casefold(), name) for name in names)


def _place_of(path: str) -> _Place:
    """Return the sort key of a note: files before folders, and both without regard to case."""
    *folders, name = path.split("/")
    return (*_folders(folders), (0, name.casefold(), name))


MOST_FILES = 100_000
"""Maximum number of files in memory, of all maps together; the map used last is always kept."""

_STEP = 200


class WorkspaceMaps:
    """Maps workspaces, and brings the maps up to date.

    Args:
        store: the database.
        most_files: in memory.
    """

    def __init__(self, store: Store, *, most_files: int = MOST_FILES) -> None:
        self._store = store
        self._most_files = most_files
        self._maps: OrderedDict[int, WorkspaceMap] = OrderedDict()
        # Of all maps, so that one that was dropped and read again gets other shapes: they identify
        # the pages that are kept.
        self._shapes = count()
        self._locks: dict[int, trio.Lock] = {}
        # Not used since `drop_unused`.
        self._unused: set[int] = set()

    async def get(self, workspace: int, cursor: Cursor) -> WorkspaceMap:
        """Return the map of a workspace, exact at a ``cursor`` that it had, or at a later one.

        ``workspace`` is its number. Use the map before the next checkpoint: it may change then.
        Raises `octavo.store.StoreUnavailable`. If cancelled, the map is read again later.
        """
        mapped = self._maps.get(workspace)
        if mapped is None or mapped.cursor != cursor:
            mapped = await self._updated(workspace, cursor)
        if workspace in self._maps:
            self._maps.move_to_end(workspace)
            self._unused.discard(workspace)
        return mapped

    def drop_unused(self) -> None:
        """Forget the maps that were not used since the previous call, in case they were deleted."""
        for workspace in self._unused:
            self._maps.pop(workspace, None)
        self._unused = {*self._maps}

    async def _updated(self, workspace: int, cursor: Cursor) -> WorkspaceMap:
        lock = self._locks.setdefault(workspace, trio.Lock())
        try:
            async with lock:
                mapped = self._maps.get(workspace)
                if mapped is not None and mapped.cursor == cursor:
                    return mapped
                if mapped is None:
                    mapped = WorkspaceMap(self._shapes)
                changed = await self._store.read_much(changed_since(workspace, mapped.cursor))
                if changed is None:
                    # The history does not have this cursor: the database was restored.
                    mapped = WorkspaceMap(self._shapes)
                    changed = await self._store.read_much(changed_since(workspace, START))
                assert changed is not None
                reached, changes = changed
                if reached == START and len(mapped):
                    # The workspace is gone, and another one may get its number.
                    mapped = WorkspaceMap(self._shapes)
                if len(changes) > _STEP:
                    # Others must not see an incomplete map.
                    self._maps.pop(workspace, None)
                for at in range(0, len(changes), _STEP):
                    if at:
                        await trio.lowlevel.checkpoint()
                    for change in changes[at : at + _STEP]:
                        mapped.put(change)
                mapped.cursor = reached
                self._maps[workspace] = mapped
                self._drop_some()
                return mapped
        finally:
            if not lock.statistics().tasks_waiting and not lock.locked():
                self._locks.pop(workspace, None)

    def _drop_some(self) -> None:
        total = sum(map(len, self._maps.values()))
        while total > self._most_files and len(self._maps) > 1:
            _, dropped = self._maps.popitem(last=False)
            total -= len(dropped)
