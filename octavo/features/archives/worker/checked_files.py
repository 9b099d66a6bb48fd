"""The files of an archive that were checked, as worker processes pass them on.

A file of records has a line of JSON for each file of the archive. For a note, the line has the
number of bytes that follow: the text as the database stores it.
"""

import json
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from octavo_rules.identity import Digest


class CheckedNote(NamedTuple):
    """A note that can be imported.

    Attributes:
        path: its path in the workspace.
        digest: the SHA-256 digest of its text in UTF-8.
        size: the bytes of its text in UTF-8.
        stored: the text as the database stores it (`octavo.store.compression`).
    """

    path: str
    digest: Digest
    size: int
    stored: bytes


class CheckedImage(NamedTuple):
    """An image that can be imported.

    Attributes:
        path: its path in the workspace.
        file: the file that has it; it is durable, and can be moved away.
        digest: the SHA-256 digest of its bytes.
        crc: their CRC-32.
        size: their number.
        media_type: one of `octavo.model.files.image.MEDIA_TYPES`.
        width, height: in pixels.
        frames: 1 for an image that does not move.
    """

    path: str
    file: str
    digest: Digest
    crc: int
    size: int
    media_type: str
    width: int
    height: int
    frames: int


def note_record(note: CheckedNote) -> bytes:
    """Return the record of a note."""
    line = json.dumps((note.path, note.digest, note.size, len(note.stored)))
    return b"".join((line.encode(), b"\n", note.stored))


def image_record(image: CheckedImage) -> bytes:
    """Return the record of an image."""
    return f"{json.dumps(image)}\n".encode()


def checked_notes(files: Sequence[str]) -> Generator[CheckedNote]:
    """Yield the notes of files of records, in order. Raises OSError.

    One note is in memory at a time. A caller that may stop before the end must close the generator,
    which closes the open file.
    """
    for records in files:
        with open(records, "rb") as file:
            while line := file.readline():
                path, digest, size, length = json.loads(line)
                yield CheckedNote(path, digest, size, file.read(length))


def checked_images(files: Sequence[str]) -> Generator[CheckedImage]:
    """Yield the images of files of records, in order, as `checked_notes` does. Raises OSError."""
    for records in files:
        with open(records, "rb") as file:
            for line in file:
                yield CheckedImage(*json.loads(line))


def take(notes: Iterator[CheckedNote], most: int, size: float) -> list[CheckedNote]:
    """Return the next notes: at most ``most``, and no more once their stored bytes reach ``size``.

    The list is empty at the end.
    """
    taken: list[CheckedNote] = []
    total = 0
    for note in islice(notes, most):
        taken.append(note)
        total += len(note.stored)
        if total >= size:
            break
    return taken
