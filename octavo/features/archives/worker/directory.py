"""The directory of a zip archive, which is at its end.

The archive may have bytes before its first entry, as self-extracting ones do, a comment, and ZIP64
records. An archive of several disks is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import calcsize, unpack_from
from typing import NamedTuple

from octavo.features.archives.worker import zip_format as zf
from octavo.features.archives.worker.part_files import PartFiles
from octavo.features.archives.worker.refusal import ArchiveInvalid

_PIECE = 512 * 1024
_LONGEST_HEADER = zf.CENTRAL.size + 3 * zf.MAX_16
_BROKEN = "The directory of the archive is damaged"


@dataclass(frozen=True, slots=True)
class ArchiveDirectory:
    """Where the directory is.

    Attributes:
        start: its position in the archive, where the data of entries ends.
        end: the position after it.
        entries: the number of entries.
        shift: the number of bytes before the archive, which its offsets do not count.
        comment: the comment of the archive.
    """

    start: int
    end: int
    entries: int
    shift: int
    comment: bytes


class ZipEntry(NamedTuple):
    """An entry of the directory.

    Attributes:
        name: its name as bytes.
        unicode_name: the extra field with its name in Unicode, without its header; None without.
        system: the system that made it.
        attributes: the external attributes.
        flags: general purpose flags.
        method: compression method.
        crc: CRC-32 of the file.
        compressed: bytes in the archive.
        size: bytes of the file.
        offset: the position of the local header in the archive.
    """

    name: bytes
    unicode_name: bytes | None
    system: int
    attributes: int
    flags: int
    method: int
    crc: int
    compressed: int
    size: int
    offset: int


def find_directory(source: PartFiles) -> ArchiveDirectory:
    """Return the directory of the archive ``source``; raise `ArchiveInvalid` without one."""
    tail_at = max(0, source.size - zf.END.size - zf.MAX_16)
    tail = source.read(tail_at, source.size - tail_at)
    at = tail.rfind(zf.END_SIGNATURE)
    while at >= 0 and not _ends_at(tail, at):
        at = tail.rfind(zf.END_SIGNATURE, 0, at + len(zf.END_SIGNATURE) - 1)
    if at < 0:
        raise ArchiveInvalid(
            "The parts do not make a complete zip archive: its end is missing. Send all parts in"
            " their order."
        )
    _, disk, directory_disk, here, entries, size, offset, _ = zf.END.unpack_from(tail, at)
    comment = tail[at + zf.END.size :]
    figures = (disk, directory_disk, here, entries, size, offset)
    end = tail_at + at
    zip64 = _zip64_end(source, end)
    if zip64 is not None:
        end, values = zip64
        limits = (zf.MAX_16,) * 4 + (zf.MAX_32,) * 2
        for short, long, limit in zip(figures, values, limits, strict=True):
            if short not in (long, limit):
                raise ArchiveInvalid(f"{_BROKEN}: its ZIP64 record contradicts its end.")
        figures = values
    disk, directory_disk, here, entries, size, offset = figures
    if disk or directory_disk or here != entries:
        raise ArchiveInvalid("The archive is one of several disks. Send a single zip archive.")
    start = end - size
    shift = start - offset
    if start < 0 or shift < 0 or entries * zf.CENTRAL.size > size:
        raise ArchiveInvalid(
            f"{_BROKEN}, or the beginning of the archive is missing. Send all parts in their order."
        )
    elsewhere = not entries or (shift and source.read(start, 4) == zf.CENTRAL_SIGNATURE)
    if elsewhere and source.read(0, 4) == zf.LOCAL_SIGNATURE:
        # The files at the beginning would be left out in silence.
        raise ArchiveInvalid(
            "The parts are two archives, one after the other, or have a comment that looks like"
            " the end of one. Send one archive, without a comment."
        )
    return ArchiveDirectory(start, end, entries, shift, comment)


def _ends_at(tail: bytes, at: int) -> bool:
    after = at + zf.END.size
    return after <= len(tail) and after + int.from_bytes(tail[after - 2 : after], "little") == len(
        tail
    )


def _zip64_end(
    source: PartFiles, end: int
) -> tuple[int, tuple[int, int, int, int, int, int]] | None:
    """Return the position and the values of the ZIP64 record before the end; None without one."""
    locator_at = end - zf.ZIP64_LOCATOR.size
    if locator_at < 0:
        return None
    locator = source.read(locator_at, zf.ZIP64_LOCATOR.size)
    if not locator.startswith(zf.ZIP64_LOCATOR_SIGNATURE):
        return None
    _, disk, offset, disks = zf.ZIP64_LOCATOR.unpack(locator)
    if disk or disks > 1:
        raise ArchiveInvalid("The archive is one of several disks. Send a single zip archive.")
    # Bytes before the archive shift the offset; the record has its shortest form then.
    for at in (offset, locator_at - zf.ZIP64_END.size):
        if not 0 <= at <= locator_at - zf.ZIP64_END.size:
            continue
        record = source.read(at, zf.ZIP64_END.size)
        if not record.startswith(zf.ZIP64_END_SIGNATURE):
            continue
        _, rest, _, _, *values = zf.ZIP64_END.unpack(record)
        if at + zf.ZIP64_END.size - zf.ZIP64_END_REST + rest == locator_at:
            disk, directory_disk, here, entries, size, start = values
            return at, (disk, directory_disk, here, entries, size, start)
    raise ArchiveInvalid(f"{_BROKEN}: its ZIP64 record is missing.")


def entries_of(source: PartFiles, directory: ArchiveDirectory) -> Iterator[ZipEntry]:
    """Yield the entries of the directory in its order; raise `ArchiveInvalid` if it is damaged."""
    position, piece, at = directory.start, b"", 0
    size_of, unpack = zf.CENTRAL.size, zf.CENTRAL.unpack_from
    for number in range(1, directory.entries + 1):
        if len(piece) - at < _LONGEST_HEADER and position < directory.end:
            more = source.read(position, min(_PIECE, directory.end - position))
            position += len(more)
            piece, at = piece[at:] + more, 0
        name_at = at + size_of
        if name_at > len(piece):
            raise ArchiveInvalid(f"{_BROKEN}: it ends before entry {number}.")
        # fmt: off
        (
            signature, _, system, _, flags, method, _, _, crc, compressed, size,
            name_length, extra_length, comment_length, disk, _, attributes, offset,
        ) = unpack(piece, at)
        # fmt: on
        if signature != zf.CENTRAL_SIGNATURE:
            raise ArchiveInvalid(f"{_BROKEN}: entry {number} has no header.")
        extra_at = name_at + name_length
        at = extra_at + extra_length + comment_length
        if at > len(piece):
            raise ArchiveInvalid(f"{_BROKEN}: it ends in entry {number}.")
        name = piece[name_at:extra_at]
        unicode_name = None
        if extra_length or zf.MAX_32 in (compressed, size, offset):
            fields = extra_fields(piece[extra_at : extra_at + extra_length])
            unicode_name = fields.get(zf.UNICODE_PATH_EXTRA)
            short = (size, compressed, offset)
            values = zip64_values(fields.get(zf.ZIP64_EXTRA), short)
            if values is None:
                raise ArchiveInvalid(f"{_BROKEN}: a size of entry {number} is missing.")
            size, compressed, offset = values
        if disk not in (0, zf.MAX_16):
            raise ArchiveInvalid("The archive is one of several disks. Send a single zip archive.")
        yield ZipEntry(
            *(name, unicode_name, system, attributes, flags, method, crc),
            *(compressed, size, offset + directory.shift),
        )
    if at != len(piece) or position != directory.end:
        raise ArchiveInvalid(f"{_BROKEN}: bytes follow its last entry.")


def extra_fields(extra: bytes) -> dict[int, bytes]:
    """Return the extra fields of a header by their ids, the first of each.

    A field that exceeds the header ends them: some programs pad headers.
    """
    fields: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(extra):
        field, length = unpack_from("<2H", extra, at)
        at += 4 + length
        if at > len(extra):
            break
        fields.setdefault(field, extra[at - length : at])
    return fields


def zip64_values(field: bytes | None, short: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the values of a header, with those of 64 bits from its ZIP64 field.

    Args:
        field: the extra field; None without one.
        short: the values of the header, in the order of the field.

    A value of 32 bits that is all ones is in the field. Returns None if the field lacks it.
    """
    if zf.MAX_32 not in short:
        return short
    form = f"<{short.count(zf.MAX_32)}Q"
    if field is None or len(field) < calcsize(form):
        return None
    large = iter(unpack_from(form, field))
    return tuple(next(large) if value == zf.MAX_32 else value for value in short)
