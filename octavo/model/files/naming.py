"""Names for notes that a person did not name."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import count

from octavo.model.files.path import LONGEST_SEGMENT, NOTE_SUFFIX, check_path
from octavo.model.hidden_characters import without_hidden
from octavo.model.refusal import InvalidPath

_MARKS = re.compile(r"^[#>\-*+\s]*(?:\[[ xX]\]\s*)?")
_INVALID = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f-\x9f\[\]#^`*_]+')
_SPACES = re.compile(r"\s+")
_LONGEST_NAME = 80


def name_from_text(text: str) -> str | None:
    """Return a name for a note, after the first line of its text that has a word; None without one.

    The name is valid in a path, and has at most 80 characters.
    """
    for line in text.splitlines():
        shown = without_hidden(_MARKS.sub("", line))
        words = _SPACES.sub(" ", _INVALID.sub(" ", shown)).strip(" .")
        name = unicodedata.normalize("NFC", words)[:_LONGEST_NAME].strip(" .")
        if any(each.isalnum() for each in name) and _is_valid(name):
            return name
    return None


def written_path(path: str, folder: str = "") -> str:
    """Return a path as people write it as a path of a note: in a folder, with its ending.

    Nothing stays empty.
    """
    found = unicodedata.normalize("NFC", path.strip()).strip("/")
    if not found:
        return ""
    if folder and "/" not in found:
        found = f"{folder}/{found}"
    return found if found.lower().endswith(NOTE_SUFFIX) else found + NOTE_SUFFIX


def numbered_paths(path: str) -> Iterator[str]:
    """Yield a path, and then those with a number after the name, from 2 on."""
    yield path
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    for number in count(2):
        yield f"{folder}{slash}{stem} {number}{dot}{ending}"


def _is_valid(name: str) -> bool:
    try:
        check_path(name + NOTE_SUFFIX)
    except InvalidPath:
        return False
    return len((name + NOTE_SUFFIX).encode()) <= LONGEST_SEGMENT
