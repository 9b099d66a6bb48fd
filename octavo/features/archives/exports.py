"""Export a workspace as a zip archive, at one position, while others change it.

The archive is written while it is sent: only the current piece and the directory are in memory.
Files are in the order of their ids, so the same position gives the same bytes. Images that are
damaged or missing are left out, and listed in a report at the end.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from itertools import groupby
from typing import Literal, NamedTuple

import trio
from attrs import define, field
from octavo_rules.export_report import REPORT, export_report
from octavo_rules.identity import AccountId, FileId, Position, RevisionId, WorkspaceId

from octavo.features.archives.job import ArchiveJobs, RecentWrites
from octavo.features.archives.worker.selection import ExportLayout
from octavo.features.archives.worker.zip_writer import ZipWriter
from octavo.features.images.sql import StoredImage, blobs_of
from octavo.model.files.confinement import Confinement
from octavo.model.usage import Amount
from octavo.store import Store
from octavo.store.blobs import BlobMissing, BlobStore
from octavo.store.queries.changesets import WorkspaceGone
from octavo.store.queries.feed import earlier_sizes, live_at, live_contents
from octavo.store.queries.files import StoredFile, earlier_contents, live_paths, with_earlier
from octavo.store.queries.marks import cursor_of

ExportFormat = Literal["all", "notes", "history"]
"""All files, notes alone, or all files with their earlier revisions."""

PIECE = 128 * 1024
"""Bytes of a piece that is sent at once."""
_FILES_OF_STEP = 200
_FILES_BESIDES = 50
"""Files of a step while others write: a step delays them, as it holds Python's lock."""
_BYTES_OF_STEP = 512 * 1024
_REVISIONS_OF_STEP = 4

_log = logging.getLogger(__name__)

Permit = Callable[[], Awaitable[object]]
"""Raises when the account may not read the workspace any more."""
Count = Callable[[Amount], Awaitable[object]]
"""Counts a file that is sent next; raises when the account may read no more in this month."""


class Export(NamedTuple):
    """An export that has begun.

    Attributes:
        position: the position of the workspace that it is exact at.
        chunks: its bytes. Iteration raises if the export fails, and the archive is then incomplete.
            Closing the iterator ends the export.
    """

    position: Position
    chunks: AsyncIterator[bytes]


@define(eq=False)
class Exports:
    """Exports of workspaces.

    Args:
        store: the database.
        blobs: the blob store.
        jobs: runs the exports.
        others: tells whether others write at present.
        new_id: returns an id.
    """

    _store: Store
    _blobs: BlobStore
    _jobs: ArchiveJobs
    _others: RecentWrites
    _new_id: Callable[[], str]

    async def size(
        self,
        workspace_id: WorkspaceId,
        export_format: ExportFormat,
        within: Confinement | None = None,
    ) -> Amount:
        """Return the size in bytes and the number of the files in an export.

        Raises `octavo.store.StoreUnavailable`.
        """
        script = live_contents(workspace_id, images=export_format != "notes", within=within)
        live = await self._store.read_much(script)
        if export_format != "history":
            return live
        return live.plus(await self._store.read_much(earlier_sizes(workspace_id, within)))

    async def require_free(self, account_id: AccountId) -> None:
        """Raise the errors of `start` if the account can't export now; start nothing."""
        await self._jobs.require_free(account_id)

    async def start(
        self,
        workspace_id: WorkspaceId,
        account_id: AccountId,
        export_format: ExportFormat,
        permit: Permit,
        count: Count,
        within: Confinement | None = None,
    ) -> Export:
        """Begin the export of a workspace, or of what is visible ``within`` a folder of it.

        Raises:
            WorkspaceGone: there is no such workspace.
            ArchiveJobRunning, ArchiveJobsBusy, JobStopped: it can't be exported now.
            StoreUnavailable: the database failed.
        """
        cursor = await self._store.read(cursor_of(workspace_id))
        if cursor is None:
            raise WorkspaceGone
        sending, receiving = trio.open_memory_channel[bytes](0)
        run = _ExportRun(
            self._store,
            self._blobs,
            self._others,
            workspace_id,
            cursor.position,
            sending,
            permit,
            count,
            within,
        )
        result: Callable[[], Awaitable[None]] = await self._jobs.start(
            account_id, self._new_id(), partial(run.run, export_format)
        )
        return Export(cursor.position, _ExportedChunks(receiving, result))


@define(eq=False)
class _ExportedChunks:
    """The bytes of an export. If it fails, its exception is raised after them."""

    _receiving: trio.MemoryReceiveChannel[bytes]
    _result: Callable[[], Awaitable[None]]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await self._receiving.receive()
        except trio.EndOfChannel:
            await self._result()
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self._receiving.close()


@define(eq=False)
class _ExportRun:
    """One export that runs."""

    _store: Store
    _blobs: BlobStore
    _others: RecentWrites
    _id: WorkspaceId = field(alias="workspace_id")
    _position: Position
    _sending: trio.MemorySendChannel[bytes]
    _permit: Permit
    _count: Count
    _within: Confinement | None
    _lacked: list[str] = field(factory=list, init=False)
    _pieces: list[bytes] = field(factory=list, init=False)
    _size: int = field(default=0, init=False)

    async def run(self, export_format: ExportFormat) -> None:
        """Send the archive; a receiver that is closed ends it."""
        try:
            async with self._sending:
                await self._write(export_format)
        except trio.BrokenResourceError:
            # The receiver was closed.
            return

    async def _write(self, export_format: ExportFormat) -> None:
        layout = ExportLayout()
        if export_format == "history":
            paths = await self._store.read_much(live_paths(self._id, self._within))
            layout = ExportLayout.with_history(paths)
        writer = ZipWriter(layout)
        after: FileId | None = FileId("")
        while after is not None:
            await self._permit()
            most = _FILES_BESIDES if self._others.recent() else _FILES_OF_STEP
            script = live_at(self._id, self._position, after, most, _BYTES_OF_STEP, self._within)
            heads, after = await self._store.read_much(script)
            await self._add_files(writer, heads, notes_alone=export_format == "notes")
            if layout.history is not None:
                await self._add_histories(writer, layout, heads)
        if self._lacked:
            await self._add(writer.note(REPORT, export_report(self._lacked).encode()))
        await self._add(writer.end())
        await self._send()

    async def _add_files(
        self, writer: ZipWriter, heads: list[StoredFile], *, notes_alone: bool
    ) -> None:
        images: dict[RevisionId, StoredImage] = {}
        named = [stored.revision.revision_id for stored in heads if stored.text is None]
        if named and not notes_alone:
            images = await self._store.read(blobs_of(self._id, named))
        files = [(stored.revision.path, stored) for stored in heads]
        await self._add_contents(writer, files, images)

    async def _add_histories(
        self, writer: ZipWriter, layout: ExportLayout, heads: Sequence[StoredFile]
    ) -> None:
        script = with_earlier(self._id, [head.revision.file_id for head in heads])
        # Most files have no earlier revisions: a query for each file would be wasted.
        changed = await self._store.read(script)
        for head in heads:
            if head.revision.file_id in changed:
                await self._add_history(writer, layout, head)

    async def _add_history(self, writer: ZipWriter, layout: ExportLayout, head: StoredFile) -> None:
        revision = head.revision
        before = revision.position
        while True:
            script = earlier_contents(self._id, revision.file_id, before, _REVISIONS_OF_STEP)
            earlier = await self._store.read(script)
            named = [stored.revision.revision_id for stored in earlier if stored.text is None]
            images = await self._store.read(blobs_of(self._id, named)) if named else {}
            files: list[tuple[str, StoredFile]] = []
            for stored in earlier:
                before = stored.revision.position
                if self._within is not None and not self._within.covers(stored.revision.path):
                    continue
                files.append((layout.revision_path(before, stored.revision.path), stored))
            await self._add_contents(writer, files, images)
            if len(earlier) < _REVISIONS_OF_STEP:
                return

    async def _add_contents(
        self,
        writer: ZipWriter,
        files: Sequence[tuple[str, StoredFile]],
        images: dict[RevisionId, StoredImage],
    ) -> None:
        """Add notes and images, each at its path; images that ``images`` lacks are left out."""
        for is_note, group in groupby(files, key=lambda file: file[1].text is not None):
            if is_note:
                await self._add_notes(writer, list(group))
                continue
            for path, stored in group:
                revision_id = stored.revision.revision_id
                image = images.get(revision_id)
                if image is not None:
                    await self._add_image(writer, path, revision_id, image)

    async def _add_notes(self, writer: ZipWriter, notes: Sequence[tuple[str, StoredFile]]) -> None:
        size = sum(stored.revision.size for _, stored in notes)
        await self._count(Amount(size, len(notes)))
        # In a thread, because compression would block the event loop.
        for piece in await trio.to_thread.run_sync(_packed, writer, notes):
            await self._add(piece)

    async def _add_image(
        self, writer: ZipWriter, path: str, revision_id: RevisionId, image: StoredImage
    ) -> None:
        async with aclosing(self._blobs.read(image.key, 0, image.size)) as chunks:
            try:
                # Read before the header is written, in case the blob is missing.
                chunk = await anext(chunks)
            except BlobMissing as error:
                # Unless it was purged meanwhile, the image is damaged or missing.
                if await self._store.read(blobs_of(self._id, [revision_id])):
                    _log.error("workspace %s: %s; an export lacks %r", self._id, error, path)
                    self._lacked.append(path)
                return
            await self._count(Amount(image.size, 1))
            await self._add(writer.begin_stored(path, image.size, image.crc))
            await self._add(chunk)
            async for chunk in chunks:
                await self._add(chunk)

    async def _add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size >= PIECE:
            await self._send()

    async def _send(self) -> None:
        pieces, self._pieces, self._size = self._pieces, [], 0
        await self._sending.send(b"".join(pieces))


def _packed(writer: ZipWriter, notes: Sequence[tuple[str, StoredFile]]) -> list[bytes]:
    """Return pieces of an archive with notes, of about `PIECE` bytes."""
    pieces: list[bytes] = []
    written: list[bytes] = []
    size = 0
    for path, stored in notes:
        assert stored.text is not None
        entry = writer.note(path, stored.text.encode())
        written.append(entry)
        size += len(entry)
        if size >= PIECE:
            pieces.append(b"".join(written))
            written, size = [], 0
    return [*pieces, b"".join(written)]
