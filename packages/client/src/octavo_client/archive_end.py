"""Whether a zip archive is complete: its end record, and the directory that it describes.

A download that was cut can end anywhere, also where the data of a file looks like an end record.
"""

from struct import Struct

_END = Struct("<4s4H2LH")
_END_SIGNATURE = b"PK\x05\x06"
_ZIP64_END = Struct("<4sQ2H2L4Q")
_ZIP64_END_SIGNATURE = b"PK\x06\x06"
_ZIP64_LOCATOR = Struct("<4sLQL")
_ZIP64_LOCATOR_SIGNATURE = b"PK\x06\x07"
_LONGEST_COMMENT = 0xFFFF
_IN_ZIP64 = (0xFFFF, 0xFFFFFFFF)

TAIL = _ZIP64_END.size + _ZIP64_LOCATOR.size + _END.size + _LONGEST_COMMENT
"""Bytes at the end of an archive that `has_end` may need."""


def has_end(tail: bytes, size: int) -> bool:
    """Return whether an archive ends as one, by PKWARE APPNOTE 6.3.10, section 4.3.

    The directory must end where the end records begin, which the data of a cut archive does not
    imitate by accident.

    Args:
        tail: the last `TAIL` bytes, or all if there are fewer.
        size: the size of the archive.
    """
    at = len(tail)
    while (at := tail.rfind(_END_SIGNATURE, 0, at)) >= 0:
        if len(tail) - at >= _END.size and _ends(tail, at, size):
            return True
    return False


def _ends(tail: bytes, at: int, size: int) -> bool:
    """Return whether the end record of the archive is at ``at`` in its tail."""
    _, _, _, _, entries, length, start, comment = _END.unpack_from(tail, at)
    if at + _END.size + comment != len(tail):
        return False
    end = at
    if entries in _IN_ZIP64 or length in _IN_ZIP64 or start in _IN_ZIP64:
        end = at - _ZIP64_LOCATOR.size - _ZIP64_END.size
        if end < 0:
            return False
        record = _ZIP64_END.unpack_from(tail, end)
        locator = _ZIP64_LOCATOR.unpack_from(tail, end + _ZIP64_END.size)
        if (record[0], locator[0]) != (_ZIP64_END_SIGNATURE, _ZIP64_LOCATOR_SIGNATURE):
            return False
        length, start = record[8:10]
    return bool(start + length == size - len(tail) + end)
