"""The use cases of images, with blobs in memory and without worker processes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from octavo.features.images.blob_writer import BlobWriter
from octavo.features.images.image_work import ImageWork
from octavo.features.images.thumbnails import Thumbnails
from octavo.features.images.uploading import ImageUploads
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.store import Store
from octavo.store.blobs import Staging, open_staging
from tests.fakes.inline_work import run_inline
from tests.fakes.memory_blobs import MemoryBlobs


@dataclass
class ImagesRig:
    """The parts, and the folder of files on their way."""

    blobs: MemoryBlobs
    staging: Staging
    folder: Path
    writer: BlobWriter
    uploads: ImageUploads
    thumbnails: Thumbnails


@asynccontextmanager
async def images_rig(
    store: Store,
    *,
    now: Callable[[], float],
    new_id: Callable[[], str],
    new_entropy: Callable[[], bytes],
    meter: UsageMeter,
    storage: StorageQuota,
    removes_metadata: bool = False,
) -> AsyncIterator[ImagesRig]:
    """Build the parts over a database."""
    with TemporaryDirectory() as name:
        await open_staging(Path(name), "staged")
        yield images_in(
            Path(name),
            store,
            now=now,
            new_id=new_id,
            new_entropy=new_entropy,
            meter=meter,
            storage=storage,
            removes_metadata=removes_metadata,
        )


def images_in(
    folder: Path,
    store: Store,
    *,
    now: Callable[[], float],
    new_id: Callable[[], str],
    new_entropy: Callable[[], bytes],
    meter: UsageMeter,
    storage: StorageQuota,
    removes_metadata: bool = False,
) -> ImagesRig:
    """Build the parts over a database; files on their way are in the subfolder ``staged``."""
    staged = folder / "staged"
    staging, blobs, work = Staging(staged), MemoryBlobs(), ImageWork(run_inline)
    writer = BlobWriter(store, blobs, now=now, new_entropy=new_entropy, meter=meter)
    uploads = ImageUploads(
        store,
        writer,
        staging,
        work,
        now=now,
        new_id=new_id,
        storage=storage,
        removes_metadata=removes_metadata,
    )
    thumbnails = Thumbnails(store, blobs, writer, staging, work, new_id=new_id)
    return ImagesRig(blobs, staging, staged, writer, uploads, thumbnails)
