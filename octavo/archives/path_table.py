"""A table on disk from the keys of links to the paths of files in an archive.

It is a sorted list of records of 24 bytes: a digest of 128 bits, and a reference to a path. A
worker process reads only the records: 10,000 files take milliseconds, and 100,000 take 10 MB,
however long their paths are.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from struct import Struct

from octavo.archives.path_file import PathFile, PathRef
from octavo.model.links.resolution import place_rank

_DIGEST = 16
_REF = 8
_COLUMNS = Struct(">QQ")
_REMEMBERED = 4096


def digest_of_key(key: str) -> bytes:
    """Return the digest of a key."""
    return blake2b(key.encode(), digest_size=_DIGEST).digest()


def write_table(file: str, keys: Iterable[tuple[str, PathRef]], paths: PathFile) -> None:
    """Write the table of ``keys`` to ``file``.

    Of several paths with one key, the one with the least `place_rank` is found.
    """
    records = sorted(digest_of_key(key) + ref.to_bytes(_REF) for key, ref in keys)

    def rank(record: bytes) -> str:
        return place_rank(paths.path(int.from_bytes(record[_DIGEST:])))

    kept: list[bytes] = []
    for record in records:
        if kept and kept[-1][:_DIGEST] == record[:_DIGEST]:
            kept[-1] = min(kept[-1], record, key=rank)
        else:
            kept.append(record)
    Path(file).write_bytes(b"".join(kept))


class PathTable:
    """Looks up the paths of keys.

    Args:
        file: the file that `write_table` wrote.
        paths: the paths that it refers to.
    """

    def __init__(self, file: str, paths: PathFile) -> None:
        columns = array("Q")
        columns.frombytes(Path(file).read_bytes())
        if sys.byteorder == "little":
            columns.byteswap()
        self._high, self._low, self._refs = columns[0::3], columns[1::3], columns[2::3]
        self._paths = paths
        self._remembered: dict[str, str | None] = {}

    def find(self, key: str) -> str | None:
        """Return the path of ``key``; None without one. Raises OSError."""
        try:
            return self._remembered[key]
        except KeyError:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            found = self._remembered[key] = self._find(key)
            return found

    def _find(self, key: str) -> str | None:
        high, low = _COLUMNS.unpack(digest_of_key(key))
        highs = self._high
        at = bisect_left(highs, high)
        while at < len(highs) and highs[at] == high:
            if self._low[at] == low:
                return self._paths.path(self._refs[at])
            at += 1
        return None
