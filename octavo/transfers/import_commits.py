"""Commit the checked files of an archive in several changesets, each at most once."""

import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import trio

from octavo.actors.core import Directory, MailboxFull
from octavo.actors.workspace.actor import WorkspaceActor
from octavo.actors.workspace.messages import ChangesetRefused, Push
from octavo.archives.checked_files import CheckedImage, CheckedNote, take
from octavo.attachments.blob_writer import BlobWriter
from octavo.attachments.image_work import WrittenFile
from octavo.model.files.archive import ImportMissing
from octavo.model.files.changeset import (
    AttachImage,
    Changeset,
    CreateFile,
    fingerprint,
)
from octavo.model.files.content import NoteText
from octavo.model.files.image import ObjectId, UploadedImage
from octavo.model.files.imported import derived_id, other_path, taken_paths
from octavo.model.files.receipt import Receipt
from octavo.model.identity import Digest, FileId, MutationId, Position, WorkspaceId
from octavo.model.refusal import InvalidGraph, PathConflict
from octavo.store import Store
from octavo.store.compression import decompressed
from octavo.store.scripts import imports as rows
from octavo.store.scripts import uploads
from octavo.store.scripts.blobs import BlobCollected
from octavo.store.scripts.changesets import receipts
from octavo.store.scripts.files import live_paths
from octavo.transfers import other_writes
from octavo.transfers.other_writes import OtherWrites
from octavo.usage.storage import StorageRoom

NOTES_AT_ONCE = 100
"""Notes of one changeset while nobody else writes."""
NOTES_BESIDES = 16
"""Notes of one changeset while others write, who wait while it is committed."""
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
    """What commits need.

    Attributes:
        store: the database.
        writer: stores images.
        workspaces: the actors of the workspaces.
        now: the clock, in seconds of Unix time.
        storage: limits the storage of the owners.
        others: which workspaces are written to.
    """

    store: Store
    writer: BlobWriter
    workspaces: Directory[WorkspaceId, WorkspaceActor]
    now: Callable[[], float]
    storage: StorageRoom
    others: OtherWrites


class ImportCommits:
    """The changesets of one import.

    Methods raise what `permit` raises, `ImportMissing` when the import was aborted, and the
    failures of the database, the blob store and the actor of the workspace: then the last changeset
    may have been committed or not. When repeated, what was committed is not committed again.

    Args:
        services: what they need.
        given: the import.
        total: the bytes of its files.
        permit: called before each changeset.

    Attributes:
        files: the number of files that were committed, now or before.
        position: the position of the last changeset; 0 before the first.
    """

    def __init__(
        self, services: CommitServices, given: rows.StoredImport, total: int, permit: Permit
    ) -> None:
        self._services = services
        self._import = given
        self._total = total
        self._permit = permit
        self._numbers = 0
        self._read = 0
        self._joined_at = -math.inf
        self._reported = trio.current_time()
        self.files = 0
        self.position = Position(0)

    async def notes(self, notes: Iterator[CheckedNote]) -> None:
        """Commit notes. Reads files in threads."""

        def create(most: int, size: float) -> list[CreateFile]:
            taken = take(notes, most, size)
            return [CreateFile(self._new_file(), each.path, _text(each)) for each in taken]

        while True:
            receipt, mutation = await self._committed_before(), self._mutation()
            if receipt is not None:
                most, size = len(receipt.outcomes), math.inf
            else:
                most = NOTES_BESIDES if self._others_write() else NOTES_AT_ONCE
                size = BYTES_AT_ONCE
            files = await trio.to_thread.run_sync(create, most, size)
            if not files:
                return
            if receipt is None:
                await self._permit()
                receipt = await self._push(mutation, files)
            await self._count(files, sum(each.content.size for each in files), receipt)

    async def images(self, images: Iterator[CheckedImage]) -> None:
        """Store and commit images, whose files may be moved."""
        while True:
            receipt, mutation = await self._committed_before(), self._mutation()
            most = IMAGES_AT_ONCE if receipt is None else len(receipt.outcomes)
            batch = await trio.to_thread.run_sync(list, islice(images, most))
            if not batch:
                return
            attached = [
                AttachImage(self._new_file(), each.path, self._uploaded(each)) for each in batch
            ]
            if receipt is None:
                await self._permit()
                await self._store(batch, attached)
                receipt = await self._push(mutation, attached)
            await self._count(attached, sum(each.size for each in batch), receipt)

    async def record(self) -> None:
        """Record the progress. Raises `ImportMissing`."""
        script = rows.record_progress(self._import.import_id, self._read, self._total, self.files)
        if not await self._services.store.write(script):
            raise ImportMissing
        self._reported = trio.current_time()

    def _new_file(self) -> FileId:
        self._numbers += 1
        return FileId(derived_id(self._import.import_id, "file", self._numbers))

    def _uploaded(self, image: CheckedImage) -> UploadedImage:
        object_id = derived_id(self._import.import_id, "object", self._numbers)
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
        size = sum(each.size for each in images)
        await self._services.storage.require(self._import.workspace_id, size)
        digests = [each.digest for each in images]
        stored = await self._services.store.read(uploads.stored_digests(digests))
        try:
            await self._add_uploads(images, attached, stored)
        except BlobCollected:
            # One of them was just collected.
            await self._add_uploads(images, attached, set())
        self._services.storage.grew(self._import.workspace_id, size)

    async def _add_uploads(
        self, images: Sequence[CheckedImage], attached: Sequence[AttachImage], stored: set[Digest]
    ) -> None:
        new = {
            each.digest: WrittenFile(Path(each.file), each.digest, each.size, each.crc)
            for each in images
            if each.digest not in stored
        }
        put = await self._services.writer.put_many([*new.values()])
        keys = dict(zip(new, put, strict=True))
        expires_at = int((self._services.now() + _UPLOAD_SECONDS) * 1000)
        given = self._import
        await self._services.store.write(
            uploads.add_many(
                [
                    (
                        uploads.Upload(
                            given.workspace_id, given.account_id, each.image, expires_at
                        ),
                        # The first image of these bytes brings the blob.
                        keys.pop(each.image.digest, None),
                    )
                    for each in attached
                ]
            )
        )

    def _mutation(self) -> MutationId:
        """Return the identifier of the changeset with the next file.

        How many files it has depends on what others do. Its receipt says it when the import is
        completed again.
        """
        return MutationId(derived_id(self._import.import_id, "changeset", self._numbers + 1))

    async def _committed_before(self) -> Receipt | None:
        """Return the receipt of the next changeset if it was committed before."""
        if not self._import.total:
            # It is completed for the first time.
            return None
        mutation = self._mutation()
        script = receipts(self._import.workspace_id, [mutation])
        return (await self._services.store.read(script)).get(mutation)

    def _others_write(self) -> bool:
        """Return whether others write, to this workspace or another."""
        joined = trio.current_time() - self._joined_at < other_writes.SECONDS
        return joined or self._services.others.besides(self._import.workspace_id)

    async def _count(self, files: Sequence[_NewFile], size: int, receipt: Receipt) -> None:
        """Count the files of a changeset that is committed."""
        if self.position and receipt.position != self.position + 1:
            self._joined_at = trio.current_time()
        self.position = receipt.position
        self.files += len(files)
        self._read += size
        if trio.current_time() - self._reported >= _PROGRESS_SECONDS:
            await self.record()

    async def _push(self, mutation: MutationId, operations: Sequence[_NewFile]) -> Receipt:
        """Commit a changeset; files whose paths were taken since the check get other ones."""
        given, attempts = operations, 0
        while True:
            changeset = Changeset(
                mutation,
                fingerprint(operations),
                self._import.account_id,
                tuple(operations),
                origin="import",
            )
            try:
                return await self._ask(Push(changeset))
            except ChangesetRefused as refused:
                attempts += 1
                taken_meanwhile = isinstance(refused.refusal, PathConflict | InvalidGraph)
                if not taken_meanwhile or attempts > _PATHS_TRIED:
                    raise refused.refusal from refused
            operations = await self._moved_away(operations, given, attempts)

    async def _moved_away(
        self, operations: Sequence[_NewFile], given: Sequence[_NewFile], number: int
    ) -> list[_NewFile]:
        script = live_paths(self._import.workspace_id)
        present = await self._services.store.read_much(script)
        paths = [each.path for each in operations]
        taken = set(taken_paths(present, paths, most=len(paths)))
        return [
            replace(each, path=other_path(first.path, number)) if each.path in taken else each
            for each, first in zip(operations, given, strict=True)
        ]

    async def _ask(self, push: Push) -> Receipt:
        attempts = 0
        while True:
            try:
                return await self._services.workspaces.ask(self._import.workspace_id, push)
            except MailboxFull:
                attempts += 1
                if attempts == _BUSY_ATTEMPTS:
                    raise
                await trio.sleep(_BUSY_SECONDS)


def _text(note: CheckedNote) -> NoteText:
    text = decompressed(note.stored, note.path)
    return NoteText(text, note.size, note.digest, note.stored)
