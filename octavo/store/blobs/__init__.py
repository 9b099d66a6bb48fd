"""Blobs: immutable files of bytes outside the database, such as images.

A blob is stored before the transaction that refers to it commits, and deleted after the
transaction that removes its last reference (`octavo.store.scripts.blobs`).
"""

from octavo.store.blobs.blob_store import (
    BlobKey,
    BlobMissing,
    BlobsFull,
    BlobStore,
    BlobsUnavailable,
    blob_key,
)
from octavo.store.blobs.local import LocalBlobs
from octavo.store.blobs.staging import StagedFile, Staging, open_staging

__all__ = [
    "BlobKey",
    "BlobMissing",
    "BlobStore",
    "BlobsFull",
    "BlobsUnavailable",
    "LocalBlobs",
    "StagedFile",
    "Staging",
    "blob_key",
    "open_staging",
]
