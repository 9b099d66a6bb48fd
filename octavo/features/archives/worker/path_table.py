"""A table on disk from the keys of links to the paths of files in an archive, and its lookups.

It is a sorted list of records of 24 bytes: a digest of 128 bits, and a reference to a path. A
worker process reads only the records: 10,000 files take milliseconds, and 100,000 take 10 MB,
however long their paths are.
"""

import json
import os
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from struct import Struct
from typing import TypedDict

from octavo.features.archives.worker.listing import ImportFolder
from octavo.model.links.resolution import Find, keys_of_path, place_rank

PathRef = int
"""The position of a path in a `PathFile`, and its length in bytes in the lowest bits."""

_LENGTH_BITS = 16
_LENGTH = (1 << _LENGTH_BITS) - 1
_IN_MEMORY = 4 * 1024 * 1024


class PathFile:
    """Paths and names in a file, found by references. Use it as a context manager.

    A file of at most 4 MiB is read into memory, as calls of the system take most of the time.

    Args:
        path: the file, which is created if it does not exist.

    All methods raise OSError.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "a+b")  # noqa: SIM115  # closed on exit
        self._descriptor = self._file.fileno()
        self._size = os.fstat(self._descriptor).st_size
        self._memory = self._loaded()

    def __enter__(self) -> "PathFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, data: bytes) -> PathRef:
        """Append up to 65,535 bytes, and return a reference, which can be read after `flush`."""
        self._file.write(data)
        at = self._size
        self._size += len(data)
        return at << _LENGTH_BITS | len(data)

    def flush(self) -> None:
        """Make readable what was added."""
        self._file.flush()
        self._memory = self._loaded()

    def read(self, ref: PathRef) -> bytes:
        """Return the bytes of a reference."""
        at, length = ref >> _LENGTH_BITS, ref & _LENGTH
        if self._memory:
            return self._memory[at : at + length]
        return os.pread(self._descriptor, length, at)

    def _loaded(self) -> bytes:
        return os.pread(self._descriptor, self._size, 0) if self._size <= _IN_MEMORY else b""

    def path(self, ref: PathRef) -> str:
        """Return the path of a reference."""
        return self.read(ref).decode()


_DIGEST = 16
_REF = 8
_RECORD = _DIGEST + _REF
_BUCKETS = 16
_COLUMNS = Struct(">QQ")
_digest = itemgetter(slice(_DIGEST))
_REMEMBERED = 4096


def digest_of_key(key: str) -> bytes:
    """Return the digest of a key."""
    return blake2b(key.encode(), digest_size=_DIGEST).digest()


def write_table(file: str, keys: Iterable[tuple[str, PathRef]], paths: PathFile) -> None:
    """Write the table of ``keys`` to ``file``.

    If several paths have one key, the table has the one with the least `place_rank`.
    """
    # Records as objects take three times their size: they are sorted a bucket at a time.
    buckets = [bytearray() for _ in range(_BUCKETS)]
    for key, ref in keys:
        digest = digest_of_key(key)
        buckets[digest[0] * _BUCKETS // 256] += digest + ref.to_bytes(_REF)
    with open(file, "wb") as table:
        table.writelines(b"".join(_distinct(bucket, paths)) for bucket in buckets)


def _distinct(bucket: bytearray, paths: PathFile) -> Iterator[bytes]:
    """Yield the records of a bucket in order, one of each digest."""
    data = bytes(bucket)
    records = [data[at : at + _RECORD] for at in range(0, len(data), _RECORD)]
    records.sort()
    for _, same in groupby(records, key=_digest):
        candidates = list(same)
        if len(candidates) > 1:
            candidates.sort(
                key=lambda record: place_rank(paths.path(int.from_bytes(record[_DIGEST:])))
            )
        yield candidates[0]


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
            path = self._remembered[key] = self._find(key)
            return path

    def _find(self, key: str) -> str | None:
        high, low = _COLUMNS.unpack(digest_of_key(key))
        highs = self._high
        at = bisect_left(highs, high)
        while at < len(highs) and highs[at] == high:
            if self._low[at] == low:
                return self._paths.path(self._refs[at])
            at += 1
        return None


# No key of a link starts with it: no path contains it.
_MOVED = ">"


class LinkRules(TypedDict):
    """How the links of an archive are changed.

    Attributes:
        is_export: it is an export of Octavo, whose wiki links stay.
        notes_moved: other files than images have another path in the workspace.
    """

    is_export: bool
    notes_moved: bool


def write_targets(
    place: ImportFolder,
    rules: LinkRules,
    refs: Sequence[PathRef],
    finals: Sequence[PathRef],
    paths: PathFile,
) -> None:
    """Write the tables that `LinkTargets` reads.

    Args:
        place: the folder of the import.
        rules: how links are changed.
        refs: the paths of all files in the archive.
        finals: their paths in the workspace, in the same order.
        paths: the file of the paths.
    """
    Path(place.link_rules).write_text(json.dumps(rules))
    write_table(place.targets, _keys(refs, paths), paths)
    if refs != finals:
        moves = (
            (f"{_MOVED}{paths.path(ref)}", final)
            for ref, final in zip(refs, finals, strict=True)
            if ref != final
        )
        write_table(place.moved_targets, chain(_keys(finals, paths), moves), paths)


def _keys(refs: Sequence[PathRef], paths: PathFile) -> Iterator[tuple[str, PathRef]]:
    for ref in refs:
        for key in keys_of_path(paths.path(ref)):
            yield key, ref


class LinkTargets:
    """Resolves links of the notes of an archive.

    Args:
        place: the folder of the import.
        paths: the file of the paths.

    Attributes:
        before: returns the path in the archive that a key refers to.
        after: returns the path in the workspace that a key refers to.
        rules: how links are changed.
        files_moved: whether a file has another path in the workspace.
    """

    def __init__(self, place: ImportFolder, paths: PathFile) -> None:
        self.rules: LinkRules = json.loads(Path(place.link_rules).read_bytes())
        self.files_moved = Path(place.moved_targets).exists()
        self.before: Find = PathTable(place.targets, paths).find
        self.after = PathTable(place.moved_targets, paths).find if self.files_moved else self.before

    def moved(self, path: str) -> str:
        """Return the path in the workspace of the file with a path in the archive."""
        if not self.files_moved:
            return path
        return self.after(f"{_MOVED}{path}") or path
