"""Where a file stands in its workspace: paths that every system can check out.

A tree that is accepted here exists on Linux, macOS and Windows alike. So names that one of them
reserves or reads otherwise are refused, and two paths that differ only in case or in the
composition of letters are one place.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NewType

from octavo.model.refusal import InvalidPath

PathKey = NewType("PathKey", str)
"""A path as file systems compare it: two paths with one key are one place."""

Kind = Literal["note", "attachment"]

LONGEST_PATH = 1024
LONGEST_SEGMENT = 255
MOST_SEGMENTS = 32
"""Names in a path: every folder above a file is remembered, so they cost its length each."""
ATTACHMENTS = "attachments/"
NOTE_SUFFIX = ".md"

_FORBIDDEN = frozenset('\\:*?"<>|')
# Windows keeps these, whatever extension follows and however it is written
# (https://learn.microsoft.com/windows/win32/fileio/naming-a-file).
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\..*)?",
    re.IGNORECASE | re.DOTALL,
)


def check_path(path: str) -> None:
    """Raise `InvalidPath`, which says what is wrong, when no file can stand at ``path``."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise InvalidPath("The path holds half a character (a lone surrogate).") from None
    if not size:
        raise InvalidPath("The path is empty.")
    if size > LONGEST_PATH:
        raise InvalidPath(f"The path has {size} bytes in UTF-8: {LONGEST_PATH} are taken at most.")
    if not unicodedata.is_normalized("NFC", path):
        raise InvalidPath("The path is not in the Unicode normalization form NFC: normalize it.")
    if path.startswith("/"):
        raise InvalidPath("The path starts with a slash: it is relative to its workspace.")
    segments = path.split("/")
    if len(segments) > MOST_SEGMENTS:
        raise InvalidPath(f"The path has {len(segments)} names: {MOST_SEGMENTS} are taken at most.")
    for segment in segments:
        fault = _fault(segment)
        if fault is not None:
            raise InvalidPath(f"The path can't be used on every system: {fault}.")


def _fault(segment: str) -> str | None:
    if not segment:
        return "a name in it is empty"
    if segment in (".", ".."):
        return f"'{segment}' is no name"
    if len(segment.encode()) > LONGEST_SEGMENT:
        return f"a name in it has more than {LONGEST_SEGMENT} bytes in UTF-8"
    for letter in segment:
        if letter in _FORBIDDEN:
            return f"it holds the character {letter}"
        if unicodedata.category(letter) == "Cc":
            return f"it holds the control character U+{ord(letter):04X}"
    if segment[-1] in ". ":
        return f"the name '{segment}' ends with a dot or a space"
    if _DEVICE.fullmatch(segment):
        return f"'{segment}' is the name of a device"
    return None


def kind_of(path: str) -> Kind | None:
    """Return what may stand at the valid ``path``: a note, an attachment, or nothing."""
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
    """Return the keys of the folders that a file at ``key`` stands in, the outermost first."""
    at = key.find("/")
    while at >= 0:
        yield PathKey(key[:at])
        at = key.find("/", at + 1)
