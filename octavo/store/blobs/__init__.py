"""Blobs: immutable files of bytes outside the database, such as images.

A blob is stored before the transaction that refers to it commits, and deleted after the
transaction that removes its last reference (`octavo.store.queries.blobs`).

The names of `object_store` are loaded on first access: an installation with blobs in a folder does
not need obstore.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from octavo.store.blobs.blob_store import (
    BlobDamaged,
    BlobKey,
    BlobMissing,
    BlobsFull,
    BlobStore,
    BlobsUnavailable,
    BlobsUnusable,
    blob_key,
)
from octavo.store.blobs.local import LocalBlobs
from octavo.store.blobs.staging import StagedFile, Staging, open_staging

if TYPE_CHECKING:
    from octavo.store.blobs.object_store import ObjectBlobs, open_object_store

_FROM_OBJECT_STORE = {"ObjectBlobs", "open_object_store"}

__all__ = [
    "BlobDamaged",
    "BlobKey",
    "BlobMissing",
    "BlobStore",
    "BlobsFull",
    "BlobsUnavailable",
    "BlobsUnusable",
    "LocalBlobs",
    "ObjectBlobs",
    "StagedFile",
    "Staging",
    "blob_key",
    "open_object_store",
    "open_staging",
]


def __getattr__(name: str) -> object:
    if name in _FROM_OBJECT_STORE:
        return getattr(import_module("octavo.store.blobs.object_store"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
