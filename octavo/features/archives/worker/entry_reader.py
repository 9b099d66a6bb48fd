"""Read the files of an archive, and prove that they are what the directory says.

The local header of an entry must agree with the directory, its data must end before the next
entry, and its bytes must have the length and the CRC-32 that were announced. Nothing beyond the
announced length is decompressed.
"""

import zlib
from collections.abc import Iterator

from octavo.features.archives.worker import zip_format as zf
from octavo.features.archives.worker.directory import extra_fields, zip64_values
from octavo.features.archives.worker.listing import ListedEntry
from octavo.features.archives.worker.part_files import PartFiles
from octavo.features.archives.worker.refusal import ArchiveInvalid, refused_entry

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
