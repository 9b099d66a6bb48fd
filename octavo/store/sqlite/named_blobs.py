"""The blobs that a database file names."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from octavo_rules.identity import Digest

from octavo.store.blobs import BlobKey
from octavo.store.blobs.blob_store import digest_of_key, is_blob_key
from octavo.store.errors import StoreUnusable
from octavo.store.sqlite.connection import connect_file, failure


class NamedBlob(NamedTuple):
    """A blob, with the SHA-256 digest of its bytes and their number."""

    key: BlobKey
    digest: Digest
    size: int


class NamedBlobs:
    """The blobs that are stored according to a database file; use it as a context manager.

    Every method raises `octavo.store.StoreError`.

    Args:
        database: the file, which nobody changes.
    """

    def __init__(self, database: Path) -> None:
        self._connection = connect_file(database)

    def __enter__(self) -> "NamedBlobs":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def number_and_size(self) -> tuple[int, int]:
        """Return the number of the blobs, and their size in bytes."""
        sql = "SELECT count(*), coalesce(sum(size), 0) FROM blobs WHERE stored = 1"
        with _readable():
            number, size = self._connection.execute(sql).fetchone()
        return number, size

    def __iter__(self) -> Iterator[NamedBlob]:
        """Yield the blobs in the order of their keys. Raises `StoreUnusable` for a wrong key."""
        sql = "SELECT key, digest, size FROM blobs WHERE stored = 1 ORDER BY key"
        with _readable():
            for key, digest, size in self._connection.execute(sql):
                # A key becomes a path.
                if not is_blob_key(key) or digest_of_key(key) != digest.hex():
                    raise StoreUnusable(f"it is damaged: it has no blob {key!r}")
                yield NamedBlob(BlobKey(key), Digest(digest.hex()), size)

    def __contains__(self, key: BlobKey) -> bool:
        sql = "SELECT 1 FROM blobs WHERE key = ? AND stored = 1"
        with _readable():
            return self._connection.execute(sql, (key,)).fetchone() is not None


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise failure(error) from error
