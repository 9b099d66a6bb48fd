"""The blob store of the service: a folder of the data folder, or an object store."""

from typing import NamedTuple

from octavo.settings import KernelSettings
from octavo.store import blobs

FOLDER = "blobs"
"""The folder of the blobs in the data folder."""
STAGING = "staging"
"""The folder in the data folder for files that are being stored or fetched."""


def open_blobs(settings: KernelSettings) -> blobs.BlobStore:
    """Return the blob store that ``settings`` name.

    Raises `octavo.store.blobs.BlobsUnusable` when the environment does not configure an object
    store correctly. No request is sent: a store that is down does not prevent the start.
    """
    if settings.object_store:
        # An installation with blobs in a folder does not load obstore.
        from octavo.store.blobs.object_store import open_object_store  # noqa: PLC0415

        return open_object_store(settings.object_store)
    return blobs.LocalBlobs(settings.data_dir.absolute() / FOLDER)


class BlobFolders(NamedTuple):
    """The blob store, and the folder of temporary files for it."""

    blobs: blobs.BlobStore
    staging: blobs.Staging


async def open_blob_folders(settings: KernelSettings, name: str) -> BlobFolders:
    """Open the blob store, and remove temporary files that a killed server left.

    Only the server that holds the data folder may call this, with a ``name`` never used before.
    Raises `octavo.store.blobs.BlobsUnavailable`.
    """
    # Worker processes, whose working folder differs, receive paths in it.
    staging = settings.data_dir.absolute() / STAGING
    return BlobFolders(open_blobs(settings), await blobs.open_staging(staging, name))
