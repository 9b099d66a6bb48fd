"""Services that are broken in modules that were picked at random.

From the seed 20261124: modules of the actors, scripts and the model that this simulation uses, with
one fault each.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from greenroom import Envelope
from greenroom.mailbox import EnvelopeState
from greenroom.restart import CrashRecord
from octavo_rules.identity import Cursor, WorkspaceId

from octavo.actors.jobs import indexing
from octavo.actors.workspace.planning import PendingPush
from octavo.features.links.sql import link_queries
from octavo.features.links.sql.link_queries import FoundLink
from octavo.store import Script, Transaction
from octavo.store.queries import changesets, documents, feed, revision_rows
from octavo.store.queries.feed import Heads, heads_after
from octavo.store.queries.revision_rows import execute_each
from octavo.store.sqlite.transaction import SqliteTransaction

Break = Callable[[pytest.MonkeyPatch], None]


def rewrite_links_among_other_changes(patch: pytest.MonkeyPatch) -> None:
    """A move that rewrites links is planned together with others, which change the texts."""
    weight = property(lambda self: len(self.push.changeset.operations))
    patch.setattr(PendingPush, "weight", weight)


def catch_up_in_one_step(patch: pytest.MonkeyPatch) -> None:
    """An index has caught up after one step."""

    async def index_once(store: Any, index: Any, workspace_ids: Sequence[WorkspaceId]) -> None:  # noqa: ANN401
        if workspace_ids:
            await indexing.index_some(store, index, workspace_ids)

    patch.setattr(indexing, "index_all", index_once)


def leave_out_the_last_unresolved_link(patch: pytest.MonkeyPatch) -> None:
    """One link that leads nowhere is not listed."""
    unresolved = link_queries.unresolved_links

    def most(*given: Any) -> Script[list[FoundLink]]:  # noqa: ANN401
        async def read(transaction: Transaction) -> list[FoundLink]:
            return (await unresolved(*given)(transaction))[:-1]

        return read

    patch.setattr(link_queries, "unresolved_links", most)


def index_changed_notes_twice(patch: pytest.MonkeyPatch) -> None:
    """The words of a former text stay in the index."""
    patch.setattr(SqliteTransaction, "remove_words", _do_nothing)


def execute_what_was_withdrawn(patch: pytest.MonkeyPatch) -> None:
    """A message is said to be withdrawn, and stays in its mailbox."""

    def pretend(self: Envelope[Any]) -> bool:
        return self._state is EnvelopeState.QUEUED

    patch.setattr(Envelope, "abandon", pretend)


def keep_the_former_state_vector(patch: pytest.MonkeyPatch) -> None:
    """A document that is stored again keeps its state vector."""
    former = "CASE WHEN documents.vector = x'' THEN excluded.vector ELSE documents.vector END"
    put = documents._PUT.replace("vector = excluded.vector", f"vector = {former}")
    patch.setattr(documents, "_PUT", put)


def never_forgive_crashes(patch: pytest.MonkeyPatch) -> None:
    """A quarantine that has ended leaves the key on probation."""
    patch.setattr(CrashRecord, "recovered", lambda self: None)


def count_crashes_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Quarantine is far longer than its rule says."""
    crashed = CrashRecord.crashed

    def longer(self: CrashRecord, now: float, rule: Any) -> float | None:  # noqa: ANN401
        seconds = crashed(self, now, rule)
        if seconds is not None:
            self.until = now + 30 * seconds
        return seconds

    patch.setattr(CrashRecord, "crashed", longer)


def lose_revisions_between(patch: pytest.MonkeyPatch) -> None:
    """Of several changes of a file in one commit, only the first keeps what was before it."""
    stored: set[object] = set()

    async def supersede_once(transaction: Any, sql: str, rows: Sequence[Any]) -> None:  # noqa: ANN401
        if sql == changesets._SUPERSEDE_HEAD:
            rows = [row for row in rows if (id(transaction), row) not in stored]
            stored.update((id(transaction), row) for row in rows)
        await execute_each(transaction, sql, rows)

    store_changes = changesets.store_changes

    async def store(*given: Any, preserve: bool) -> None:  # noqa: ANN401
        stored.clear()
        await store_changes(*given, preserve=preserve)

    patch.setattr(revision_rows, "execute_each", supersede_once)
    patch.setattr(changesets, "store_changes", store)


def skip_a_position_when_refreshing(patch: pytest.MonkeyPatch) -> None:
    """A workspace lacks the heads of the first change that another process has made."""

    def later(workspace_id: WorkspaceId, cursor: Cursor) -> Script[Heads | None]:
        async def read(transaction: Transaction) -> Heads | None:
            found = await heads_after(workspace_id, cursor)(transaction)
            if found is None or not cursor.position:
                return found
            skipped = cursor.position + 1
            return found._replace(heads=[h for h in found.heads if h.position != skipped])

        return read

    patch.setattr(feed, "heads_after", later)


async def _do_nothing(*_: object) -> None:
    pass


BROKEN_AT_RANDOM: Mapping[Break, str] = {
    leave_out_the_last_unresolved_link: "the unresolved links are",
    index_changed_notes_twice: "the index has the words",
    execute_what_was_withdrawn: "is kept|not linearizable|it did nothing, yet present",
    lose_revisions_between: "there are revisions at|is left|reads|acknowledged",
    skip_a_position_when_refreshing: (
        "not linearizable|the device reads|and announced|document_dependency_missing"
        "|bytes, and .* are counted|lost update|can't save"
    ),
    catch_up_in_one_step: "have not caught up",
    never_forgive_crashes: "is quarantined for .* after",
    count_crashes_for_ever: "stays in quarantine for",
    keep_the_former_state_vector: "another state vector",
    rewrite_links_among_other_changes: "reads .* without",
}
"""What is broken, and the message of the first failing schedule."""
