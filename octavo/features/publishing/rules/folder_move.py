"""Where the published folders are after a changeset."""

from collections.abc import Iterable

from octavo.features.publishing.rules.link import is_below


def moved_folder(
    folder: str, moves: Iterable[tuple[str, str]], remaining: Iterable[str]
) -> str | None:
    """Return where a changeset has moved a folder; None if it has not.

    A folder moved when one changeset takes every live file below it to one new folder. The link
    follows only if `holds_only_moved` is true of that folder, too.

    Args:
        folder: its path before.
        moves: the paths before and after of the files that the changeset moves.
        remaining: the paths of the other files that were live below the folder before, deleted by
            the changeset or not.
    """
    if not folder or any(is_below(path, folder) for path in remaining):
        return None
    target: str | None = None
    for old, new in moves:
        if not is_below(old, folder):
            continue
        prefix = new.removesuffix(old[len(folder) :])
        if prefix in ("", new, folder) or (target is not None and prefix != target):
            return None
        target = prefix
    return target


def holds_only_moved(arrived: Iterable[str], folder: str, moves: Iterable[tuple[str, str]]) -> bool:
    """Return whether a new folder holds nothing but the files of ``folder``.

    Files that are merged into a folder with others are not followed there: nobody has decided to
    publish those.

    Args:
        arrived: the paths of all live files below the new folder, after the changeset.
        folder: its path before.
        moves: as for `moved_folder`.
    """
    moved = {new for old, new in moves if is_below(old, folder)}
    return all(path in moved for path in arrived)
