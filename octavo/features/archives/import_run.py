"""Run one import: check every file of the archive, then commit them in several changesets.

Checks run in worker processes, and nothing is committed before all have passed. Each changeset has
an identifier that is derived from the import, so an import that is completed again finds the
receipts of committed changesets, and continues after them.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import trio
from attrs import define, field
from greenroom import ActorError
from octavo_rules import problems
from octavo_rules.identity import WorkspaceId
from octavo_rules.problems import Problem, TemporaryProblem

from octavo.actors.workspace.messages import CommitFailed, NoWorkspace
from octavo.features.archives import archive_check, import_commits
from octavo.features.archives import sql as rows
from octavo.features.archives.archive_check import ArchiveWork, CheckedArchive, check_archive
from octavo.features.archives.import_commits import ImportCommits, Permit
from octavo.features.archives.rules import ImportMissing, PathsTaken, taken_paths
from octavo.features.archives.worker.checked_files import checked_images, checked_notes
from octavo.model.usage import ImportWithoutRoom, StorageLimitReached, WriteLimitReached
from octavo.store import StoreUnavailable
from octavo.store.blobs import BlobMissing, BlobStore, BlobsUnavailable, Staging
from octavo.store.queries.blobs import BlobCollected
from octavo.store.queries.files import live_paths
from octavo.store.queries.marks import cursor_of
from octavo.workers import WorkerFailed

RESULT_SECONDS = 86_400.0
"""Seconds for which the result of an import is kept."""
_COUNTING_SECONDS = 5.0

_FAILURES = (
    ActorError,
    BlobCollected,
    BlobMissing,
    BlobsUnavailable,
    import_commits.ChangesetNotAccepted,
    CommitFailed,
    OSError,
    StorageLimitReached,
    StoreUnavailable,
    WorkerFailed,
    WriteLimitReached,
)
"""Failures that are not the fault of the archive; others may have used up a limit meanwhile."""


class ImportIncomplete(TemporaryProblem):
    """An import was stopped after a commit, by a failure or the loss of a permission.

    It can be completed again.
    """

    status, code = 503, "import_incomplete"
    summary = "The import was stopped: some files came in, the others did not."
    remedy = (
        "Complete the import again: it goes on after the files that came in, whose number is the "
        "member files. The parts are kept."
    )
    retry_after = 10

    def __init__(self, files: int) -> None:
        super().__init__(
            f"The import was stopped; files imported until then: {files}. Complete it again: it"
            " goes on after them.",
            members={"files": files},
        )
        self.files = files


_DENIED = (problems.NotSignedIn, problems.Forbidden, problems.NotFound, problems.AccountLocked)
"""Refusals of the account, not of the archive."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import made.

    Attributes:
        notes: the number of notes.
        attachments: the number of images.
        left_out: the number of files that were left out, by their kind.
        position: the position of the last changeset; that of the workspace without any.
        cleaned: the number of files whose paths had hidden characters.
    """

    notes: int
    attachments: int
    left_out: dict[str, int]
    position: int
    # A result that an earlier version stored has none.
    cleaned: int = 0


def read_result(stored: str) -> ImportResult:
    """Return a result that was stored as JSON."""
    return ImportResult(**json.loads(stored))


@define(eq=False)
class ImportRunner:
    """Imports archives.

    Args:
        services: what commits need.
        blobs: the blob store, which has the parts.
        staging: has a folder for each import that runs.
        work: runs tasks in worker processes.
        removed: called when parts are to be collected.
    """

    _services: import_commits.CommitServices
    _blobs: BlobStore
    _staging: Staging
    _work: ArchiveWork
    removed: Callable[[], None]
    # Numbers the folders: a run that lost its slot may end after the next one has begun.
    _runs: Iterator[int] = field(factory=count, init=False)

    async def run(self, stored: rows.StoredImport, permit: Permit) -> ImportResult:
        """Import an archive; see `octavo.features.archives.imports.Imports.complete`.

        The reason of a refusal is stored, for a client that does not receive it. If cancelled, the
        import can be completed again.
        """
        store = self._services.store
        if stored.failure is not None:
            await store.write(rows.record_failure(stored.import_id, None))
        try:
            return await self._run(stored, permit)
        except (ImportIncomplete, *_DENIED):
            raise
        except Problem as refusal:
            failure = json.dumps({"code": refusal.code, "detail": refusal.detail})
            await store.write(rows.record_failure(stored.import_id, failure))
            raise

    async def _run(self, stored: rows.StoredImport, permit: Permit) -> ImportResult:
        async def still_permitted() -> None:
            try:
                await permit()
            except Exception as error:
                if commits.pushed:
                    # Files were committed. The next request is refused with the reason.
                    raise await self._incomplete(commits, stored) from error
                raise

        commits = ImportCommits(self._services, stored, still_permitted)
        await commits.find_begun()
        begun = commits.begun
        try:
            async with self._staging.folder(f"{stored.import_id}.{next(self._runs)}") as folder:
                checked = await self._checked(stored, folder, begun=begun)
                commits.total = checked.survey["size"]
                await commits.record()
                with (
                    self._services.others.importing(stored.workspace_id),
                    closing(checked_images(checked.image_records)) as images,
                    closing(checked_notes(checked.note_records)) as notes,
                ):
                    await commits.images(images)
                    await commits.notes(notes)
                return await self._finish(stored, checked, commits)
        except (NoWorkspace, ImportMissing):
            raise ImportMissing from None
        except _FAILURES as error:
            if isinstance(error, BlobMissing):
                # An abort removes the parts.
                await commits.require_open()
            incomplete = await self._incomplete(commits, stored)
            try:
                if begun or incomplete.files:
                    raise incomplete from error
            finally:
                del incomplete
            if isinstance(error, StorageLimitReached):
                raise ImportWithoutRoom from error
            raise

    async def _incomplete(
        self, commits: ImportCommits, stored: rows.StoredImport
    ) -> ImportIncomplete:
        """Return the problem with the number of imported files; record it if the database can."""
        with suppress(ImportMissing, StoreUnavailable), trio.move_on_after(_COUNTING_SECONDS):
            await commits.count_committed()
            if commits.total:
                await commits.record()
        return ImportIncomplete(max(commits.files, stored.files))

    async def _checked(
        self, stored: rows.StoredImport, folder: Path, *, begun: bool
    ) -> CheckedArchive:
        """Fetch the parts, and check all files.

        If none was committed, first check that their paths are free, and that there is room.
        """
        parts = [folder / f"part-{part.number}" for part in stored.parts]
        for part, path in zip(stored.parts, parts, strict=True):
            await self._blobs.fetch(part.key, path)
        work = folder / "work"
        await trio.to_thread.run_sync(work.mkdir, 0o700)
        surveyed = await archive_check.read_directory(
            self._work.run, [str(path) for path in parts], work
        )
        if not begun:
            await self._require_free(stored.workspace_id, surveyed)
            try:
                await self._services.storage.require(stored.workspace_id, surveyed.size)
            except StorageLimitReached:
                raise ImportWithoutRoom from None
        return await check_archive(self._work, surveyed)

    async def _require_free(
        self, workspace_id: WorkspaceId, surveyed: archive_check.SurveyedArchive
    ) -> None:
        present = await self._services.store.read_much(live_paths(workspace_id))
        if present:
            taken = await trio.to_thread.run_sync(
                lambda: taken_paths(present, surveyed.paths()), abandon_on_cancel=True
            )
            if taken:
                raise PathsTaken(taken)

    async def _finish(
        self,
        stored: rows.StoredImport,
        checked: CheckedArchive,
        commits: ImportCommits,
    ) -> ImportResult:
        store = self._services.store
        # Without a file, the position of the workspace.
        position: int = commits.position
        if not position:
            cursor = await store.read(cursor_of(stored.workspace_id))
            if cursor is None:
                raise ImportMissing
            position = cursor.position
        survey = checked.survey
        result = ImportResult(
            survey["notes"], survey["images"], survey["left_out"], position, survey["cleaned"]
        )
        expires_at = int((self._services.now() + RESULT_SECONDS) * 1000)
        await store.write(
            rows.finish_import(stored.import_id, json.dumps(asdict(result)), expires_at)
        )
        self.removed()
        return result
