"""Imports of archives: start one, send its parts, complete or abort it."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from attrs import define, field
from octavo_rules.identity import AccountId, Digest, WorkspaceId

from octavo.access.ports import milliseconds
from octavo.features.archives import sql as rows
from octavo.features.archives.import_commits import Permit
from octavo.features.archives.import_run import ImportResult, ImportRunner, read_result
from octavo.features.archives.job import ArchiveJobs, JobStopped
from octavo.features.archives.rules import ImportBegun, ImportMissing, ImportNotOpen, TooManyImports
from octavo.features.archives.worker.refusal import ArchiveInvalid, ArchiveTooLarge
from octavo.features.images.blob_writer import BlobWriter
from octavo.features.images.image_work import WrittenFile
from octavo.features.usage.sql import room_for_part
from octavo.model.usage import StorageLimitReached
from octavo.store import Store
from octavo.store.blobs import Staging

PART_SIZE = 32 * 1024 * 1024
"""Maximum size of a part, in bytes."""
MAX_PARTS = 2048
"""Maximum number of parts of an archive."""
OPEN_IMPORTS = 5
"""Maximum number of imports of an account that are not done."""
LIFETIME_SECONDS = 7 * 86_400.0
"""Seconds after the last part until an import expires."""


class StoredPart(NamedTuple):
    """A part that was stored."""

    number: int
    size: int
    digest: Digest


@define(eq=False)
class Imports:
    """Imports into workspaces. Callers check that the account may write to them.

    Args:
        store: the database.
        writer: stores the parts as blobs.
        staging: parts on their way.
        jobs: runs the imports.
        runner: imports an archive.
        now: the clock, in seconds of Unix time.
        new_id: returns an id.
        prepare: called when there is work for the runner soon.
    """

    _store: Store
    _writer: BlobWriter
    _staging: Staging
    _jobs: ArchiveJobs
    _runner: ImportRunner
    _now: Callable[[], float]
    _new_id: Callable[[], str]
    _prepare: Callable[[], None]
    # Bytes of parts that are admitted and not stored yet.
    _arriving: Counter[WorkspaceId] = field(factory=Counter, init=False)

    async def start(self, workspace_id: WorkspaceId, account_id: AccountId, size: int) -> str:
        """Start an import of an archive of ``size`` bytes, 0 if unknown; return its id.

        Raises `TooManyImports`, and `ArchiveTooLarge` for one that does not fit into parts.
        """
        if size > PART_SIZE * MAX_PARTS:
            raise ArchiveTooLarge(
                f"An archive may have at most {PART_SIZE * MAX_PARTS} bytes: import it in several."
            )
        import_id = self._new_id()
        script = rows.start_import(
            import_id, workspace_id, account_id, self._expiry(), OPEN_IMPORTS
        )
        if not await self._store.write(script):
            raise TooManyImports(await self._store.read(rows.open_imports(account_id)))
        self._prepare()
        return import_id

    async def find(
        self, workspace_id: WorkspaceId, account_id: AccountId, import_id: str
    ) -> rows.StoredImport:
        """Return an import of the account. Raises `ImportMissing`."""
        script = rows.find_import(import_id, workspace_id, account_id, milliseconds(self._now()))
        stored = await self._store.read(script)
        if stored is None:
            raise ImportMissing
        return stored

    async def receive_part(
        self,
        workspace_id: WorkspaceId,
        account_id: AccountId,
        import_id: str,
        number: int,
        chunks: AsyncIterator[bytes],
    ) -> StoredPart:
        """Store a part, or replace it. Parts may be sent in any order, and repeatedly.

        Raises:
            ImportMissing, ImportNotOpen: no part can be added to it.
            ImportBegun: it has committed files of its archive, and this part is another.
            ArchiveTooLarge: the part is too large.
            StorageLimitReached: the parts of all imports into the workspaces of an owner are larger
                than the storage that it has left.
            WriteLimitReached: the installation may write no more objects in this month.
            BlobsUnavailable, StoreUnavailable: it can't be stored now.

        If it fails or is cancelled, the part is as it was before.
        """
        stored = await self.find(workspace_id, account_id, import_id)
        if stored.running or stored.result is not None:
            raise ImportNotOpen
        async with self._staging.file(self._new_id()) as staged:
            async for chunk in chunks:
                if staged.size + len(chunk) > PART_SIZE:
                    raise ArchiveTooLarge(f"A part has at most {PART_SIZE} bytes.")
                await staged.write(chunk)
            digest = await staged.finish()
            arguments = (import_id, number, digest, milliseconds(self._now()), self._expiry())
            if not await self._store.write(rows.repeat_part(*arguments)):
                if stored.files:
                    raise ImportBegun
                written = WrittenFile(staged.path, digest, staged.size, staged.crc)
                await self._store_part(workspace_id, import_id, number, written)
        return StoredPart(number, staged.size, digest)

    async def _store_part(
        self, workspace_id: WorkspaceId, import_id: str, number: int, file: WrittenFile
    ) -> None:
        """Store a part whose bytes are not stored as this part yet."""
        room = await self._store.read(room_for_part(workspace_id, import_id, number))
        # Concurrent parts count before they are stored: together they could fill the disk.
        if room is not None and file.size + self._arriving[workspace_id] > max(0, room):
            raise StorageLimitReached
        self._arriving[workspace_id] += file.size
        try:
            part = rows.ImportPart(number, await self._writer.put(file), file.size)
            script = rows.put_part(import_id, part, milliseconds(self._now()), self._expiry())
            outcome = await self._store.write(script)
        finally:
            self._arriving[workspace_id] -= file.size
            if not self._arriving[workspace_id]:
                del self._arriving[workspace_id]
        if outcome != "added":
            # No import refers to the blob of the replaced or the refused part any more.
            self._runner.removed()
        match outcome:
            case "not_open":
                raise ImportNotOpen
            case "begun":
                raise ImportBegun
            case "full":
                raise StorageLimitReached

    async def complete(
        self,
        workspace_id: WorkspaceId,
        account_id: AccountId,
        import_id: str,
        permit: Permit,
    ) -> ImportResult:
        """Import the archive that consists of the parts; return the result, also when repeated.

        ``permit`` is called before each commit, and raises when the account may not change the
        workspace any more.

        Raises:
            ImportMissing: there is no such import.
            ArchiveInvalid, ArchiveTooManyFiles, ArchiveTooLarge, PathsTaken: nothing
                was imported, and the parts are kept.
            ArchiveJobRunning, ArchiveJobsBusy, JobStopped: it can't be imported now.
            ImportWithoutRoom, WriteLimitReached: there is no room for its files; none was imported.
            ImportIncomplete: some files were imported before the service failed, others used the
                room, or the account lost its permission: complete it again.
            BlobsUnavailable, StoreUnavailable, WorkerFailed: the service failed before.

        The import goes on when the caller is cancelled.
        """
        stored = await self.find(workspace_id, account_id, import_id)
        if stored.result is not None:
            return read_result(stored.result)
        _check_parts(stored.parts)

        async def job() -> ImportResult:
            # From now on, no part can be replaced.
            current = await self.find(workspace_id, account_id, import_id)
            if current.result is not None:
                return read_result(current.result)
            _check_parts(current.parts)
            return await self._runner.run(current, permit)

        result: Callable[[], Awaitable[ImportResult]]
        result = await self._jobs.start(account_id, import_id, job)
        try:
            return await result()
        except JobStopped:
            # Raises `ImportMissing` if it was aborted.
            await self.find(workspace_id, account_id, import_id)
            raise

    async def abort(self, workspace_id: WorkspaceId, account_id: AccountId, import_id: str) -> None:
        """Remove an import of the account with its parts, if there is one.

        Committed files stay, and nothing else is committed, except for a changeset in flight. An
        import that runs in another process ends before its next commit.
        """
        with suppress(ImportMissing):
            await self.find(workspace_id, account_id, import_id)
            await self._store.write(rows.abort_import(import_id, workspace_id, account_id))
            self._jobs.cancel(import_id)
            self._runner.removed()

    def _expiry(self) -> int:
        return milliseconds(self._now() + LIFETIME_SECONDS)


def _check_parts(parts: tuple[rows.ImportPart, ...]) -> None:
    if not parts:
        raise ArchiveInvalid("No part of the archive was sent.")
    numbers = {part.number for part in parts}
    missing = next(number for number in range(1, len(parts) + 2) if number not in numbers)
    if missing <= len(parts):
        raise ArchiveInvalid(f"Part {missing} of the archive is missing: send it.")
