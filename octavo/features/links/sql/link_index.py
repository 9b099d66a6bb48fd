"""The link index: under which keys files are found, and which notes look them up.

A key (`octavo.model.links`) is stored as a hash of 48 bits, in two tables: ``link_targets`` has the
keys of the paths of live files, ``link_sources`` those that the links of live notes are looked up
under. The links themselves are not stored: queries read them from the texts of the notes that they
find. The row of a file in ``link_index`` says what the other tables have of it.

The index follows the commits: see `octavo.store.queries.index_backlog`. Queries read it together
with what it lacks: see `octavo.features.links.sql.link_view`.

A wiki link without a slash is looked up first as a path in the folder of its note, and then as a
name. A file with that path also has that name, so the name is the only key that is stored for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from octavo_rules.identity import FileId, WorkspaceId

from octavo.model.files.revision import Revision
from octavo.model.links import keys_of_link, keys_of_path, links_of
from octavo.model.links.extraction import LinkKind
from octavo.model.links.resolution import LONGEST_TARGET
from octavo.store.queries.blobs import texts_of
from octavo.store.queries.index_backlog import FileIndex
from octavo.store.queries.revision_rows import WORKSPACE, execute_each, select_in
from octavo.store.transaction import Transaction, Value

LONGEST_HEADING = 500
_MAX_SWEPT = 100
KEY_BYTES = 6
"""Of a stored key. Among a million keys, two are equal with a probability of 0.2 percent."""
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
    kinds = {(each.kind, each.embed, each.target, each.heading): None for each in links_of(text)}
    found: dict[NoteLink, None] = {}
    for kind, embed, target, heading in kinds:
        # No path contains NUL.
        if len(target) <= LONGEST_TARGET and "\0" not in target:
            shown = heading[:LONGEST_HEADING].replace("\0", "\ufffd")
            found[NoteLink(kind, embed, target, shown, keys_of_link(kind, target, path))] = None
    return list(found)


def sources_of(links: Iterable[NoteLink]) -> frozenset[int]:
    """Return the stored keys of links."""
    found: set[int] = set()
    for link in links:
        keys = link.keys
        if not keys and link.target:
            keys = (_NOWHERE,)
        elif keys and not keys[-1].startswith("/"):
            keys = keys[-1:]
        found.update(map(hashed, keys))
    return frozenset(found)


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
    found: Mapping[FileId, LinkKeys],
) -> bool:
    """Update files in the link index to their keys; those without are removed. Return True."""
    indexed = await indexed_files(transaction, workspace_id, file_ids)
    await _remove(transaction, [each for each in indexed if each.file_id not in found])
    changed: list[tuple[IndexedFile, LinkKeys]] = []
    rows: list[tuple[Value, ...]] = []
    for each in indexed:
        keys = found.get(each.file_id)
        if keys is None:
            continue
        targets, sources = packed(sorted(keys.targets)), packed(sorted(keys.sources))
        if (targets, sources) != (each.targets, each.sources):
            changed.append((each, keys))
            rows.append((each.workspace, each.pk, targets, sources))
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
    indexed = [each for each in files if each.targets is not None]
    await _replace_keys(transaction, [(each, NO_KEYS) for each in indexed])
    await execute_each(transaction, _DELETE, [(each.workspace, each.pk) for each in indexed])


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
