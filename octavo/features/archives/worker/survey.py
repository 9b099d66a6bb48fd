"""The first step of an import: read the directory of the archive, and list what is imported.

Every entry is either listed, as a note or an image, or left out and counted. The archive is refused
for a note or an image that can't be imported under its path, and for entries whose data overlap.
Only the directory is read; `worker.entry_reader` compares it with the data.

The memory that this takes does not depend on the lengths of paths: they are written to a file, and
a few numbers and a digest are kept for each entry.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import TypedDict

from octavo.features.archives.worker import listing, path_table, refusal
from octavo.features.archives.worker import zip_format as zf
from octavo.features.archives.worker.directory import (
    ArchiveDirectory,
    ZipEntry,
    entries_of,
    find_directory,
)
from octavo.features.archives.worker.entry_reader import check_entry, name_of, path_of_name
from octavo.features.archives.worker.part_files import PartFiles
from octavo.features.archives.worker.selection import LEFT_OUT, EntryKind, Selection
from octavo.model.files import path as paths
from octavo.model.files.path import ATTACHMENTS, folders_of, path_key
from octavo.model.refusal import InvalidPath

NOTES_OF_SLICE = 500
BYTES_OF_SLICE = 4 * 1024 * 1024
IMAGES_OF_SLICE = 10
MOST_SLICES = 1000
"""About the most slices of a listing: those of a large archive are larger."""
# The columns of a file: number of its entry, references to path, final path and name, figures.
_WIDTH = 10
_NUMBER, _PATH, _FINAL, _NAME, _OFFSET = range(5)
_FIGURES = slice(_OFFSET, _WIDTH)
_SAME_NAME = (1 << 64) - 1
_FOLDERS_REMEMBERED = 10_000
_OVERLAPS = "Its data overlaps another entry or the directory of the archive."


class ArchiveLimits(TypedDict):
    """Limits of an import.

    Attributes:
        entries: the most entries of an archive, with those that are left out.
        total: the most bytes of all notes and images together.
        note: the most bytes of a note.
        image: the most bytes of an image.
    """

    entries: int
    total: int
    note: int
    image: int


class SurveyResult(TypedDict):
    """What the survey of an archive found.

    Attributes:
        notes: the number of notes.
        images: the number of images.
        size: their bytes in total.
        left_out: the number of entries that are left out, by their kind.
        cleaned: the number of files whose paths have hidden characters, which are left out.
        note_slices: the slices of the listing of notes.
        image_slices: the slices of the listing of images.
    """

    notes: int
    images: int
    size: int
    left_out: dict[str, int]
    cleaned: int
    note_slices: list[listing.SliceOfListing]
    image_slices: list[listing.SliceOfListing]


def survey(parts: list[str], folder: str, limits: ArchiveLimits) -> SurveyResult:
    """List the notes and images of an archive in ``folder``, which is an `ImportFolder`.

    It is for a worker process. The files need not survive a crash.

    Args:
        parts: the files that make the archive, in order.
        folder: an empty folder.
        limits: the limits of the archive.

    Raises:
        ArchiveInvalid: the parts do not make one archive, or an entry can't be imported.
        ArchiveTooManyFiles, ArchiveTooLarge: it exceeds a limit.
        OSError: a file can't be read or written.
    """
    place = listing.ImportFolder(folder)
    with PartFiles(parts) as source, path_table.PathFile(place.paths) as path_file:
        directory = find_directory(source)
        if directory.entries > limits["entries"]:
            raise refusal.ArchiveTooManyFiles(
                f"The archive has {directory.entries:,} entries. At most {limits['entries']:,} are"
                " accepted: import it in several archives."
            )
        entries = _Survey(source, directory, path_file, limits)
        entries.read()
        path_file.flush()
        entries.place()
        path_file.flush()
        entries.check_folders()
        return entries.write(place)


class _Survey:
    """The entries of an archive by number, and the files among them that are imported by row."""

    def __init__(
        self,
        source: PartFiles,
        directory: ArchiveDirectory,
        path_file: path_table.PathFile,
        limits: ArchiveLimits,
    ) -> None:
        self._source = source
        self._directory = directory
        self._paths = path_file
        self._limits = limits
        self._selection = Selection(directory.comment)
        self._left_out = Counter[EntryKind]()
        self._extents = Extents(directory.start)
        self._rows = array("Q")
        self._is_image = bytearray()
        self._size = 0
        # Digests of the keys of paths: final ones, and those of files that get another path.
        self._taken: set[bytes] = set()
        self._leaving: set[bytes] = set()
        self._moved: list[int] = []
        self._cleaned = 0

    def read(self) -> None:
        """Read the directory: select, check and store every entry."""
        select = self._selection.kind
        largest = {"note": self._limits["note"], "image": self._limits["image"]}
        for number, entry in enumerate(entries_of(self._source, self._directory)):
            name = name_of(entry)
            try:
                self._extents.add(entry)
            except Overlap:
                raise refusal.refused_entry(name, _OVERLAPS) from None
            path = path_of_name(name)
            kind = select(entry, path)
            if kind == "note" or kind == "image":
                check_entry(entry, name, path, kind, largest[kind])
                self._add(number, entry, name, path, is_image=kind == "image")
            else:
                self._left_out[kind] += 1

    def _add(self, number: int, entry: ZipEntry, name: str, path: str, *, is_image: bool) -> None:
        self._size += entry.size
        if self._size > self._limits["total"]:
            raise refusal.ArchiveTooLarge(
                f"The notes and images of the archive have more than {self._limits['total']:,}"
                " bytes, the maximum: import them in several archives."
            )
        digest = path_table.digest_of_key(path_key(path))
        if digest in self._taken or digest in self._leaving:
            raise refusal.refused_entry(
                name,
                "Another entry has the same path. Paths that differ only in case or in Unicode"
                " composition are the same.",
            )
        cleaned = paths.without_hidden_characters(path) != path
        self._cleaned += cleaned
        if cleaned or (is_image and not is_placed(path)):
            self._leaving.add(digest)
            self._moved.append(len(self._is_image))
        else:
            self._taken.add(digest)
        data = path.encode()
        ref = self._paths.add(data)
        name_ref = _SAME_NAME if data == entry.name else self._paths.add(entry.name)
        figures = (entry.offset, entry.flags, entry.method, entry.crc, entry.compressed, entry.size)
        self._rows.extend((number, ref, ref, name_ref, *figures))
        self._is_image.append(is_image)

    def place(self) -> None:
        """Give a path to every file that can't keep its own.

        That is an image outside of the folder of attachments, or a file whose path has hidden
        characters. Raises `ArchiveInvalid`.
        """
        for row in self._moved:
            path = self._paths.path(self._rows[row * _WIDTH + _PATH])
            free_path = attachment_path if self._is_image[row] else note_path
            final = free_path(paths.without_hidden_characters(path), self._is_free)
            try:
                paths.check_path(final)
            except InvalidPath as error:
                raise refusal.refused_entry(path, error.detail) from None
            self._taken.add(path_table.digest_of_key(path_key(final)))
            self._rows[row * _WIDTH + _FINAL] = self._paths.add(final.encode())

    def _is_free(self, path: str) -> bool:
        key = path_key(path)
        return self._taken.isdisjoint(map(path_table.digest_of_key, (key, *folders_of(key))))

    def check_folders(self) -> None:
        """Raise `ArchiveInvalid` if a file has the path of a folder of another one."""
        known: set[str] = set()
        for ref in self._rows[_FINAL::_WIDTH]:
            path = self._paths.path(ref)
            folder = path.rpartition("/")[0]
            if folder in known:
                continue
            for above in folders_of(path_key(path)):
                if path_table.digest_of_key(above) in self._taken:
                    raise refusal.refused_entry(path, "A folder above it is a file of the archive.")
            if len(known) >= _FOLDERS_REMEMBERED:
                known.clear()
            known.add(folder)

    def write(self, place: listing.ImportFolder) -> SurveyResult:
        """Write the listings and what links are resolved by, and return the result."""
        limits = self._entry_limits()
        offsets = self._rows[_OFFSET::_WIDTH]
        of_slice = len(offsets) // MOST_SLICES
        note_count, image_count = max(NOTES_OF_SLICE, of_slice), max(IMAGES_OF_SLICE, of_slice)
        size = max(BYTES_OF_SLICE, self._size // MOST_SLICES)
        with (
            listing.ListingWriter(place.notes, entries=note_count, size=size) as notes,
            listing.ListingWriter(place.images, entries=image_count, size=size) as images,
        ):
            for row in sorted(range(len(offsets)), key=offsets.__getitem__):
                (images if self._is_image[row] else notes).add(self._listed(row, limits))
            note_slices, image_slices = notes.finish(), images.finish()
        is_export = self._selection.is_export
        if self._cleaned or not is_export:
            rules: path_table.LinkRules = {
                "is_export": is_export,
                "notes_moved": bool(self._cleaned),
            }
            refs, finals = self._rows[_PATH::_WIDTH], self._rows[_FINAL::_WIDTH]
            path_table.write_targets(place, rules, refs, finals, self._paths)
        return {
            "notes": self._is_image.count(0),
            "images": self._is_image.count(1),
            "size": self._size,
            "left_out": {kind: self._left_out[kind] for kind in LEFT_OUT},
            "cleaned": self._cleaned,
            "note_slices": note_slices,
            "image_slices": image_slices,
        }

    def _entry_limits(self) -> Sequence[int]:
        """Return the position that the data of each entry must not exceed."""
        try:
            return self._extents.limits()
        except Overlap as overlap:
            entries = entries_of(self._source, self._directory)
            name = name_of(next(islice(entries, overlap.number, None)))
            raise refusal.refused_entry(name, _OVERLAPS) from None

    def _listed(self, row: int, limits: Sequence[int]) -> listing.ListedEntry:
        columns = self._rows[row * _WIDTH : (row + 1) * _WIDTH]
        path = self._paths.path(columns[_PATH])
        moved = columns[_FINAL] != columns[_PATH]
        name = columns[_NAME]
        return listing.ListedEntry(
            path,
            self._paths.path(columns[_FINAL]) if moved else path,
            "" if name == _SAME_NAME else self._paths.read(name).decode("latin-1"),
            limits[columns[_NUMBER]],
            *columns[_FIGURES],
        )


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


def is_placed(path: str) -> bool:
    """Return whether an image can keep the valid ``path``."""
    return path.startswith(ATTACHMENTS)


def attachment_path(path: str, is_free: Callable[[str], bool]) -> str:
    """Return the path in the folder of attachments for an image at the valid ``path``.

    It is ``attachments/`` and the path, with a number at its name if that is not free. If no file
    can be in its folder, or the path gets too long, the image has no folder of its own.

    Args:
        path: a path outside of the folder. The folder may be spelled in another case.
        is_free: whether a valid path can be given to a file.
    """
    return next(candidate for candidate in _candidates(path) if is_free(candidate))


def note_path(path: str, is_free: Callable[[str], bool]) -> str:
    """Return ``path``, or one like it that is free: with a number, or in no folder as well."""
    if is_free(path):
        return path
    name = path.rpartition("/")[2]
    numbered = zip(paths.numbered_paths(path), paths.numbered_paths(name), strict=True)
    return next(
        candidate for pair in islice(numbered, 1, None) for candidate in pair if is_free(candidate)
    )


def _candidates(path: str) -> Iterator[str]:
    if path.lower().startswith(ATTACHMENTS):
        path = path[len(ATTACHMENTS) :]
    if _fits(f"{ATTACHMENTS}{path}"):
        yield f"{ATTACHMENTS}{path}"
    folder, slash, name = path.rpartition("/")
    stem, _, ending = name.rpartition(".")
    for number in count(2):
        suffix = f"-{number}.{ending}"
        numbered = f"{_shortened(stem, paths.LONGEST_SEGMENT - len(suffix))}{suffix}"
        in_folder = f"{ATTACHMENTS}{folder}{slash}{numbered}"
        if _fits(in_folder):
            yield in_folder
        yield f"{ATTACHMENTS}{numbered}"


def _fits(path: str) -> bool:
    return len(path.encode()) <= paths.LONGEST_PATH and path.count("/") < paths.MAX_SEGMENTS


def _shortened(stem: str, size: int) -> str:
    """Return a beginning of ``stem`` of at most ``size`` bytes."""
    return stem.encode()[:size].decode(errors="ignore")
