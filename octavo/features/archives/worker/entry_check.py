"""Whether an entry that is to be imported can be: what its header in the directory says."""

from typing import Literal

from octavo.features.archives.worker import zip_format as zf
from octavo.features.archives.worker.directory import ZipEntry
from octavo.features.archives.worker.refusal import refused_entry
from octavo.features.archives.worker.selection import is_special
from octavo.model.files.path import check_path
from octavo.model.refusal import InvalidPath

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
