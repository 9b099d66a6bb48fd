"""Copies of a workspace: all of it at one position, and what changed behind a position."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from octavo.client.answering import read_answer
from octavo.client.answers import FeedEntry, FeedPage, SnapshotEnd
from octavo.client.calling import Calling, Request
from octavo.client.errors import ConnectionFailed, SnapshotCut, UnexpectedAnswer
from octavo.client.reading import Reading
from octavo.model.identity import Position, RevisionId

_PAGE = 500
_MOST_READ = 500
_MOST_BYTES = 8 * 1024 * 1024


class Snapshot:
    """Every live file, read while it comes: an asynchronous iterator over the entries.

    Attributes:
        position: what the files are exact at; None until all of them were read.
    """

    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self.position: Position | None = None
        self._lines = lines
        self._count = 0

    def __aiter__(self) -> AsyncIterator[FeedEntry]:
        return self

    async def __anext__(self) -> FeedEntry:
        """Answer the next entry. Raises `SnapshotCut` when the rest does not come."""
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
            return read_answer(FeedEntry, line)
        end = read_answer(SnapshotEnd, line)
        if end.files != self._count:
            raise UnexpectedAnswer(f"{end.files} files were announced, {self._count} came")
        self.position = end.position
        async for _ in self._lines:
            raise UnexpectedAnswer("there is more behind the last line")
        raise StopAsyncIteration


@asynccontextmanager
async def snapshot(calling: Calling, path: str) -> AsyncIterator[Snapshot]:
    """Read every live file of the workspace at ``path``, as of one position (getSnapshot).

    ::

        async with workspace.snapshot() as snapshot:
            async for entry in snapshot:
                ...
        # All of it was read: go on with the feed behind snapshot.position.

    It takes no more memory than an entry. Once it began it is not tried again: `SnapshotCut` says
    that the copy is not whole, and has to be begun anew. Other errors as of `Client`.
    """
    request = Request("GET", f"{path}/snapshot")
    async with calling.stream(request) as chunks, aclosing(_lines(chunks)) as lines:
        yield Snapshot(lines)


class Feed:
    """Pages of what changed behind a position, with texts, until there is no more (getFeed).

    Each file stands there once, at the position where it changed last. So a copy is exact only
    when all pages were applied, at ``next`` of the last one. A position that is ahead of the
    workspace, as after a restored backup, is a `ProblemError` of status 400.
    """

    def __init__(self, workspace: Reading, after: Position) -> None:
        self._workspace = workspace
        self._after = after
        self._more = True

    def __aiter__(self) -> AsyncIterator[FeedPage]:
        return self

    async def __anext__(self) -> FeedPage:
        """Answer the next page. Raises `ClientError`, and can go on behind that."""
        while self._more:
            query: dict[str, str | int] = {"after": self._after, "limit": _PAGE, "include": "text"}
            request = Request("GET", f"{self._workspace.path}/feed", query=query)
            page = await self._workspace.calling.ask(FeedPage, request)
            entries = await _with_texts(self._workspace, page.entries)
            # Without them a head of this page has moved on, and its text is gone: ask again.
            if entries is not None:
                self._after, self._more = page.next, page.more
                return replace(page, entries=entries)
        raise StopAsyncIteration


async def _with_texts(
    workspace: Reading, entries: Sequence[FeedEntry]
) -> tuple[FeedEntry, ...] | None:
    """Answer ``entries`` with the texts that were too large for the page; None when one is gone."""
    texts: dict[RevisionId, str] = {}
    for some in _portions([each for each in entries if _lacks_text(each)]):
        for found in (await workspace.read(revision_ids=some)).items:
            if found.text is not None:
                texts[found.head.id] = found.text
    told = tuple(
        replace(each, text=texts.get(each.revision_id)) if _lacks_text(each) else each
        for each in entries
    )
    return None if any(map(_lacks_text, told)) else told


def _lacks_text(entry: FeedEntry) -> bool:
    return entry.text is None and entry.kind == "note" and entry.state == "live"


def _portions(entries: Sequence[FeedEntry]) -> list[list[RevisionId]]:
    """Answer revisions in portions that one request reads; one alone may be of any size."""
    portions: list[list[RevisionId]] = []
    room = 0
    for each in entries:
        if not portions or each.size > room or len(portions[-1]) == _MOST_READ:
            portions.append([])
            room = _MOST_BYTES
        portions[-1].append(each.revision_id)
        room -= each.size
    return portions


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Give whole lines. At line feeds alone: JSON may hold other ends of lines within its texts."""
    pending: list[bytes] = []
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join((*pending, line))
            pending.clear()
        pending.append(rest)
