"""Whether an entry that is to be imported can be: what its header in the directory says."""

import unicodedata
from typing import Literal
from zlib import crc32

from octavo.features.archives.worker import zip_format as zf
from octavo.features.archives.worker.directory import ZipEntry
from octavo.features.archives.worker.refusal import refused_entry
from octavo.features.archives.worker.selection import is_special
from octavo.model.files.path import LONGEST_PATH, check_path
from octavo.model.hidden_characters import stream_safe
from octavo.model.links.resolution import MAX_MARKS_OF_NAME
from octavo.model.refusal import InvalidPath

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


MAX_RATIO = 1032
"""The most bytes that a byte of deflate can become (zlib's technical details)."""
_ENCRYPTED = zf.ENCRYPTED_FLAG | zf.STRONG_ENCRYPTION_FLAG | zf.MASKED_FLAG
_METHODS = (zf.STORED, zf.DEFLATED)


def check_entry(
    entry: ZipEntry, name: str, path: str, kind: Literal["note", "image"], largest: int
) -> None:
    """Raise `ArchiveInvalid` if an entry can't be imported.

    Args:
        entry: a note or an image.
        name: its name.
        path: the path that the name stands for; it may have hidden characters.
        kind: what it is.
        largest: the maximum size of a file of this kind, in bytes.
    """
    try:
        check_path(path, kept=path)
    except InvalidPath as error:
        reason = "Its name is not valid UTF-8." if not _is_unicode(path) else error.detail
        raise refused_entry(name, reason) from None
    if is_special(entry):
        raise refused_entry(name, "It is a symbolic link or a device, not a file.")
    if entry.flags & _ENCRYPTED:
        raise refused_entry(name, "It is encrypted. Send an archive without a password.")
    if entry.method not in _METHODS:
        raise refused_entry(
            name,
            f"It is compressed by method {entry.method}. Only stored and deflated files are"
            " accepted, which every zip program can write.",
        )
    if entry.size > largest:
        raise refused_entry(
            name, f"It has {entry.size:,} bytes. At most {largest:,} are accepted for each {kind}."
        )
    if entry.method == zf.STORED:
        possible = entry.size == entry.compressed
    else:
        possible = entry.size <= MAX_RATIO * entry.compressed
    if not possible:
        raise refused_entry(name, "Its sizes contradict each other.")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
