"""Synchronise devices: protocol versions, the feed, and snapshots of workspaces."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Literal

from attrs import define
from octavo_rules.identity import READ, Cursor, FileId, Position, RevisionId, WorkspaceId
from octavo_rules.problems import InvalidRequest, NotFound, Problem
from octavo_rules.schemas import FeedPage, SnapshotEnd
from pydantic import BaseModel, Field

from octavo.access.workspaces import Access
from octavo.features.sync.sql import folder_feed
from octavo.features.usage.api import METERED, Metering, amount_of_texts
from octavo.http import contract, file_schemas
from octavo.http.callers import caller_of
from octavo.model.files.confinement import Confinement
from octavo.store import Store
from octavo.store.queries.changesets import WorkspaceGone
from octavo.store.queries.feed import Since, feed, live_at, live_contents
from octavo.store.queries.files import StoredFile
from octavo.store.queries.marks import CursorUnknown, cursor_of


class SyncCursor(file_schemas.SyncProtocol):
    """The version of the sync protocol, and the mark of the position of the client's copy."""

    sync_mark: contract.Identifier | None = None
    """``nextMark`` of the page with ``after``, or the ``mark`` of this position. With it, a
    position that was given twice, as after a restored backup, is recognised, and refused with
    ``cursor_unknown``.
    """


LINES = "application/x-ndjson"
MAX_BYTES = 4 * 1024 * 1024
"""Approximate size of the text in a page of the feed."""
STEP_BYTES = 1024 * 1024
"""Approximate size of the text in a step of a snapshot, but for one long note. It is in memory
three times while its lines are made: `octavo.http.contract.memory_budget.STEP` is reserved for it.
"""
_STEP = 200
_LARGEST = 2**53 - 1


class ProtocolReport(contract.Model):
    """The supported versions."""

    versions: list[int]


class FeedQuery(contract.Model):
    """Where to continue, and how much to return."""

    after: Annotated[int, Field(ge=0, le=_LARGEST), contract.IN_DIGITS] = 0
    """``next`` of the previous page; 0 for the beginning."""
    limit: contract.Limit = 100
    """Maximum number of entries; entries of one position are never split."""
    include: Literal["text"] | None = None
    """``text`` includes the Markdown; pages are shorter then if the notes are long. A single
    changeset with more than 4 MiB is returned without text: use ``readFiles`` for its files.
    """


@define(eq=False)
class SyncOperations:
    """Synchronisation of devices.

    Args:
        store: the store of files.
        access: checks the members.
        authenticator: checks during a long response whether the caller is still authorised.
        metering: counts the texts.
    """

    _store: Store
    _access: Access
    _authenticator: contract.Authenticator
    _metering: Metering

    @contract.operation(
        id="getSyncProtocol",
        method="GET",
        path="/api/sync/protocol",
        tag="service",
        summary="Get the supported versions of the sync protocol",
        security=contract.Security.NONE,
    )
    async def get_sync_protocol(self, call: contract.Call) -> ProtocolReport:
        """Return the versions."""
        return ProtocolReport(versions=list(file_schemas.VERSIONS))

    @contract.operation(
        id="getFeed",
        method="GET",
        path="/api/workspaces/{workspaceId}/feed",
        tag="sync",
        summary="Get the changes after a position",
        description="Each file is listed once, however often it changed, including deleted and "
        "purged files; so a cursor never expires. Send `sync-mark` to notice when the history of "
        "the server was taken back.",
        scope=READ,
        confinable=True,
        problems=(NotFound, file_schemas.UnsupportedProtocol, CursorUnknown, *METERED),
    )
    async def get_feed(
        self,
        call: contract.Call,
        path: file_schemas.WorkspacePath,
        query: FeedQuery,
        headers: SyncCursor,
    ) -> FeedPage:
        """Return a page of the feed."""
        file_schemas.check_protocol(headers)
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        texts = query.include == "text"
        if texts:
            await self._metering.admit(call)
        mark = None if headers.sync_mark is None else RevisionId(headers.sync_mark)
        since = Since(Position(query.after), mark)
        asked = (workspace_id, since, query.limit, MAX_BYTES)
        if within is None:
            script = feed(*asked, texts=texts)
        else:
            script = folder_feed(*asked, within, texts=texts)
        page = await self._store.read_much(script)
        if page is None:
            raise NotFound
        position, mark = page.cursor
        if query.after > position:
            message = f"The workspace is only at position {position}: start again at 0."
            raise InvalidRequest(errors=[("/query/after", message)])
        if texts:
            await self._metering.read(call, amount_of_texts(page.entries))
        return FeedPage(
            entries=tuple(
                await contract.converted(
                    page.entries, partial(file_schemas.feed_entry, text=page.texts)
                )
            ),
            next=page.following.position,
            next_mark=page.following.mark,
            position=position,
            mark=mark,
            more=page.following.position < position,
        )

    @contract.operation(
        id="getSnapshot",
        method="GET",
        path="/api/workspaces/{workspaceId}/snapshot",
        tag="sync",
        summary="Get all live files with their texts, as of one position",
        description="One JSON document per line: a feed entry for each file, then `{position, "
        "mark, files}`.",
        scope=READ,
        confinable=True,
        problems=(NotFound, file_schemas.UnsupportedProtocol, *METERED),
        media_types=(LINES,),
        time=3600,
    )
    async def get_snapshot(
        self,
        call: contract.Call,
        path: file_schemas.WorkspacePath,
        headers: file_schemas.SyncProtocol,
    ) -> contract.Stream:
        """Return every live file."""
        file_schemas.check_protocol(headers)
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        await self._metering.admit(call)
        if await self._metering.limited(call):
            # A snapshot that would be cut off is not begun.
            script = live_contents(workspace_id, images=False, within=within)
            await self._metering.admit(call, await self._store.read_much(script))
        cursor = await self._store.read(cursor_of(workspace_id))
        if cursor is None:
            raise NotFound
        return contract.Stream(self._lines(call, workspace_id, cursor, within), LINES)

    async def _lines(
        self,
        call: contract.Call,
        workspace_id: WorkspaceId,
        cursor: Cursor,
        within: Confinement | None,
    ) -> AsyncIterator[bytes]:
        after: FileId | None = FileId("")
        count = 0
        while after is not None:
            script = live_at(workspace_id, cursor.position, after, _STEP, STEP_BYTES, within)
            try:
                stored, after = await self._store.read_much(script)
            except WorkspaceGone:
                return
            try:
                # A snapshot may take long, and session, key or membership may end meanwhile.
                call.authenticated_as(await self._authenticator.authenticate(call))
                await self._access.check(workspace_id, caller_of(call), "read")
                await self._metering.count(call, amount_of_texts(stored))
            except Problem:
                # The client recognises the truncation by the missing last line.
                return
            if stored:
                count += len(stored)
                lines = b"".join(await contract.converted(stored, _whole_line, _size))
                # The client may be slow; the texts must not stay in memory meanwhile.
                del stored
                yield lines
        yield _line(SnapshotEnd(position=cursor.position, mark=cursor.mark, files=count))


def _whole_line(stored: StoredFile) -> bytes:
    return _line(file_schemas.feed_entry(stored, text=True))


def _size(stored: StoredFile) -> int:
    return stored.revision.size


def _line(document: BaseModel) -> bytes:
    return document.model_dump_json(by_alias=True).encode() + b"\n"
