"""Services that compare positions alone, so that they mistake one history for another."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from octavo_rules.identity import Cursor, WorkspaceId

from octavo.actors.notice_hub import NoticeHub
from octavo.store import Script, Transaction
from octavo.store.queries import changesets
from octavo.store.queries import feed as feeds
from octavo.store.queries.feed import Heads, Since
from tests.simulation.simulation import Break


def commit_at_a_position(patch: pytest.MonkeyPatch) -> None:
    """The fence of commits is the position alone."""
    for name in ("_MOVE_CURSOR", "_READ_DOCUMENTS"):
        sql = getattr(changesets, name)
        assert "mark_id = $3::uuid" in sql
        patch.setattr(changesets, name, sql.replace("mark_id = $3::uuid", "$3::uuid IS NOT NULL"))


def refresh_after_a_position(patch: pytest.MonkeyPatch) -> None:
    """An actor reads what has changed since a position, whatever its mark."""
    heads_after = feeds.heads_after

    def read(workspace_id: WorkspaceId, cursor: Cursor) -> Script[Heads | None]:
        script = heads_after(workspace_id, cursor)

        async def read_all(transaction: Transaction) -> Heads | None:
            found = await script(transaction)
            return None if found is None else found._replace(known=True)

        return read_all

    patch.setattr(feeds, "heads_after", read)


def continue_at_a_position(patch: pytest.MonkeyPatch) -> None:
    """The feed continues at a position, whatever mark the device has."""
    check = feeds.read_cursor_since

    async def read(
        transaction: Transaction, workspace_id: WorkspaceId, since: Since
    ) -> Cursor | None:
        return await check(transaction, workspace_id, Since(since.position))

    patch.setattr(feeds, "read_cursor_since", read)


def notify_of_later_positions(patch: pytest.MonkeyPatch) -> None:
    """Listeners are notified of a later position alone."""
    announce: Callable[[NoticeHub[Any], WorkspaceId, Cursor], None] = NoticeHub.announce

    def announce_later(self: NoticeHub[Any], workspace_id: WorkspaceId, cursor: Cursor) -> None:
        newest = self._newest.get(workspace_id)
        if newest is None or cursor.position > newest.position:
            announce(self, workspace_id, cursor)

    patch.setattr(NoticeHub, "announce", announce_later)


BROKEN_COMPARISONS: Mapping[Break, str] = {
    commit_at_a_position: "two files at one place|replaced|has|is lost",
    refresh_after_a_position: " has .* for ",
    continue_at_a_position: " has .* of ",
    notify_of_later_positions: " told ",
}
"""What is left out, and the message of the first failing schedule."""
