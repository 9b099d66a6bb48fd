"""Restorations that are broken on purpose."""

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from itertools import count

import pytest

from octavo.features.history import job
from octavo.features.history.job import RestorationRunner
from octavo.features.history.rules import restoration as rules
from octavo.features.history.rules.restoration import Begun, DivergedFile, LeftFile, Restoration
from octavo.features.history.rules.reversion import Reversion
from octavo.features.history.sql.restorations import RestorationKey, StoredRestoration
from octavo.model.files.path import path_key
from octavo.store import Script, Transaction
from tests.features.history.simulation.service import simulate_restorations
from tests.simulation.simulation import Broken, Simulation


def overwrite_what_others_write(patch: pytest.MonkeyPatch) -> None:
    """What others change while it runs is taken for what it has changed itself."""
    patch.setattr(Begun, "made", lambda *_: True)


def number_changesets_anew(patch: pytest.MonkeyPatch) -> None:
    """Each run gives the changesets new identifiers, and does not know those of another one."""
    numbers, of_run = count(), ContextVar("of_run", default=0)
    named, run = job.changeset_id, RestorationRunner.run

    async def run_anew(self: RestorationRunner, key: RestorationKey) -> None:
        of_run.set(1000 * next(numbers))
        await run(self, key)

    patch.setattr(job, "changeset_id", lambda key, number: named(key, of_run.get() + number))
    patch.setattr(RestorationRunner, "run", run_anew)


def leave_nothing_out_of_the_way(patch: pytest.MonkeyPatch) -> None:
    """Files return before others have left their paths."""
    patch.setattr(job, "batches", lambda pending, *_: [(each,) for each in pending])


def forget_what_was_left(patch: pytest.MonkeyPatch) -> None:
    """No process goes on with what another one has left."""

    def nothing(*_: object) -> Script[list[RestorationKey]]:
        async def read(transaction: Transaction) -> list[RestorationKey]:
            return []

        return read

    patch.setattr(job, "unfinished", nothing)


def go_on_as_who_began(patch: pytest.MonkeyPatch) -> None:
    """One that goes on does so as the account that began it, whoever asks."""
    patch.setattr(StoredRestoration, "author", property(lambda self: self.account_id))


def need_no_permission(patch: pytest.MonkeyPatch) -> None:
    """Who has begun it may write as long as it runs."""
    patch.setattr(job, "grants", lambda *_: True)


def keep_silent_about_what_stays_deleted(patch: pytest.MonkeyPatch) -> None:
    """Files that were deleted for now, and can't come back, are not named."""
    _alter_plans(patch, lambda planned, _: replace(planned, left=_without_deleted(planned)))


def count_what_stays_deleted(patch: pytest.MonkeyPatch) -> None:
    """Files that were deleted for now, and can't come back, are said to have returned."""

    def count(planned: Restoration, _: Sequence[DivergedFile]) -> Restoration:
        left = _without_deleted(planned)
        missing = len(planned.left) - len(left)
        return replace(planned, left=left, returned=planned.returned + missing)

    _alter_plans(patch, count)


def make_room_for_what_stays_deleted(patch: pytest.MonkeyPatch) -> None:
    """Files that were deleted for now come back, and what others have put there is deleted."""

    def make_room(planned: Restoration, changed: Sequence[DivergedFile]) -> Restoration:
        deleted = {each.head.file_id for each in planned.left if each.reason == "still_deleted"}
        targets = {head.file_id: past for head, past in changed if past is not None}
        paths = {path_key(targets[each].path) for each in deleted}
        removed = [
            Reversion(head, None)
            for head, _ in changed
            if head.state == "live" and path_key(head.path) in paths
        ]
        back = [
            Reversion(head, targets[head.file_id]) for head, _ in changed if head.file_id in deleted
        ]
        return replace(
            planned,
            left=_without_deleted(planned),
            reversions=(*planned.reversions, *removed, *back) if removed else planned.reversions,
        )

    _alter_plans(patch, make_room)


def give_no_former_path_back(patch: pytest.MonkeyPatch) -> None:
    """Files that were deleted for now stay so, although their former paths are free."""

    def give_nothing_back(planned: Restoration, _: Sequence[DivergedFile]) -> Restoration:
        free = {each.head.file_id for each in planned.reinstated}
        left = (
            replace(each, reason="still_deleted") if each.head.file_id in free else each
            for each in planned.left
        )
        return replace(planned, left=tuple(left), reinstated=())

    _alter_plans(patch, give_nothing_back)


def _alter_plans(
    patch: pytest.MonkeyPatch,
    altered: Callable[[Restoration, Sequence[DivergedFile]], Restoration],
) -> None:
    plan = rules.restoration

    def restoration(
        changed: Sequence[DivergedFile], others: Iterable[str], folder: str, begun: Begun | None
    ) -> Restoration:
        return altered(plan(changed, others, folder, begun), changed)

    patch.setattr(job, "restoration", restoration)


def _without_deleted(planned: Restoration) -> tuple[LeftFile, ...]:
    return tuple(each for each in planned.left if each.reason != "still_deleted")


BROKEN = Broken(
    "restorations",
    Simulation(simulate_restorations, 600, early_time=False),
    {
        overwrite_what_others_write: "was overwritten",
        number_changesets_anew: "who did not write to it",
        leave_nothing_out_of_the_way: "does not end|that nobody disturbs",
        forget_what_was_left: "does not end",
        go_on_as_who_began: "does not end",
        need_no_permission: "might not write any more",
        keep_silent_about_what_stays_deleted: "and is not named",
        count_what_stays_deleted: "are said to have returned|and is not named",
        make_room_for_what_stays_deleted: "was overwritten",
        give_no_former_path_back: "its former path is free",
    },
)
"""What is left out, and the message of the first failing schedule."""
