"""Blobs: immutable files of bytes outside the database, such as images.

A blob is stored before the transaction that refers to it commits, and deleted after the
transaction that removes its last reference (`octavo.store.queries.blobs`).

`object_store` is not imported here: an installation with blobs in a folder does not load obstore.
"""

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

__all__ = [
    "BlobDamaged",
    "BlobKey",
    "BlobMissing",
    "BlobStore",
    "BlobsFull",
    "BlobsUnavailable",
    "BlobsUnusable",
    "LocalBlobs",
    "StagedFile",
    "Staging",
    "blob_key",
    "open_staging",
]
