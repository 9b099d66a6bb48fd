"""The link index: under which keys files are found, and which notes look them up.

A key (`octavo.model.links`) is stored as a hash of 48 bits, in two tables: ``link_targets`` has the
keys of the paths of live files, ``link_sources`` those that the links of live notes are looked up
under. The links themselves are not stored: queries read them from the texts of the notes that they
find. The row of a file in ``link_index`` says what the other tables have of it.

The index follows the commits (`octavo.store.queries.index_backlog`), and may lack files that
changed shortly before. Queries read it through a `LinkView`, which computes the keys of these files
itself and leaves out what the index has of them: so a query sees each file as it is at its
position, also while nothing can be written. When the index lacks more than a few files,
`LinksOutdated` is raised: they have to be indexed first.

A wiki link without a slash is looked up first as a path in the folder of its note, and then as a
name. A file with that path also has that name, so the name is the only key that is stored for it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from octavo_rules.identity import FileId, WorkspaceId

from octavo.model.files.confinement import Confinement
from octavo.model.files.revision import Revision
from octavo.model.links.extraction import LinkKind, links_of
from octavo.model.links.resolution import LONGEST_TARGET, keys_of_link, keys_of_path, place_rank
from octavo.store.queries.blobs import texts_of
from octavo.store.queries.index_backlog import FileIndex, live_heads, unindexed_files
from octavo.store.queries.revision_rows import WORKSPACE, execute_each, select_in
from octavo.store.transaction import Transaction, Value

MAX_FILES = 100
"""Maximum number of files that the index may lack."""
MAX_BYTES = 64 * 1024
"""Maximum bytes of their texts."""

# A key means the file with the fewest folders above it, and among these the first path.
_RANKED = f"""
    SELECT key, path, file_id FROM (
        SELECT link_targets.key, files.path, files.file_id, ROW_NUMBER() OVER (
            PARTITION BY link_targets.key ORDER BY
            LENGTH(files.path) - LENGTH(REPLACE(files.path, '/', '')), files.path, files.file_id
        ) AS place
        FROM link_targets JOIN files
        ON files.workspace = link_targets.workspace AND files.pk = link_targets.file
        WHERE link_targets.workspace = {WORKSPACE} AND link_targets.key IN ($names)
    ) AS ranked WHERE place <= {{places}}
"""
_MEANT = _RANKED.format(places=1)
# All others may be outdated.
_MEANT_OR_OUTDATED = _RANKED.format(places=MAX_FILES + 1)
_TARGETS = f"""
    SELECT link_targets.key, files.path, files.file_id FROM link_targets JOIN files
    ON files.workspace = link_targets.workspace AND files.pk = link_targets.file
    WHERE link_targets.workspace = {WORKSPACE} AND link_targets.key IN ($names)
"""
_FILES_OF_KEYS = f"""
    SELECT key, COUNT(*) FROM link_targets
    WHERE workspace = {WORKSPACE} AND key IN ($names) GROUP BY key
"""
_SOURCES = f"""
    SELECT DISTINCT files.file_id, files.path FROM link_sources JOIN files
    ON files.workspace = link_sources.workspace AND files.pk = link_sources.file
    WHERE link_sources.workspace = {WORKSPACE} AND link_sources.key IN ($names)
"""
_NEXT_INDEXED = f"""
    SELECT files.file_id, link_index.sources, files.path FROM files
    JOIN link_index ON link_index.workspace = files.workspace AND link_index.file = files.pk
    WHERE files.workspace = {WORKSPACE} AND files.file_id > $2::uuid
    ORDER BY files.file_id LIMIT $3
"""


class LinksOutdated(Exception):
    """The link index lacks too many files: update it, and repeat the query."""


class UnindexedFile(NamedTuple):
    """A file that changed since it was indexed.

    Attributes:
        path: None unless the file is live.
        keys: those of its present path and text.
        outdated: the targets that the index has of it.
    """

    path: str | None
    keys: LinkKeys
    outdated: frozenset[int]


class SourceFiles(NamedTuple):
    """Files with the stored keys of their links; ``following`` is the id to continue after."""

    sources: dict[FileId, Iterable[int]]
    following: FileId | None


class LinkView:
    """Look-ups among the links of a workspace, in one transaction; see `view_links`."""

    def __init__(
        self,
        transaction: Transaction,
        workspace_id: WorkspaceId,
        unindexed: Mapping[FileId, UnindexedFile],
        within: Confinement | None = None,
    ) -> None:
        self._transaction = transaction
        self._within = within
        self._id = workspace_id
        self._unindexed = unindexed
        # How many more files have a key than the index says.
        self._more_files: Counter[int] = Counter()
        for file in unindexed.values():
            self._more_files.update(file.keys.targets)
            self._more_files.subtract(file.outdated)

    def covers(self, path: str) -> bool:
        """Return whether the view has files at ``path``."""
        return self._within is None or self._within.covers(path)

    async def meant(self, keys: Iterable[str]) -> dict[str, tuple[str, FileId]]:
        """Return path and id of the file that is meant by each key that has one."""
        by_hash = {hashed(key): key for key in keys}
        if self._within is not None:
            return _best(by_hash, await self._targets(by_hash))
        sql = _MEANT_OR_OUTDATED if self._unindexed else _MEANT
        rows = await select_in(self._transaction, sql, self._id, [*by_hash])
        if not self._unindexed:
            return {by_hash[row[0]]: (row[1], row[2]) for row in rows}
        candidates = [(row[1], row[2], row[0]) for row in rows if row[2] not in self._unindexed]
        for file_id, file in self._unindexed.items():
            if file.path is not None:
                candidates += [
                    (file.path, file_id, key) for key in file.keys.targets & by_hash.keys()
                ]
        return _best(by_hash, candidates)

    async def _targets(self, keys: Iterable[int]) -> list[tuple[str, FileId, int]]:
        """Return path, id and key of each file in the folder under one of the stored keys."""
        asked = frozenset(keys)
        rows = await select_in(self._transaction, _TARGETS, self._id, [*asked])
        candidates = [(row[1], row[2], row[0]) for row in rows if row[2] not in self._unindexed]
        for file_id, file in self._unindexed.items():
            if file.path is not None:
                candidates += [(file.path, file_id, key) for key in file.keys.targets & asked]
        return [candidate for candidate in candidates if self.covers(candidate[0])]

    async def existing(self, keys: Iterable[int]) -> set[int]:
        """Return the stored keys under which there are files."""
        asked = set(keys)
        if self._within is not None:
            return {key for _, _, key in await self._targets(asked)}
        rows = await select_in(self._transaction, _FILES_OF_KEYS, self._id, [*asked])
        files = {row[0]: row[1] for row in rows}
        return {key for key in asked if files.get(key, 0) + self._more_files[key] > 0}

    async def linking(self, keys: Iterable[int]) -> set[FileId]:
        """Return the notes with links that are looked up under one of the stored keys."""
        asked = frozenset(keys)
        rows = await select_in(self._transaction, _SOURCES, self._id, [*asked])
        notes = {FileId(row[0]) for row in rows if self.covers(row[1])} - self._unindexed.keys()
        notes.update(
            name
            for name, file in self._unindexed.items()
            if file.keys.sources & asked and self.covers(file.path or "")
        )
        return notes

    async def sources_after(self, file_id: FileId, limit: int) -> SourceFiles:
        """Return about ``limit`` live files in the order of their ids, from ``file_id`` on."""
        rows = await self._transaction.fetch_all(_NEXT_INDEXED, self._id, file_id, limit)
        last = FileId(rows[-1][0]) if len(rows) == limit else None
        sources: dict[FileId, Iterable[int]] = {
            FileId(row[0]): unpacked(row[1])
            for row in rows
            if row[0] not in self._unindexed and self.covers(row[2])
        }
        for name, file in self._unindexed.items():
            due = file_id < name and (last is None or name <= last)
            if due and file.path is not None and self.covers(file.path):
                sources[name] = file.keys.sources
        return SourceFiles(dict(sorted(sources.items())), last)


def _best(
    by_hash: Mapping[int, str], candidates: Iterable[tuple[str, FileId, int]]
) -> dict[str, tuple[str, FileId]]:
    """Return path and id of the best file under each key."""
    best: dict[str, tuple[str, FileId]] = {}
    for path, file_id, key in sorted(
        candidates, key=lambda candidate: (place_rank(candidate[0]), candidate[1])
    ):
        best.setdefault(by_hash[key], (path, file_id))
    return best


async def view_links(
    transaction: Transaction, workspace_id: WorkspaceId, within: Confinement | None = None
) -> LinkView:
    """Return a view of the links of a workspace; raise `LinksOutdated`.

    A view ``within`` a folder has its files alone, as if there were no others.
    """
    file_ids = await unindexed_files(transaction, workspace_id, LINKS, MAX_FILES, MAX_BYTES)
    if file_ids is None:
        raise LinksOutdated
    if not file_ids:
        return LinkView(transaction, workspace_id, {}, within)
    live = await live_heads(transaction, workspace_id, file_ids)
    keys = await keys_of(transaction, workspace_id, live)
    indexed = await indexed_files(transaction, workspace_id, file_ids)
    return LinkView(
        transaction,
        workspace_id,
        {
            file.file_id: UnindexedFile(
                live[file.file_id].path if file.file_id in live else None,
                keys.get(file.file_id, NO_KEYS),
                file.keys.targets,
            )
            for file in indexed
        },
        within,
    )


LONGEST_HEADING = 500
_MAX_SWEPT = 100
KEY_BYTES = 6
"""Bytes of a stored key. Among a million keys, two are equal with a probability of 0.2 percent."""
# The key of links that can't lead to a file. No file has it.
_NOWHERE = ""

_INDEXED = f"""
    SELECT files.workspace, files.pk, files.file_id, link_index.targets, link_index.sources
    FROM files LEFT JOIN link_index
    ON link_index.workspace = files.workspace AND link_index.file = files.pk
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_SOME_INDEXED = """
    SELECT files.workspace, files.pk, files.file_id, link_index.targets, link_index.sources
    FROM link_index JOIN files
    ON files.workspace = link_index.workspace AND files.pk = link_index.file
    WHERE link_index.workspace = $1 ORDER BY link_index.file LIMIT $2
"""
_PUT = """
    INSERT INTO link_index (workspace, file, targets, sources) VALUES ($1, $2, $3, $4)
    ON CONFLICT (workspace, file) DO UPDATE
    SET targets = excluded.targets, sources = excluded.sources
"""
_DELETE = "DELETE FROM link_index WHERE workspace = $1 AND file = $2"
_PUT_TARGET = "INSERT INTO link_targets (workspace, key, file) VALUES ($1, $2, $3)"
_DELETE_TARGET = "DELETE FROM link_targets WHERE workspace = $1 AND key = $2 AND file = $3"
_PUT_SOURCE = "INSERT INTO link_sources (workspace, key, file) VALUES ($1, $2, $3)"
_DELETE_SOURCE = "DELETE FROM link_sources WHERE workspace = $1 AND key = $2 AND file = $3"


class NoteLink(NamedTuple):
    """A link of a note and the keys to look up, in order; repeated links are listed once."""

    kind: LinkKind
    embed: bool
    target: str
    heading: str
    keys: tuple[str, ...]


class LinkKeys(NamedTuple):
    """The keys under which a file is found, and those that its links are looked up under."""

    targets: frozenset[int]
    sources: frozenset[int]


NO_KEYS = LinkKeys(frozenset(), frozenset())


class IndexedFile(NamedTuple):
    """What the index has of a file: packed keys, None for a file that is not indexed."""

    workspace: int
    pk: int
    file_id: FileId
    targets: bytes | None
    sources: bytes | None

    @property
    def keys(self) -> LinkKeys:
        """The keys of its rows in the other tables."""
        return LinkKeys(
            frozenset(unpacked(self.targets or b"")), frozenset(unpacked(self.sources or b""))
        )


def hashed(key: str) -> int:
    """Return a key as it is stored."""
    digest = hashlib.blake2b(key.encode(), digest_size=KEY_BYTES).digest()
    return int.from_bytes(digest, "little", signed=True)


def packed(keys: Iterable[int]) -> bytes:
    """Return stored keys as the bytes that ``link_index`` has of them."""
    return b"".join(key.to_bytes(KEY_BYTES, "little", signed=True) for key in keys)


def unpacked(data: bytes) -> list[int]:
    """Return the stored keys that `packed` has turned into ``data``."""
    return [
        int.from_bytes(data[at : at + KEY_BYTES], "little", signed=True)
        for at in range(0, len(data), KEY_BYTES)
    ]


def targets_of(path: str) -> frozenset[int]:
    """Return the stored keys under which a file at ``path`` is found."""
    return frozenset(map(hashed, keys_of_path(path)))


def links_in(text: str, path: str) -> list[NoteLink]:
    """Return the links of the note at ``path``, in their order.

    Links that are too long to lead anywhere are left out.
    """
    kinds = {(link.kind, link.embed, link.target, link.heading): None for link in links_of(text)}
    links: dict[NoteLink, None] = {}
    for kind, embed, target, heading in kinds:
        # No path contains NUL.
        if len(target) <= LONGEST_TARGET and "\0" not in target:
            shown = heading[:LONGEST_HEADING].replace("\0", "\ufffd")
            links[NoteLink(kind, embed, target, shown, keys_of_link(kind, target, path))] = None
    return list(links)


def sources_of(links: Iterable[NoteLink]) -> frozenset[int]:
    """Return the stored keys of links."""
    hashes: set[int] = set()
    for link in links:
        keys = link.keys
        if not keys and link.target:
            keys = (_NOWHERE,)
        elif keys and not keys[-1].startswith("/"):
            keys = keys[-1:]
        hashes.update(map(hashed, keys))
    return frozenset(hashes)


async def keys_of(
    transaction: Transaction, workspace_id: WorkspaceId, live: Mapping[FileId, Revision]
) -> dict[FileId, LinkKeys]:
    """Return the keys of live files with these heads, from their paths and texts.

    The texts are held in memory together. A damaged text has no links.
    """
    notes = [head.file_id for head in live.values() if head.kind == "note"]
    texts = await texts_of(transaction, workspace_id, notes)
    return {
        head.file_id: LinkKeys(
            targets_of(head.path), sources_of(links_in(texts.get(head.file_id, ""), head.path))
        )
        for head in live.values()
    }


async def indexed_files(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> list[IndexedFile]:
    """Return what the index has of files."""
    rows = await select_in(transaction, _INDEXED, workspace_id, file_ids)
    return [IndexedFile(*row) for row in rows]


async def index_links(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    computed: Mapping[FileId, LinkKeys],
) -> bool:
    """Store the ``computed`` keys of files, and remove files without any. Return True."""
    indexed = await indexed_files(transaction, workspace_id, file_ids)
    await _remove(transaction, [file for file in indexed if file.file_id not in computed])
    changed: list[tuple[IndexedFile, LinkKeys]] = []
    rows: list[tuple[Value, ...]] = []
    for file in indexed:
        keys = computed.get(file.file_id)
        if keys is None:
            continue
        targets, sources = packed(sorted(keys.targets)), packed(sorted(keys.sources))
        if (targets, sources) != (file.targets, file.sources):
            changed.append((file, keys))
            rows.append((file.workspace, file.pk, targets, sources))
    await _replace_keys(transaction, changed)
    await execute_each(transaction, _PUT, rows)
    return True


async def remove_links(
    transaction: Transaction, workspace_id: WorkspaceId, workspace: int, file_ids: Sequence[FileId]
) -> None:
    """Remove files from the index (`Listeners.files_purged`)."""
    await _remove(transaction, await indexed_files(transaction, workspace_id, file_ids))


async def remove_some_links(transaction: Transaction, workspace: int) -> bool:
    """Remove some files of a deleted workspace from the index; return whether there were any.

    See `Listeners.workspace_sweeping`.
    """
    rows = await transaction.fetch_all(_SOME_INDEXED, workspace, _MAX_SWEPT)
    await _remove(transaction, [IndexedFile(*row) for row in rows])
    return bool(rows)


async def _remove(transaction: Transaction, files: Sequence[IndexedFile]) -> None:
    indexed = [file for file in files if file.targets is not None]
    await _replace_keys(transaction, [(file, NO_KEYS) for file in indexed])
    await execute_each(transaction, _DELETE, [(file.workspace, file.pk) for file in indexed])


async def _replace_keys(
    transaction: Transaction, changed: Sequence[tuple[IndexedFile, LinkKeys]]
) -> None:
    """Delete the rows of the keys that files no longer have, and insert those of their new keys."""
    pairs = [(file, file.keys, keys) for file, keys in changed]
    for delete, insert, kind in (
        (_DELETE_TARGET, _PUT_TARGET, 0),
        (_DELETE_SOURCE, _PUT_SOURCE, 1),
    ):
        gone: list[tuple[int, int, int]] = []
        new: list[tuple[int, int, int]] = []
        for file, before, after in pairs:
            gone += [(file.workspace, key, file.pk) for key in before[kind] - after[kind]]
            new += [(file.workspace, key, file.pk) for key in after[kind] - before[kind]]
        # In the order of the table, so that neighbours are changed together.
        await execute_each(transaction, delete, sorted(gone))
        await execute_each(transaction, insert, sorted(new))


LINKS: FileIndex[LinkKeys] = FileIndex("links", keys_of, index_links, quiet=1.0)
"""The index of links."""
