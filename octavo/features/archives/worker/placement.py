"""The paths of files that can't keep those that they have in an archive."""

from collections.abc import Callable, Iterator
from itertools import count, islice

from octavo.model.files.naming import numbered_paths
from octavo.model.files.path import ATTACHMENTS, LONGEST_PATH, LONGEST_SEGMENT, MAX_SEGMENTS


def is_placed(path: str) -> bool:
    """Return whether an image can keep the valid ``path``."""
    return path.startswith(ATTACHMENTS)


def attachment_path(path: str, is_free: Callable[[str], bool]) -> str:
    """Return the path in the folder of attachments for an image at the valid ``path``.

    It is ``attachments/`` and the path, with a number at its name if that is not free. If no file
    can be in its folder, or the path gets too long, the image has no folder of its own.

    Args:
        path: a path outside of the folder. The folder may be spelled in another case.
        is_free: whether a valid path can be given to a file.
    """
    return next(each for each in _candidates(path) if is_free(each))


def note_path(path: str, is_free: Callable[[str], bool]) -> str:
    """Return ``path``, or one like it that is free: with a number, or in no folder as well."""
    if is_free(path):
        return path
    name = path.rpartition("/")[2]
    numbered = zip(numbered_paths(path), numbered_paths(name), strict=True)
    return next(each for pair in islice(numbered, 1, None) for each in pair if is_free(each))


def _candidates(path: str) -> Iterator[str]:
    if path.lower().startswith(ATTACHMENTS):
        path = path[len(ATTACHMENTS) :]
    if _fits(f"{ATTACHMENTS}{path}"):
        yield f"{ATTACHMENTS}{path}"
    folder, slash, name = path.rpartition("/")
    stem, _, ending = name.rpartition(".")
    for number in count(2):
        suffix = f"-{number}.{ending}"
        numbered = f"{_shortened(stem, LONGEST_SEGMENT - len(suffix))}{suffix}"
        in_folder = f"{ATTACHMENTS}{folder}{slash}{numbered}"
        if _fits(in_folder):
            yield in_folder
        yield f"{ATTACHMENTS}{numbered}"


def _fits(path: str) -> bool:
    return len(path.encode()) <= LONGEST_PATH and path.count("/") < MAX_SEGMENTS


def _shortened(stem: str, size: int) -> str:
    """Return a beginning of ``stem`` of at most ``size`` bytes."""
    return stem.encode()[:size].decode(errors="ignore")
