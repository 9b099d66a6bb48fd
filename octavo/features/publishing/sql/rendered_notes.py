"""The HTML of published notes, stored by the numbers of their texts.

A row is deleted with its text: what was purged can't be read here either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo_rules.identity import FileId

from octavo.store.compression import decompressed
from octavo.store.transaction import Script, Transaction

MAX_DROPPED = 32
"""Rows that are dropped at a time."""

_FIND = """
    SELECT compressed, used_at FROM rendered_notes
    WHERE content = $1 AND digest = $2 AND version = $3
"""
# The number of a purged text may belong to another text now. Then nothing is read or stored.
_TEXT = """
    SELECT contents.compressed FROM files JOIN contents ON contents.pk = files.content
    WHERE files.workspace = $1 AND files.file_id = $2::uuid AND files.content = $3
        AND files.digest = $4
"""
_PUT = """
    INSERT INTO rendered_notes (content, digest, version, compressed, size, used_at)
    SELECT $3, $4, $5, $6, $7, $8 WHERE EXISTS (
        SELECT 1 FROM files WHERE workspace = $1 AND file_id = $2::uuid AND content = $3
            AND digest = $4
    )
    ON CONFLICT (content) DO UPDATE SET digest = excluded.digest, version = excluded.version,
        compressed = excluded.compressed, size = excluded.size, used_at = excluded.used_at
"""
_USED = "UPDATE rendered_notes SET used_at = $2 WHERE content = $1"
_DELETE = "DELETE FROM rendered_notes WHERE content = $1"
_OLDEST = "SELECT content, size FROM rendered_notes ORDER BY used_at LIMIT $1"


class TextSource(NamedTuple):
    """The text of the head of a note: where it is, and what it is.

    ``workspace`` is the number of the workspace, ``content`` that of the text, ``digest`` the
    SHA-256 digest of the text.
    """

    workspace: int
    file_id: FileId
    content: int
    digest: bytes


class NewRendering(NamedTuple):
    """A rendered note to be kept; ``compressed`` as `octavo.store.compression` does."""

    source: TextSource
    version: int
    compressed: bytes


def find(source: TextSource, version: int) -> Script[tuple[str, int] | None]:
    """Return what was kept for a text, and when it was last used (ms); None without it."""

    async def read_rendered(transaction: Transaction) -> tuple[str, int] | None:
        row = await transaction.fetch_one(_FIND, source.content, source.digest, version)
        return None if row is None else (read_kept(row[0], source), row[1])

    return read_rendered


def text_to_render(source: TextSource) -> Script[bytes | None]:
    """Return a text, compressed as it is stored; None if it is not the head any more."""

    async def read_text(transaction: Transaction) -> bytes | None:
        row = await transaction.fetch_one(_TEXT, *source)
        return None if row is None else bytes(row[0])

    return read_text


def read_kept(data: bytes, source: TextSource) -> str:
    """Return what was compressed to be kept. Raises `TextDamaged`."""
    return decompressed(data, source.file_id)


def keep(new: Sequence[NewRendering], used: Sequence[int], now: int) -> Script[None]:
    """Keep rendered notes, and record that others were used; ``now`` is in milliseconds."""

    async def keep_rendered(transaction: Transaction) -> None:
        rows = [
            (*rendering.source, rendering.version, rendering.compressed, len(rendering.compressed))
            for rendering in new
        ]
        await transaction.execute_many(_PUT, [(*row, now) for row in rows])
        await transaction.execute_many(_USED, [(content, now) for content in used])

    return keep_rendered


async def kept_bytes(transaction: Transaction) -> int:
    """Return the sum of the compressed sizes."""
    row = await transaction.fetch_one("SELECT COALESCE(SUM(size), 0) FROM rendered_notes")
    return 0 if row is None else int(row[0])


async def drop_oldest(transaction: Transaction) -> int:
    """Delete some of the least recently used notes; return the sum of their sizes."""
    rows = await transaction.fetch_all(_OLDEST, MAX_DROPPED)
    await transaction.execute_many(_DELETE, [(row[0],) for row in rows])
    return sum(row[1] for row in rows)
