"""Rules of imports: the refusals, the identity of an archive, and the paths of its files.

An import is committed in several changesets. If it stops in between, it is completed again. It then
gives the files the same identifiers, so that committed changesets are recognised.
"""

from collections.abc import Iterable
from hashlib import sha256
from itertools import count, islice

from octavo_rules.identity import Digest
from octavo_rules.problems import NotFound, Problem

from octavo.model.files import path as paths
from octavo.model.files.path import ATTACHMENTS, PathKey, folders_of, path_key
from octavo.model.refusal import PathConflict


class ImportMissing(NotFound):
    """There is no such import, or another account started it."""

    detail = "There is no such import: it was aborted, has expired, or another account started it."


class ImportNotOpen(Problem):
    """The import runs or is done: no part can be added."""

    status, code = 409, "import_not_open"
    summary = "No part can be added to the import."
    remedy = (
        "The import is running or done, or has begun to commit its files. Complete it if it is "
        "not done, or abort it; start another import for another archive."
    )
    detail = "The import runs, or is done: start another one for another archive."


class ImportBegun(ImportNotOpen):
    """Files of the import were committed: its parts can't change any more."""

    detail = (
        "The import has begun to commit the files of its archive, so that its parts can't be"
        " changed: complete it, or abort it and start another."
    )


class TooManyImports(Problem):
    """The account has too many imports that are not done."""

    status, code = 409, "too_many_imports"
    summary = "The account has too many open imports."
    remedy = "Complete or abort an import before you start another one."

    def __init__(self, imports: list[tuple[str, str]]) -> None:
        named = ", ".join(
            f"{import_id} into the workspace {workspace}" for import_id, workspace in imports
        )
        super().__init__(
            f"{len(imports)} imports are open already: complete or abort one before you start"
            f" another. Their ids: {named}."
        )


class PathsTaken(PathConflict):
    """Files of the workspace have the paths of files of the archive."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = tuple(paths)
        named = ", ".join(paths)
        super().__init__(
            f"The workspace has files at paths of the archive, such as {named}: move or delete them"
            " first, or import into another workspace. Nothing was imported."
        )


def archive_of(digests: Iterable[Digest]) -> str:
    """Return an identifier of the archive whose parts have these digests, in order."""
    return sha256(" ".join(digests).encode()).hexdigest()


class UsedPaths:
    """Finds paths that collide with those of files.

    Two paths collide if some file system treats them as the same, or if one is a folder of the
    other.

    Args:
        present: the paths.
    """

    def __init__(self, present: Iterable[str]) -> None:
        self._keys: set[PathKey] = set()
        self._folders: set[PathKey] = set()
        for path in present:
            self.add(path)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, path: str) -> None:
        """Add the path of a file."""
        key = path_key(path)
        self._keys.add(key)
        self._folders.update(folders_of(key))

    def collides(self, path: str) -> bool:
        """Return whether no file can have ``path``."""
        key = path_key(path)
        return key in self._keys or key in self._folders or self.folder_taken(path) is not None

    def folder_taken(self, path: str) -> int | None:
        """Return the number of segments of the first folder of ``path`` that is a file."""
        taken = (folder for folder in folders_of(path_key(path)) if folder in self._keys)
        return next((folder.count("/") + 1 for folder in taken), None)


def taken_paths(present: Iterable[str], new: Iterable[str], most: int = 10) -> list[str]:
    """Return the first ``most`` of the paths ``new`` that collide with ``present`` ones."""
    used = UsedPaths(present)
    return list(islice(filter(used.collides, new), most)) if used else []


def free_path(path: str, used: UsedPaths) -> str:
    """Return a path like the colliding ``path`` that does not collide with ``used``.

    A suffix is added to the name, or to the folder that is a file. If that makes the path too long,
    the file goes to the top of the workspace, an image to the folder of images.
    """
    segments = path.split("/")
    at = (used.folder_taken(path) or len(segments)) - 1
    root = ATTACHMENTS if path.startswith(ATTACHMENTS) else ""
    for number in count(1):
        renamed = [*segments[:at], _with_suffix(segments[at], number), *segments[at + 1 :]]
        other = "/".join(renamed)
        if len(other.encode()) > paths.LONGEST_PATH:
            other = root + _with_suffix(segments[-1], number)
        if not used.collides(other):
            return other
    raise AssertionError("the numbers do not end")


def _with_suffix(name: str, number: int) -> str:
    """Return a file name with a number, shortened to the maximum length of a segment."""
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = ending, ""
    suffix = " (imported)" if number == 1 else f" (imported {number})"
    while len(f"{stem}{suffix}{dot}{ending}".encode()) > paths.LONGEST_SEGMENT:
        stem = stem[:-1]
    return f"{stem}{suffix}{dot}{ending}"
