"""The link index: under which keys files are found, and which notes look them up.

A key (`octavo.model.links`) is stored as a hash of 48 bits, in two tables: ``link_targets`` has the
keys of the paths of live files, ``link_sources`` those that the links of live notes are looked up
under. The links themselves are not stored: queries read them from the texts of the notes that they
find. The row of a file in ``link_index`` says what the other tables have of it.

A wiki link without a slash is looked up first as a path in the folder of its note, and then as a
name. A file with that path also has that name, so the name is the only key that is stored for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from octavo.model.files.batch import portions
from octavo.model.files.revision import Revision
from octavo.model.identity import ContentId, FileId, WorkspaceId
from octavo.model.links import keys_of_link, keys_of_path, links_of
from octavo.model.links.extraction import LinkKind
from octavo.model.links.resolution import LONGEST_TARGET
from octavo.store.scripts.head_texts import texts_of
from octavo.store.scripts.revision_rows import WORKSPACE
from octavo.store.scripts.select_in import execute_each, select_in
from octavo.store.transaction import Transaction, Value

MAX_BYTES = 2 * 1024 * 1024
"""Of texts that are held in memory together."""
LONGEST_HEADING = 500
KEY_BYTES = 6
"""Of a stored key. Among a million keys, two are equal with a probability of 0.2 percent."""
# The key of links that can't lead to a file. No file has it.
_NOWHERE = ""

_INDEXED = f"""
    SELECT files.file_id, files.workspace, files.number, files.path, link_index.keys FROM files
    LEFT JOIN link_index
    ON link_index.workspace = files.workspace AND link_index.file = files.number
    WHERE files.workspace = {WORKSPACE} AND files.file_id IN ($ids)
"""
_SOME_INDEXED = """
    SELECT files.file_id, files.workspace, files.number, files.path, link_index.keys
    FROM link_index JOIN files
    ON files.workspace = link_index.workspace AND files.number = link_index.file
    WHERE link_index.workspace = $1 ORDER BY link_index.file LIMIT $2
"""
_PUT = """
    INSERT INTO link_index (workspace, file, keys) VALUES ($1, $2, $3)
    ON CONFLICT (workspace, file) DO UPDATE SET keys = excluded.keys
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


class IndexedFile(NamedTuple):
    """What the index has of a file. Without ``keys``, the file is not indexed.

    ``path`` is the one with which it is indexed.
    """

    file_id: FileId
    workspace: int
    file: int
    path: str | None
    keys: bytes | None

    @property
    def sources(self) -> set[int]:
        """The keys of its links."""
        return set(unpacked(self.keys or b""))

    @property
    def targets(self) -> set[int]:
        """The keys under which it is found."""
        return targets_of(self.path) if self.path is not None and self.keys is not None else set()


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


def targets_of(path: str) -> set[int]:
    """Return the stored keys under which a file at ``path`` is found."""
    return {hashed(key) for key in keys_of_path(path)}


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


def sources_of(links: Iterable[NoteLink]) -> set[int]:
    """Return the stored keys of links."""
    found: set[int] = set()
    for link in links:
        keys = link.keys
        if not keys and link.target:
            keys = (_NOWHERE,)
        elif keys and not keys[-1].startswith("/"):
            keys = keys[-1:]
        found.update(map(hashed, keys))
    return found


class _Outdated(NamedTuple):
    """A live file that the index is to be updated with."""

    head: Revision
    indexed: IndexedFile
    text_changed: bool

    @property
    def size(self) -> int:
        """Bytes of text to read the links from."""
        return self.head.size if self.text_changed else 0


async def index_links(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    heads: Iterable[Revision],
    texts: Mapping[ContentId, str],
    new: Mapping[FileId, IndexedFile] = MappingProxyType({}),
    paths: Mapping[FileId, str] = MappingProxyType({}),
) -> None:
    """Bring the link index of files up to date with their stored heads.

    Files that were created in this transaction may be given in ``new``, and are not looked up.
    ``paths`` are those that files had before this transaction, if it changed them. The text of a
    head that is in ``texts`` is new. Any other text is indexed already, if the file is. Two
    transactions that index the same file do no harm.
    """
    heads = list(heads)
    names = [head.file_id for head in heads if head.file_id not in new]
    rows = await select_in(transaction, _INDEXED, workspace_id, names)
    indexed = dict(new)
    for row in rows:
        known = IndexedFile(*row)
        indexed[known.file_id] = known._replace(path=paths.get(known.file_id, known.path))
    await _remove(
        transaction,
        [
            indexed[head.file_id]
            for head in heads
            if head.state != "live" and indexed[head.file_id].keys is not None
        ],
    )
    outdated: list[_Outdated] = []
    for head in heads:
        known = indexed[head.file_id]
        if head.state != "live":
            continue
        changed = head.content_id in texts or known.keys is None
        moved = known.path is None or _folder(known.path) != _folder(head.path)
        if changed or known.path != head.path:
            # Links that name a path relative to the folder of their note get other keys.
            outdated.append(_Outdated(head, known, head.kind == "note" and (changed or moved)))
    for portion in portions(outdated, lambda each: each.size, MAX_BYTES):
        await _update(transaction, workspace_id, portion, texts)


async def _update(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    outdated: Sequence[_Outdated],
    texts: Mapping[ContentId, str],
) -> None:
    lacking = [
        each.head.file_id
        for each in outdated
        if each.text_changed and each.head.content_id not in texts
    ]
    read = await texts_of(transaction, workspace_id, lacking)
    rows: list[tuple[Value, ...]] = []
    targets: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]] = ([], [])
    sources: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]] = ([], [])
    for head, indexed, text_changed in outdated:
        keys = indexed.keys or b""
        if text_changed:
            text = (
                texts[head.content_id] if head.content_id in texts else read.get(head.file_id, "")
            )
            found = sources_of(links_in(text, head.path))
            if found != indexed.sources:
                keys = packed(sorted(found))
                _compare(sources, indexed, indexed.sources, found)
        if head.path != indexed.path or indexed.keys is None:
            _compare(targets, indexed, indexed.targets, targets_of(head.path))
        if keys != indexed.keys:
            rows.append((indexed.workspace, indexed.file, keys))
    await execute_each(transaction, _DELETE_TARGET, targets[0])
    await execute_each(transaction, _PUT_TARGET, targets[1])
    await execute_each(transaction, _DELETE_SOURCE, sources[0])
    await execute_each(transaction, _PUT_SOURCE, sources[1])
    await execute_each(transaction, _PUT, rows)


def _compare(
    changes: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]],
    indexed: IndexedFile,
    before: set[int],
    after: set[int],
) -> None:
    """Add the rows of keys to ``changes``: those to delete, and those to insert."""
    for rows, keys in zip(changes, (before - after, after - before), strict=True):
        rows += [(indexed.workspace, key, indexed.file) for key in sorted(keys)]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


async def remove_some_links(transaction: Transaction, workspace: int, maximum: int) -> bool:
    """Remove some files of a workspace from the index; return whether there were any.

    ``workspace`` is the number of the workspace.
    """
    rows = await transaction.fetch_all(_SOME_INDEXED, workspace, maximum)
    await _remove(transaction, [IndexedFile(*row) for row in rows])
    return bool(rows)


async def _remove(transaction: Transaction, files: Sequence[IndexedFile]) -> None:
    targets = [(each.workspace, key, each.file) for each in files for key in sorted(each.targets)]
    sources = [(each.workspace, key, each.file) for each in files for key in sorted(each.sources)]
    await execute_each(transaction, _DELETE_TARGET, targets)
    await execute_each(transaction, _DELETE_SOURCE, sources)
    await execute_each(transaction, _DELETE, [(each.workspace, each.file) for each in files])
