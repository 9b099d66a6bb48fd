"""Take live files into the link index, and take files out of it.

The row in ``indexed`` says what was taken in of a file last; all else that the index holds of it
follows from that row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from octavo.model.files.revision import Revision
from octavo.model.identity import ContentId, FileId, WorkspaceId
from octavo.model.links import keys_of_path
from octavo.model.search import title_of
from octavo.store.scripts.link_rows import (
    LinkRow,
    link_rows,
    put_links,
    rekeyed,
    stored_key,
    stored_links,
    stored_rank,
)
from octavo.store.scripts.naming import fetch_named
from octavo.store.transaction import Transaction, Value

_LONGEST_TITLE = 500

_KEEP = """
    INSERT INTO indexed (workspace_id, file_id, path, title, links)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (workspace_id, file_id) DO UPDATE SET
        path = excluded.path, title = excluded.title, links = excluded.links
"""
_TEXTS = "SELECT content_id, text FROM contents WHERE workspace_id = $1 AND content_id IN ($names)"
_PUT_PLACE = "INSERT INTO places (workspace_id, key, file_id, rank) VALUES ($1, $2, $3, $4)"
_DROP_PLACE = "DELETE FROM places WHERE workspace_id = $1 AND key = $2 AND file_id = $3"
_DROP = "DELETE FROM indexed WHERE workspace_id = $1 AND file_id = $2"
_DROP_LINKS = "DELETE FROM links WHERE workspace_id = $1 AND file_id = $2"


class Known(NamedTuple):
    """What was taken in of a file."""

    file_id: str
    path: str
    title: str
    links: int


class Work(NamedTuple):
    """A live file that is to be taken in.

    Attributes:
        head: of the file.
        known: what was taken in; None when it is new.
        written: whether the head brought its text.
    """

    head: Revision
    known: Known | None
    written: bool

    @property
    def text_moved(self) -> bool:
        """Whether it is a note with another text."""
        return (self.written or self.known is None) and self.head.kind == "note"

    @property
    def path_moved(self) -> bool:
        """Whether it has another path."""
        return self.known is None or self.known.path != self.head.path

    @property
    def folder_moved(self) -> bool:
        """Whether it is in another folder."""
        return self.known is None or _folder(self.known.path) != _folder(self.head.path)

    @property
    def size(self) -> int:
        """Bytes of text to take in."""
        return self.head.size if self.text_moved else 0


async def take_in(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    works: Sequence[Work],
    texts: Mapping[ContentId, str],
) -> None:
    """Take files in, whose texts are held all at once; one that is not in ``texts`` is read."""
    wanted = [work.head.content_id for work in works if work.text_moved]
    lacking = [content_id for content_id in wanted if content_id not in texts]
    read = {row[0]: row[1] for row in await fetch_named(transaction, _TEXTS, workspace_id, lacking)}
    found = {
        work.head.file_id: texts.get(work.head.content_id) or read.get(work.head.content_id, "")
        for work in works
        if work.text_moved
    }
    await _put_places(transaction, workspace_id, works)
    links = await _put_links(transaction, workspace_id, works, found)
    kept: list[tuple[Value, ...]] = []
    for work in works:
        file_id, known = work.head.file_id, work.known
        title = "" if known is None else known.title
        if file_id in found:
            title = stored_title(found[file_id])
        count = links.get(file_id, 0 if known is None else known.links)
        row = Known(file_id, work.head.path, title, count)
        if row != known:
            kept.append((workspace_id, *row))
    await each_row(transaction, _KEEP, kept)


async def _put_places(
    transaction: Transaction, workspace_id: WorkspaceId, works: Sequence[Work]
) -> None:
    left: list[tuple[Value, ...]] = []
    taken: list[tuple[Value, ...]] = []
    for head, known, _ in (work for work in works if work.path_moved):
        old = set() if known is None else set(map(stored_key, keys_of_path(known.path)))
        left += [(workspace_id, key, head.file_id) for key in sorted(old)]
        new = map(stored_key, keys_of_path(head.path))
        rank = stored_rank(head.path, head.file_id)
        taken += [(workspace_id, key, head.file_id, rank) for key in new]
    await each_row(transaction, _DROP_PLACE, left)
    await each_row(transaction, _PUT_PLACE, taken)


async def _put_links(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    works: Sequence[Work],
    texts: Mapping[FileId, str],
) -> dict[FileId, int]:
    """Bring the links in step; answer how many each file has of which they were looked at."""
    works = [work for work in works if work.text_moved or work.folder_moved]
    had = [work.head.file_id for work in works if work.known is not None and work.known.links]
    stored = await stored_links(transaction, workspace_id, had)
    moved: dict[FileId, list[LinkRow]] = {}
    counts: dict[FileId, int] = {}
    for work in works:
        file_id, path = work.head.file_id, work.head.path
        old = stored.get(file_id, [])
        new = link_rows(texts[file_id], path) if file_id in texts else rekeyed(old, path)
        counts[file_id] = len(new)
        if new != old:
            moved[file_id] = new
    left = [(workspace_id, file_id) for file_id in moved if file_id in stored]
    await each_row(transaction, _DROP_LINKS, left)
    await put_links(transaction, workspace_id, moved)
    return counts


def stored_title(text: str) -> str:
    """Answer the title of a text as it is stored: empty for none, and not endless."""
    return (title_of(text) or "")[:_LONGEST_TITLE].strip()


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


async def forget(
    transaction: Transaction, workspace_id: WorkspaceId, files: Sequence[Known]
) -> None:
    """Take files out."""
    places: list[tuple[Value, ...]] = [
        (workspace_id, stored_key(key), each.file_id)
        for each in files
        for key in keys_of_path(each.path)
    ]
    await each_row(transaction, _DROP_PLACE, places)
    linking: list[tuple[Value, ...]] = [(workspace_id, e.file_id) for e in files if e.links]
    await each_row(transaction, _DROP_LINKS, linking)
    await each_row(transaction, _DROP, [(workspace_id, each.file_id) for each in files])


async def each_row(transaction: Transaction, sql: str, rows: Sequence[tuple[Value, ...]]) -> None:
    """Execute for each row, if there is one."""
    if len(rows) == 1:
        await transaction.execute(sql, *rows[0])
    elif rows:
        await transaction.execute_many(sql, rows)
