"""The parts of the service that list, prune, undo and restore what was changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from octavo_rules.identity import Position

from octavo.access.entropy import new_id, now
from octavo.actors.jobs.housekeeping import DAY, PAUSE, RetentionStep, removal
from octavo.documents import merged
from octavo.features.files.api.changeset_submission import Workspaces
from octavo.features.history.api.client_changes import ClientChangeOperations
from octavo.features.history.api.history import HistoryOperations
from octavo.features.history.api.restorations import RestorationOperations
from octavo.features.history.job import RestorationPostponed, RestorationRunner, RestoringJob
from octavo.features.history.restorations import Restorations
from octavo.features.history.rules.retention import Retention
from octavo.features.history.settings import HistorySettings
from octavo.features.history.sql import restorations
from octavo.features.history.sql.history_pruning import FIRST, FileKey, files_to_prune, prune_file
from octavo.features.history.undo import ProgramUndo
from octavo.http.pages.menus import WORKSPACE, MenuEntry, where_provided
from octavo.kernel import Feature, Kernel, Parts, worker
from octavo.store import Store
from octavo.store.queries.expiry import RECEIPT_DAYS
from octavo.store.queries.sweeping import rows_of
from octavo.store.transaction import Listeners

if TYPE_CHECKING:
    from octavo.features.files.feature import Files
    from octavo.features.usage.feature import Usage
    from octavo.http.pages.page_registry import PageRegistry


def pruning(retention: Retention) -> RetentionStep:
    """Return the step that prunes every file once, as ``retention`` says."""

    async def prune(store: Store, now: int) -> None:
        after: FileKey | None = FIRST
        while after is not None:
            crowded = await store.read_much(files_to_prune(after, retention, now))
            for key in crowded.files:
                position: Position | None = Position(0)
                while position is not None:
                    script = prune_file(key, position, retention, now, merged)
                    position = await store.write(script)
                    await trio.sleep(PAUSE)
            after = crowded.following
            await trio.sleep(PAUSE)

    return prune


def kept_whole(settings: HistorySettings) -> int:
    """Return the milliseconds for which every revision is kept."""
    return int(settings.history_all_days * DAY)


def retention_of(settings: HistorySettings) -> Retention:
    """Return which revisions are kept."""
    return Retention(
        all_of=kept_whole(settings),
        hourly=int(settings.history_hourly_days * DAY),
        least=settings.history_min_revisions,
    )


PROGRAMS = f"{WORKSPACE}/programs"

where_programs_connect = where_provided("connects_programs")

FEATURE = Feature(
    "history",
    operations=[HistoryOperations, ClientChangeOperations, RestorationOperations],
    listeners=Listeners(workspace_sweeping=[rows_of("restorations", "id")]),
    menu=[
        # What programs changed can be undone after the endpoint was switched off, too.
        MenuEntry(
            "workspace",
            "Programs",
            PROGRAMS,
            50,
            lambda viewer: where_programs_connect(viewer) or viewer.path.endswith("/programs"),
        ),
        MenuEntry("notes", "Programs", PROGRAMS, 80, where_programs_connect),
    ],
    retention=lambda settings: [
        removal(restorations.expire, RECEIPT_DAYS),
        pruning(retention_of(settings)),
    ],
)


def history_feature(
    kernel: Kernel, settings: HistorySettings, usage: Usage, files: Files, workspaces: Workspaces
) -> Parts:
    """Return the feature; nothing runs yet."""
    store, kept = kernel.store, kept_whole(settings)
    runner = RestorationRunner(store, workspaces, now=now, kept=kept)
    job = RestoringJob(
        store, runner, now, alone=not kernel.shared, postponing=(RestorationPostponed,)
    )
    undo = ProgramUndo(store, workspaces, now=now, kept=kept)

    def add_pages(site: PageRegistry) -> None:
        from octavo.features.history.pages import add_program_pages

        # What programs changed can be undone after the endpoint was switched off, too.
        add_program_pages(site, now)

    return Parts(
        operations=[
            HistoryOperations(store, kernel.access, usage.metering),
            ClientChangeOperations(files.submitter, undo, store),
            RestorationOperations(
                Restorations(store, job, now=now, kept=kept), kernel.access, new_id
            ),
        ],
        pages=add_pages,
        workers=[worker("restorations", job.run)],
    )
