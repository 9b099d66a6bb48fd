"""What an import makes: identifiers that are the same when it is repeated, and paths that are free.

An import is committed in several changesets. If it stops in between, it is completed again, and
makes the same files under the same identifiers: what was committed before is recognised.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Literal

from octavo.model.files.path import PathKey, folders_of, path_key
from octavo.model.identity import RANDOM_BYTES, uuid7

_TIME = slice(0, 13)


def derived_id(import_id: str, kind: Literal["file", "object", "changeset"], number: int) -> str:
    """Return the identifier of the ``number``-th thing of its kind that an import makes.

    It has the time of the import, and sorts by the number among those of its kind. The rest is
    taken from digests: only those can guess it that know the import.
    """
    milliseconds, of_kind = _common(import_id, kind)
    of_one = sha256(f"{import_id} {kind} {number}".encode()).digest()
    # The first three bytes are shortened to 18 bits.
    return uuid7(milliseconds, of_kind + number.to_bytes(4, "big") + of_one[: RANDOM_BYTES - 7])


@lru_cache(maxsize=64)
def _common(import_id: str, kind: str) -> tuple[int, bytes]:
    """Return what the identifiers of one kind have in common: time, and the start of the rest."""
    digest = sha256(f"{import_id} {kind}".encode()).digest()
    return int(import_id[_TIME].replace("-", ""), 16), digest[:3]


def taken_paths(present: Iterable[str], new: Collection[str], most: int = 10) -> list[str]:
    """Return those of the paths ``new`` that collide with present ones, ``most`` of them.

    Paths collide that are the same for some file system, and a file with a folder.
    """
    keys: set[PathKey] = set()
    folders: set[PathKey] = set()
    for each in present:
        key = path_key(each)
        keys.add(key)
        folders.update(folders_of(key))
    if not keys:
        return []
    found: list[str] = []
    for each in new:
        key = path_key(each)
        if key in keys or key in folders or any(folder in keys for folder in folders_of(key)):
            found.append(each)
            if len(found) == most:
                break
    return found


def other_path(path: str, number: int) -> str:
    """Return the ``number``-th path to try for a file whose path was taken meanwhile."""
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    suffix = " (imported)" if number == 1 else f" (imported {number})"
    # A segment has 255 bytes at most.
    while len(f"{stem}{suffix}.{ending}".encode()) > 255:
        stem = stem[:-1]
    return f"{folder}{slash}{stem}{suffix}{dot}{ending}"
