"""Imports that are broken on purpose."""

from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from copy import copy
from functools import partial
from itertools import count
from typing import Any

import pytest
from octavo_rules.identity import AccountId, Position, WorkspaceId

from octavo.features.archives import import_commits
from octavo.features.archives import job as archive_jobs
from octavo.features.archives import sql as rows
from octavo.features.archives import sql as slots
from octavo.features.archives.import_commits import ImportCommits, Permit
from octavo.features.archives.import_run import ImportResult, ImportRunner
from octavo.features.archives.imports import Imports
from octavo.features.archives.worker.checked_files import CheckedImage, CheckedNote
from octavo.store import Script, Transaction
from octavo.store.queries import changesets
from tests.features.archives.simulation import service as import_service
from tests.features.archives.simulation.service import simulate_imports
from tests.simulation.simulation import Broken, Simulation


def name_files_anew(patch: pytest.MonkeyPatch) -> None:
    """Every run of an import gives its files and changesets new identifiers."""
    runs = count()
    patch.setattr(import_commits, "archive_of", lambda _: f"archive {next(runs)}")


def forget_what_was_committed(patch: pytest.MonkeyPatch) -> None:
    """An import that is completed again commits from the start, with any size of changeset."""
    commit = ImportCommits.images

    async def forget_and_commit(self: ImportCommits, images: Iterator[CheckedImage]) -> None:
        self.begun = False
        await commit(self, images)

    patch.setattr(ImportCommits, "images", forget_and_commit)
    # It is seen when an import that nobody aborts is interrupted, and completed again.
    patch.setattr(import_service, "ENDS", (3,))
    patch.setattr(import_service, "ABORTING", 0.0)
    patch.setattr(import_service, "REPLACING", 0.0)


def trust_the_present_size(patch: pytest.MonkeyPatch) -> None:
    """A changeset that was committed before is taken for one of the present size."""
    committed = changesets.committed_changes

    def of_this_size(*given: object) -> Script[tuple[int, Position] | None]:
        find = committed(*given)  # type: ignore[arg-type]

        async def found(transaction: Transaction) -> tuple[int, Position] | None:
            before = await find(transaction)
            return None if before is None else (import_commits.NOTES_AT_ONCE, before[1])

        return found

    patch.setattr(import_commits, "committed_changes", of_this_size)


def remove_the_parts_early(patch: pytest.MonkeyPatch) -> None:
    """The parts are removed when the import begins to commit."""
    record = rows.record_progress

    def record_and_remove(import_id: str, read: int, total: int, files: int) -> Script[bool]:
        recorded = record(import_id, read, total, files)

        async def update(transaction: Transaction) -> bool:
            await rows._remove_parts(transaction, [import_id])
            return await recorded(transaction)

        return update

    patch.setattr(rows, "record_progress", record_and_remove)


def finish_first(patch: pytest.MonkeyPatch) -> None:
    """The result is stored before the notes are committed."""
    commit, run = ImportCommits.notes, ImportRunner.run
    later = ContextVar[Callable[[], Awaitable[None]]]("later")

    async def notes_later(self: ImportCommits, notes: Iterator[CheckedNote]) -> None:
        later.set(partial(commit, self, iter([*notes])))

    async def run_and_commit(self: ImportRunner, *given: Any) -> ImportResult:  # noqa: ANN401
        result = await run(self, *given)
        await later.get()()
        return result

    patch.setattr(ImportCommits, "notes", notes_later)
    patch.setattr(ImportRunner, "run", run_and_commit)


def go_on_after_an_abort(patch: pytest.MonkeyPatch) -> None:
    """Nobody looks before a commit whether the import was aborted."""

    require_open = ImportCommits.require_open

    async def go_on(self: ImportCommits) -> None:
        if not self._numbers:
            # It has no file to commit yet.
            await require_open(self)

    async def record(self: ImportCommits) -> None:
        pass

    patch.setattr(ImportCommits, "require_open", go_on)
    patch.setattr(ImportCommits, "record", record)
    patch.setattr(archive_jobs.ArchiveJobs, "cancel", lambda *_: None)
    # It is seen in runs with an abort alone.
    patch.setattr(import_service, "ABORTING", 1.0)


def read_the_parts_before_the_slot(patch: pytest.MonkeyPatch) -> None:
    """An import runs with the parts that it had before it took its slot."""
    complete = Imports.complete
    find = Imports.find

    async def complete_as_found(
        self: Imports,
        workspace_id: WorkspaceId,
        account_id: AccountId,
        import_id: str,
        permit: Permit,
    ) -> ImportResult:
        first = await find(self, workspace_id, account_id, import_id)

        class Earlier(Imports):
            __slots__ = ()

            async def find(self, *_: object) -> rows.StoredImport:
                return first

        earlier = copy(self)
        earlier.__class__ = Earlier
        return await complete(earlier, workspace_id, account_id, import_id, permit)

    patch.setattr(Imports, "complete", complete_as_found)
    # It takes a part that is stored at the right moment.
    patch.setattr(import_service, "REPLACING", 1.0)


def keep_the_slots_of_the_dead(patch: pytest.MonkeyPatch) -> None:
    """The slot of a process that died is never free."""
    take = slots.take_slot

    def take_without_a_look(
        account_id: AccountId, job_id: str, _now: int, until: int, most: int
    ) -> Script[object]:
        return take(account_id, job_id, 0, until, most)

    async def free_nothing(transaction: Transaction) -> None:
        pass

    patch.setattr(slots, "take_slot", take_without_a_look)
    patch.setattr(slots, "free_all_slots", free_nothing)


BROKEN = Broken(
    "imports",
    Simulation(simulate_imports, 800, early_time=False),
    {
        name_files_anew: "that was refused has imported something",
        forget_what_was_committed: "can't be completed|there twice",
        trust_the_present_size: "is lost",
        remove_the_parts_early: "No part of the archive was sent",
        finish_first: "is lost",
        go_on_after_an_abort: "has gone on",
        keep_the_slots_of_the_dead: "can't be completed",
        read_the_parts_before_the_slot: (
            "is missing|is lost|not in the archive|has imported something"
        ),
    },
)
"""What is left out, and the message of the first failing schedule."""
