"""Commit the checked files of an archive in several changesets, each at most once."""

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import trio
from greenroom import Directory, MailboxFull
from octavo_rules.content import StoredText
from octavo_rules.identity import Digest, FileId, MutationId, Position, WorkspaceId

from octavo.actors.workspace.messages import ChangesetRefused, Push, WorkspaceMessage
from octavo.features.archives import sql as rows
from octavo.features.archives.job import RecentWrites
from octavo.features.archives.rules import ImportMissing, UsedPaths, archive_of, free_path
from octavo.features.archives.worker.checked_files import CheckedImage, CheckedNote, take
from octavo.features.images import sql as uploads
from octavo.features.images.blob_writer import BlobWriter
from octavo.features.images.image_work import WrittenFile
from octavo.features.usage.storage import StorageQuota
from octavo.model.files.changeset import AttachImage, Changeset, CreateFile, derived_id, fingerprint
from octavo.model.files.image import ObjectId, UploadedImage
from octavo.model.refusal import InvalidGraph, PathConflict
from octavo.model.usage import StorageLimitReached
from octavo.store import Store
from octavo.store.blobs.blob_store import BlobKey, digest_of_key
from octavo.store.compression import decompressed
from octavo.store.queries.blobs import BlobCollected
from octavo.store.queries.changesets import committed_changes
from octavo.store.queries.files import live_paths

NOTES_AT_ONCE = 200
"""Notes of one changeset while nobody else writes."""
NOTES_BESIDES = 8
"""Notes of one changeset while others write: they wait while it is committed."""
BYTES_AT_ONCE = 256 * 1024
"""Stored bytes of notes with which a changeset ends."""
IMAGES_AT_ONCE = 25
_UPLOAD_SECONDS = 3600.0
_PROGRESS_SECONDS = 0.5
_BUSY_SECONDS = 0.1
_BUSY_ATTEMPTS = 100
_PATHS_TRIED = 50

_NewFile = CreateFile | AttachImage
Permit = Callable[[], Awaitable[object]]
"""Raises when the account may not change the workspace any more."""


class CommitServices(NamedTuple):
    """The services that commits use.

    Attributes:
        store: the database.
        writer: stores images.
        workspaces: the actors of the workspaces.
        now: the clock, in seconds of Unix time.
        storage: limits the storage of the owners.
        others: tells whether others write at present.
    """

    store: Store
    writer: BlobWriter
    workspaces: Directory[WorkspaceId, WorkspaceMessage]
    now: Callable[[], float]
    storage: StorageQuota
    others: RecentWrites


class ChangesetNotAccepted(Exception):
    """The workspace refused a changeset of an import although all checks had passed."""


class ImportCommits:
    """Commits the changesets of one import.

    Methods raise the errors of ``permit``, `ImportMissing` if the import was aborted, and the
    failures of the database, the blob store and the workspace actor. After a failure, the last
    changeset may have been committed. A repetition does not commit it again.

    Args:
        services: those that they use.
        stored: the import.
        permit: called before each changeset.

    Attributes:
        begun: whether the first changeset of this archive was committed before.
        files: the number of files that were committed, now or before.
        position: the position of the last changeset; 0 before the first.
        total: the bytes of all files.
    """

    def __init__(self, services: CommitServices, stored: rows.StoredImport, permit: Permit) -> None:
        self._services = services
        self._import = stored
        self._archive = archive_of(digest_of_key(part.key) for part in stored.parts)
        self._permit = permit
        self._numbers = 0
        self._read = 0
        self._reported = trio.current_time()
        # The position of the last changeset that was committed now, not before.
        self._pushed: Position | None = None
        self.begun = True
        self.files = 0
        self.position = Position(0)
        self.total = 0

    @property
    def pushed(self) -> bool:
        """Whether a changeset was committed now, not before."""
        return self._pushed is not None

    async def find_begun(self) -> None:
        """Set `begun`: find out whether the first changeset was committed before."""
        await self._committed_before()

    async def notes(self, notes: Iterator[CheckedNote]) -> None:
        """Commit notes. Reads files in threads."""

        def create(most: int, size: float) -> list[CreateFile]:
            taken = take(notes, most, size)
            return [CreateFile(self._new_file(), note.path, _text(note)) for note in taken]

        while True:
            committed, mutation = await self._committed_before(), self._mutation(self.files)
            if committed is not None:
                most, size = committed[0], math.inf
            else:
                most = NOTES_BESIDES if self._services.others.recent() else NOTES_AT_ONCE
                size = BYTES_AT_ONCE
            files = await trio.to_thread.run_sync(create, most, size)
            if not files:
                return
            if committed is None:
                await self._permit()
                await self.require_open()
                position = await self._push(mutation, files)
            else:
                position = committed[1]
            await self._count(len(files), sum(file.content.size for file in files), position)

    async def images(self, images: Iterator[CheckedImage]) -> None:
        """Store and commit images, whose files may be moved."""
        while True:
            committed, mutation = await self._committed_before(), self._mutation(self.files)
            most = IMAGES_AT_ONCE if committed is None else committed[0]
            batch = await trio.to_thread.run_sync(list, islice(images, most))
            if not batch:
                return
            attached = [
                AttachImage(self._new_file(), image.path, self._uploaded(image)) for image in batch
            ]
            if committed is None:
                await self._permit()
                await self.require_open()
                await self._store(batch, attached)
                position = await self._push(mutation, attached)
            else:
                position = committed[1]
            await self._count(len(batch), sum(image.size for image in batch), position)

    async def count_committed(self) -> None:
        """Count, in `files`, what the database has committed, also by a changeset that failed.

        Raises `octavo.store.StoreUnavailable`.
        """
        while True:
            script = committed_changes(self._import.workspace_id, self._mutation(self.files))
            committed = await self._services.store.read(script)
            if committed is None:
                return
            self.files += committed[0]

    async def require_open(self) -> None:
        """Raise `ImportMissing` if the import was aborted, or ended with its account or workspace.

        Raises also `octavo.store.StoreUnavailable`.
        """
        now = int(self._services.now() * 1000)
        if not await self._services.store.read(rows.is_open(self._import.import_id, now)):
            raise ImportMissing

    async def record(self) -> None:
        """Record the progress. Raises `ImportMissing`."""
        # An import that is completed again starts with its recorded progress. Notes whose links
        # were rewritten may be larger than in the archive.
        stored = self._import
        read = min(max(self._read, stored.bytes_read), self.total)
        files = max(self.files, stored.files)
        script = rows.record_progress(stored.import_id, read, self.total, files)
        if not await self._services.store.write(script):
            raise ImportMissing
        self._reported = trio.current_time()

    def _new_file(self) -> FileId:
        self._numbers += 1
        return FileId(self._id("file", self._numbers))

    def _uploaded(self, image: CheckedImage) -> UploadedImage:
        object_id = self._id("object", self._numbers)
        return UploadedImage(
            ObjectId(object_id),
            image.digest,
            image.size,
            image.media_type,
            image.width,
            image.height,
            image.frames,
        )

    async def _store(self, images: Sequence[CheckedImage], attached: Sequence[AttachImage]) -> None:
        """Store the images of a changeset, as uploads that it can attach."""
        size = sum(image.size for image in images)
        await self._services.storage.require(self._import.workspace_id, size)
        # Blobs that others stored already are charged: otherwise the total would reveal them.
        await self._services.writer.require_writes()
        digests = [image.digest for image in images]
        stored = await self._services.store.read(uploads.stored_digests(digests))
        put = await self._put([image for image in images if image.digest not in stored])
        try:
            await self._add_uploads(attached, put)
            for image in images:
                if image.digest in stored:
                    await self._services.writer.heal(_written(image))
        except BlobCollected:
            # A blob that was stored before has just been collected. The new files were moved.
            put |= await self._put([image for image in images if image.digest not in put])
            await self._add_uploads(attached, put)
        self._services.storage.grew(self._import.workspace_id, size)

    async def _put(self, images: Sequence[CheckedImage]) -> dict[Digest, BlobKey]:
        """Store the bytes of images, whose files may be moved; return their keys."""
        files = {image.digest: _written(image) for image in images}
        keys = await self._services.writer.put_many([*files.values()])
        return dict(zip(files, keys, strict=True))

    async def _add_uploads(
        self, attached: Sequence[AttachImage], put: Mapping[Digest, BlobKey]
    ) -> None:
        """Add uploads of images whose bytes were just ``put``, or stored before."""
        keys = dict(put)
        expires_at = int((self._services.now() + _UPLOAD_SECONDS) * 1000)
        stored = self._import
        await self._services.store.write(
            uploads.add_many(
                [
                    (
                        uploads.Upload(
                            stored.workspace_id, stored.account_id, attachment.image, expires_at
                        ),
                        # The first of several images with equal bytes has the new blob.
                        keys.pop(attachment.image.digest, None),
                    )
                    for attachment in attached
                ]
            )
        )

    def _id(self, kind: Literal["file", "object", "changeset"], number: int) -> str:
        return derived_id(self._import.import_id, self._archive, kind, number)

    def _mutation(self, files: int) -> MutationId:
        """Return the identifier of the changeset after that many files.

        The number of files in a changeset depends on the load. The database has it when the import
        is completed again.
        """
        return MutationId(self._id("changeset", files + 1))

    async def _committed_before(self) -> tuple[int, Position] | None:
        """Return how many files the next changeset has, and its position; None if it is new."""
        if not self.begun:
            return None
        script = committed_changes(self._import.workspace_id, self._mutation(self.files))
        committed = await self._services.store.read(script)
        # Changesets are committed in order: those after a new one are new as well.
        self.begun = committed is not None
        return committed

    async def _count(self, files: int, size: int, position: Position) -> None:
        """Count the files of a changeset that is committed."""
        self.position = position
        self.files += files
        self._read += size
        if trio.current_time() - self._reported >= _PROGRESS_SECONDS:
            await self.record()

    async def _push(self, mutation: MutationId, operations: Sequence[_NewFile]) -> Position:
        """Commit a changeset; files whose paths were taken since the check get other ones."""
        original, attempts = operations, 0
        while True:
            changeset = Changeset(
                mutation,
                fingerprint(operations),
                self._import.account_id,
                tuple(operations),
                origin="import",
            )
            try:
                position = await self._ask(Push(changeset))
            except ChangesetRefused as refused:
                attempts += 1
                refusal = refused.refusal
                if isinstance(refusal, StorageLimitReached):
                    try:
                        raise refusal from refused
                    finally:
                        del refusal
                taken_meanwhile = isinstance(refusal, PathConflict | InvalidGraph)
                if not taken_meanwhile or attempts > _PATHS_TRIED:
                    raise ChangesetNotAccepted(refusal.detail) from refused
            else:
                if self._pushed is not None and position != self._pushed + 1:
                    # Others write to the same workspace.
                    self._services.others.wrote()
                self._pushed = position
                return position
            operations = await self._moved_away(original)

    async def _moved_away(self, operations: Sequence[_NewFile]) -> list[_NewFile]:
        script = live_paths(self._import.workspace_id)
        present = await self._services.store.read_much(script)

        def move() -> list[_NewFile]:
            used = UsedPaths(present)
            moved: list[_NewFile] = []
            for operation in operations:
                path = (
                    free_path(operation.path, used)
                    if used.collides(operation.path)
                    else operation.path
                )
                used.add(path)
                moved.append(replace(operation, path=path))
            return moved

        return await trio.to_thread.run_sync(move)

    async def _ask(self, push: Push) -> Position:
        attempts = 0
        while True:
            try:
                receipt = await self._services.workspaces.ask(self._import.workspace_id, push)
            except MailboxFull:
                attempts += 1
                if attempts == _BUSY_ATTEMPTS:
                    raise
                await trio.sleep(_BUSY_SECONDS)
            else:
                return receipt.position


def _text(note: CheckedNote) -> StoredText:
    return StoredText(
        note.stored, note.size, note.digest, lambda stored: decompressed(stored, note.path)
    )


def _written(image: CheckedImage) -> WrittenFile:
    return WrittenFile(Path(image.file), image.digest, image.size, image.crc)
