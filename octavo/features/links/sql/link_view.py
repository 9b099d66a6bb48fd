"""The links of a workspace at one position: the link index, and the files that it lacks.

Commits do not wait for the index, so it may lack files that changed shortly before. A view computes
the keys of these itself, and leaves out what the index has of them. So a query sees each file as it
is at the position that its transaction reads at, also while nothing can be written. When the index
lacks more than a few files, `LinksOutdated` is raised, and they have to be indexed first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from octavo_rules.identity import FileId, WorkspaceId

from octavo.features.links.sql.link_index import (
    LINKS,
    NO_KEYS,
    LinkKeys,
    hashed,
    indexed_files,
    keys_of,
    unpacked,
)
from octavo.model.files.confinement import Confinement
from octavo.model.links import place_rank
from octavo.store.queries.index_backlog import live_heads, unindexed_files
from octavo.store.queries.revision_rows import WORKSPACE, select_in
from octavo.store.transaction import Transaction

MAX_FILES = 100
"""That the index may lack."""
MAX_BYTES = 64 * 1024
"""Of their texts."""

# Of the files under one key, the one with the fewest folders is meant, and then the first path.
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
        for each in unindexed.values():
            self._more_files.update(each.keys.targets)
            self._more_files.subtract(each.outdated)

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
        found = [(row[1], row[2], row[0]) for row in rows if row[2] not in self._unindexed]
        for file_id, each in self._unindexed.items():
            if each.path is not None:
                found += [(each.path, file_id, key) for key in each.keys.targets & by_hash.keys()]
        return _best(by_hash, found)

    async def _targets(self, keys: Iterable[int]) -> list[tuple[str, FileId, int]]:
        """Return path, id and key of each file in the folder under one of the stored keys."""
        asked = frozenset(keys)
        rows = await select_in(self._transaction, _TARGETS, self._id, [*asked])
        found = [(row[1], row[2], row[0]) for row in rows if row[2] not in self._unindexed]
        for file_id, each in self._unindexed.items():
            if each.path is not None:
                found += [(each.path, file_id, key) for key in each.keys.targets & asked]
        return [each for each in found if self.covers(each[0])]

    async def existing(self, keys: Iterable[int]) -> set[int]:
        """Return those of the stored keys under which there are files."""
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
        found = {FileId(row[0]) for row in rows if self.covers(row[1])} - self._unindexed.keys()
        found.update(
            name
            for name, each in self._unindexed.items()
            if each.keys.sources & asked and self.covers(each.path or "")
        )
        return found

    async def sources_after(self, file_id: FileId, limit: int) -> SourceFiles:
        """Return about ``limit`` live files in the order of their ids, from ``file_id`` on."""
        rows = await self._transaction.fetch_all(_NEXT_INDEXED, self._id, file_id, limit)
        last = FileId(rows[-1][0]) if len(rows) == limit else None
        found: dict[FileId, Iterable[int]] = {
            FileId(row[0]): unpacked(row[1])
            for row in rows
            if row[0] not in self._unindexed and self.covers(row[2])
        }
        for name, each in self._unindexed.items():
            due = file_id < name and (last is None or name <= last)
            if due and each.path is not None and self.covers(each.path):
                found[name] = each.keys.sources
        return SourceFiles(dict(sorted(found.items())), last)


def _best(
    by_hash: Mapping[int, str], found: Iterable[tuple[str, FileId, int]]
) -> dict[str, tuple[str, FileId]]:
    """Return path and id of the best file under each key."""
    best: dict[str, tuple[str, FileId]] = {}
    for path, file_id, key in sorted(found, key=lambda each: (place_rank(each[0]), each[1])):
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
            each.file_id: UnindexedFile(
                live[each.file_id].path if each.file_id in live else None,
                keys.get(each.file_id, NO_KEYS),
                each.keys.targets,
            )
            for each in indexed
        },
        within,
    )
