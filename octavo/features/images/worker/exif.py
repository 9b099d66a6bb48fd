"""EXIF data: a TIFF structure, of which a few tags decide how a picture is shown.

The structure is read leniently, as viewers do: a damaged entry is skipped.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

_ORIENTATION, _EXIF_DIRECTORY = 0x0112, 0x8769
_SHORT, _LONG, _RATIONAL = 3, 4, 5
_SIZES = {_SHORT: 2, _LONG: 4, _RATIONAL: 8}
_MAX_ENTRIES = 1000

# What a viewer needs, by directory. All of these are single numbers: they have no place for text.
_KEPT_AT_TOP = {
    _ORIENTATION: (_SHORT,),
    0x011A: (_RATIONAL,),  # XResolution
    0x011B: (_RATIONAL,),  # YResolution
    0x0128: (_SHORT,),  # ResolutionUnit
    0x0213: (_SHORT,),  # YCbCrPositioning
}
_KEPT_IN_EXIF = {
    0xA001: (_SHORT,),  # ColorSpace
    0xA002: (_SHORT, _LONG),  # PixelXDimension
    0xA003: (_SHORT, _LONG),  # PixelYDimension
}


@dataclass(frozen=True, slots=True)
class _TiffEntry:
    tag: int
    kind: int
    value: bytes


class _TiffReader:
    """Reads directories of a TIFF structure; it has none if its header is invalid."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.order = {b"II*\0": "<", b"MM\0*": ">"}.get(data[:4], "")

    def top(self) -> int:
        """Return the offset of the first directory, 0 if there is none."""
        return self.number("I", 4) if self.order and len(self.data) >= 8 else 0

    def number(self, form: str, at: int) -> int:
        """Return the integer at an offset, 0 outside of the data."""
        if at < 0 or at + struct.calcsize(f"={form}") > len(self.data):
            return 0
        value: int = struct.unpack_from(self.order + form, self.data, at)[0]
        return value

    def count(self, directory: int) -> int:
        """Return the number of entries of a directory."""
        return self.number("H", directory) if directory else 0

    def numbers(self, directory: int) -> Iterator[_TiffEntry | None]:
        """Yield the entries of a directory that are single numbers, and None for each other one."""
        for at in range(directory + 2, directory + 2 + 12 * self.count(directory), 12):
            tag, kind = self.number("H", at), self.number("H", at + 2)
            size = _SIZES.get(kind, 0)
            where = at + 8 if size <= 4 else self.number("I", at + 8)
            value = self.data[where : where + size]
            is_number = size and self.number("I", at + 4) == 1 and len(value) == size
            yield _TiffEntry(tag, kind, value) if is_number else None


def orientation_of(tiff: bytes) -> int:
    """Return the orientation in EXIF data, 1 to 8; 1 (upright) if there is no valid one."""
    reader = _TiffReader(tiff)
    for entry in islice(reader.numbers(reader.top()), _MAX_ENTRIES):
        if entry and (entry.tag, entry.kind) == (_ORIENTATION, _SHORT):
            value = int.from_bytes(entry.value, "little" if reader.order == "<" else "big")
            return value if 1 <= value <= 8 else 1
    return 1


def turns(orientation: int) -> bool:
    """Return whether an orientation exchanges width and height."""
    return orientation >= 5


def without_personal_tags(tiff: bytes) -> bytes:
    """Return EXIF data with nothing but orientation, density, dimensions and colour space.

    What is removed: the position, names, serial numbers, comments, the notes of the maker, the
    preview, times, the camera and its settings, and everything unknown. The result is empty if
    nothing else is left, and ``tiff`` itself if there was nothing to remove.
    """
    reader = _TiffReader(tiff)
    top = reader.top()
    kept: dict[int, _TiffEntry] = {}
    in_exif: dict[int, _TiffEntry] = {}
    foreign, entered = reader.count(top) > _MAX_ENTRIES, False
    for entry in islice(reader.numbers(top), _MAX_ENTRIES):
        if entry and entry.kind in _KEPT_AT_TOP.get(entry.tag, ()):
            kept.setdefault(entry.tag, entry)
        elif entry and not entered and (entry.tag, entry.kind) == (_EXIF_DIRECTORY, _LONG):
            # Once: thousands of pointers to one directory would take seconds.
            entered = True
            directory = struct.unpack(f"{reader.order}I", entry.value)[0]
            foreign |= reader.count(directory) > _MAX_ENTRIES
            for inner in islice(reader.numbers(directory), _MAX_ENTRIES):
                if inner and inner.kind in _KEPT_IN_EXIF.get(inner.tag, ()):
                    in_exif.setdefault(inner.tag, inner)
                else:
                    foreign = True
        else:
            foreign = True
    written = _written(reader.order, kept, in_exif) if kept or in_exif else b""
    return written if foreign or len(tiff) > len(written) else tiff


def _written(order: str, kept: dict[int, _TiffEntry], in_exif: dict[int, _TiffEntry]) -> bytes:
    """Return a TIFF structure of a top directory and, below it, one of EXIF."""
    header = struct.pack(f"{order}2sHI", b"II" if order == "<" else b"MM", 42, 8)
    if not in_exif:
        return header + _directory(order, 8, kept)
    # The length of the top directory does not depend on the pointer that it contains.
    pointer = _TiffEntry(_EXIF_DIRECTORY, _LONG, bytes(4))
    below = 8 + len(_directory(order, 8, kept | {_EXIF_DIRECTORY: pointer}))
    pointer = _TiffEntry(_EXIF_DIRECTORY, _LONG, struct.pack(f"{order}I", below))
    top = _directory(order, 8, kept | {_EXIF_DIRECTORY: pointer})
    return header + top + _directory(order, below, in_exif)


def _directory(order: str, at: int, entries: dict[int, _TiffEntry]) -> bytes:
    """Return a directory whose offset is ``at``, followed by the values that do not fit in it."""
    values = b""
    values_at = at + 2 + 12 * len(entries) + 4
    written = struct.pack(f"{order}H", len(entries))
    for entry in sorted(entries.values(), key=lambda entry: entry.tag):
        if len(entry.value) <= 4:
            field = entry.value.ljust(4, b"\0")
        else:
            field = struct.pack(f"{order}I", values_at + len(values))
            values += entry.value
        written += struct.pack(f"{order}HHI", entry.tag, entry.kind, 1) + field
    return written + bytes(4) + values
