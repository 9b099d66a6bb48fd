"""Write a zip archive as a stream, such as an export, without doing I/O.

Every byte is final when it is returned, and depends only on the files, their order and the version
of zlib: times are fixed. Sizes are in front of the data, which programs that read a stream need.
Memory holds the directory: 46 bytes and the path for each file.

`zipfile` of the standard library puts sizes after the data when it can't seek, and takes 1.2 times
as long for notes of 2 KB, 1.5 times for 500 bytes (`benchmarks/archives.py`).
"""

import struct
import zlib

from octavo.features.archives.worker import zip_format as zf
from octavo.features.archives.worker.selection import ExportLayout

_VERSION = 20
_VERSION_ZIP64 = 45
_TIME = 0
_DATE = 0x0021
"""1 January 1980, the first day that the format has."""
_REGULAR_FILE = 0o100644 << 16
_LEVEL = 1
_RAW = -zlib.MAX_WBITS
# With more memory, zlib takes longer to start than to compress a small note.
_MEMORY = 5
_SMALL = 32 * 1024


class ZipWriter:
    """Returns the bytes of an archive piece by piece.

    Paths are valid and differ; the order of calls is the order of the files.

    Args:
        layout: the layout of an export, which the comment of the archive describes; None for an
            archive of other files.
    """

    def __init__(self, layout: ExportLayout | None) -> None:
        self._comment = b"" if layout is None else layout.comment()
        self._directory = bytearray()
        self._entries = 0
        self._position = 0

    def note(self, path: str, data: bytes) -> bytes:
        """Return the bytes of a file, whose data is compressed if that makes it smaller."""
        memory = _MEMORY if len(data) < _SMALL else zlib.DEF_MEM_LEVEL
        deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW, memory)
        packed = deflate.compress(data) + deflate.flush()
        crc = zlib.crc32(data)
        if len(packed) < len(data):
            return self._header(path, zf.DEFLATED, crc, len(packed), len(data)) + packed
        return self._header(path, zf.STORED, crc, len(data), len(data)) + data

    def begin_stored(self, path: str, size: int, crc: int) -> bytes:
        """Return the bytes before a file that is stored as it is, such as an image.

        Exactly ``size`` bytes with the CRC-32 ``crc`` must follow before the next call.
        """
        return self._header(path, zf.STORED, crc, size, size)

    def end(self) -> bytes:
        """Return the bytes after the last file."""
        size, start, entries = len(self._directory), self._position, self._entries
        pieces = [bytes(self._directory)]
        if entries >= zf.MAX_16 or size >= zf.MAX_32 or start >= zf.MAX_32:
            made_by = zf.UNIX << 8 | _VERSION_ZIP64
            record = (made_by, _VERSION_ZIP64, 0, 0, entries, entries, size, start)
            pieces += [
                zf.ZIP64_END.pack(zf.ZIP64_END_SIGNATURE, zf.ZIP64_END_REST, *record),
                zf.ZIP64_LOCATOR.pack(zf.ZIP64_LOCATOR_SIGNATURE, 0, start + size, 1),
            ]
        counts = (min(entries, zf.MAX_16),) * 2
        places = (min(size, zf.MAX_32), min(start, zf.MAX_32))
        end = zf.END.pack(zf.END_SIGNATURE, 0, 0, *counts, *places, len(self._comment))
        return b"".join((*pieces, end, self._comment))

    def _header(self, path: str, method: int, crc: int, compressed: int, size: int) -> bytes:
        """Return the local header of a file, and add it to the directory."""
        name, offset = path.encode(), self._position
        # The field has both sizes or none. Only stored data can be this large.
        sizes = (size, compressed) if size >= zf.MAX_32 else ()
        local_extra = _zip64_field(*sizes)
        extra = _zip64_field(*sizes, offset) if offset >= zf.MAX_32 else local_extra
        short = (min(compressed, zf.MAX_32), min(size, zf.MAX_32))
        version = _VERSION_ZIP64 if extra else _VERSION
        common = (zf.UTF8_FLAG, method, _TIME, _DATE, crc, *short, len(name))
        local = zf.LOCAL.pack(zf.LOCAL_SIGNATURE, version, *common, len(local_extra))
        self._directory += zf.CENTRAL.pack(
            *(zf.CENTRAL_SIGNATURE, version, zf.UNIX, version, *common, len(extra)),
            *(0, 0, 0, _REGULAR_FILE, min(offset, zf.MAX_32)),
        )
        self._directory += name + extra
        self._entries += 1
        self._position += len(local) + len(name) + len(local_extra) + compressed
        return b"".join((local, name, local_extra))


def _zip64_field(*values: int) -> bytes:
    if not values:
        return b""
    return struct.pack(f"<2H{len(values)}Q", zf.ZIP64_EXTRA, 8 * len(values), *values)
