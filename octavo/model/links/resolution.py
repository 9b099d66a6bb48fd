"""Resolve links to files by keys.

A file has several keys. The keys of a link are looked up in order, and the first with a file
decides; of several files with the key, the one with the least `place_rank` is the target.
Resolution is thus a look-up of keys, in a mapping or in a table.

A key that starts with a slash is a path from the root, any other a file name. Both are compared
like `path_key`, and may omit ``.md``.
"""

import unicodedata
from collections.abc import Callable, Iterable

from octavo.model.files.path import LONGEST_PATH, LONGEST_SEGMENT, NOTE_SUFFIX, path_key
from octavo.model.label import stream_safe
from octavo.model.links.extraction import LinkKind

Find = Callable[[str], str | None]
"""Returns the path of the file that a key refers to; None if there is none."""

LONGEST_TARGET = 2 * LONGEST_PATH
"""Characters of a link to a file; longer links don't resolve."""
MAX_MARKS_OF_NAME = LONGEST_SEGMENT // 2 + 3
"""Marks on one letter: each takes at least two bytes, except three composed with the letter.

A target with more doesn't resolve and isn't normalized, which would take quadratic time.
"""
RANK_DIGITS = 2
"""The digits at the start of a `place_rank`, before the path."""


def keys_of_path(path: str) -> tuple[str, ...]:
    """Return the keys of a file at the valid ``path``."""
    key = path_key(path)
    name = key.rpartition("/")[2]
    keys = (f"/{key}", name)
    if not key.endswith(NOTE_SUFFIX):
        return keys
    return (*keys, f"/{key.removesuffix(NOTE_SUFFIX)}", name.removesuffix(NOTE_SUFFIX))


def place_rank(path: str) -> str:
    """Return the sort key of files with equal keys: fewest folders first, then by path."""
    return f"{path.count('/'):0{RANK_DIGITS}}{path}"


def keys_of_link(kind: LinkKind, target: str, at: str) -> tuple[str, ...]:
    """Return the keys of a link in the order of look-up: none, one or two.

    Args:
        kind: the syntax of the link.
        target: its target; an empty one has no keys, as it refers to its own note.
        at: the path of the note that contains the link.
    """
    if not target or len(target) > LONGEST_TARGET or target.endswith("/"):
        return ()
    if stream_safe(target, MAX_MARKS_OF_NAME) != target:
        return ()
    folder = at.rpartition("/")[0]
    if kind == "wiki" and "/" not in target and target not in (".", ".."):
        # The most common form: a name.
        name = path_key(unicodedata.normalize("NFC", target))
        return f"/{path_key(folder)}/{name}" if folder else f"/{name}", name
    from_root = _key(target.lstrip("/"), "")
    if target.startswith("/"):
        return from_root
    here = _key(target, folder)
    if kind == "standard" or target.startswith(("./", "../")):
        return here
    return tuple(dict.fromkeys(from_root + here))


def _key(target: str, folder: str) -> tuple[str, ...]:
    names = folder.split("/") if folder else []
    for name in target.split("/"):
        if name == "..":
            if not names:
                return ()
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    path = unicodedata.normalize("NFC", "/".join(names))
    return (f"/{path_key(path)}",) if path else ()


def resolve(kind: LinkKind, target: str, at: str, find: Find) -> str | None:
    """Return the path of the file that a link refers to; None if there is none.

    Args:
        kind: the syntax of the link.
        target: its target.
        at: the path of the note that contains the link.
        find: looks up a key.
    """
    if not target:
        return at
    for key in keys_of_link(kind, target, at):
        path = find(key)
        if path is not None:
            return path
    return None


def paths_by_key(paths: Iterable[str]) -> dict[str, str]:
    """Return the path that each key of ``paths`` refers to; its ``get`` is a `Find`."""
    by_key: dict[str, str] = {}
    for path in sorted(paths, key=place_rank):
        for key in keys_of_path(path):
            by_key.setdefault(key, path)
    return by_key
