"""What links in the notes of an archive refer to, before and after files were moved."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TypedDict

from octavo.features.archives.worker.listing import ImportFolder
from octavo.features.archives.worker.path_table import PathFile, PathRef, PathTable, write_table
from octavo.model.links.resolution import Find, keys_of_path

# No key of a link starts with it: no path contains it.
_MOVED = ">"


class LinkRules(TypedDict):
    """How the links of an archive are changed.

    Attributes:
        is_export: it is an export of Octavo, whose wiki links stay.
        notes_moved: other files than images have another path in the workspace.
    """

    is_export: bool
    notes_moved: bool


def write_targets(
    place: ImportFolder,
    rules: LinkRules,
    refs: Sequence[PathRef],
    finals: Sequence[PathRef],
    paths: PathFile,
) -> None:
    """Write the tables that `LinkTargets` reads.

    Args:
        place: the folder of the import.
        rules: how links are changed.
        refs: the paths of all files in the archive.
        finals: their paths in the workspace, in the same order.
        paths: the file of the paths.
    """
    Path(place.link_rules).write_text(json.dumps(rules))
    write_table(place.targets, _keys(refs, paths), paths)
    if refs != finals:
        moves = (
            (f"{_MOVED}{paths.path(ref)}", final)
            for ref, final in zip(refs, finals, strict=True)
            if ref != final
        )
        write_table(place.moved_targets, chain(_keys(finals, paths), moves), paths)


def _keys(refs: Sequence[PathRef], paths: PathFile) -> Iterator[tuple[str, PathRef]]:
    for ref in refs:
        for key in keys_of_path(paths.path(ref)):
            yield key, ref


class LinkTargets:
    """Resolves links of the notes of an archive.

    Args:
        place: the folder of the import.
        paths: the file of the paths.

    Attributes:
        before: returns the path in the archive that a key refers to.
        after: returns the path in the workspace that a key refers to.
        rules: how links are changed.
        files_moved: whether a file has another path in the workspace.
    """

    def __init__(self, place: ImportFolder, paths: PathFile) -> None:
        self.rules: LinkRules = json.loads(Path(place.link_rules).read_bytes())
        self.files_moved = Path(place.moved_targets).exists()
        self.before: Find = PathTable(place.targets, paths).find
        self.after = PathTable(place.moved_targets, paths).find if self.files_moved else self.before

    @classmethod
    def of_import(cls, place: ImportFolder, paths: PathFile) -> "LinkTargets | None":
        """Return the targets of an import; None if its links are not changed."""
        return cls(place, paths) if Path(place.targets).exists() else None

    def moved(self, path: str) -> str:
        """Return the path in the workspace of the file with a path in the archive."""
        if not self.files_moved:
            return path
        return self.after(f"{_MOVED}{path}") or path
