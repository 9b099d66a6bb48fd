"""Find the link that a reader's token opens, and the map of its workspace."""

from octavo_rules.identity import WorkspaceId

from octavo.access.ports import Clock, milliseconds
from octavo.features.publishing.rules import LinkTarget, PublicationId, PublishedLink
from octavo.features.publishing.signing import Tickets
from octavo.features.publishing.sql import publications
from octavo.features.publishing.sql.publications import ReadableLink
from octavo.features.publishing.workspace_map import WorkspaceMap, WorkspaceMaps
from octavo.model.access.token import digest_of
from octavo.store import Store

# Stands in for a missing link, so that a ticket is verified in any case.
_DECOY = PublishedLink(PublicationId(""), WorkspaceId(""), LinkTarget("folder", None, ""))


class LinkAccess:
    """Decides whether a link opens something for a reader.

    Every method raises `StoreUnavailable`. Cancellation changes nothing.

    Args:
        store: the database.
        tickets: verifies reading tickets.
        sites: the maps of the workspaces.
        now: the clock.
    """

    def __init__(self, store: Store, tickets: Tickets, sites: WorkspaceMaps, *, now: Clock) -> None:
        self._store = store
        self._tickets = tickets
        self._now = now
        self._sites = sites

    async def find(self, token: str) -> ReadableLink | None:
        """Return the link of a token, or of a report's token; None if it opens nothing now."""
        link = await self._store.read(publications.by_digest(digest_of(token.encode())))
        opens = link is not None and link.opens_at(milliseconds(self._now()))
        return link if opens else None

    async def admitted(self, token: str, ticket: str | None) -> ReadableLink | None:
        """Return the link of a token, if it opens something with a ticket; None otherwise."""
        link = await self.find(token)
        verified = False
        if ticket is not None:
            # Verify it also for a token that no link has, which takes the same time.
            verified = await self._tickets.verify(ticket, _DECOY if link is None else link.link)
        return link if link is not None and (verified or not link.link.needs_ticket) else None

    async def mapped(
        self, link: ReadableLink, token: str
    ) -> tuple[ReadableLink, WorkspaceMap] | None:
        """Return a link and the map of its workspace, both at one cursor; None if it has ended.

        The link is read again after a change of the workspace: by then it may have ended, or other
        notes may be where its folder was.
        """
        while True:
            site = await self._sites.get(link.workspace, link.cursor)
            if site.cursor == link.cursor:
                return link, site
            again = await self.find(token)
            if again is None:
                return None
            link = again
