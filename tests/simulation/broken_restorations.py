"""Restorations that are broken on purpose."""

from collections.abc import Mapping
from itertools import count

import pytest

from octavo.actors.jobs import restoring
from octavo.model.files import restoration_order
from octavo.model.files.restoration import Begun
from octavo.model.identity import MutationId
from octavo.restoration import runner
from octavo.store import Script, Transaction
from octavo.store.scripts.restorations import RestorationKey, StoredRestoration
from tests.simulation.broken import Break


def overwrite_what_others_write(patch: pytest.MonkeyPatch) -> None:
    """What others change while it runs is taken for what it has changed itself."""
    patch.setattr(Begun, "made", lambda *_: True)


def number_changesets_anew(patch: pytest.MonkeyPatch) -> None:
    """Each run gives the changesets new identifiers, and does not know those of another one."""
    numbers = count()
    named = runner.changeset_id

    def anew(self: runner._Run, number: int) -> MutationId:
        # All changesets of one run.
        run = vars(self).setdefault("number_of_run", next(numbers))
        return named(self._key, 1000 * run + number)

    patch.setattr(runner._Run, "_changeset_id", anew)


def leave_nothing_out_of_the_way(patch: pytest.MonkeyPatch) -> None:
    """Files return before others have left their paths."""
    patch.setattr(restoration_order, "_needs", lambda _: {})


def forget_what_was_left(patch: pytest.MonkeyPatch) -> None:
    """No process goes on with what another one has left."""

    def nothing(*_: object) -> Script[list[RestorationKey]]:
        async def read(transaction: Transaction) -> list[RestorationKey]:
            return []

        return read

    patch.setattr(restoring, "unfinished", nothing)


def go_on_as_who_began(patch: pytest.MonkeyPatch) -> None:
    """One that goes on does so as the account that began it, whoever asks."""
    patch.setattr(StoredRestoration, "author", property(lambda self: self.account_id))


def need_no_permission(patch: pytest.MonkeyPatch) -> None:
    """Who has begun it may write as long as it runs."""
    patch.setattr(runner, "grants", lambda *_: True)


BROKEN_RESTORATIONS: Mapping[Break, str] = {
    overwrite_what_others_write: "was overwritten",
    number_changesets_anew: "who did not write to it",
    leave_nothing_out_of_the_way: "does not end|that nobody disturbs",
    forget_what_was_left: "does not end",
    go_on_as_who_began: "does not end",
    need_no_permission: "might not write any more",
}
"""What is left out, and the message of the first failing schedule."""
