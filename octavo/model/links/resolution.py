"""Which file a link leads to.

A file is found under its keys. Those of a link are tried in order, and the first under which there
is a file decides; of several files under one key the one with the least `place_rank` is meant. So
whether a link resolves, and to what, is a matter of looking keys up, in a mapping or in a table.

A key that begins with a slash is a path from the root, any other one a name. Both are compared as
`path_key` compares, and ``.md`` may be left out of them.
"""

import unicodedata
from collections.abc import Callable, Iterable

from octavo.model.files.path import LONGEST_PATH, LONGEST_SEGMENT, NOTE_SUFFIX, path_key
from octavo.model.links.extraction import LinkKind
from octavo.model.stream_safe import stream_safe

Find = Callable[[str], str | None]
"""Answers the path of the file that is meant by a key; None when there is none."""

LONGEST_TARGET = 2 * LONGEST_PATH
"""Characters of a link that may lead to a file: what is longer leads nowhere."""
MOST_MARKS_OF_NAME = LONGEST_SEGMENT // 2 + 3
"""On one letter: each takes two bytes at least, but for three that are composed with the letter.

A target with more leads nowhere, and is not normalized: that would take quadratic time.
"""
RANK_DIGITS = 2
"""With which a `place_rank` begins; the path stands behind them."""


def keys_of_path(path: str) -> tuple[str, ...]:
    """Return the keys that a file at the valid ``path`` is found under."""
    key = path_key(path)
    name = key.rpartition("/")[2]
    keys = (f"/{key}", name)
    if not key.endswith(NOTE_SUFFIX):
        return keys
    return (*keys, f"/{key.removesuffix(NOTE_SUFFIX)}", name.removesuffix(NOTE_SUFFIX))


def place_rank(path: str) -> str:
    """Return what files under one key are sorted by: fewest folders, then the order of paths."""
    return f"{path.count('/'):0{RANK_DIGITS}}{path}"


def keys_of_link(kind: LinkKind, target: str, at: str) -> tuple[str, ...]:
    """Return the keys to look a link up under, in order: none, one or two.

    Args:
        kind: how the link is written.
        target: what it gives; without one it has no keys, as it leads to its own note.
        at: path of the note that it stands in.
    """
    if not target or len(target) > LONGEST_TARGET or target.endswith("/"):
        return ()
    if stream_safe(target, MOST_MARKS_OF_NAME) != target:
        return ()
    folder = at.rpartition("/")[0]
    from_root = _key(target.lstrip("/"), "")
    if target.startswith("/"):
        return from_root
    here = _key(target, folder)
    if kind == "standard" or target.startswith(("./", "../")):
        return here
    if "/" in target:
        return tuple(dict.fromkeys(from_root + here))
    # Its key as a path from the root is its name, behind the slash.
    return here + tuple(key[1:] for key in from_root)


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
    """Return the path of the file that a link leads to; None when there is none.

    Args:
        kind: how the link is written.
        target: what it gives.
        at: path of the note that it stands in.
        find: looks a key up.
    """
    if not target:
        return at
    for key in keys_of_link(kind, target, at):
        found = find(key)
        if found is not None:
            return found
    return None


def places_of(paths: Iterable[str]) -> dict[str, str]:
    """Return which of ``paths`` is meant by each of their keys; its ``get`` is a `Find`."""
    places: dict[str, str] = {}
    for path in sorted(paths, key=place_rank):
        for key in keys_of_path(path):
            places.setdefault(key, path)
    return places
