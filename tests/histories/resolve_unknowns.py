"""Resolving unknown outcomes of a history with the feed of the workspace.

For a search every unknown outcome is a choice: did it happen, and when? Many of them over registers
that are rarely read can exceed any limit. The feed tells both: what is not in it never happened,
and what is in it has a position. The moment remains open: it may be any after the invocation.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from greenroom.testing.history import History, HistoryEntry, Status

from tests.histories.feed_order import FeedEntry
from tests.histories.operations import Commit, Operation


def resolve_unknowns(
    history: History[Operation] | Iterable[HistoryEntry[Operation]],
    feed: Mapping[str, Sequence[FeedEntry]],
) -> tuple[HistoryEntry[Operation], ...]:
    """Resolve commits with an unknown outcome by the feed, to shorten the search.

    It trusts the feed; `check_order` checks the feed against the history.

    Args:
        history: the operations of the clients.
        feed: for each workspace its whole feed, read after the last operation had its effect.

    Returns:
        The entries, where a commit with an unknown outcome has its position in the feed as its
        result, and is left out if it is not there. All others are unchanged.
    """
    entries = history.entries if isinstance(history, History) else tuple(history)
    positions = {
        (workspace, entry.mutation): entry.position
        for workspace, members in feed.items()
        for entry in members
    }
    settled: list[HistoryEntry[Operation]] = []
    for entry in entries:
        operation = entry.operation
        if entry.status is not Status.UNKNOWN or not isinstance(operation, Commit):
            settled.append(entry)
        elif (operation.workspace, operation.mutation) in positions:
            position = positions[operation.workspace, operation.mutation]
            settled.append(replace(entry, result=position))
    return tuple(settled)
