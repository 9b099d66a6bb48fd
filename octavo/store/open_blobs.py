"""The blob store of the service: a folder of the data folder, or an object store."""

from typing import NamedTuple

from octavo.settings import KernelSettings
from octavo.store import blobs

FOLDER = "blobs"
"""The folder of the blobs in the data folder."""
STAGING = "staging"
"""The folder of files on their way to the blob store and from it, in the data folder."""


def open_blobs(settings: KernelSettings) -> blobs.BlobStore:
    """Return the blob store that ``settings`` name.

    Raises `octavo.store.blobs.BlobsUnusable` when an object store can't be used as the environment
    configures it. Nothing is sent to it: an object store that is away does not prevent the start.
    """
    if settings.object_store:
        # An installation with blobs in a folder does not load obstore.
        from octavo.store.blobs.object_store import open_object_store  # noqa: PLC0415

        return open_object_store(settings.object_store)
    return blobs.LocalBlobs(settings.data_dir.absolute() / FOLDER)


class BlobFolders(NamedTuple):
    """Where images are stored, and the files on their way there."""

    blobs: blobs.BlobStore
    staging: blobs.Staging


async def open_blob_folders(settings: KernelSettings, name: str) -> BlobFolders:
    """Open the blob store, and remove files that a server that died left on their way.

    Only the server that holds the data folder may call it, with a ``name`` that no other had.
    Raises `octavo.store.blobs.BlobsUnavailable`.
    """
    # Worker processes, which have another working folder, get paths in it.
    staging = settings.data_dir.absolute() / STAGING
    return BlobFolders(open_blobs(settings), await blobs.open_staging(staging, name))
