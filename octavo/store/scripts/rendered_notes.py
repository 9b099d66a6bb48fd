"""The HTML of published notes, kept by the numbers of their texts.

A row goes with its text: what was purged can't be read here either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo.store.compression import decompressed
from octavo.store.transaction import Script, Transaction

MAX_DROPPED = 32
"""Rows that are dropped at a time."""

_FIND = "SELECT compressed, used_at FROM rendered_notes WHERE content = $1 AND version = $2"
# The text may have been purged meanwhile.
_PUT = """
    INSERT INTO rendered_notes (content, version, compressed, size, used_at)
    SELECT $1, $2, $3, $4, $5 WHERE EXISTS (SELECT 1 FROM contents WHERE number = $1)
    ON CONFLICT (content) DO UPDATE SET version = excluded.version,
        compressed = excluded.compressed, size = excluded.size, used_at = excluded.used_at
"""
_USED = "UPDATE rendered_notes SET used_at = $2 WHERE content = $1"
_DELETE = "DELETE FROM rendered_notes WHERE content = $1"
_OLDEST = "SELECT content, size FROM rendered_notes ORDER BY used_at LIMIT $1"


class NewRendering(NamedTuple):
    """A rendered note to be kept; ``compressed`` as `octavo.store.compression` does."""

    content: int
    version: int
    compressed: bytes


def find(content: int, version: int) -> Script[tuple[str, int] | None]:
    """Return what was kept for a text, and when it was last used (ms); None without it."""

    async def read_rendered(transaction: Transaction) -> tuple[str, int] | None:
        row = await transaction.fetch_one(_FIND, content, version)
        return None if row is None else (read_kept(row[0], content), row[1])

    return read_rendered


def text_to_render(content: int) -> Script[bytes | None]:
    """Return a text by its number, compressed as it is stored; None if it was purged."""

    async def read_text(transaction: Transaction) -> bytes | None:
        row = await transaction.fetch_one(
            "SELECT compressed FROM contents WHERE number = $1", content
        )
        return None if row is None else bytes(row[0])

    return read_text


def read_kept(data: bytes, content: int) -> str:
    """Return what was compressed to be kept. Raises `TextDamaged`."""
    return decompressed(data, str(content))


def keep(new: Sequence[NewRendering], used: Sequence[int], now: int) -> Script[None]:
    """Keep rendered notes, and record that others were used; ``now`` is in milliseconds."""

    async def keep_rendered(transaction: Transaction) -> None:
        rows = [(each.content, each.version, each.compressed, len(each.compressed)) for each in new]
        await transaction.execute_many(_PUT, [(*row, now) for row in rows])
        await transaction.execute_many(_USED, [(content, now) for content in used])

    return keep_rendered


def kept_bytes() -> Script[int]:
    """Return the sum of the compressed sizes."""

    async def read_sum(transaction: Transaction) -> int:
        row = await transaction.fetch_one("SELECT COALESCE(SUM(size), 0) FROM rendered_notes")
        return 0 if row is None else int(row[0])

    return read_sum


def drop_oldest() -> Script[int]:
    """Delete some of those that were unused the longest; return the sum of their sizes."""

    async def delete_oldest(transaction: Transaction) -> int:
        rows = await transaction.fetch_all(_OLDEST, MAX_DROPPED)
        await transaction.execute_many(_DELETE, [(row[0],) for row in rows])
        return sum(row[1] for row in rows)

    return delete_oldest
