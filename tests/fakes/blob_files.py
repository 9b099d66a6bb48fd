"""Data folders with blobs that no server made."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import trio
from octavo_rules.identity import Digest

from octavo.store import Transaction
from octavo.store.blobs import BlobKey, blob_key
from octavo.store.blobs.blob_store import path_of_key
from octavo.store.open_blobs import FOLDER
from octavo.store.queries.blobs import NewBlob, mark_stored, reserve
from tests.fakes.stores import open_sqlite


def key_of(data: bytes) -> BlobKey:
    """Return the key that `add_blobs` gives to a blob."""
    return blob_key(Digest(hashlib.sha256(data).hexdigest()), b"\0\0\0\0")


def add_blobs(folder: Path, blobs: list[bytes]) -> None:
    """Store blobs in a data folder, which is created, and record them in its database."""
    keys = [key_of(data) for data in blobs]
    rows = [
        NewBlob(key, Digest(key[:64]), len(data), 0) for key, data in zip(keys, blobs, strict=True)
    ]

    async def mark_all(transaction: Transaction) -> None:
        for key in keys:
            await mark_stored(transaction, key)

    async def add_rows() -> None:
        async with open_sqlite(folder) as store:
            await store.write(reserve(rows, 0))
            await store.write(mark_all)

    trio.run(add_rows)
    write_blobs(folder / FOLDER, blobs)


def forget_blobs(folder: Path, blobs: list[bytes]) -> None:
    """Remove blobs from a data folder, and from its database, as the collection does."""

    async def delete_rows(transaction: Transaction) -> None:
        for data in blobs:
            await transaction.execute("DELETE FROM blobs WHERE key = $1", key_of(data))

    async def write() -> None:
        async with open_sqlite(folder) as store:
            await store.write(delete_rows)

    trio.run(write)
    for data in blobs:
        blob_path(folder / FOLDER, data).unlink()


def blob_path(folder: Path, data: bytes) -> Path:
    """Return where a blob is in a folder of blobs."""
    return folder / path_of_key(key_of(data))


def write_blobs(folder: Path, blobs: list[bytes]) -> None:
    """Write blobs to a folder."""
    for data in blobs:
        path = blob_path(folder, data)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o600)


def files_in(folder: Path) -> Mapping[str, bytes]:
    """Return the files below a folder, by their names."""
    return {each.name: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def named(blobs: list[bytes]) -> Mapping[str, bytes]:
    """Return blobs by their keys, as `files_in` does."""
    return {key_of(data): data for data in blobs}
