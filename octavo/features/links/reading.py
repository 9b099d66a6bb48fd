"""Read links, and update the link index first if it is outdated."""

from collections.abc import Mapping

import trio
from octavo_rules.identity import FileId, WorkspaceId

from octavo.actors.jobs import indexing
from octavo.actors.workspace.planning import LinkSources, NotesToRewrite
from octavo.features.links.sql.link_index import LINKS, LinksOutdated
from octavo.features.links.sql.link_queries import notes_to_rewrite
from octavo.store import Script, Store, StoreUnavailable
from octavo.store.transaction import T


async def read_links(store: Store, workspace_id: WorkspaceId, query: Script[T]) -> T:
    """Run a query that may raise `LinksOutdated`; update the link index first when it does.

    The query sees all links at the position that it reads at. Raises `StoreUnavailable`, also when
    the updates take longer than `CATCH_UP_SECONDS`. What was indexed until then remains.
    """
    deadline = trio.current_time() + indexing.CATCH_UP_SECONDS
    while True:
        try:
            return await store.read_much(query)
        except LinksOutdated:
            pass
        with trio.move_on_at(deadline) as updating:
            await indexing.index_all(store, LINKS, [workspace_id])
        if updating.cancelled_caught:
            raise StoreUnavailable(
                "The links of the workspace are still being indexed; try again soon."
            )


def link_sources(store: Store) -> LinkSources:
    """Return the function by which actors of workspaces read the notes that moves may affect."""

    async def sources(
        workspace_id: WorkspaceId, moving: Mapping[FileId, str]
    ) -> NotesToRewrite | None:
        return await read_links(store, workspace_id, notes_to_rewrite(workspace_id, moving))

    return sources
