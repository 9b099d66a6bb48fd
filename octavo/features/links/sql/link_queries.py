"""Query links: those of a note, those to a file, and those that lead nowhere.

Each query sees the links of all files at the position that its transaction reads at. It raises
`LinksOutdated` when the link index has to be updated first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from octavo_rules.identity import FileId, RevisionId, WorkspaceId

from octavo.actors.workspace.planning import NotesToRewrite
from octavo.features.links.sql import link_index
from octavo.model.files.confinement import Confinement
from octavo.model.files.path import NOTE_SUFFIX
from octavo.model.files.revision import page_end
from octavo.model.links.extraction import LinkKind
from octavo.model.links.headings import has_heading, headings_of
from octavo.model.links.resolution import keys_of_path
from octavo.model.refusal import TooManyFiles
from octavo.store.compression import text_of, undamaged
from octavo.store.queries.blobs import texts_of
from octavo.store.queries.files import StoredFile, file, files
from octavo.store.queries.marks import cursor_of
from octavo.store.queries.revision_rows import WORKSPACE, select_in
from octavo.store.transaction import Row, Script, Transaction, indexed_title

MAX_HEADING_BYTES = 2 * 1024 * 1024
"""Bytes of texts whose headings are looked up in one call."""
MAX_HEADING_LINES = 20_000
"""Lines of those texts. Each may be a heading, and takes about ten microseconds."""
MAX_TEXT_BYTES = 2 * 1024 * 1024
"""Bytes of texts whose links are read at a time."""
FIRST = ("", -1)
"""The place before the first page of links."""
_STEP = 100

_TEXT = f"""
    SELECT files.path, contents.compressed
    FROM files LEFT JOIN contents ON contents.pk = files.content
    WHERE files.workspace = {WORKSPACE} AND files.file_id = $2::uuid AND files.state = 'live'
"""
_PATH = f"""
    SELECT path FROM files
    WHERE workspace = {WORKSPACE} AND file_id = $2::uuid AND state = 'live'
"""
_PATHS = f"""
    SELECT path FROM files
    WHERE workspace = {WORKSPACE} AND state = 'live' AND file_id IN ($ids)
"""
_SIZES = f"""
    SELECT file_id, size FROM files WHERE workspace = {WORKSPACE} AND file_id IN ($ids)
"""
_NOTES = f"""
    SELECT files.file_id, files.path, files.revision_id, contents.compressed
    FROM files JOIN contents ON contents.pk = files.content
    WHERE files.workspace = {WORKSPACE} AND files.state = 'live' AND files.file_id IN ($ids)
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


class FileLinks(NamedTuple):
    """The links of a note, and those of other notes that lead to it."""

    outgoing: list[OutgoingLink]
    incoming: list[FoundLink]


class _LinksOfNote(NamedTuple):
    """An indexed note, and its links in their order."""

    file_id: FileId
    path: str
    title: str
    links: list[link_index.NoteLink]

    def link_at(self, number: int) -> FoundLink:
        kind, embed, target, heading, _ = self.links[number]
        return FoundLink(self.file_id, self.path, self.title, number, kind, embed, target, heading)


def links_of_file(
    workspace_id: WorkspaceId, file_id: FileId, limit: int, within: Confinement | None = None
) -> Script[FileLinks | None]:
    """Return the links of a live file and the first `back_links` to it; None without the file.

    The links of a note are listed once each, in their order. ``within`` a folder, links are
    resolved as if there were no other files. Headings are looked up in the first notes that have no
    more than `MAX_HEADING_BYTES` and `MAX_HEADING_LINES` together.
    """

    async def read_both(transaction: Transaction) -> FileLinks | None:
        view = await link_index.view_links(transaction, workspace_id, within)
        outgoing = await _outgoing(transaction, workspace_id, view, file_id)
        incoming = await _incoming(transaction, workspace_id, view, file_id, FIRST, limit)
        if outgoing is None or incoming is None:
            return None
        return FileLinks(outgoing, incoming)

    return read_both


async def _outgoing(
    transaction: Transaction, workspace_id: WorkspaceId, view: link_index.LinkView, file_id: FileId
) -> list[OutgoingLink] | None:
    row = await transaction.fetch_one(_TEXT, workspace_id, file_id)
    if row is None or not view.covers(row[0]):
        return None
    path, data = row
    # An image has no text.
    written = link_index.links_in(text_of(data, file_id) or "", path)
    meant = await view.meant(key for link in written for key in link.keys)
    links = []
    for link in written:
        to = next((meant[key] for key in link.keys if key in meant), None)
        to_path, to_id = (to or (None, None)) if link.target else (path, file_id)
        links.append(OutgoingLink(*link[:4], file_id=to_id, path=to_path, heading_found=None))
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


async def _headings(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId | None, frozenset[str]]:
    """Return the anchors of the headings of the first notes, within the limits."""
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
        anchors[file_id] = frozenset(heading.anchor for heading in headings_of(text))
    return anchors


async def _read_links(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    view: link_index.LinkView,
    file_ids: Sequence[FileId],
) -> tuple[list[_LinksOfNote], Sequence[FileId]]:
    """Read the links of the first notes, in order; return them, and the ids that are left."""
    step = file_ids[:_STEP]
    rows = await select_in(transaction, _SIZES, workspace_id, step)
    sizes = {row[0]: row[1] for row in rows}
    end = page_end([(file_id, sizes.get(file_id, 0)) for file_id in step], _STEP, MAX_TEXT_BYTES)
    taken = step if end is None else step[: step.index(end) + 1]
    read = await select_in(transaction, _NOTES, workspace_id, taken)
    notes = {row[0]: row for row in read if view.covers(row[1])}
    return [_links_of(notes[file_id]) for file_id in taken if file_id in notes], file_ids[
        len(taken) :
    ]


def _links_of(row: Row) -> _LinksOfNote:
    file_id, path, _, data = row
    text = undamaged(data) or ""
    return _LinksOfNote(file_id, path, indexed_title(text), link_index.links_in(text, path))


def back_links(
    workspace_id: WorkspaceId,
    file_id: FileId,
    after: tuple[str, int],
    limit: int,
    within: Confinement | None = None,
) -> Script[list[FoundLink] | None]:
    """Return links of other notes that lead to a live file; None without the file.

    They are in the order of the ids of their notes. ``after`` is the note's id and the number of
    the last link of the previous page, `FIRST` for the first page. ``within`` a folder, links are
    resolved as if there were no other files.
    """

    async def read_back_links(transaction: Transaction) -> list[FoundLink] | None:
        view = await link_index.view_links(transaction, workspace_id, within)
        return await _incoming(transaction, workspace_id, view, file_id, after, limit)

    return read_back_links


async def _incoming(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    view: link_index.LinkView,
    file_id: FileId,
    after: tuple[str, int],
    limit: int,
) -> list[FoundLink] | None:
    row = await transaction.fetch_one(_PATH, workspace_id, file_id)
    if row is None or not view.covers(row[0]):
        return None
    keys = keys_of_path(row[0])
    meant = await view.meant(keys)
    # Other files may have some of the keys, but not its path.
    own = {key for key, (_, name) in meant.items() if name == file_id}
    linking = await view.linking(map(link_index.hashed, keys))
    rest: Sequence[FileId] = sorted(
        source for source in linking if source >= after[0] and source != file_id
    )
    links: list[FoundLink] = []
    while rest and len(links) < limit:
        notes, rest = await _read_links(transaction, workspace_id, view, rest)
        # A link leads elsewhere if another file has a key that is looked up before the file's own.
        first = {link.keys[0] for note in notes for link in note.links if link.keys[1:]}
        taken = await _existing(view, first - {*keys})
        for note in notes:
            for number, link in enumerate(note.links):
                decisive = next((k for k in link.keys if k in keys or k in taken), None)
                if decisive in own and (note.file_id, number) > after:
                    links.append(note.link_at(number))
    return links[:limit]


async def _existing(view: link_index.LinkView, keys: Iterable[str]) -> set[str]:
    """Return the keys under which there are files."""
    by_hash = {link_index.hashed(key): key for key in keys}
    return {by_hash[key] for key in await view.existing(by_hash)}


def unresolved_links(
    workspace_id: WorkspaceId,
    after: tuple[str, int],
    limit: int,
    within: Confinement | None = None,
) -> Script[list[FoundLink]]:
    """Return links that lead to no file, in the order of `back_links`.

    ``within`` a folder, links are resolved as if there were no other files.
    """

    async def read_unresolved(transaction: Transaction) -> list[FoundLink]:
        view = await link_index.view_links(transaction, workspace_id, within)
        links: list[FoundLink] = []
        if after[1] >= 0:
            # The note of the last link may have more.
            notes = [FileId(after[0])]
            links = await _unresolved(transaction, workspace_id, view, notes, after)
        last: FileId | None = FileId(after[0])
        while last is not None and len(links) < limit:
            sources, last = await view.sources_after(last, _STEP)
            present = await view.existing(key for keys in sources.values() for key in keys)
            lacking = [file_id for file_id, keys in sources.items() if not present.issuperset(keys)]
            links += await _unresolved(transaction, workspace_id, view, lacking, after)
        return links[:limit]

    return read_unresolved


async def _unresolved(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    view: link_index.LinkView,
    file_ids: Sequence[FileId],
    after: tuple[str, int],
) -> list[FoundLink]:
    """Return the links of notes that lead to no file."""
    links: list[FoundLink] = []
    rest = file_ids
    while rest:
        notes, rest = await _read_links(transaction, workspace_id, view, rest)
        keys = {key for note in notes for link in note.links for key in link.keys}
        present = await _existing(view, keys)
        links += [
            note.link_at(number)
            for note in notes
            for number, link in enumerate(note.links)
            if link.target and present.isdisjoint(link.keys) and (note.file_id, number) > after
        ]
    return links


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
        keys = [
            key
            for path in (*(row[0] for row in present), *paths)
            for key in link_index.targets_of(path)
        ]
        view = await link_index.view_links(transaction, workspace_id)
        waiting = sorted(file_id for file_id in await view.linking(keys) if file_id > after)
        known = await select_in(transaction, _SIZES, workspace_id, waiting)
        sizes = {row[0]: row[1] for row in known}
        counted = [(name, sizes.get(name, 0)) for name in waiting]
        end = page_end(counted, len(counted), max_bytes)
        taken = [name for name, _ in counted if end is None or name <= end]
        notes = await select_in(transaction, _NOTES, workspace_id, taken)
        texts = ((row, undamaged(row[3])) for row in notes)
        linking = [
            LinkingNote(row[0], row[1], row[2], text) for row, text in texts if text is not None
        ]
        return sorted(linking, key=lambda note: note.file_id), end

    return read_linking


MAX_NOTES = 1000
"""Notes that one changeset changes in addition to those that it names."""
MAX_BYTES = 16 * 1024 * 1024
"""Bytes of their texts."""
_TOO_MANY = (
    f"More than {MAX_NOTES} notes, or {MAX_BYTES >> 20} MiB of them, link to what moves: move it in"
    " parts, or without rewriteLinks."
)


def notes_to_rewrite(
    workspace_id: WorkspaceId, moving: Mapping[FileId, str]
) -> Script[NotesToRewrite | None]:
    """Return the notes that moves of files to new paths may affect; None without the workspace.

    The notes are exact at the cursor that is returned with them. Raises `LinksOutdated`, and
    `TooManyFiles` when they are more, or longer, than one changeset may change.
    """

    async def read_notes(transaction: Transaction) -> NotesToRewrite | None:
        cursor = await cursor_of(workspace_id)(transaction)
        if cursor is None:
            return None
        moved = await _heads(transaction, workspace_id, moving)
        linking, more = await linking_to(
            workspace_id, [*moving], [*moving.values()], FileId(""), MAX_BYTES
        )(transaction)
        if more is not None or len(linking) > MAX_NOTES:
            raise TooManyFiles(_TOO_MANY)
        texts = {note.revision.file_id: note.text for note in moved if note.text is not None}
        texts |= {note.file_id: note.text for note in linking}
        return NotesToRewrite(cursor, texts)

    return read_notes


async def _heads(
    transaction: Transaction, workspace_id: WorkspaceId, moving: Mapping[FileId, str]
) -> list[StoredFile]:
    """Return the heads of files that move, also of those that are deleted and come back."""
    heads, _ = await files(workspace_id, [*moving], [], MAX_BYTES)(transaction)
    live = {head.revision.file_id for head in heads}
    left = MAX_BYTES - sum(head.revision.size for head in heads if head.text is not None)
    for file_id in moving.keys() - live:
        head = await file(workspace_id, file_id, left)(transaction)
        if head is None or head.revision.kind != "note":
            continue
        left -= head.revision.size
        if left < 0:
            raise TooManyFiles(_TOO_MANY)
        heads.append(head)
    return heads
