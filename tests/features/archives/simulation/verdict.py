"""Judge the workspace of an import, and what is left of the import besides."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from octavo_rules.identity import FileId, WorkspaceId

from octavo.features.archives.import_run import ImportResult
from octavo.store import Store
from octavo.store.blobs.blob_store import digest_of_key
from octavo.store.queries.feed import live_at
from octavo.store.queries.files import StoredFile
from octavo.store.queries.marks import cursor_of
from octavo.store.transaction import Row, Transaction
from tests.fakes.memory_blobs import MemoryBlobs
from tests.features.archives.simulation.process import import_now

VAULT = WorkspaceId("w")


class ImportEnd(NamedTuple):
    """How an import ended, as its client knows.

    Attributes:
        archive: its files by their paths.
        result: None unless it was completed.
        aborted_after: the number of its changesets when it was aborted; None unless it was.
        refused: whether it was refused before the first commit.
    """

    archive: Mapping[str, str | bytes]
    result: ImportResult | None
    aborted_after: int | None
    refused: bool


async def changesets_of_import(disk: Store) -> int:
    """Return how many changesets of imports the workspace has."""
    return len({each.revision.position for each in _imported(await _live(disk))})


async def faults_of_import(
    disk: Store, blobs: MemoryBlobs, end: ImportEnd, saw: Callable[[str], None]
) -> list[str]:
    """Return what is wrong; ``saw`` is called when a file was renamed."""
    live = await _live(disk)
    imported = _imported(live)
    renamed = [*_renamed(imported, end.archive)]
    if renamed:
        saw("renamed")
    taken = {each.revision.path for each in live if each.revision.origin != "import"}
    return [
        *_faults_of_files(imported, end),
        *(
            f"{path} was imported as {other}"
            for path, other in renamed
            if path not in taken or other != _renamed_once(path)
        ),
        *await _left_behind(disk, blobs, imported, end),
    ]


def _faults_of_files(imported: Sequence[StoredFile], end: ImportEnd) -> Iterator[str]:
    contents = Counter(_content(each, end.archive) for each in imported)
    expected = Counter(end.archive.values())
    if any(number > 1 for number in contents.values()):
        yield "a file of the archive is there twice"
    if contents - expected:
        yield "a file that is not in the archive was imported"
    if end.refused and contents:
        yield "an import that was refused has imported something"
    if end.result is not None:
        if contents != expected:
            yield "a file of the archive is lost"
        notes = sum(1 for path in end.archive if path.endswith(".md"))
        if (end.result.notes, end.result.attachments) != (notes, len(end.archive) - notes):
            yield f"{end.result} is the result of another archive"
    changesets = len({each.revision.position for each in imported})
    # One may have been on its way.
    if end.aborted_after is not None and changesets > end.aborted_after + 1:
        yield "an aborted import has gone on"


def _renamed(
    imported: Sequence[StoredFile], archive: Mapping[str, str | bytes]
) -> Iterator[tuple[str, str]]:
    """Yield the paths that files have in the archive and in the workspace, where they differ."""
    paths = {content: path for path, content in archive.items()}
    for each in imported:
        path = paths.get(_content(each, archive))
        if path is not None and path != each.revision.path:
            yield path, each.revision.path


def _renamed_once(path: str) -> str:
    name, dot, suffix = path.rpartition(".")
    return f"{name} (imported){dot}{suffix}"


async def _left_behind(
    disk: Store, blobs: MemoryBlobs, imported: Sequence[StoredFile], end: ImportEnd
) -> list[str]:
    """Return what is left of the import besides its files."""
    now = int(1000 * import_now())

    async def left(transaction: Transaction) -> tuple[Sequence[Row], Sequence[Row]]:
        jobs = "SELECT 1 FROM archive_jobs WHERE renewed_until >= $1"
        parts = "SELECT 1 FROM import_parts"
        return await transaction.fetch_all(jobs, now), await transaction.fetch_all(parts)

    jobs, parts = await disk.read(left)
    images = {each.revision.digest for each in imported if each.text is None}
    stored = {digest_of_key(key) for key in blobs.blobs}
    done = end.result is not None
    return [
        message
        for wrong, message in (
            (jobs, "a slot is taken by a job that has ended"),
            (
                parts and (done or end.aborted_after is not None),
                "the parts of an import that has ended are still there",
            ),
            (images - stored, "the bytes of an image are missing"),
            # The images of an aborted import expire later.
            (done and stored - images, "a blob is still there, and nobody names it"),
        )
        if wrong
    ]


def _content(file: StoredFile, archive: Mapping[str, str | bytes]) -> str | bytes:
    """Return the text of a note, or the bytes of an image of the archive."""
    if file.text is not None:
        return file.text
    images = [each for each in archive.values() if isinstance(each, bytes)]
    digests = {hashlib.sha256(each).hexdigest(): each for each in images}
    return digests.get(file.revision.digest, b"")


def _imported(files: Sequence[StoredFile]) -> list[StoredFile]:
    return [each for each in files if each.revision.origin == "import"]


async def _live(disk: Store) -> list[StoredFile]:
    cursor = await disk.read(cursor_of(VAULT))
    assert cursor is not None, "the workspace is gone"
    files, _ = await disk.read(live_at(VAULT, cursor.position, FileId(""), 1000, 1 << 30))
    return files
