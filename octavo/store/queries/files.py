"""Read files: their heads, their earlier revisions, their texts and documents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple, TypeVar

from octavo_rules.documents.document import MergeUpdates, StoredDocument, initial
from octavo_rules.identity import FileId, Position, RevisionId, WorkspaceId
from octavo_rules.problems import DocumentMalformed

from octavo.model.files.confinement import Confinement
from octavo.model.files.revision import Revision
from octavo.model.refusal import TooManyFiles
from octavo.store.compression import text_of
from octavo.store.queries.documents import (
    IS_CURRENT,
    WITH_DOCUMENT,
    document_of_row,
    updates_beside,
)
from octavo.store.queries.revision_rows import (
    COLUMNS,
    COUNT,
    WORKSPACE,
    columns_of,
    from_both,
    revision_of,
    revisions_of_rows,
    select_in,
)
from octavo.store.transaction import Row, Script, Transaction, single_statement

N = TypeVar("N", FileId, RevisionId)
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A revision with its text; None without one, as for an image or a purged file."""

    revision: Revision
    text: str | None


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A head with its text, and its document if it is a note that is not purged.

    Attributes:
        behind: whether the stored document has an earlier text, or updates beside it that could not
            be merged. Then this one is of another epoch, and so is that of a device that follows it
            later.
        unread: whether nobody has read a document of the workspace: the epoch of this one ends with
            the next text.
    """

    stored: StoredFile
    document: StoredDocument | None
    behind: bool = False
    unread: bool = False


_EITHER = """
    SELECT {columns}, contents.compressed FROM {source}
    LEFT JOIN contents ON contents.pk = {table}.content
"""
_OF_FILE = f"files.workspace = {WORKSPACE} AND files.file_id"
_SELECT_HEADS = _EITHER.format(columns=columns_of("files"), source="files", table="files")
_HEAD = f"{_SELECT_HEADS} WHERE {_OF_FILE} = $2::uuid"
_READ = "SELECT documents_were_read FROM workspaces WHERE id = $1::uuid"
# The state of a document that is behind is not needed, and may be large.
_CURRENT = f"""
    documents.epoch_id, documents.content_revision_id,
    CASE WHEN {IS_CURRENT} THEN documents.base_state END, documents.vector
"""
_DOCUMENT = f"SELECT {_CURRENT} FROM files {WITH_DOCUMENT} WHERE {_OF_FILE} = $2::uuid"
_SIZES_OF_DOCUMENTS = f"""
    SELECT file_id, CASE WHEN {IS_CURRENT} THEN LENGTH(documents.base_state) ELSE files.size END + (
        SELECT COALESCE(SUM(LENGTH(updates)), 0) FROM document_updates
        WHERE workspace = documents.workspace AND file = documents.file
    )
    FROM files {WITH_DOCUMENT} WHERE {_OF_FILE} IN ($ids)
"""
_DOCUMENTS = f"""
    SELECT file_id, {_CURRENT} FROM files {WITH_DOCUMENT} WHERE {_OF_FILE} IN ($ids)
"""
_REVISION = from_both(
    f"""{_EITHER} WHERE {{table}}.workspace = {WORKSPACE}
    AND {{table}}.revision_id = $2::uuid AND files.file_id = $3::uuid"""
)
_OF_HEADS = f"{_OF_FILE} IN ($ids) AND files.state = 'live'"
_OF_REVISIONS = f"""
    {{table}}.workspace = {WORKSPACE} AND {{table}}.path <> ''
    AND {{table}}.revision_id IN ($ids)
"""
# An image, which has a media type, has no text.
_TEXT_SIZE = "CASE WHEN media_type IS NULL THEN size ELSE 0 END"
_SIZES_OF_HEADS = f"SELECT file_id, {_TEXT_SIZE} FROM files WHERE {_OF_HEADS}"
_SIZES_OF_REVISIONS = from_both(
    f"SELECT revision_id, {_TEXT_SIZE} FROM {{table}} WHERE {_OF_REVISIONS}"
)
_HEADS = f"{_SELECT_HEADS} WHERE {_OF_HEADS}"
_REVISIONS = from_both(f"{_EITHER} WHERE {_OF_REVISIONS}")
_LIST = f"""
    SELECT {COLUMNS} FROM files
    WHERE workspace = {WORKSPACE} AND state = $2 AND path >= $3
    AND (path, file_id) > ($4, $5::uuid) {{below}} ORDER BY path, file_id LIMIT $6
"""
_RECENT = f"""
    SELECT {COLUMNS} FROM files
    WHERE workspace = {WORKSPACE} AND state = $2 AND position <= $3 AND position > $6
    AND (position < $3 OR file_id > $4::uuid)
    ORDER BY position DESC, file_id LIMIT $5
"""
_REVISIONS_BEFORE = (
    from_both(
        f"""SELECT {{columns}} FROM {{source}} WHERE files.workspace = {WORKSPACE}
        AND files.file_id = $2::uuid AND {{table}}.position < $3"""
    )
    + " ORDER BY position DESC LIMIT $4"
)
_HEAD_PATHS = f"SELECT file_id, path FROM files WHERE {_OF_FILE} IN ($ids)"
_REVISION_PATHS = from_both(
    f"""SELECT {{table}}.revision_id, {{table}}.path, files.path FROM {{source}}
    WHERE {{table}}.workspace = {WORKSPACE} AND {{table}}.revision_id IN ($ids)"""
)
_WITH_EARLIER = f"""
    SELECT file_id FROM files WHERE {_OF_FILE} IN ($ids) AND EXISTS (
        SELECT 1 FROM revisions
        WHERE revisions.workspace = files.workspace AND revisions.file = files.pk
    )
"""
_EARLIER = (
    from_both(
        f"""{_EITHER} WHERE files.workspace = {WORKSPACE} AND files.file_id = $2::uuid
        AND {{table}}.position < $3 AND {{table}}.content_revision_id IS NULL
        AND {{table}}.path <> ''"""
    )
    + " ORDER BY position DESC LIMIT $4"
)
# Rows that are looked at in one statement, when only those of a folder are wanted.
_STEP = 500
# After every position.
_NEWEST = Position(10**15 - 1)
_LEAST_ID = FileId("00000000-0000-0000-0000-000000000000")


def file(
    workspace_id: WorkspaceId, file_id: FileId, longest: int | None = None
) -> Script[StoredFile | None]:
    """Return the head of a file in any state; None without the file.

    With ``longest``, a text of more bytes is left out.
    """

    @single_statement
    async def read_file(transaction: Transaction) -> StoredFile | None:
        row = await transaction.fetch_one(_HEAD, workspace_id, file_id)
        if row is None:
            return None
        revision = revision_of(row)
        left_out = longest is not None and revision.size > longest
        return StoredFile(revision, None if left_out else text_of(row[COUNT], row[0]))

    return read_file


def head_paths(workspace_id: WorkspaceId, file_ids: Sequence[FileId]) -> Script[dict[FileId, str]]:
    """Return the paths of files in any state; that of a purged file is empty."""

    async def read_paths(transaction: Transaction) -> dict[FileId, str]:
        rows = await select_in(transaction, _HEAD_PATHS, workspace_id, file_ids)
        return {FileId(row[0]): row[1] for row in rows}

    return read_paths


def whole_file(
    workspace_id: WorkspaceId, file_id: FileId, merge: MergeUpdates | None
) -> Script[WholeFile | None]:
    """Return the head of a file with its document; None without the file.

    ``merge`` merges the updates that are stored beside the document. Without it, a document that
    has some counts as ``behind``.
    """

    async def read_whole_file(transaction: Transaction) -> WholeFile | None:
        row = await transaction.fetch_one(_HEAD, workspace_id, file_id)
        if row is None:
            return None
        stored = _stored(row)
        document = await transaction.fetch_one(_DOCUMENT, workspace_id, file_id)
        if document is None:
            return _derived(stored, unread=not await _documents_read(transaction, workspace_id))
        updates = await updates_beside(transaction, workspace_id, (file_id,))
        return _whole(stored, document, updates.get(file_id, b""), merge)

    return read_whole_file


def files(
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    revision_ids: Sequence[RevisionId],
    max_bytes: int,
    within: Confinement | None = None,
) -> Script[tuple[list[StoredFile], list[StoredFile]]]:
    """Return the heads of those files that are live, and those of the revisions that exist.

    Both are in the order of the arguments. Purged ones are left out, and what is not visible
    ``within`` a folder. Raises `TooManyFiles`, before any text is read, when they have more than
    ``max_bytes``.
    """

    async def read_files(transaction: Transaction) -> tuple[list[StoredFile], list[StoredFile]]:
        seen = await _visible_among(transaction, _HEAD_PATHS, workspace_id, file_ids, within)
        named = await _visible_among(
            transaction, _REVISION_PATHS, workspace_id, revision_ids, within
        )
        total = 0
        for sql, names in ((_SIZES_OF_HEADS, seen), (_SIZES_OF_REVISIONS, named)):
            rows = await select_in(transaction, sql, workspace_id, names)
            sizes = {row[0]: row[1] for row in rows}
            total += sum(sizes.get(name, 0) for name in names)
        if total > max_bytes:
            raise TooManyFiles(
                f"These files have more than {max_bytes >> 20} MiB of text: ask for fewer at once."
            )
        rows = await select_in(transaction, _HEADS, workspace_id, seen)
        by_file = {stored.revision.file_id: stored for stored in map(_stored, rows)}
        rows = await select_in(transaction, _REVISIONS, workspace_id, named)
        by_revision = {stored.revision.revision_id: stored for stored in map(_stored, rows)}
        return (
            [by_file[name] for name in seen if name in by_file],
            [by_revision[name] for name in named if name in by_revision],
        )

    return read_files


def text_size(
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    revision_ids: Sequence[RevisionId] = (),
    within: Confinement | None = None,
    *,
    documents: bool = False,
) -> Script[int]:
    """Return the bytes of the texts of those live files and revisions in all.

    What is not visible ``within`` a folder has none: nobody learns of it by what is refused.
    ``documents`` adds those of the files.
    """

    async def read_size(transaction: Transaction) -> int:
        seen = await _visible_among(transaction, _HEAD_PATHS, workspace_id, file_ids, within)
        named = await _visible_among(
            transaction, _REVISION_PATHS, workspace_id, revision_ids, within
        )
        rows = await select_in(transaction, _SIZES_OF_HEADS, workspace_id, seen)
        rows += await select_in(transaction, _SIZES_OF_REVISIONS, workspace_id, named)
        if documents:
            rows += await select_in(transaction, _SIZES_OF_DOCUMENTS, workspace_id, seen)
        return sum([row[1] for row in rows])

    return read_size


def whole_files(
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    revision_ids: Sequence[RevisionId],
    max_bytes: int,
    merge: MergeUpdates | None,
    within: Confinement | None = None,
) -> Script[tuple[list[WholeFile], list[StoredFile]]]:
    """Return the same as `files`, the live files with their documents.

    The documents count like the texts. ``merge`` is that of `whole_file`.
    """

    async def read_whole_files(
        transaction: Transaction,
    ) -> tuple[list[WholeFile], list[StoredFile]]:
        seen = await _visible_among(transaction, _HEAD_PATHS, workspace_id, file_ids, within)
        rows = await select_in(transaction, _SIZES_OF_DOCUMENTS, workspace_id, seen)
        sizes = {row[0]: row[1] for row in rows}
        total = sum(sizes.get(name, 0) for name in seen)
        heads, revisions = await files(
            workspace_id, seen, revision_ids, max(max_bytes - total, 0), within
        )(transaction)
        names = [head.revision.file_id for head in heads if head.revision.file_id in sizes]
        rows = await select_in(transaction, _DOCUMENTS, workspace_id, names)
        kept = {row[0]: row[1:] for row in rows}
        updates = await updates_beside(transaction, workspace_id, [*kept])
        read = len(kept) == len(heads) or await _documents_read(transaction, workspace_id)

        def whole(stored: StoredFile) -> WholeFile:
            file_id = stored.revision.file_id
            if file_id not in kept:
                return _derived(stored, unread=not read)
            return _whole(stored, kept[file_id], updates.get(file_id, b""), merge)

        return [whole(head) for head in heads], revisions

    return read_whole_files


async def _visible_among(
    transaction: Transaction,
    sql: str,
    workspace_id: WorkspaceId,
    names: Sequence[N],
    within: Confinement | None,
) -> Sequence[N]:
    """Return which of the names are visible ``within`` a folder; ``sql`` selects their paths."""
    if within is None:
        return names
    rows = await select_in(transaction, sql, workspace_id, names)
    visible = {row[0] for row in rows if all(map(within.covers, row[1:]))}
    return [name for name in names if name in visible]


async def _documents_read(transaction: Transaction, workspace_id: WorkspaceId) -> bool:
    row = await transaction.fetch_one(_READ, workspace_id)
    return row is not None and bool(row[0])


def _derived(stored: StoredFile, *, behind: bool = False, unread: bool = False) -> WholeFile:
    """Return a file with the document of its text."""
    revision = stored.revision
    if revision.kind != "note" or revision.state == "purged":
        return WholeFile(stored, None)
    document = initial(revision.content_id, stored.text or "")
    return WholeFile(stored, document, behind=behind, unread=unread)


def _whole(stored: StoredFile, row: Row, updates: bytes, merge: MergeUpdates | None) -> WholeFile:
    """Return a file with its document, from its row and the updates beside it."""
    document = None if row[2] is None else document_of_row(row, updates)
    if document is not None and not document.updates:
        return WholeFile(stored, document.document)
    if document is not None and merge is not None:
        with suppress(DocumentMalformed):
            return WholeFile(stored, merge(document.document, document.updates))
    return _derived(stored, behind=True)


async def _read_visible(
    read: Callable[[P, int], Awaitable[list[Revision]]],
    first: P,
    place_of: Callable[[Revision], P],
    limit: int,
    within: Confinement | None,
    prefix: str = "",
) -> list[Revision]:
    """Return at most ``limit`` revisions that are visible and whose path begins with ``prefix``.

    ``read`` returns a number of them that follow a place, in order. Where some may be left out, it
    is called with `_STEP` until there are enough.
    """
    step = limit if within is None and not prefix else _STEP
    visible: list[Revision] = []
    last: P | None = first
    while last is not None and len(visible) < limit:
        revisions = await read(last, step)
        visible += [
            revision
            for revision in revisions
            if revision.path.startswith(prefix) and (within is None or within.covers(revision.path))
        ]
        last = place_of(revisions[-1]) if len(revisions) == step else None
    return visible[:limit]


def list_of(
    workspace_id: WorkspaceId,
    state: str,
    prefix: str,
    after: tuple[str, str],
    limit: int,
    within: Confinement | None = None,
) -> Script[list[Revision]]:
    """Return heads in the state whose path begins with ``prefix``, in the order of paths.

    ``after`` has the path and the id of the last one before; deleted files may share a path. Those
    that are not visible ``within`` a folder are left out.
    """
    end = _end_of(prefix)
    sql = _LIST.format(below="" if end is None else "AND path < $7")

    before = () if end is None else (end,)

    async def read_list(transaction: Transaction) -> list[Revision]:
        async def read_after(last: tuple[str, str], most: int) -> list[Revision]:
            start = max(prefix, last[0])
            return revisions_of_rows(
                await transaction.fetch_all(sql, workspace_id, state, start, *last, most, *before)
            )

        return await _read_visible(read_after, after, attrgetter("path", "file_id"), limit, within)

    return read_list


class RecentPlace(NamedTuple):
    """The place where a page of `recent` begins.

    Attributes:
        position, file_id: of the last file before.
        floor: files with this position or a lower one were listed by earlier rounds.
        top: the position of the first file of the round; ``floor`` before it is known.
    """

    position: Position
    file_id: FileId
    floor: Position
    top: Position

    @property
    def begins_round(self) -> bool:
        """Whether the page begins with the file that changed last."""
        return self.top == self.floor


def newest_above(floor: int) -> RecentPlace:
    """Return the place of the file that changed last, for those that changed after ``floor``."""
    return RecentPlace(_NEWEST, _LEAST_ID, Position(floor), Position(floor))


def recent(
    workspace_id: WorkspaceId,
    state: str,
    prefix: str,
    place: RecentPlace,
    limit: int,
    within: Confinement | None = None,
) -> Script[tuple[list[Revision], RecentPlace | None]]:
    """Return heads in the state whose path begins with ``prefix``, the last change first.

    Also returns the place of the next page, None after the last one. The files of one changeset
    share a position. Those that are not visible ``within`` a folder are left out.

    A file that changes while the pages are read moves above the next one. So when the pages have
    reached the end, another round lists what has changed since this one began, until nothing has:
    together they list every file that exists all the time, and some of them again.
    """

    async def read_recent(
        transaction: Transaction,
    ) -> tuple[list[Revision], RecentPlace | None]:
        return await page_from(transaction, place)

    async def page_from(
        transaction: Transaction, begin: RecentPlace
    ) -> tuple[list[Revision], RecentPlace | None]:
        heads = await heads_from(transaction, begin, limit + 1)
        page = heads[:limit]
        top = page[0].position if begin.begins_round and page else begin.top
        if len(heads) > limit:
            last = page[-1]
            return page, RecentPlace(last.position, last.file_id, begin.floor, top)
        # A round of one page is as of one moment.
        if begin.begins_round or not await heads_from(transaction, newest_above(top), 1):
            return page, None
        # An empty page would be taken for the last one.
        again = newest_above(top)
        return (page, again) if page else await page_from(transaction, again)

    async def heads_from(transaction: Transaction, begin: RecentPlace, most: int) -> list[Revision]:
        async def read_after(last: tuple[Position, FileId], most: int) -> list[Revision]:
            return revisions_of_rows(
                await transaction.fetch_all(_RECENT, workspace_id, state, *last, most, begin.floor)
            )

        place_of = attrgetter("position", "file_id")
        return await _read_visible(read_after, begin[:2], place_of, most, within, prefix)

    return read_recent


def live_paths(workspace_id: WorkspaceId, within: Confinement | None = None) -> Script[list[str]]:
    """Return the paths of all live files, or those ``within`` a folder, in no particular order."""

    async def read_paths(transaction: Transaction) -> list[str]:
        sql = f"SELECT path FROM files WHERE workspace = {WORKSPACE} AND state = 'live'"
        paths = [row[0] for row in await transaction.fetch_all(sql, workspace_id)]
        return paths if within is None else [*filter(within.covers, paths)]

    return read_paths


def revisions_of(
    workspace_id: WorkspaceId,
    file_id: FileId,
    before: Position,
    limit: int,
    within: Confinement | None = None,
) -> Script[list[Revision]]:
    """Return revisions of a file with positions below ``before``, the newest first.

    Those that are not visible ``within`` a folder are left out.
    """

    async def read_revisions(transaction: Transaction) -> list[Revision]:
        if not await _visible_among(transaction, _HEAD_PATHS, workspace_id, [file_id], within):
            return []

        async def read_before(last: Position, most: int) -> list[Revision]:
            rows = await transaction.fetch_all(_REVISIONS_BEFORE, workspace_id, file_id, last, most)
            return revisions_of_rows(rows)

        return await _read_visible(read_before, before, attrgetter("position"), limit, within)

    return read_revisions


def with_earlier(workspace_id: WorkspaceId, file_ids: Sequence[FileId]) -> Script[set[FileId]]:
    """Return which of the files have revisions before their heads."""

    async def read_ids(transaction: Transaction) -> set[FileId]:
        rows = await select_in(transaction, _WITH_EARLIER, workspace_id, file_ids)
        return {FileId(row[0]) for row in rows}

    return read_ids


def earlier_contents(
    workspace_id: WorkspaceId, file_id: FileId, before: Position, limit: int
) -> Script[list[StoredFile]]:
    """Return revisions with positions below ``before`` that brought a content, the newest first.

    Purged ones are left out. At most ``limit`` are returned, with their texts.
    """

    async def read_contents(transaction: Transaction) -> list[StoredFile]:
        rows = await transaction.fetch_all(_EARLIER, workspace_id, file_id, before, limit)
        return [_stored(row) for row in rows]

    return read_contents


def revision(
    workspace_id: WorkspaceId,
    file_id: FileId,
    revision_id: RevisionId,
    within: Confinement | None = None,
) -> Script[StoredFile | None]:
    """Return one revision of a file with its text.

    None without it, and when it is not visible ``within`` a folder.
    """

    async def read_revision(transaction: Transaction) -> StoredFile | None:
        if not await _visible_among(
            transaction, _REVISION_PATHS, workspace_id, [revision_id], within
        ):
            return None
        row = await transaction.fetch_one(_REVISION, workspace_id, revision_id, file_id)
        return None if row is None else _stored(row)

    return read_revision


def _stored(row: Row) -> StoredFile:
    return StoredFile(revision_of(row), text_of(row[COUNT], row[0]))


def _end_of(prefix: str) -> str | None:
    """Return the first text after all that begin with ``prefix``; None when there is no such text.

    Texts are in the order of their code points, as in both engines.
    """
    rest = prefix.rstrip("\U0010ffff")
    if not rest:
        return None
    following = ord(rest[-1]) + 1
    # Surrogates can't occur in a text.
    return rest[:-1] + chr(0xE000 if following == 0xD800 else following)
