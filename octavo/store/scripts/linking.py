"""Ask the link index: what a note links to, what links to it, which links lead nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from octavo.model.files.feed import page_end
from octavo.model.files.path import NOTE_SUFFIX
from octavo.model.identity import FileId, RevisionId, WorkspaceId
from octavo.model.links import has_heading, headings_of, keys_of_path
from octavo.model.links.extraction import LinkKind
from octavo.store.scripts.link_rows import read_rank, stored_key, stored_links
from octavo.store.scripts.naming import fetch_named
from octavo.store.transaction import Row, Script, Transaction

MOST_HEADING_BYTES = 2 * 1024 * 1024
"""Of texts that are read for their headings, for one answer."""
MOST_HEADING_LINES = 20_000
"""Of those texts, each of which may be a heading: looking at one takes ten microseconds or so."""

_PATH = "SELECT path FROM files WHERE workspace_id = $1 AND file_id = $2 AND state = 'live'"
_MEANT = """
    SELECT key, MIN(rank) FROM places WHERE workspace_id = $1 AND key IN ($names) GROUP BY key
"""
_SIZES = "SELECT file_id, size FROM files WHERE workspace_id = $1 AND file_id IN ($names)"
_TEXTS = """
    SELECT files.file_id, contents.text FROM files JOIN contents
    ON contents.workspace_id = files.workspace_id AND contents.content_id = files.content_id
    WHERE files.workspace_id = $1 AND files.file_id IN ($names)
"""
_BACK = """
    SELECT found.file_id, found.number, found.kind, found.embed, found.target, found.heading,
        indexed.path, indexed.title
    FROM (
        SELECT file_id, number, kind, embed, target, heading FROM links
        WHERE workspace_id = $1 AND first_key IN ($5, $6, $7, $8)
        UNION
        SELECT file_id, number, kind, embed, target, heading FROM links
        WHERE workspace_id = $1 AND second_key IN ($5, $6, $7, $8) AND NOT EXISTS (
            SELECT 1 FROM places
            WHERE places.workspace_id = $1 AND places.key = links.first_key
        )
    ) AS found JOIN indexed ON indexed.workspace_id = $1 AND indexed.file_id = found.file_id
    WHERE (found.file_id, found.number) > ($2, $3) AND found.file_id <> $9
    ORDER BY found.file_id, found.number LIMIT $4
"""
_NOWHERE = """
    SELECT links.file_id, links.number, links.kind, links.embed, links.target, links.heading,
        indexed.path, indexed.title
    FROM links JOIN indexed
    ON indexed.workspace_id = links.workspace_id AND indexed.file_id = links.file_id
    WHERE links.workspace_id = $1 AND (links.file_id, links.number) > ($2, $3)
    AND links.target <> ''
    AND NOT EXISTS (
        SELECT 1 FROM places
        WHERE places.workspace_id = $1 AND places.key = links.first_key
    )
    AND NOT EXISTS (
        SELECT 1 FROM places
        WHERE places.workspace_id = $1 AND places.key = links.second_key
    )
    ORDER BY links.file_id, links.number LIMIT $4
"""
_TO_FILES = """
    SELECT DISTINCT links.file_id FROM links JOIN places
    ON places.workspace_id = links.workspace_id AND places.key = links.{column}
    WHERE links.workspace_id = $1 AND places.file_id IN ($names)
"""
_TO_KEYS = """
    SELECT DISTINCT file_id FROM links WHERE workspace_id = $1 AND {column} IN ($names)
"""
_NOTES = """
    SELECT files.file_id, files.path, files.revision_id, contents.text FROM files JOIN contents
    ON contents.workspace_id = files.workspace_id AND contents.content_id = files.content_id
    WHERE files.workspace_id = $1 AND files.state = 'live' AND files.file_id IN ($names)
"""


@dataclass(frozen=True, slots=True)
class OutgoingLink:
    """A link of a note.

    Attributes:
        target: what it gives; empty for one to its own note.
        heading: the fragment; empty for none.
        file_id: of what it leads to, None when that is nothing.
        path: of that.
        heading_found: whether the heading is there; None without one, without a file, for an
            image, and when the texts to look through were too many.
    """

    kind: LinkKind
    embed: bool
    target: str
    heading: str
    file_id: FileId | None
    path: str | None
    heading_found: bool | None


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link that stands in the note ``file_id``; ``number`` counts the links there."""

    file_id: FileId
    path: str
    title: str
    number: int
    kind: LinkKind
    embed: bool
    target: str
    heading: str


@dataclass(frozen=True, slots=True)
class LinkingNote:
    """A live note that may have links to change."""

    file_id: FileId
    path: str
    revision_id: RevisionId
    text: str


async def _path_of(
    transaction: Transaction, workspace_id: WorkspaceId, file_id: FileId
) -> str | None:
    found = await transaction.fetch_one(_PATH, workspace_id, file_id)
    return None if found is None else str(found[0])


async def _meant(
    transaction: Transaction, workspace_id: WorkspaceId, keys: Sequence[str]
) -> dict[str, tuple[str, FileId]]:
    """Answer path and id of the file that is meant by each of the keys that have one."""
    rows = await fetch_named(transaction, _MEANT, workspace_id, keys)
    return {row[0]: read_rank(row[1]) for row in rows}


def outgoing_links(workspace_id: WorkspaceId, file_id: FileId) -> Script[list[OutgoingLink] | None]:
    """Answer the links of a live note, each once, in their order; None: there is no such file.

    Headings are looked for in the first notes that have no more than `MOST_HEADING_BYTES` and
    `MOST_HEADING_LINES` together.
    """

    async def script(transaction: Transaction) -> list[OutgoingLink] | None:
        path = await _path_of(transaction, workspace_id, file_id)
        if path is None:
            return None
        rows = (await stored_links(transaction, workspace_id, [file_id])).get(file_id, [])
        keys = [key for row in rows for key in (row.first_key, row.second_key) if key is not None]
        meant = await _meant(transaction, workspace_id, keys)
        links = []
        for row in rows:
            to = meant.get(row.first_key or "") or meant.get(row.second_key or "")
            place, to_id = (to or (None, None)) if row.target else (path, file_id)
            link = OutgoingLink(*row[:4], file_id=to_id, path=place, heading_found=None)
            links.append(link)
        asked = [
            link.file_id
            for link in links
            if link.heading and link.file_id and (link.path or "").endswith(NOTE_SUFFIX)
        ]
        headings = await _headings(transaction, workspace_id, asked)
        return [
            replace(link, heading_found=has_heading(headings[link.file_id], link.heading))
            if link.heading and link.file_id in headings
            else link
            for link in links
        ]

    return script


async def _headings(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId | None, frozenset[str]]:
    """Answer the anchors of the headings of those notes that are looked through."""
    sizes = await fetch_named(transaction, _SIZES, workspace_id, file_ids)
    known = {row[0]: row[1] for row in sizes}
    wanted = []
    total = 0
    for file_id in dict.fromkeys(file_ids):
        total += known.get(file_id, 0)
        if total > MOST_HEADING_BYTES:
            break
        wanted.append(file_id)
    texts = {row[0]: row[1] for row in await fetch_named(transaction, _TEXTS, workspace_id, wanted)}
    anchors: dict[FileId | None, frozenset[str]] = {}
    lines = 0
    for file_id in wanted:
        text = texts.get(file_id, "")
        lines += text.count("\n") + 1
        if lines > MOST_HEADING_LINES:
            break
        anchors[file_id] = frozenset(each.anchor for each in headings_of(text))
    return anchors


def back_links(
    workspace_id: WorkspaceId, file_id: FileId, after: tuple[str, int], limit: int
) -> Script[list[FoundLink] | None]:
    """Answer links of other notes that lead to a live file; None: there is no such file.

    They come in the order of the ids of their notes; ``after`` is the id and the number of the
    last one had, at first an empty text and -1.
    """

    async def script(transaction: Transaction) -> list[FoundLink] | None:
        path = await _path_of(transaction, workspace_id, file_id)
        if path is None:
            return None
        keys = [stored_key(key) for key in keys_of_path(path)]
        meant = await _meant(transaction, workspace_id, keys)
        # There is one at least: what its path says. A file from before the index is not in it.
        own = (path, file_id)
        keys = [key for key in keys if meant.get(key, own) == own]
        keys += keys[-1:] * (4 - len(keys))
        rows = await transaction.fetch_all(_BACK, workspace_id, *after, limit, *keys, file_id)
        return [_found(row) for row in rows]

    return script


def unresolved_links(
    workspace_id: WorkspaceId, after: tuple[str, int], limit: int
) -> Script[list[FoundLink]]:
    """Answer links that lead to no file, in the order of `back_links`."""

    async def script(transaction: Transaction) -> list[FoundLink]:
        rows = await transaction.fetch_all(_NOWHERE, workspace_id, *after, limit)
        return [_found(row) for row in rows]

    return script


def _found(row: Row) -> FoundLink:
    file_id, number, kind, embed, target, heading, path, title = row
    return FoundLink(file_id, path, title, number, kind, bool(embed), target, heading)


def linking_to(
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    paths: Sequence[str],
    after: FileId,
    most_bytes: int,
) -> Script[tuple[list[LinkingNote], FileId | None]]:
    """Answer the live notes with links that the moving of files may concern, by their ids.

    That are those with links to one of the files where they are, and those with links that would
    lead to one of ``paths``, where they come to be. A note may be among them whose links all stay
    as they are. ``after`` is the id to go on behind, at first empty; about ``most_bytes`` of text
    are answered at once, with the id to go on behind, None when there are no more.
    """

    async def script(transaction: Transaction) -> tuple[list[LinkingNote], FileId | None]:
        keys = [stored_key(key) for path in paths for key in keys_of_path(path)]
        names: set[str] = set()
        for column in ("first_key", "second_key"):
            for sql, asked in ((_TO_FILES, file_ids), (_TO_KEYS, keys)):
                rows = await fetch_named(
                    transaction, sql.format(column=column), workspace_id, asked
                )
                names.update(row[0] for row in rows)
        waiting = sorted(name for name in names if name > after)
        known = await fetch_named(transaction, _SIZES, workspace_id, waiting)
        sizes = {row[0]: row[1] for row in known}
        counted = [(FileId(name), sizes.get(name, 0)) for name in waiting]
        end = page_end(counted, len(counted), most_bytes)
        taken = [name for name, _ in counted if end is None or name <= end]
        notes = await fetch_named(transaction, _NOTES, workspace_id, taken)
        return sorted((LinkingNote(*row) for row in notes), key=lambda note: note.file_id), end

    return script
