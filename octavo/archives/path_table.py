"""A table on disk from the keys of links to the paths of files in an archive.

It is a sorted list of digests of 128 bits with a reference to a path, in two columns of 64 bits and
one of references. A worker process reads 24 bytes for each key, and no text: 10,000 files take
milliseconds, and 100,000 take 10 MB, however long their paths are.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from struct import Struct

from octavo.archives.path_file import PathFile, PathRef
from octavo.model.links.resolution import place_rank

_RECORD = Struct(">16sQ")
_COLUMN = "Q"


def digest_of_key(key: str) -> bytes:
    """Return the digest of a key."""
    return blake2b(key.encode(), digest_size=16).digest()


def write_table(file: str, keys: Iterable[tuple[str, PathRef]], paths: PathFile) -> None:
    """Write the table of ``keys`` to ``file``.

    Of several paths with one key, the one with the least `place_rank` is found.
    """
    records = sorted(_RECORD.pack(digest_of_key(key), ref) for key, ref in keys)
    high, low, refs = array(_COLUMN), array(_COLUMN), array(_COLUMN)
    for digest, same in groupby(map(_RECORD.unpack, records), key=lambda record: record[0]):
        found = [ref for _, ref in same]
        ref = found[0]
        if len(found) > 1:
            ref = min(found, key=lambda each: place_rank(paths.path(each)))
        high.append(int.from_bytes(digest[:8]))
        low.append(int.from_bytes(digest[8:]))
        refs.append(ref)
    Path(file).write_bytes(b"".join(map(bytes, (high, low, refs))))


class PathTable:
    """Looks up the paths of keys.

    Args:
        file: the file that `write_table` wrote.
        paths: the paths that it refers to.
    """

    def __init__(self, file: str, paths: PathFile) -> None:
        columns = array(_COLUMN)
        columns.frombytes(Path(file).read_bytes())
        count = len(columns) // 3
        self._high = columns[:count]
        self._low = columns[count : 2 * count]
        self._refs = columns[2 * count :]
        self._paths = paths

    def find(self, key: str) -> str | None:
        """Return the path of ``key``; None without one."""
        digest = digest_of_key(key)
        wanted, rest = int.from_bytes(digest[:8]), int.from_bytes(digest[8:])
        for at in self._equal(wanted):
            if self._low[at] == rest:
                return self._paths.path(self._refs[at])
        return None

    def _equal(self, wanted: int) -> Iterator[int]:
        at = bisect_left(self._high, wanted)
        while at < len(self._high) and self._high[at] == wanted:
            yield at
            at += 1
