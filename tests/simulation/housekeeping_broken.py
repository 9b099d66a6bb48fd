"""Housekeeping that is broken on purpose: it removes too much, too little, or only while it can."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
import trio
from octavo_rules.documents.document import MergeUpdates
from octavo_rules.identity import ContentId, Position, RevisionId

from octavo.actors.group_commit import GroupCommit
from octavo.actors.jobs.housekeeping import RetentionJob
from octavo.features.accounts.credentials import Activity
from octavo.features.accounts.rules.session import SessionLife
from octavo.features.history.rules.retention import Aged, Retention, prunable
from octavo.features.history.sql import history_pruning, restorations
from octavo.features.history.sql.history_pruning import FileKey, FilesToPrune, prune_file
from octavo.features.members import feature as members
from octavo.features.oauth import feature as oauth
from octavo.features.oauth.sql import oauth_clients, oauth_grants, oauth_programs
from octavo.features.publishing import feature as publishing
from octavo.features.publishing.sql import publications
from octavo.features.usage import feature as usage
from octavo.store import Script, Store, StoreError, StoreUnavailable, Transaction
from octavo.store.queries import audit, expiry, sweeping
from tests.fakes.stores import listen_too
from tests.simulation import housekeeping_service
from tests.simulation.housekeeping_rows import DAY
from tests.simulation.simulation import Break


def forget_receipts_early(patch: pytest.MonkeyPatch) -> None:
    """Receipts are kept for less than the API promises."""
    patch.setattr(expiry, "RECEIPT_DAYS", 29)


def keep_invitations(patch: pytest.MonkeyPatch) -> None:
    """Invitations are kept for longer than the documentation says."""
    patch.setattr(members, "INVITATION_DAYS", 400)


def end_sessions_at_their_start(patch: pytest.MonkeyPatch) -> None:
    """The age of a session counts as the time since its last activity."""
    alive_since = SessionLife.alive_since

    def swapped(self: SessionLife, now: int) -> tuple[int, int]:
        active, created = alive_since(self, now)
        return created, active

    patch.setattr(SessionLife, "alive_since", swapped)


def run_each_step_once(patch: pytest.MonkeyPatch) -> None:
    """A round removes one portion of each kind."""

    async def once(store: Store, script: Callable[[], Script[bool]]) -> None:
        await store.write(script())

    patch.setattr("octavo.actors.jobs.housekeeping.repeat", once)


def give_up_after_a_failure(patch: pytest.MonkeyPatch) -> None:
    """The job runs until a failure of the store."""

    async def run(self: RetentionJob) -> None:
        with suppress(StoreError):
            while True:
                await self.round()
                await trio.sleep(housekeeping_service.PERIOD)
        await trio.sleep_forever()

    patch.setattr(RetentionJob, "run", run)


def sweep_when_woken_only(patch: pytest.MonkeyPatch) -> None:
    """What nobody announced, because a process had ended, is never looked for."""
    patch.setattr(housekeeping_service, "POLL", math.inf)


def remove_running_restorations(patch: pytest.MonkeyPatch) -> None:
    """The state of a restoration is not looked at."""

    def expire(before: int) -> Script[bool]:
        async def delete(transaction: Transaction) -> bool:
            await transaction.execute("DELETE FROM restorations WHERE updated_at < $1", before)
            return False

        return delete

    patch.setattr(restorations, "expire", expire)


def remove_programs_in_use(patch: pytest.MonkeyPatch) -> None:
    """Whether anybody has allowed a program something is not looked at."""

    def expire(before: int) -> Script[bool]:
        async def delete(transaction: Transaction) -> bool:
            await transaction.execute("DELETE FROM oauth_clients WHERE created_at < $1", before)
            return False

        return delete

    patch.setattr(oauth_clients, "expire", expire)


def leave_receipts_of_deleted_workspaces(patch: pytest.MonkeyPatch) -> None:
    """A table is left out."""
    rest = tuple(each for each in sweeping._REST if each[0] != "receipts")
    patch.setattr(sweeping, "_REST", rest)


def sweep_one_workspace_too_many(patch: pytest.MonkeyPatch) -> None:
    """What a deletion has left is taken for that of the workspace after it."""

    async def sweep_next(transaction: Transaction, workspace: int) -> bool:
        await transaction.execute("DELETE FROM receipts WHERE workspace = $1", workspace + 1)
        return False

    listen_too(patch, "workspace_sweeping", sweep_next)


def keep_clients_of_removed_accounts(patch: pytest.MonkeyPatch) -> None:
    """Nothing is erased from the audit."""

    def erase() -> Script[bool]:
        async def nothing(transaction: Transaction) -> bool:
            return False

        return nothing

    patch.setattr(audit, "erase_clients", erase)


def erase_all_clients(patch: pytest.MonkeyPatch) -> None:
    """The clients of all accounts are erased with those of one."""
    erase = audit.erase_clients

    def erase_more() -> Script[bool]:
        async def both(transaction: Transaction) -> bool:
            more = await erase()(transaction)
            if more:
                await transaction.execute("UPDATE audit SET client = NULL")
            return more

        return both

    patch.setattr(audit, "erase_clients", erase_more)


def drop_uses_during_a_write(patch: pytest.MonkeyPatch) -> None:
    """What was used while earlier uses are written is taken for written."""
    flush = Activity.flush

    async def flush_and_clear(self: Activity) -> None:
        await flush(self)
        self._times.clear()

    patch.setattr(Activity, "flush", flush_and_clear)


def keep_links(patch: pytest.MonkeyPatch) -> None:
    """Links that have ended are kept for longer than the documentation says."""
    patch.setattr(publishing, "LINK_DAYS", 400)


def remove_links_that_were_taken_down(patch: pytest.MonkeyPatch) -> None:
    """Whether a link was taken down is not looked at."""

    def expire(before: int) -> Script[bool]:
        async def delete(transaction: Transaction) -> bool:
            await transaction.execute(
                "DELETE FROM publications WHERE COALESCE(revoked_at, expires_at) < $1", before
            )
            return False

        return delete

    patch.setattr(publications, "expire", expire)


def end_grants_with_their_tokens(patch: pytest.MonkeyPatch) -> None:
    """A grant whose code was not exchanged yet counts as one that has ended."""
    *ended, grants = oauth_grants._ENDED
    without = grants.replace(
        "AND NOT EXISTS (SELECT 1 FROM oauth_codes WHERE grant_id = oauth_grants.id)", ""
    )
    assert without != grants
    patch.setattr(oauth_grants, "_ENDED", (*ended, without))


def leave_grants_without_tokens(patch: pytest.MonkeyPatch) -> None:
    """A grant stays when all that a program got for it has expired."""
    patch.setattr(oauth_grants, "_ENDED", oauth_grants._ENDED[:2])


def forget_programs_early(patch: pytest.MonkeyPatch) -> None:
    """A program is forgotten while people may still come back to it."""
    patch.setattr(oauth, "ENDED_CLIENT_DAYS", 25)


def keep_programs(patch: pytest.MonkeyPatch) -> None:
    """Programs are kept for longer than the documentation says."""
    patch.setattr(oauth, "ENDED_CLIENT_DAYS", 400)


def remove_programs_that_notes_name(patch: pytest.MonkeyPatch) -> None:
    """Whether a revision refers to a program is not looked at."""

    def expire(before: int) -> Script[bool]:
        async def delete(transaction: Transaction) -> bool:
            await transaction.execute(
                "DELETE FROM oauth_programs WHERE ended_at < $1"
                " AND NOT EXISTS (SELECT 1 FROM oauth_grants WHERE program = pk)",
                before,
            )
            return False

        return delete

    patch.setattr(oauth_programs, "expire", expire)


def forget_the_month_before(patch: pytest.MonkeyPatch) -> None:
    """The counts of the last month are removed with the older ones."""
    patch.setattr(usage, "month_before", lambda month: month)


def forget_writers_early(patch: pytest.MonkeyPatch) -> None:
    """A process that may still send a batch again is forgotten."""
    patch.setattr(usage, "WRITER_DAYS", 0)


def take_failed_insertions_for_done(patch: pytest.MonkeyPatch) -> None:
    """The insertion of a row is acknowledged when its outcome is unknown."""
    write = GroupCommit.write

    async def write_or_not(self: GroupCommit, script: Script[Any]) -> object:
        try:
            return await write(self, script)
        except StoreUnavailable as error:
            if not error.outcome_unknown or not script.__qualname__.startswith("_insert"):
                raise
            return None

    patch.setattr(GroupCommit, "write", write_or_not)


def prune_for_the_next_week(patch: pytest.MonkeyPatch) -> None:
    """Revisions are judged by the age that they have a week later."""

    def prune(
        file: FileKey, after: Position, retention: Retention, now: int, merge: MergeUpdates
    ) -> Script[Any]:
        return prune_file(file, after, retention, now + 7 * DAY, merge)

    prune.__name__ = prune_file.__name__
    patch.setattr("octavo.features.history.feature.prune_file", prune)


def prune_shared_texts(patch: pytest.MonkeyPatch) -> None:
    """Whether a later revision has the text of an earlier one is not looked at."""

    def own(oldest: Sequence[Aged], newer: int, now: int, retention: Retention) -> list[RevisionId]:
        alone = [each._replace(content_id=ContentId(each.revision_id)) for each in oldest]
        return prunable(alone, newer, now, retention)

    patch.setattr(history_pruning, "prunable", own)


def keep_histories(patch: pytest.MonkeyPatch) -> None:
    """The first file of a round is pruned, and the others are not."""
    files_to_prune = history_pruning.files_to_prune

    def first(after: FileKey, retention: Retention, now: int) -> Script[FilesToPrune]:
        async def find(transaction: Transaction) -> FilesToPrune:
            found = await files_to_prune(after, retention, now)(transaction)
            return FilesToPrune(found.files[:1], None)

        return find

    patch.setattr("octavo.features.history.feature.files_to_prune", first)


HOUSEKEEPING_BROKEN: Mapping[Break, str] = {
    forget_receipts_early: "of (receipts|restorations) was removed .* too early",
    keep_invitations: "of invitations is left",
    end_sessions_at_their_start: "of sessions (was removed|is left)",
    run_each_step_once: "is left after",
    give_up_after_a_failure: "is left after",
    sweep_when_woken_only: "is left|are left|removed account",
    remove_running_restorations: "of restorations was removed .* too early",
    remove_programs_in_use: "of oauth_clients was removed .* too early",
    leave_receipts_of_deleted_workspaces: "receipts of a deleted workspace are left",
    sweep_one_workspace_too_many: "of receipts was removed .* too early",
    keep_clients_of_removed_accounts: "the client of a removed account is in",
    drop_uses_during_a_write: "the use of the session .* was not recorded",
    erase_all_clients: "the client of an account is missing",
    take_failed_insertions_for_done: "was acknowledged, and is lost",
    prune_for_the_next_week: "was pruned at .*, and the rules keep it",
    prune_shared_texts: "has the text None|was pruned at .*, and the rules keep it",
    keep_histories: "is left, and nothing keeps it",
    keep_links: "of publications is left",
    remove_links_that_were_taken_down: "of publications was removed .* too early",
    end_grants_with_their_tokens: "of oauth_grants was removed .* too early",
    leave_grants_without_tokens: "of oauth_grants is left",
    forget_programs_early: "of oauth_programs was removed .* too early",
    keep_programs: "of oauth_programs is left",
    remove_programs_that_notes_name: "of oauth_programs was removed .* too early",
    forget_the_month_before: "of (account|installation)_usage was removed .* too early",
    forget_writers_early: "of usage_writers was removed .* too early",
}
"""What is left out, and the message of the first failing schedule."""
