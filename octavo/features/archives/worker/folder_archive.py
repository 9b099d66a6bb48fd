"""Pack the notes and images of a folder as a zip archive, as a stream.

Files are in the order of their paths, and times are fixed, so a folder that did not change gives
the same bytes again. Files that an import leaves out are counted instead of packed.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from octavo.features.archives.worker.entry_reader import path_of_name
from octavo.features.archives.worker.selection import LEFT_OUT, Selection
from octavo.features.archives.worker.zip_writer import ZipWriter
from octavo.model.files.path import PathKey, check_path, path_key
from octavo.model.refusal import InvalidPath

PIECE = 256 * 1024
"""Bytes that are read, or returned, in one step."""
_LARGEST_IN_MEMORY = 4 * 1024 * 1024
_RECORDS = 30 + 46 + 2 * 28
"""Bytes of the records of a file in an archive, without its name."""
_END = 56 + 20 + 22
_SELECTION = Selection(b"")


class FolderChanged(Exception):
    """A file changed, or could not be read any more, while it was packed; the text names it."""


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A note or an image.

    Attributes:
        path: its path below the folder, with slashes.
        size: in bytes.
        is_note: whether it is a note.
    """

    path: str
    size: int
    is_note: bool


@dataclass(slots=True)
class FolderListing:
    """The files of a folder.

    Attributes:
        root: the folder.
        files: the notes and images, by path.
        left_out: the number of files that an import leaves out, by kind.
        links: the number of symbolic links, which are not followed.
        problems: a text for each file or folder that can't be read, or whose path an import
            refuses.
        keys: the paths of the files by their keys: two files with one key can't be imported.
    """

    root: Path
    files: list[FolderFile] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LEFT_OUT, 0))
    links: int = 0
    problems: list[str] = field(default_factory=list)
    keys: dict[PathKey, str] = field(default_factory=dict)

    @property
    def largest_archive(self) -> int:
        """An upper bound of the size of the archive in bytes."""
        names = sum(len(os.fsencode(file.path)) for file in self.files)
        return sum(file.size + _RECORDS for file in self.files) + 2 * names + _END


def list_folder(root: Path) -> FolderListing:
    """Find the files below ``root``.

    Notes and images that can't be read, or whose paths an import refuses, are problems.
    """
    listing = FolderListing(root)
    for path, entry in _walk(root, listing.problems):
        if entry.is_symlink():
            listing.links += 1
        else:
            _add(listing, path, entry)
    listing.files.sort(key=lambda file: file.path)
    return listing


def pack_folder(listing: FolderListing) -> Iterator[bytes]:
    """Yield the bytes of the archive of the listed files. A step raises `FolderChanged`."""
    writer = ZipWriter(None)
    pieces: list[bytes] = []
    size = 0
    for file in listing.files:
        for piece in _packed(writer, listing.root, file):
            pieces.append(piece)
            size += len(piece)
            if size >= PIECE:
                yield b"".join(pieces)
                pieces, size = [], 0
    yield b"".join((*pieces, writer.end()))


def _walk(root: Path, problems: list[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the files and links below ``root``, each with its path."""
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as scanned:
                entries = list(scanned)
        except OSError as error:
            if _matters(f"{folder}/_.md"):
                problems.append(f"{root / folder}: {error.strerror}")
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            else:
                yield path, entry


def _matters(path: str) -> bool:
    return _SELECTION.kind_of_file(path_of_name(path)) in ("note", "image")


def _add(listing: FolderListing, path: str, entry: os.DirEntry[str]) -> None:
    kind = _SELECTION.kind_of_file(path_of_name(path))
    if kind not in ("note", "image"):
        listing.left_out[kind] += 1
        return
    try:
        path.encode()
        # The server leaves out hidden characters.
        check_path(path_of_name(path), kept=path_of_name(path))
        if not entry.is_file(follow_symlinks=False):
            raise OSError(0, "not a regular file")
        opened = _open(Path(entry.path))
        try:
            size = os.fstat(opened).st_size
        finally:
            os.close(opened)
    except OSError as error:
        listing.problems.append(f"{entry.path}: {error.strerror}")
    except UnicodeEncodeError:
        listing.problems.append(f"{entry.path}: its name is not UTF-8")
    except InvalidPath as error:
        listing.problems.append(f"{entry.path}: {error.detail}")
    else:
        listing.files.append(FolderFile(path, size, kind == "note"))
        other = listing.keys.setdefault(path_key(path_of_name(path)), path)
        if other != path:
            listing.problems.append(
                f"{entry.path}: {other} has the same path, except for case or Unicode composition"
            )


def _packed(writer: ZipWriter, root: Path, file: FolderFile) -> Iterator[bytes]:
    path = root / file.path
    try:
        opened = _open(path)
        try:
            if file.is_note and file.size <= _LARGEST_IN_MEMORY:
                data = b"".join(_read(opened, file.size))
                yield writer.note(file.path, data)
            else:
                yield from _stored(writer, opened, file)
        finally:
            os.close(opened)
    except OSError as error:
        raise FolderChanged(f"{path} can't be read any more: {error.strerror}") from None
    except _Changed:
        raise FolderChanged(f"{path} was changed while it was read") from None


def _stored(writer: ZipWriter, opened: int, file: FolderFile) -> Iterator[bytes]:
    """Read a file twice, as its checksum is in front of its data."""
    expected = 0
    for piece in _read(opened, file.size):
        expected = crc32(piece, expected)
    os.lseek(opened, 0, os.SEEK_SET)
    yield writer.begin_stored(file.path, file.size, expected)
    actual = 0
    for piece in _read(opened, file.size):
        actual = crc32(piece, actual)
        yield piece
    if actual != expected:
        raise _Changed


class _Changed(Exception):
    """The file has another size or other bytes than before."""


def _read(opened: int, size: int) -> Iterator[bytes]:
    """Yield the ``size`` bytes of an open file. Raises `_Changed` if it has another size."""
    rest = size
    while piece := os.read(opened, PIECE):
        rest -= len(piece)
        if rest < 0:
            break
        yield piece
    if rest:
        raise _Changed


def _open(path: Path) -> int:
    # A pipe that took the place of a file must not block.
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
