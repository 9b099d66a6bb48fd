"""How an export is laid out, so that an import recognises it.

Files have their paths. Earlier revisions, if they are exported, are in a folder that no file of the
workspace is in, under the position of their changeset: ``.history/17/notes/tea.md``. Paths within
one position are those of a tree, so they never collide, and every revision keeps its name. The
comment of the archive names the folder.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from octavo_rules.identity import Position

from octavo.model.files.path import path_key

HISTORY = ".history"
"""The folder of earlier revisions, unless a file of the workspace is in it."""

_COMMENT = re.compile(rb"Octavo export(?: with history in (\.history(?:-[0-9]{1,9})?))?")


@dataclass(frozen=True, slots=True)
class ExportLayout:
    """The layout of one export.

    Attributes:
        history: the folder of earlier revisions; None if they are not exported.
    """

    history: str | None = None

    @classmethod
    def with_history(cls, paths: Iterable[str]) -> "ExportLayout":
        """Return a layout with earlier revisions for a workspace whose files have ``paths``."""
        taken = {path_key(path).partition("/")[0] for path in paths}
        names = (HISTORY, *(f"{HISTORY}-{number}" for number in range(2, len(taken) + 2)))
        return cls(next(name for name in names if name not in taken))

    @classmethod
    def of_comment(cls, comment: bytes) -> "ExportLayout | None":
        """Return the layout that the comment of an archive describes; None for no export."""
        found = _COMMENT.fullmatch(comment)
        if found is None:
            return None
        return cls(None if found[1] is None else found[1].decode())

    def comment(self) -> bytes:
        """Return the comment of the archive."""
        history = "" if self.history is None else f" with history in {self.history}"
        return f"Octavo export{history}".encode()

    def revision_path(self, position: Position, path: str) -> str:
        """Return the path in the archive of an earlier revision.

        Args:
            position: the position of its changeset.
            path: the path that the file had.

        Raises ValueError for a layout without them.
        """
        if self.history is None:
            raise ValueError("the layout has no folder for earlier revisions")
        return f"{self.history}/{position}/{path}"
