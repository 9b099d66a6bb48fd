"""Which entries of an archive are notes and images, which are left out; the layout of exports.

An archive of another program has settings, deleted notes and caches of that program among the
notes. An export of Octavo has files of the workspace only, whatever their names, and the folder of
its history; its comment says so.
"""

import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from octavo_rules.identity import Position

from octavo.features.archives.worker import zip_format as zf
from octavo.features.archives.worker.directory import ZipEntry
from octavo.model.files.image import media_type_of_name
from octavo.model.files.path import kind_of, path_key

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
        match = _COMMENT.fullmatch(comment)
        if match is None:
            return None
        return cls(None if match[1] is None else match[1].decode())

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


LeftOut = Literal["settings", "history", "other"]
FileKind = Literal["note", "image"] | LeftOut
EntryKind = FileKind | Literal["folder"]
LEFT_OUT: tuple[LeftOut, ...] = ("settings", "history", "other")

# Names are compared in lower case. Folders of Obsidian, Logseq, version control, file systems and
# synchronization; programs other than the one that made them don't show what is in them.
_SETTINGS_FOLDERS = frozenset(
    {
        *(".obsidian", ".trash", ".logseq", ".joplin", ".foam", ".vscode", ".idea", ".zk"),
        *(".git", ".hg", ".svn", ".stfolder", ".stversions", ".sync", ".dropbox.cache"),
        *("__macosx", ".spotlight-v100", ".trashes", ".fseventsd", "$recycle.bin"),
        *(".temporaryitems", ".appledouble", "system volume information"),
    }
)
_SETTINGS_FILES = frozenset(
    {
        *(".ds_store", ".localized", "thumbs.db", "ehthumbs.db", "desktop.ini", ".directory"),
        *(".gitignore", ".gitattributes", ".gitmodules", ".gitkeep", ".stignore", ".nomedia"),
    }
)
# Below a folder of this name: backups and deleted pages of Logseq, which are Markdown, and files.
_LOGSEQ = "logseq"
_LOGSEQ_FOLDERS = frozenset({"bak", ".recycle", "version-files", "broken-config"})
_LOGSEQ_FILES = frozenset(
    {
        *("config.edn", "custom.css", "custom.js", "export.css", "metadata.edn"),
        *("pages-metadata.edn", "graphs-txid.edn", "srs-of-matched.edn"),
    }
)
_APPLE_DOUBLE = "._"


class Selection:
    """Decides about the entries of one archive.

    Args:
        comment: the comment of the archive.

    Attributes:
        is_export: whether the archive is an export of Octavo, whose files are imported unchanged.
    """

    def __init__(self, comment: bytes) -> None:
        layout = ExportLayout.of_comment(comment)
        self.is_export = layout is not None
        history = HISTORY if layout is None else layout.history
        self._history = None if history is None else f"{history}/"

    def kind(self, entry: ZipEntry, path: str) -> EntryKind:
        """Return the kind of ``entry``, whose name stands for ``path``, valid or not.

        An entry that is not a regular file has the kind of a file at its path; see `is_special`.
        """
        if path.endswith("/"):
            return "folder" if not entry.size else "other"
        return self.kind_of_file(path)

    def kind_of_file(self, path: str) -> FileKind:
        """Return the kind of a file at ``path``."""
        if self._history is not None and path.startswith(self._history):
            return "history"
        if not self.is_export and _is_settings(path):
            return "settings"
        if kind_of(path) == "note":
            return "note"
        return "other" if media_type_of_name(path.rpartition("/")[2]) is None else "image"


def is_special(entry: ZipEntry) -> bool:
    """Return whether an entry is a symbolic link, a device, or otherwise no regular file."""
    if entry.system not in (zf.UNIX, zf.MACOS):
        return False
    return stat.S_IFMT(entry.attributes >> 16) not in (0, stat.S_IFREG)


def _is_settings(path: str) -> bool:
    lowered = path.lower()
    *folders, name = lowered.split("/")
    if name in _SETTINGS_FILES or name.startswith(_APPLE_DOUBLE):
        return True
    if not folders:
        return False
    if not _SETTINGS_FOLDERS.isdisjoint(folders):
        return True
    if _LOGSEQ not in folders:
        return False
    below = folders[folders.index(_LOGSEQ) + 1 :]
    return below[0] in _LOGSEQ_FOLDERS if below else name in _LOGSEQ_FILES
