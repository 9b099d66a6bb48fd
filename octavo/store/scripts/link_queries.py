"""Query the link index: what a note links to, what links to it, which links lead nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from octavo.model.files.feed import page_end
from octavo.model.files.path import NOTE_SUFFIX
from octavo.model.identity import FileId, RevisionId, WorkspaceId
from octavo.model.links import has_heading, headings_of, keys_of_path
from octavo.model.links.extraction import LinkKind
from octavo.store.compression import text_of, undamaged
from octavo.store.scripts.head_texts import texts_of
from octavo.store.scripts.link_index import NoteLink, hashed, links_in, targets_of, unpacked
from octavo.store.scripts.revision_rows import WORKSPACE
from octavo.store.scripts.select_in import select_in
from octavo.store.transaction import Row, Script, Transaction, indexed_title

MAX_HEADING_BYTES = 2 * 1024 * 1024
"""Of texts whose headings are looked at, in one call."""
MAX_HEADING_LINES = 20_000
"""Of those texts. Each line may be a heading, and takes about ten microseconds."""
MAX_TEXT_BYTES = 2 * 1024 * 1024
"""Of texts whose links are read at a time."""
_STEP = 100

_TEXT = f"""
    SELECT files.path, CASE WHEN link_index.file IS NOT NULL THEN contents.compressed END
    FROM files
    LEFT JOIN link_index
    ON link_index.workspace = files.workspace AND link_index.file = files.number
    LEFT JOIN contents ON contents.number = files.content
    WHERE files.workspace = {WORKSPACE} AND files.file_id = $2::uuid AND files.state = 'live'
"""
_PATH = f"""
    SELECT path FROM files
    WHERE workspace = {WORKSPACE} AND file_id = $2::uuid AND state = 'live'
"""
# Of the files under one key, the one with the fewest folders is meant, and then the first path.
_MEANT = f"""
    SELECT key, path, file_id FROM (
        SELECT link_targets.key, files.path, files.file_id, ROW_NUMBER() OVER (
            PARTITION BY link_targets.key ORDER BY
            LENGTH(files.path) - LENGTH(REPLACE(files.path, '/', '')), files.path, files.file_id
        ) AS place
        FROM link_targets JOIN files
        ON files.workspace = link_targets.workspace AND files.number = link_targets.file
        WHERE link_targets.workspace = {WORKSPACE} AND link_targets.key IN ($names)
    ) AS ranked WHERE place = 1
"""
_TARGETS = f"""
    SELECT DISTINCT key FROM link_targets WHERE workspace = {WORKSPACE} AND key IN ($names)
"""
_SOURCES = f"""
    SELECT DISTINCT files.file_id FROM link_sources JOIN files
    ON files.workspace = link_sources.workspace AND files.number = link_sources.file
    WHERE link_sources.workspace = {WORKSPACE} AND link_sources.key IN ($names)
"""
_INDEXED = """
    FROM files
    JOIN link_index ON link_index.workspace = files.workspace AND link_index.file = files.number
"""
_NEXT_INDEXED = f"""
    SELECT files.file_id, link_index.keys {_INDEXED}
    WHERE files.workspace = {WORKSPACE} AND files.file_id > $2::uuid
    ORDER BY files.file_id LIMIT $3
"""
_PATHS = f"""
    SELECT files.path {_INDEXED} WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_SIZES = f"""
    SELECT file_id, size FROM files WHERE workspace = {WORKSPACE} AND file_id IN ($ids)
"""
_NOTES = f"""
    SELECT files.file_id, files.path, files.revision_id, contents.compressed
    FROM files JOIN contents ON contents.number = files.content
    WHERE files.workspace = {WORKSPACE} AND files.state = 'live' AND files.file_id IN ($ids)
"""
_INDEXED_NOTES = f"""
    SELECT files.file_id, files.path, contents.compressed {_INDEXED}
    JOIN contents ON contents.number = files.content
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""


@dataclass(frozen=True, slots=True)
class OutgoingLink:
    """A link of a note.

    Attributes:
        target: as it is written; empty for one to its own note.
        heading: the fragment; empty without one.
        file_id: of the file that it leads to, or None.
        path: of that file.
        heading_found: whether the file has the heading; None without a heading or a file, for an
            image, and when there were too many texts to look at.
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
    """A link in the note ``file_id``; ``number`` counts the links there."""

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
    """A live note whose links may have to change."""

    file_id: FileId
    path: str
    revision_id: RevisionId
    text: str


class _LinksOfNote(NamedTuple):
    """An indexed note, and its links in their order."""

    file_id: FileId
    path: str
    title: str
    links: list[NoteLink]

    def found(self, number: int) -> FoundLink:
        kind, embed, target, heading, _ = self.links[number]
        return FoundLink(self.file_id, self.path, self.title, number, kind, embed, target, heading)


async def _meant(
    transaction: Transaction, workspace_id: WorkspaceId, keys: Iterable[str]
) -> dict[str, tuple[str, FileId]]:
    """Return path and id of the file that is meant by each key that has one."""
    by_hash = {hashed(key): key for key in keys}
    rows = await select_in(transaction, _MEANT, workspace_id, [*by_hash])
    return {by_hash[row[0]]: (row[1], row[2]) for row in rows}


def outgoing_links(workspace_id: WorkspaceId, file_id: FileId) -> Script[list[OutgoingLink] | None]:
    """Return the links of a live note, each once, in their order; None without the file.

    Headings are looked up in the first notes that have no more than `MAX_HEADING_BYTES` and
    `MAX_HEADING_LINES` together.
    """

    async def read_outgoing(transaction: Transaction) -> list[OutgoingLink] | None:
        row = await transaction.fetch_one(_TEXT, workspace_id, file_id)
        if row is None:
            return None
        path, data = row
        # An image has no text, and a file that is not indexed yet has no links.
        found = links_in(text_of(data, file_id) or "", path)
        meant = await _meant(
            transaction, workspace_id, [key for each in found for key in each.keys]
        )
        links = []
        for each in found:
            to = next((meant[key] for key in each.keys if key in meant), None)
            to_path, to_id = (to or (None, None)) if each.target else (path, file_id)
            links.append(OutgoingLink(*each[:4], file_id=to_id, path=to_path, heading_found=None))
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

    return read_outgoing


async def _headings(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId | None, frozenset[str]]:
    """Return the anchors of the headings of those notes that are looked at."""
    sizes = await select_in(transaction, _SIZES, workspace_id, file_ids)
    known = {row[0]: row[1] for row in sizes}
    wanted = []
    total = 0
    for file_id in dict.fromkeys(file_ids):
        total += known.get(file_id, 0)
        if total > MAX_HEADING_BYTES:
            break
        wanted.append(file_id)
    texts = await texts_of(transaction, workspace_id, wanted)
    anchors: dict[FileId | None, frozenset[str]] = {}
    lines = 0
    for file_id in wanted:
        text = texts.get(file_id, "")
        lines += text.count("\n") + 1
        if lines > MAX_HEADING_LINES:
            break
        anchors[file_id] = frozenset(each.anchor for each in headings_of(text))
    return anchors


async def _read_links(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> tuple[list[_LinksOfNote], Sequence[FileId]]:
    """Read the links of the first notes, in order; return them, and the ids that are left."""
    step = file_ids[:_STEP]
    rows = await select_in(transaction, _SIZES, workspace_id, step)
    sizes = {row[0]: row[1] for row in rows}
    end = page_end([(each, sizes.get(each, 0)) for each in step], _STEP, MAX_TEXT_BYTES)
    taken = step if end is None else step[: step.index(end) + 1]
    found = await select_in(transaction, _INDEXED_NOTES, workspace_id, taken)
    notes = {row[0]: row for row in found}
    return [_links_of(notes[each]) for each in taken if each in notes], file_ids[len(taken) :]


def _links_of(row: Row) -> _LinksOfNote:
    file_id, path, data = row
    text = undamaged(data) or ""
    return _LinksOfNote(file_id, path, indexed_title(text), links_in(text, path))


def back_links(
    workspace_id: WorkspaceId, file_id: FileId, after: tuple[str, int], limit: int
) -> Script[list[FoundLink] | None]:
    """Return links of other notes that lead to a live file; None without the file.

    They are in the order of the ids of their notes. ``after`` has the id and the number of the
    last one before, at first an empty text and -1.
    """

    async def read_back_links(transaction: Transaction) -> list[FoundLink] | None:
        row = await transaction.fetch_one(_PATH, workspace_id, file_id)
        if row is None:
            return None
        path = row[0]
        keys = keys_of_path(path)
        meant = await _meant(transaction, workspace_id, keys)
        # Other files may have some of the keys, but not its path. A file that is not indexed has
        # none.
        own = {key for key in keys if meant.get(key, (path, file_id)) == (path, file_id)}
        rows = await select_in(transaction, _SOURCES, workspace_id, [*map(hashed, keys)])
        rest: Sequence[FileId] = sorted(
            {FileId(row[0]) for row in rows if row[0] >= after[0] and row[0] != file_id}
        )
        found: list[FoundLink] = []
        while rest and len(found) < limit:
            notes, rest = await _read_links(transaction, workspace_id, rest)
            # A key that is looked up before the file's own decides when another file has it.
            first = {link.keys[0] for note in notes for link in note.links if link.keys[1:]}
            taken = await _existing(transaction, workspace_id, first - {*keys})
            for note in notes:
                for number, link in enumerate(note.links):
                    decisive = next((k for k in link.keys if k in keys or k in taken), None)
                    if decisive in own and (note.file_id, number) > after:
                        found.append(note.found(number))
        return found[:limit]

    return read_back_links


async def _existing(
    transaction: Transaction, workspace_id: WorkspaceId, keys: Iterable[str]
) -> set[str]:
    """Return those of the keys under which there are files."""
    by_hash = {hashed(key): key for key in keys}
    rows = await select_in(transaction, _TARGETS, workspace_id, [*by_hash])
    return {by_hash[row[0]] for row in rows}


def unresolved_links(
    workspace_id: WorkspaceId, after: tuple[str, int], limit: int
) -> Script[list[FoundLink]]:
    """Return links that lead to no file, in the order of `back_links`."""

    async def read_unresolved(transaction: Transaction) -> list[FoundLink]:
        found: list[FoundLink] = []
        if after[1] >= 0:
            # The note of the last link may have more.
            found = await _unresolved(transaction, workspace_id, [FileId(after[0])], after)
        last = after[0]
        while len(found) < limit:
            rows = await transaction.fetch_all(_NEXT_INDEXED, workspace_id, last, _STEP)
            if not rows:
                break
            last = rows[-1][0]
            sources = {FileId(row[0]): unpacked(row[1]) for row in rows}
            asked = [key for keys in sources.values() for key in keys]
            targets = await select_in(transaction, _TARGETS, workspace_id, asked)
            present = {row[0] for row in targets}
            lacking = [each for each, keys in sources.items() if not present.issuperset(keys)]
            found += await _unresolved(transaction, workspace_id, lacking, after)
        return found[:limit]

    return read_unresolved


async def _unresolved(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    after: tuple[str, int],
) -> list[FoundLink]:
    """Return the links of notes that lead to no file."""
    found: list[FoundLink] = []
    rest = file_ids
    while rest:
        notes, rest = await _read_links(transaction, workspace_id, rest)
        keys = {key for note in notes for link in note.links for key in link.keys}
        present = await _existing(transaction, workspace_id, keys)
        found += [
            note.found(number)
            for note in notes
            for number, link in enumerate(note.links)
            if link.target and present.isdisjoint(link.keys) and (note.file_id, number) > after
        ]
    return found


def linking_to(
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    paths: Sequence[str],
    after: FileId,
    max_bytes: int,
) -> Script[tuple[list[LinkingNote], FileId | None]]:
    """Return the live notes with links that a move of files may affect, in the order of their ids.

    These are the notes with links to one of the files at its present path, and those with links
    that would lead to one of ``paths``, the new paths. Notes whose links all stay the same may be
    among them. ``after`` is the id to continue after, at first empty. About ``max_bytes`` of text
    are returned, with the id to continue after; None after the last note.
    """

    async def read_linking(transaction: Transaction) -> tuple[list[LinkingNote], FileId | None]:
        present = await select_in(transaction, _PATHS, workspace_id, file_ids)
        keys = [key for path in (*(row[0] for row in present), *paths) for key in targets_of(path)]
        rows = await select_in(transaction, _SOURCES, workspace_id, keys)
        waiting = sorted({row[0] for row in rows if row[0] > after})
        known = await select_in(transaction, _SIZES, workspace_id, waiting)
        sizes = {row[0]: row[1] for row in known}
        counted = [(FileId(name), sizes.get(name, 0)) for name in waiting]
        end = page_end(counted, len(counted), max_bytes)
        taken = [name for name, _ in counted if end is None or name <= end]
        notes = await select_in(transaction, _NOTES, workspace_id, taken)
        texts = ((row, undamaged(row[3])) for row in notes)
        linking = [
            LinkingNote(row[0], row[1], row[2], text) for row, text in texts if text is not None
        ]
        return sorted(linking, key=lambda note: note.file_id), end

    return read_linking
