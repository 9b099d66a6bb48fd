"""The parts of the service that receive, keep and show images."""

from typing import NamedTuple

from greenroom import Supervisor, WorkerContext, WorkerSpec

from octavo.access.entropy import new_entropy, new_id, now
from octavo.actors.jobs.blob_collection import BlobCollectionJob
from octavo.features.images.blob_writer import BlobWriter
from octavo.features.images.image_work import ImageWork, image_workers
from octavo.features.images.thumbnails import Thumbnails
from octavo.features.images.uploading import ImageUploads
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.settings import Settings
from octavo.store import Store
from octavo.store.blobs import BlobStore, Staging, open_staging
from octavo.store.open_blobs import STAGING, open_blobs


class BlobFolders(NamedTuple):
    """Where images are stored, and the files on their way there."""

    blobs: BlobStore
    staging: Staging


class Attachments(NamedTuple):
    """The use cases of images, and the blob store."""

    blobs: BlobStore
    staging: Staging
    writer: BlobWriter
    uploads: ImageUploads
    thumbnails: Thumbnails
    collection: BlobCollectionJob


async def open_blob_folders(settings: Settings) -> BlobFolders:
    """Open the blob store, and remove files that a server that died left on their way.

    Only the server that holds the data folder may call it. Raises
    `octavo.store.blobs.BlobsUnavailable`.
    """
    # Worker processes, which have another working folder, get paths in it.
    staging = settings.data_dir.absolute() / STAGING
    return BlobFolders(open_blobs(settings), await open_staging(staging, new_id()))


def add_attachments(
    root: Supervisor,
    settings: Settings,
    store: Store,
    folders: BlobFolders,
    meter: UsageMeter,
    storage: StorageQuota,
) -> Attachments:
    """Add the workers of images, and the collection of blobs; nothing runs yet."""
    blobs, staging = folders
    workers = image_workers(staging.path)
    work = ImageWork(workers.run)
    writer = BlobWriter(store, blobs, now=now, new_entropy=new_entropy, meter=meter)
    uploads = ImageUploads(
        store,
        writer,
        staging,
        work,
        now=now,
        new_id=new_id,
        storage=storage,
        removes_metadata=settings.remove_image_metadata,
    )
    thumbnails = Thumbnails(store, blobs, writer, staging, work, new_id=new_id)
    collection = BlobCollectionJob(store, blobs, now)

    async def run_workers(worker: WorkerContext) -> None:
        await workers.serve()

    async def collect(worker: WorkerContext) -> None:
        await collection.run()

    root.add(WorkerSpec("images", run_workers))
    root.add(WorkerSpec("blobs", collect))
    return Attachments(blobs, staging, writer, uploads, thumbnails, collection)
