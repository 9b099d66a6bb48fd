"""The parts of the service that receive, keep and show images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.access.entropy import new_entropy, new_id, now
from octavo.features.images import sql
from octavo.features.images.blob_writer import BlobWriter
from octavo.features.images.image_work import ImageWork, image_workers
from octavo.features.images.settings import ImageSettings
from octavo.features.images.thumbnails import Thumbnails
from octavo.features.images.uploading import ImageUploads
from octavo.kernel import Feature, Kernel, Parts, worker
from octavo.store.transaction import Listeners

if TYPE_CHECKING:
    from octavo.features.usage.feature import Usage

ATTACHING_SECONDS = 3600.0
"""Seconds for which an expired upload is kept: a change that attaches it may be under way."""

FEATURE = Feature(
    "images",
    listeners=Listeners(
        workspace_deleted=[sql.end_uploads_of_workspace],
        account_removing=[sql.end_uploads_of_account],
    ),
    expired_blobs=[lambda now: sql.expire(now - int(ATTACHING_SECONDS * 1000))],
)


@dataclass(frozen=True)
class Images:
    """The use cases of images."""

    parts: Parts
    writer: BlobWriter
    uploads: ImageUploads
    thumbnails: Thumbnails


def images_feature(kernel: Kernel, settings: ImageSettings, usage: Usage) -> Images:
    """Return the feature; nothing runs yet."""
    store, blobs, staging = kernel.store, kernel.blobs, kernel.staging
    workers = image_workers(staging.path)
    work = ImageWork(workers.run)
    writer = BlobWriter(store, blobs, now=now, new_entropy=new_entropy, meter=usage.meter)
    uploads = ImageUploads(
        store,
        writer,
        staging,
        work,
        now=now,
        new_id=new_id,
        storage=usage.storage,
        removes_metadata=settings.remove_image_metadata,
    )
    thumbnails = Thumbnails(store, blobs, writer, staging, work, new_id=new_id)
    parts = Parts(workers=[worker("images", workers.serve)])
    return Images(parts, writer, uploads, thumbnails)
