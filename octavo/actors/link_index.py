"""Have the index of links know every file of a workspace, for whoever needs all links there are."""

import trio

from octavo.model.identity import WorkspaceId
from octavo.store import Store
from octavo.store.scripts.catching_up import link_some, links_behind, waiting

CATCH_UP_SECONDS = 5.0
"""For which somebody waits at most; thousands of notes are taken in each second."""


async def catch_up_links(store: Store, workspace_id: WorkspaceId) -> bool:
    """Have the links taken in of files that the index lacks; answer whether it has all of them.

    It lacks those from before there was one, until somebody asks, or the indexer has come to them.
    This gives up in time, and what was taken in stays for the next call. Raises
    `octavo.store.StoreUnavailable`.
    """
    with trio.move_on_after(CATCH_UP_SECONDS):
        # Where no words wait, no links do; so nothing is looked through as a rule.
        if not await store.read(waiting([workspace_id])):
            return True
        behind = await store.read_much(links_behind(workspace_id))
        while behind is not None:
            behind = await store.write(link_some(workspace_id, behind))
        return True
    return False
