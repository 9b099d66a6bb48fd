"""The blob store of the service."""

from octavo.settings import Settings
from octavo.store.blobs import BlobStore, LocalBlobs

FOLDER = "blobs"
"""The folder of the blobs in the data folder."""
STAGING = "staging"
"""The folder of files on their way to the blob store and from it, in the data folder."""


def open_blobs(settings: Settings) -> BlobStore:
    """Return the blob store that ``settings`` name."""
    return LocalBlobs(settings.data_dir / FOLDER)
