"""The limitation of a credential to a folder: which files and revisions it can see.

A file is visible while its path, or the last one before it was deleted, is below the folder. A
revision is visible when its own path is, too, and its file is. Everything else does not exist for
the credential: a file that was moved out of the folder was deleted by that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from octavo.model.files.path import path_key
from octavo.model.files.revision import Revision


@dataclass(frozen=True, slots=True)
class Confinement:
    """The limitation to one folder; it has no slash at its end."""

    folder: str

    def covers(self, path: str) -> bool:
        """Return whether a file at ``path`` is below the folder.

        A purged file has no path, and is not. Folders are compared as file systems do: without
        regard to case and composition.
        """
        return path_key(path).startswith(path_key(self.folder) + "/")

    def spelling(self, path: str) -> str:
        """Return the folder as the covered ``path`` spells it, which may be in another case."""
        return "/".join(path.split("/")[: self.folder.count("/") + 1])

    def departure(self, history: Sequence[Revision]) -> Revision | None:
        """Return the revision by which a file left the folder, as the credential sees it.

        ``history`` has the revisions of the file, the oldest first; its head is outside, and was
        not purged. The result is a deletion at the last path below the folder, with the position,
        the ids and the time of the change that moved the file. None for a file that never was
        inside.
        """
        inside = [index for index, revision in enumerate(history) if self.covers(revision.path)]
        if not inside or inside[-1] == len(history) - 1:
            return None
        last, left = history[inside[-1]], history[inside[-1] + 1]
        return replace(
            last,
            state="deleted",
            position=left.position,
            revision_id=left.revision_id,
            mutation_id=left.mutation_id,
            author=left.author,
            created_at=left.created_at,
        )


def both_in(path: str, folder: str) -> str | None:
    """Return the folder that is below ``path`` and below ``folder``: one of them, or None.

    Both are folders, empty for all files.
    """
    for one, other in ((path, folder), (folder, path)):
        if not other or one == other or one.startswith(f"{other}/"):
            return one
    return None
