"""The names of entries, which programs write in several ways, as paths."""

import unicodedata
from zlib import crc32

from octavo.features.archives.worker import zip_format as zf
from octavo.features.archives.worker.directory import ZipEntry
from octavo.model.files.path import LONGEST_PATH
from octavo.model.links.resolution import MAX_MARKS_OF_NAME
from octavo.model.stream_safe import stream_safe

_VERSION = 1
_UNICODE_NAME = 5
# A composed character has up to three times as many bytes when it is decomposed.
_LONGEST_NAME = 4 * LONGEST_PATH


def name_of(entry: ZipEntry) -> str:
    """Return the name of an entry as text; what can't be decoded becomes lone surrogates.

    The name is UTF-8 if a flag says so, or if it is valid UTF-8: macOS sets no flag. Otherwise it
    is the Unicode name of an extra field (Info-ZIP), unless the field is of another name, or in
    code page 437 (APPNOTE appendix D).
    """
    raw = entry.name
    if raw.isascii() and entry.unicode_name is None:
        return raw.decode("ascii")
    if entry.flags & zf.UTF8_FLAG:
        return raw.decode(errors="surrogateescape")
    field = entry.unicode_name
    if (
        field is not None
        and len(field) >= _UNICODE_NAME
        and field[0] == _VERSION
        and int.from_bytes(field[1:_UNICODE_NAME], "little") == crc32(raw)
    ):
        return field[_UNICODE_NAME:].decode(errors="surrogateescape")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp437")


def path_of_name(name: str) -> str:
    """Return the path that a name stands for, in Unicode Normalization Form C; it may be invalid.

    Backslashes separate segments if there is no slash: some programs on Windows write them. A
    leading ``./`` is removed. A name too long for a path, or with too many combining marks, is
    returned as it is.
    """
    if "\\" in name and "/" not in name:
        name = name.replace("\\", "/")
    while name.startswith("./") and name != "./":
        name = name[2:]
    if name.isascii() or len(name) > _LONGEST_NAME or stream_safe(name, MAX_MARKS_OF_NAME) != name:
        return name
    return unicodedata.normalize("NFC", name)
