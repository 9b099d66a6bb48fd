"""Copy a workspace: a snapshot at one position, and the feed of changes after a position."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

from octavo_rules.identity import Position, RevisionId
from octavo_rules.schemas import FeedEntry, FeedPage, SnapshotEnd

from octavo_client.connection import ApiConnection, Request, parse_response
from octavo_client.errors import ConnectionFailed, SnapshotCut, UnexpectedResponse
from octavo_client.reading import WorkspaceReader

_PAGE = 500
_MAX_READ = 500
_MAX_BYTES = 8 * 1024 * 1024


class Snapshot:
    """An async iterator over every live file, streamed.

    Attributes:
        position: the position of the snapshot; None until all entries were read.
        mark: its mark.
    """

    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self.position: Position | None = None
        self.mark: RevisionId | None = None
        self._lines = lines
        self._count = 0

    def __aiter__(self) -> AsyncIterator[FeedEntry]:
        return self

    async def __anext__(self) -> FeedEntry:
        """Return the next entry. Raises `SnapshotCut` if the rest is missing."""
        if self.position is not None:
            raise StopAsyncIteration
        try:
            line = await anext(self._lines)
        except StopAsyncIteration:
            raise SnapshotCut("the snapshot has no last line") from None
        except ConnectionFailed as error:
            raise SnapshotCut(str(error)) from error
        if b'"fileId":' in line:
            self._count += 1
            return parse_response(FeedEntry, line)
        end = parse_response(SnapshotEnd, line)
        if end.files != self._count:
            raise UnexpectedResponse(
                f"the number of files in the snapshot is {self._count}, not {end.files}"
            )
        self.position, self.mark = end.position, end.mark
        async for _ in self._lines:
            raise UnexpectedResponse("data follows the last line of the snapshot")
        raise StopAsyncIteration


@asynccontextmanager
async def snapshot(connection: ApiConnection, path: str) -> AsyncIterator[Snapshot]:
    """Read every live file of the workspace at ``path`` at one position (getSnapshot).

    ::

        async with workspace.snapshot() as snapshot:
            async for entry in snapshot:
                ...
        # Complete: continue with the feed after snapshot.position, with snapshot.mark.

    Only one entry is in memory at a time. A started snapshot is not retried: `SnapshotCut` means
    that the copy is incomplete and must be started again. Other errors are those of `Client`.
    """
    request = Request("GET", f"{path}/snapshot")
    async with connection.stream(request) as chunks, aclosing(_lines(chunks)) as lines:
        yield Snapshot(lines)


class Feed:
    """Pages of the changes after a position, with texts, until there are no more (getFeed).

    Each file appears once, at the position of its last change, so a copy is exact only after all
    pages were applied, at ``next`` of the last one, with ``next_mark``. With ``mark``, the mark of
    the position, `CursorUnknownError` is raised if the history of the server does not have it, as
    after a restored backup. Without it, a position ahead of the workspace raises `ProblemError`
    with the status 400.
    """

    def __init__(
        self, workspace: WorkspaceReader, after: Position, mark: RevisionId | None = None
    ) -> None:
        self._workspace = workspace
        self._after = after
        self._mark = mark
        self._more = True

    def __aiter__(self) -> AsyncIterator[FeedPage]:
        return self

    async def __anext__(self) -> FeedPage:
        """Return the next page. Raises `ClientError`; iteration may continue after it."""
        while self._more:
            query: dict[str, str | int] = {"after": self._after, "limit": _PAGE, "include": "text"}
            headers = {} if self._mark is None else {"sync-mark": self._mark}
            path = f"{self._workspace.path}/feed"
            request = Request("GET", path, query=query, headers=headers)
            page = await self._workspace.connection.ask(FeedPage, request)
            entries = await _with_texts(self._workspace, page.entries)
            # None: a head of this page has changed and its text is gone; request the page again.
            if entries is not None:
                self._after, self._mark, self._more = page.next, page.next_mark, page.more
                return page.model_copy(update={"entries": entries})
        raise StopAsyncIteration


async def _with_texts(
    workspace: WorkspaceReader, entries: Sequence[FeedEntry]
) -> tuple[FeedEntry, ...] | None:
    """Return ``entries`` with texts too large for the page; None if a text is gone."""
    texts: dict[RevisionId, str] = {}
    for some in _portions([entry for entry in entries if _lacks_text(entry)]):
        for file in (await workspace.read(revision_ids=some)).items:
            if file.text is not None:
                texts[file.head.id] = file.text
    complete = tuple(
        entry.model_copy(update={"text": texts.get(entry.revision_id)})
        if _lacks_text(entry)
        else entry
        for entry in entries
    )
    return None if any(map(_lacks_text, complete)) else complete


def _lacks_text(entry: FeedEntry) -> bool:
    return entry.text is None and entry.kind == "note" and entry.state == "live"


def _portions(entries: Sequence[FeedEntry]) -> list[list[RevisionId]]:
    """Group revisions for requests; a single one may exceed the size limit."""
    portions: list[list[RevisionId]] = []
    room = 0
    for entry in entries:
        if not portions or entry.size > room or len(portions[-1]) == _MAX_READ:
            portions.append([])
            room = _MAX_BYTES
        portions[-1].append(entry.revision_id)
        room -= entry.size
    return portions


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Split at line feeds only: JSON texts may contain other line separators."""
    pending: list[bytes] = []
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join((*pending, line))
            pending.clear()
        pending.append(rest)
