"""Keep devices in step: versions of the protocol, the feed, whole workspaces.

Which versions of the sync protocol are served, and what a request says of its own.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Literal

from pydantic import Field

from octavo.http.api.access import Access
from octavo.http.api.file_schemas import FeedEntrySchema, feed_entry
from octavo.http.api.workspaces import WorkspacePath
from octavo.http.contract.call import Authenticator, Call
from octavo.http.contract.contract_model import ContractModel, HeaderModel
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.paging import IN_DIGITS, Limit
from octavo.http.contract.problems import InvalidRequest, NotFound, Problem
from octavo.http.contract.reply import Stream
from octavo.model.identity import FileId, Position, WorkspaceId
from octavo.store import Store
from octavo.store.scripts.changesets import WorkspaceGone
from octavo.store.scripts.feed import feed, live_at, position_of

VERSIONS = (1,)


class UnsupportedProtocol(Problem):
    """The request speaks a version that is not served."""

    status, code = 400, "unsupported_protocol"
    summary = "This version of the sync protocol is not served."
    remedy = "Ask getSyncProtocol for the versions served, and update the client."


class SyncProtocol(HeaderModel):
    """The version of the sync protocol that the client speaks."""

    sync_protocol: (
        Annotated[str, Field(json_schema_extra={"enum": [str(each) for each in VERSIONS]})] | None
    ) = None
    """A number; left out, it is 1."""


def check_protocol(headers: SyncProtocol) -> None:
    """Raise `UnsupportedProtocol` for a version that is not served."""
    given = headers.sync_protocol
    if given is not None and given not in map(str, VERSIONS):
        served = ", ".join(map(str, VERSIONS))
        raise UnsupportedProtocol(f"Served are the versions {served} of the sync protocol.")


LINES = "application/x-ndjson"
MOST_BYTES = 4 * 1024 * 1024
"""Text that one page of the feed, or one step of a snapshot, holds about."""
_STEP = 200
_LARGEST = 2**53 - 1


class ProtocolReport(ContractModel):
    """What is spoken here."""

    versions: list[int]


class FeedQuery(ContractModel):
    """Where to go on."""

    after: Annotated[int, Field(ge=0, le=_LARGEST), IN_DIGITS] = 0
    """``next`` of the page before; 0 from the beginning."""
    limit: Limit = 100
    """How many entries to answer; what changed at one position is never torn."""
    include: Literal["text"] | None = None
    """``text`` brings the Markdown along; a page is shorter then when the notes are long. A single
    changeset with more than 4 MiB comes without: read its files by ``readFiles``."""


class FeedPageSchema(ContractModel):
    """What changed, each file once, at the position where it changed last."""

    entries: list[FeedEntrySchema]
    next: int
    """What to give as ``after`` for the page behind this one, now or later."""
    position: int
    """Of the workspace."""
    more: bool
    """Whether there is a page behind this one already."""


class SnapshotEndSchema(ContractModel):
    """The last line of a snapshot: without it, the snapshot was cut short."""

    position: int
    """What the files are exact at; go on with the feed behind it."""
    files: int
    """How many lines there were before."""


class SyncOperations:
    """Devices in step.

    Args:
        store: where files are kept.
        access: judges the members.
        authenticator: finds out, while a long answer goes on, whether the caller still may.
    """

    def __init__(self, store: Store, access: Access, authenticator: Authenticator) -> None:
        self._store = store
        self._access = access
        self._authenticator = authenticator

    @operation(
        id="getSyncProtocol",
        method="GET",
        path="/api/sync/protocol",
        tag="service",
        summary="The versions of the sync protocol that are served",
        security=Security.NONE,
    )
    async def get_sync_protocol(self, call: Call) -> ProtocolReport:
        """Return the versions."""
        return ProtocolReport(versions=list(VERSIONS))

    @operation(
        id="getFeed",
        method="GET",
        path="/api/workspaces/{workspaceId}/feed",
        tag="sync",
        summary="What changed behind a position",
        description="Each file stands here once, however often it changed, deleted and purged "
        "ones too; so a cursor never expires.",
        security=Security.SESSION_OR_KEY,
        problems=(NotFound, UnsupportedProtocol),
    )
    async def get_feed(
        self, call: Call, path: WorkspacePath, query: FeedQuery, headers: SyncProtocol
    ) -> FeedPageSchema:
        """Return a page of the feed."""
        check_protocol(headers)
        workspace_id = WorkspaceId(str(path.workspace_id))
        await self._access.require(call, workspace_id, "read")
        texts = query.include == "text"
        script = feed(workspace_id, Position(query.after), query.limit, MOST_BYTES, texts=texts)
        page = await self._store.read_much(script)
        if page is None:
            raise NotFound
        if query.after > page.position:
            told = f"The workspace is at {page.position} only: start again at 0."
            raise InvalidRequest(errors=[("/query/after", told)])
        return FeedPageSchema(
            entries=[feed_entry(each, text=page.texts) for each in page.entries],
            next=page.following,
            position=page.position,
            more=page.following < page.position,
        )

    @operation(
        id="getSnapshot",
        method="GET",
        path="/api/workspaces/{workspaceId}/snapshot",
        tag="sync",
        summary="All live files with their texts, as of one position",
        description="One JSON document a line: an entry as in the feed for each file, and at the "
        "end `{position, files}`.",
        security=Security.SESSION_OR_KEY,
        problems=(NotFound, UnsupportedProtocol),
        media_types=(LINES,),
        time=3600,
    )
    async def get_snapshot(self, call: Call, path: WorkspacePath, headers: SyncProtocol) -> Stream:
        """Return every live file."""
        check_protocol(headers)
        workspace_id = WorkspaceId(str(path.workspace_id))
        await self._access.require(call, workspace_id, "read")
        position = await self._store.read(position_of(workspace_id))
        if position is None:
            raise NotFound
        return Stream(self._lines(call, workspace_id, position), LINES)

    async def _lines(
        self, call: Call, workspace_id: WorkspaceId, position: Position
    ) -> AsyncIterator[bytes]:
        after: FileId | None = FileId("")
        count = 0
        while after is not None:
            script = live_at(workspace_id, position, after, _STEP, MOST_BYTES)
            try:
                found, after = await self._store.read_much(script)
            except WorkspaceGone:
                return
            try:
                # Reading it may take long, and session, key or membership end meanwhile.
                call.principal = await self._authenticator.authenticate(call)
                await self._access.require(call, workspace_id, "read")
            except Problem:
                # Without the last line the client knows that there is more.
                return
            if found:
                count += len(found)
                lines = b"".join(_line(feed_entry(each, text=True)) for each in found)
                # The client may take long for these; the texts need not wait with them.
                del found
                yield lines
        yield _line(SnapshotEndSchema(position=position, files=count))


def _line(document: ContractModel) -> bytes:
    return document.model_dump_json(by_alias=True).encode() + b"\n"
