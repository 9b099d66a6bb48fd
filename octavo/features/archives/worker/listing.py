"""The list of the files of an archive that are imported, in the order of their data.

It is a file with a line of JSON for each entry. `worker.survey` writes it; slices of it
are the work of the worker processes that read the entries.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SliceOfListing = tuple[int, int]
"""The positions in a listing at which a slice begins and ends."""
CheckedSlice = tuple[str, int]
"""The file of the records of a slice, and the position in the listing up to which it has them."""


class ImportFolder:
    """The files of one import, in a folder that its worker processes share.

    Args:
        folder: an existing folder, empty before the survey.

    Attributes:
        notes: the listing of the notes.
        images: the listing of the images.
        paths: a `octavo.features.archives.worker.path_table.PathFile`.
        targets: the `PathTable` that links are resolved by; none if no
            link is changed.
        moved_targets: the one after files were moved; only if there are such files.
        link_rules: `LinkRules` as JSON, beside the targets.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self.notes = str(self._folder / "notes")
        self.images = str(self._folder / "images")
        self.paths = str(self._folder / "paths")
        self.targets = str(self._folder / "targets")
        self.moved_targets = str(self._folder / "moved-targets")
        self.link_rules = str(self._folder / "link-rules")

    def checked(self, kind: str, begin: int) -> str:
        """Return the file of the records of a slice; ``kind`` is ``notes`` or ``images``."""
        return str(self._folder / f"{kind}-{begin}")

    def image(self, offset: int) -> str:
        """Return the file of the image whose local header is at ``offset``."""
        return str(self._folder / f"image-{offset}")


class ListedEntry(NamedTuple):
    """A note or an image of the archive. Entries are JSON arrays in this order.

    Attributes:
        path: its path in the archive.
        final: its path in the workspace: that of an image may be another one.
        name: its name in the archive, decoded as Latin-1 so that no byte is lost; empty if it is
            the path in UTF-8.
        limit: the position that its data must not exceed.
        offset: the position of its local header.
        flags: general purpose flags.
        method: compression method.
        crc: CRC-32 of the file.
        compressed: bytes in the archive.
        size: bytes of the file.
    """

    path: str
    final: str
    name: str
    limit: int
    offset: int
    flags: int
    method: int
    crc: int
    compressed: int
    size: int


class ListingWriter:
    """Writes a listing, and cuts it into slices. Use it as a context manager.

    Args:
        file: the file to create.
        entries: the maximum number of entries of a slice.
        size: the bytes of files after which a slice ends.
    """

    def __init__(self, file: str, *, entries: int, size: int) -> None:
        self._file = open(file, "wb")  # noqa: SIM115  # closed on exit
        self._max_entries = entries
        self._max_size = size
        self._begin = self._end = 0
        self._entries = self._size = 0
        self._slices: list[SliceOfListing] = []

    def __enter__(self) -> "ListingWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, entry: ListedEntry) -> None:
        """Append an entry. Raises OSError."""
        line = f"{json.dumps(entry)}\n".encode()
        self._file.write(line)
        self._end += len(line)
        self._entries += 1
        self._size += entry.size
        if self._entries >= self._max_entries or self._size >= self._max_size:
            self._cut()

    def finish(self) -> list[SliceOfListing]:
        """End the last slice, and return all in order."""
        if self._entries:
            self._cut()
        return self._slices

    def _cut(self) -> None:
        self._slices.append((self._begin, self._end))
        self._begin, self._entries, self._size = self._end, 0, 0


def entries_in(file: str, begin: int, end: int) -> Iterator[ListedEntry]:
    """Yield the entries of a slice of the listing ``file``. Raises OSError."""
    return (entry for entry, _ in _read(file, begin, end))


class SliceReader:
    """Reads a slice of a listing, for as long as a task may take.

    Args:
        file: the listing.
        begin: the position at which the slice begins.
        end: the position at which it ends.
        seconds: processor time after which it ends earlier, but not before its first entry.

    Attributes:
        reached: the position up to which its entries were read.
    """

    def __init__(self, file: str, begin: int, end: int, seconds: float) -> None:
        self._entries = _read(file, begin, end)
        self._until = time.process_time() + seconds
        self.reached = begin

    def __iter__(self) -> Iterator[ListedEntry]:
        """Yield the entries. Raises OSError."""
        for entry, after in self._entries:
            yield entry
            self.reached = after
            if time.process_time() >= self._until:
                return


def _read(file: str, begin: int, end: int) -> Iterator[tuple[ListedEntry, int]]:
    """Yield the entries of a slice, each with the position after it."""
    with open(file, "rb") as listing:
        listing.seek(begin)
        while begin < end:
            line = listing.readline()
            begin += len(line)
            yield ListedEntry(*json.loads(line)), begin
