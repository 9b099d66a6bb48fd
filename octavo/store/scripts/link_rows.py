"""The links of a note as rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from octavo.model.identity import FileId, WorkspaceId
from octavo.model.links import keys_of_link, links_of, place_rank
from octavo.model.links.extraction import LinkKind
from octavo.model.links.resolution import LONGEST_TARGET, RANK_DIGITS
from octavo.store.scripts.naming import fetch_named
from octavo.store.transaction import Transaction, Value

LONGEST_HEADING = 500
# An index of PostgreSQL takes no more than 2,704 bytes for all columns of a row.
_LONGEST_KEY = 200

_PUT = """
    INSERT INTO links (workspace_id, file_id, number, kind, embed, target, heading, first_key,
        second_key)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
_STORED = """
    SELECT file_id, number, kind, embed, target, heading, first_key, second_key FROM links
    WHERE workspace_id = $1 AND file_id IN ($names)
"""


class LinkRow(NamedTuple):
    """A link, once however often the note has it, and the keys that it is looked up under."""

    kind: LinkKind
    embed: bool
    target: str
    heading: str
    first_key: str | None
    second_key: str | None


def stored_key(key: str) -> str:
    """Answer a key as it is stored: a long one is known by its digest."""
    if len(key) <= _LONGEST_KEY:
        return key
    return f"#{hashlib.blake2b(key.encode(), digest_size=32).hexdigest()}"


def stored_rank(path: str, file_id: FileId) -> str:
    """Answer what files under one key are sorted by, as it is stored: with the id behind it."""
    # A path holds no tab, and all that it holds comes behind one.
    return f"{place_rank(path)}\t{file_id}"


def read_rank(rank: str) -> tuple[str, FileId]:
    """Answer the path and the id in a `stored_rank`."""
    path, _, file_id = rank[RANK_DIGITS:].partition("\t")
    return path, FileId(file_id)


def link_rows(text: str, path: str) -> list[LinkRow]:
    """Answer the rows of all links of the note at ``path``, in their order.

    Those that are too long to lead anywhere, and would help nobody who mends links, are left out.
    """
    kinds = {(each.kind, each.embed, each.target, each.heading): None for each in links_of(text)}
    rows: list[LinkRow] = []
    for kind, embed, target, heading in kinds:
        # PostgreSQL stores no NUL, and no path holds one.
        if len(target) <= LONGEST_TARGET and "\0" not in target:
            shown = heading[:LONGEST_HEADING].replace("\0", "\ufffd")
            rows.append(_row(kind, embed, target, shown, path))
    return list(dict.fromkeys(rows))


def rekeyed(rows: Iterable[LinkRow], path: str) -> list[LinkRow]:
    """Answer the rows of a note that is at ``path`` now."""
    return [_row(*row[:4], path) for row in rows]


def _row(kind: LinkKind, embed: bool, target: str, heading: str, path: str) -> LinkRow:
    keys = [stored_key(key) for key in keys_of_link(kind, target, path)]
    first, second = (*keys, None, None)[:2]
    return LinkRow(kind, embed, target, heading, first, second)


async def stored_links(
    transaction: Transaction, workspace_id: WorkspaceId, file_ids: Sequence[FileId]
) -> dict[FileId, list[LinkRow]]:
    """Answer the rows of files in their order; nothing for one without."""
    found: dict[FileId, list[LinkRow]] = {}
    rows = await fetch_named(transaction, _STORED, workspace_id, file_ids)
    for row in sorted(rows, key=lambda row: (row[0], row[1])):
        found.setdefault(row[0], []).append(LinkRow(row[2], bool(row[3]), *row[4:]))
    return found


async def put_links(
    transaction: Transaction, workspace_id: WorkspaceId, files: Mapping[FileId, Sequence[LinkRow]]
) -> None:
    """Keep the rows of files that have none."""
    rows: list[tuple[Value, ...]] = [
        (workspace_id, file_id, number, row.kind, int(row.embed), *row[2:])
        for file_id, links in files.items()
        for number, row in enumerate(links)
    ]
    if rows:
        await transaction.execute_many(_PUT, rows)
