"""Links between files: of a note, to a file, and unresolved."""

from octavo_rules.identity import READ, WorkspaceId
from octavo_rules.problems import NotFound
from octavo_rules.schemas import FileLinks as FileLinksSchema
from octavo_rules.schemas import FoundLinkDocument, LinkList, OutgoingLinkDocument

from octavo.access.workspaces import Access
from octavo.features.files.api.files import FilePath
from octavo.features.links.reading import read_links
from octavo.features.links.sql import link_queries
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import WorkspacePath
from octavo.store import Script, Store, StoreFull, StoreUnavailable
from octavo.store.transaction import T


class LinkOperations:
    """Links.

    Args:
        store: the store of files.
        access: checks the members.
    """

    def __init__(self, store: Store, access: Access) -> None:
        self._store = store
        self._access = access

    @contract.operation(
        id="getLinks",
        method="GET",
        path="/api/workspaces/{workspaceId}/files/{fileId}/links",
        tag="links",
        summary="List the links of a file, and those to it",
        scope=READ,
        confinable=True,
        problems=(NotFound,),
    )
    async def get_links(
        self, call: contract.Call, path: FilePath, query: contract.PageQuery
    ) -> FileLinksSchema:
        """Return the links of a live file."""
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        file_id = path.file_id
        if query.after is None:
            script = link_queries.links_of_file(workspace_id, file_id, query.limit + 1, within)
            links = await self._read(workspace_id, script)
        else:
            after = _after(query.after)
            linking = link_queries.back_links(workspace_id, file_id, after, query.limit + 1, within)
            incoming = await self._read(workspace_id, linking)
            links = None if incoming is None else link_queries.FileLinks([], incoming)
        if links is None:
            raise NotFound
        page, following = _page(links.incoming, query.limit)
        outgoing = tuple(await contract.converted(links.outgoing, _outgoing))
        return FileLinksSchema(outgoing=outgoing, incoming=page, next=following)

    @contract.operation(
        id="listUnresolvedLinks",
        method="GET",
        path="/api/workspaces/{workspaceId}/links/unresolved",
        tag="links",
        summary="List links that resolve to no file",
        scope=READ,
        confinable=True,
        problems=(NotFound,),
    )
    async def list_unresolved_links(
        self, call: contract.Call, path: WorkspacePath, query: contract.PageQuery
    ) -> LinkList:
        """Return a page of links."""
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        script = link_queries.unresolved_links(
            workspace_id, _after(query.after), query.limit + 1, within
        )
        page, following = _page(await self._read(workspace_id, script), query.limit)
        return LinkList(items=page, next=following)

    async def _read(self, workspace_id: WorkspaceId, script: Script[T]) -> T:
        try:
            return await read_links(self._store, workspace_id, script)
        except StoreFull as error:
            # The request stores nothing; there is no room for the index that it needs.
            raise StoreUnavailable(str(error)) from error


def _after(cursor: str | None) -> tuple[str, int]:
    parts = contract.read_cursor(cursor, 2, identifier=0, numbers=(1,))
    return link_queries.FIRST if parts is None else (parts[0], int(parts[1]))


def _page(
    links: list[link_queries.FoundLink], limit: int
) -> tuple[tuple[FoundLinkDocument, ...], str | None]:
    page, following = contract.split_page(
        links, limit, lambda link: (link.file_id, str(link.number))
    )
    return tuple(map(_incoming, page)), following


def _outgoing(link: link_queries.OutgoingLink) -> OutgoingLinkDocument:
    return OutgoingLinkDocument(
        kind=link.kind,
        embed=link.embed,
        target=link.target,
        heading=link.heading or None,
        file_id=link.file_id,
        path=link.path,
        heading_found=link.heading_found,
    )


def _incoming(link: link_queries.FoundLink) -> FoundLinkDocument:
    return FoundLinkDocument(
        file_id=link.file_id,
        path=link.path,
        title=link.title or None,
        kind=link.kind,
        embed=link.embed,
        target=link.target,
        heading=link.heading or None,
    )
