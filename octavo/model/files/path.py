"""Paths of files in a workspace, portable across operating systems.

A tree of accepted paths can be checked out on Linux, macOS and Windows alike. Names that one of
them reserves or interprets differently are refused, and paths that differ only in case or Unicode
composition are equal.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import Literal, NewType

from octavo.model.label import hidden_fault, is_visible, without_hidden
from octavo.model.refusal import InvalidPath

PathKey = NewType("PathKey", str)
"""A path as file systems compare it: paths with equal keys are the same path."""

Kind = Literal["note", "attachment"]

LONGEST_PATH = 1024
LONGEST_SEGMENT = 255
MAX_SEGMENTS = 32
"""Path segments; every folder above a file is recorded, which takes memory for each."""
ATTACHMENTS = "attachments/"
NOTE_SUFFIX = ".md"
# Many files of a changeset are in the same folders.
_FOLDERS_REMEMBERED = 1024

# The slash of paths sorts immediately before it.
_AFTER_SLASH = "0"
_LAST = "\U0010ffff"
_FORBIDDEN = re.compile(r'[\\:*?"<>|\x00-\x1f\x7f-\x9f]')
# Windows reserves these with any extension and in any case
# (https://learn.microsoft.com/windows/win32/fileio/naming-a-file).
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\..*)?",
    re.IGNORECASE | re.DOTALL,
)


def check_path(path: str, kept: str = "") -> None:
    """Raise `InvalidPath`, which describes the error, if no file can get ``path``.

    A name with hidden characters, which earlier versions accepted, is one that no file can get,
    except for those that are in the path ``kept``.
    """
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise InvalidPath("The path contains a lone surrogate, half a character.") from None
    if not size:
        raise InvalidPath("The path is empty.")
    if size > LONGEST_PATH:
        raise InvalidPath(
            f"The path is too long: it has {size:,} bytes; at most {LONGEST_PATH:,} are allowed."
        )
    if not unicodedata.is_normalized("NFC", path):
        raise InvalidPath("The path is not in Unicode Normalization Form C: normalize it to NFC.")
    if path.startswith("/"):
        raise InvalidPath("The path starts with a slash: give it relative to the workspace.")
    segments = path.count("/") + 1
    if segments > MAX_SEGMENTS:
        raise InvalidPath(
            f"The path is too deep: it has {segments} names; at most {MAX_SEGMENTS} are allowed."
        )
    folder, slash, name = path.rpartition("/")
    fault = (_fault_of_folder(folder) if slash else None) or _fault(name)
    if fault is not None:
        raise InvalidPath(f"The path is not portable across operating systems: {fault}.")
    _check_names(path, kept)


def parse_folder(text: str) -> str:
    """Return a folder without slashes around it; nothing stands for all files and stays empty.

    Raises `InvalidPath` if no folder can have the name: a slash alone is not all files.
    """
    folder = text.strip("/")
    if folder:
        check_path(folder, kept=folder)
    elif text:
        raise InvalidPath("The folder has no name: leave it empty for all files.")
    return folder


def _check_names(path: str, kept: str) -> None:
    known = kept.split("/")
    for name in path.split("/"):
        fault = hidden_fault(name)
        if fault is not None:
            fault = f"{fault}: delete the name and type it again"
        elif not is_visible(_stem(name)):
            fault = f"has a name without a visible character: “{name}”"
        if fault is not None and name not in known:
            raise InvalidPath(f"The path {fault}.")


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def without_hidden_characters(path: str) -> str:
    """Return the path that an import gives to a file at ``path``, which `check_path` may refuse.

    Names without hidden characters stay. One that is no name without them becomes ``_``.
    """
    return "/".join(map(_cleaned, path.split("/")))


def _cleaned(name: str) -> str:
    cleaned = without_hidden(name)
    if cleaned != name:
        cleaned = cleaned.rstrip(". ")
        if cleaned.startswith(".") and not name.startswith("."):
            cleaned = f"_{cleaned}"
    elif not name or is_visible(_stem(name)):
        return name
    if is_visible(_stem(cleaned)) and _fault(cleaned) is None:
        return cleaned
    _, dot, ending = cleaned.rpartition(".")
    return f"_.{ending}" if dot else "_"


@lru_cache(maxsize=_FOLDERS_REMEMBERED)
def _fault_of_folder(folder: str) -> str | None:
    return next(filter(None, map(_fault, folder.split("/"))), None)


def _fault(segment: str) -> str | None:
    if not segment:
        return "a name in the path is empty"
    if segment in (".", ".."):
        return f"“{segment}” is not a file name"
    size = len(segment.encode())
    if size > LONGEST_SEGMENT:
        return f"a name in the path has {size} bytes; at most {LONGEST_SEGMENT} are allowed"
    forbidden = _FORBIDDEN.search(segment)
    if forbidden is not None:
        letter = forbidden[0]
        if unicodedata.category(letter) == "Cc":
            return f"it contains the control character U+{ord(letter):04X}"
        return f"it contains the character “{letter}”"
    if segment[-1] in ". ":
        return f"the name “{segment}” ends with a dot or a space"
    if _DEVICE.fullmatch(segment):
        return f"“{segment}” is a device name on Windows"
    return None


def kind_of(path: str) -> Kind | None:
    """Return the kind of file that the valid ``path`` can have; None if neither."""
    if path.endswith(NOTE_SUFFIX) and path.rpartition("/")[2] != NOTE_SUFFIX:
        return "note"
    return "attachment" if path.startswith(ATTACHMENTS) else None


def path_key(path: str) -> PathKey:
    """Return the key of the valid ``path`` (canonical caseless matching, Unicode 3.13 D145)."""
    if path.isascii():
        return PathKey(path.lower())
    decomposed = unicodedata.normalize("NFD", path)
    return PathKey(unicodedata.normalize("NFD", decomposed.casefold()))


def folders_of(key: PathKey) -> Iterator[PathKey]:
    """Return the keys of the folders above a file at ``key``, the outermost first."""
    at = key.find("/")
    while at >= 0:
        yield PathKey(key[:at])
        at = key.find("/", at + 1)


def range_below(folder: str) -> tuple[str, str]:
    """Return the first path that may be below ``folder``, and the first one after those.

    They are compared by code points. Every path is below the empty folder.
    """
    return (f"{folder}/", folder + _AFTER_SLASH) if folder else ("", _LAST)


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
        if any(character.isalnum() for character in name) and _is_valid(name):
            return name
    return None


def written_path(path: str, folder: str = "") -> str:
    """Return a path as people write it as a path of a note: in a folder, with its ending.

    Nothing stays empty.
    """
    written = unicodedata.normalize("NFC", path.strip()).strip("/")
    if not written:
        return ""
    if folder and "/" not in written:
        written = f"{folder}/{written}"
    return written if written.lower().endswith(NOTE_SUFFIX) else written + NOTE_SUFFIX


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
    return True


def name_of(path: str) -> str:
    """Return the name of a note: the last segment of its path, without its ending."""
    name = path.rpartition("/")[2]
    return name[: -len(NOTE_SUFFIX)] if name.lower().endswith(NOTE_SUFFIX) else name
