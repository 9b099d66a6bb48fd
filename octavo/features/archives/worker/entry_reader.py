"""Check the headers of entries, read their files, and prove that both agree.

The local header of an entry must agree with the directory, its data must end before the next
entry, and its bytes must have the length and the CRC-32 that were announced. Nothing beyond the
announced length is decompressed.
"""

import unicodedata
import zlib
from collections.abc import Iterator
from typing import Literal
from zlib import crc32

from octavo.features.archives.worker import zip_format as zf
from octavo.features.archives.worker.directory import ZipEntry, extra_fields, zip64_values
from octavo.features.archives.worker.listing import ListedEntry
from octavo.features.archives.worker.part_files import PartFiles
from octavo.features.archives.worker.refusal import ArchiveInvalid, refused_entry
from octavo.features.archives.worker.selection import is_special
from octavo.model.files.path import LONGEST_PATH, check_path
from octavo.model.label import stream_safe
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


_PIECE = 256 * 1024
_RAW = -zlib.MAX_WBITS
# What both headers of an entry must have in common.
_COMMON_FLAGS = zf.ENCRYPTED_FLAG | zf.UTF8_FLAG


def read_entry(source: PartFiles, entry: ListedEntry) -> bytes:
    """Return the bytes of a small file; raise `ArchiveInvalid` if they are not as announced."""
    data = source.read(_data_of(source, entry), entry.compressed)
    if entry.method == zf.DEFLATED:
        inflate = zlib.decompressobj(_RAW)
        try:
            # One byte more shows that the data is longer; no limit would be 0.
            data = inflate.decompress(data, entry.size + 1)
        except zlib.error:
            raise _damaged(entry) from None
        if not inflate.eof or inflate.unused_data:
            raise _lying(entry)
    if len(data) != entry.size:
        raise _lying(entry)
    if zlib.crc32(data) != entry.crc:
        raise _damaged(entry)
    return data


def pieces_of_entry(source: PartFiles, entry: ListedEntry) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces of at most 256 KiB.

    Raises `ArchiveInvalid` like `read_entry`, at the latest after the last piece.
    """
    crc, size = 0, 0
    for piece in _inflated(source, entry):
        size += len(piece)
        if size > entry.size:
            raise _lying(entry)
        crc = zlib.crc32(piece, crc)
        yield piece
    if size != entry.size:
        raise _lying(entry)
    if crc != entry.crc:
        raise _damaged(entry)


def _inflated(source: PartFiles, entry: ListedEntry) -> Iterator[bytes]:
    at = _data_of(source, entry)
    end = at + entry.compressed
    if entry.method == zf.STORED:
        for begin in range(at, end, _PIECE):
            yield source.read(begin, min(_PIECE, end - begin))
        return
    inflate = zlib.decompressobj(_RAW)
    pending = b""
    while not inflate.eof:
        if not pending:
            pending = source.read(at, min(_PIECE, end - at))
            at += len(pending)
            if not pending:
                raise _lying(entry)
        try:
            piece = inflate.decompress(pending, _PIECE)
        except zlib.error:
            raise _damaged(entry) from None
        pending = inflate.unconsumed_tail
        if piece:
            yield piece
    if inflate.unused_data or at != end:
        raise _lying(entry)


def _data_of(source: PartFiles, entry: ListedEntry) -> int:
    """Return the position of the data of an entry, after comparing its local header."""
    header = source.read(entry.offset, zf.LOCAL.size)
    if len(header) < zf.LOCAL.size or not header.startswith(zf.LOCAL_SIGNATURE):
        raise refused_entry(
            entry.path,
            "Its data is not where the directory of the archive says. Send all parts of the"
            " archive in their order.",
        )
    # fmt: off
    (
        _, _, flags, method, _, _, crc, compressed, size, name_length, extra_length,
    ) = zf.LOCAL.unpack(header)
    # fmt: on
    after = source.read(entry.offset + zf.LOCAL.size, name_length + extra_length)
    name = entry.name.encode("latin-1") if entry.name else entry.path.encode()
    figures: tuple[int, ...] = (size, compressed)
    if zf.MAX_32 in figures:
        fields = extra_fields(after[name_length:])
        figures = zip64_values(fields.get(zf.ZIP64_EXTRA), figures) or figures
    # Figures that follow the data may be missing here; those of the directory are checked.
    announced = (entry.crc, entry.size, entry.compressed)
    agrees = flags & zf.DESCRIPTOR_FLAG or (crc, *figures) == announced
    if (
        not agrees
        or after[:name_length] != name
        or method != entry.method
        or (flags ^ entry.flags) & _COMMON_FLAGS
    ):
        raise refused_entry(
            entry.path, "Its header contradicts the directory of the archive, which is damaged."
        )
    data = entry.offset + zf.LOCAL.size + int(name_length) + int(extra_length)
    if data + entry.compressed > entry.limit:
        raise refused_entry(
            entry.path, "Its data overlaps another entry or the directory of the archive."
        )
    return data


def _lying(entry: ListedEntry) -> ArchiveInvalid:
    return refused_entry(
        entry.path, "It has more or fewer bytes than the directory of the archive says."
    )


def _damaged(entry: ListedEntry) -> ArchiveInvalid:
    return refused_entry(entry.path, "Its data is damaged.")
