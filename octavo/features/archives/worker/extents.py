"""Where the data of entries is in an archive: it must not overlap."""

from array import array
from collections.abc import Sequence

from octavo.features.archives.worker import zip_format as zf
from octavo.features.archives.worker.directory import ZipEntry


class Extents:
    """The places of all entries, in the order of the directory; 16 bytes each.

    Args:
        end: the position that none must exceed: where the directory starts.
    """

    def __init__(self, end: int) -> None:
        self._end = end
        self._begins = array("Q")
        self._ends = array("Q")

    def add(self, entry: ZipEntry) -> None:
        """Append the place of an entry: at least that of its local header, name and data.

        Raises `Overlap` if it exceeds the limit of all.
        """
        end = entry.offset + zf.LOCAL.size + len(entry.name) + entry.compressed
        # The values of ZIP64 can be too large for the arrays.
        if end > self._end:
            raise Overlap(len(self._begins))
        self._begins.append(entry.offset)
        self._ends.append(end)

    def limits(self) -> Sequence[int]:
        """Return the position that each entry must not exceed: where the next one begins.

        Raises `Overlap`.
        """
        order = sorted(range(len(self._begins)), key=self._begins.__getitem__)
        limits = array("Q", bytes(8 * len(order)))
        limit = self._end
        for number in reversed(order):
            if self._ends[number] > limit:
                raise Overlap(number)
            limits[number] = limit
            limit = self._begins[number]
        return limits


class Overlap(Exception):
    """The place of an entry overlaps the next one, or the directory.

    Attributes:
        number: its number in the directory, from 0.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"entry {number} overlaps the next one")
        self.number = number
