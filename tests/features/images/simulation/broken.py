"""Services whose blobs are broken on purpose."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from octavo_rules.identity import AccountId, Digest, WorkspaceId

from octavo.actors.jobs import housekeeping
from octavo.features.images import blob_writer
from octavo.features.images import sql as uploads
from octavo.features.images.blob_writer import BlobWriter
from octavo.features.images.image_work import WrittenFile
from octavo.features.images.sql import Upload
from octavo.features.images.uploading import ImageUploads, IncomingImage
from octavo.store import Script, Store, Transaction
from octavo.store.blobs import BlobKey, BlobStore, StagedFile, blob_key
from octavo.store.queries import blobs
from tests.simulation.blob_disk import ProcessBlobs
from tests.simulation.service import simulate
from tests.simulation.simulation import Broken, Simulation


def commit_before_put(patch: pytest.MonkeyPatch) -> None:
    """An upload is committed before its bytes are stored."""
    waiting: list[tuple[BlobKey, WrittenFile]] = []
    store = ImageUploads.store

    async def reserve(self: BlobWriter, file: WrittenFile) -> BlobKey:
        key = blob_key(file.digest, self._new_entropy())
        new = blobs.NewBlob(key, file.digest, file.size, file.crc)
        await self._store.write(blobs.reserve([new], int((self._now() + 3600) * 1000)))
        waiting.append((key, file))
        return key

    async def store_early(
        self: ImageUploads,
        workspace_id: WorkspaceId,
        account_id: AccountId,
        incoming: IncomingImage,
    ) -> Upload:
        upload = await store(self, workspace_id, account_id, incoming)
        for key, file in waiting:
            if file.path == incoming.staged.path:
                await self._writer._blobs.put(key, file.path)
        return upload

    patch.setattr(BlobWriter, "put", reserve)
    patch.setattr(ImageUploads, "store", store_early)


def forget_to_make_the_rename_durable(patch: pytest.MonkeyPatch) -> None:
    """A put returns before the blob would survive a power failure."""
    put = ProcessBlobs.put

    async def put_in_memory(self: ProcessBlobs, key: BlobKey, source: object) -> None:
        disk = self._disk
        file = self._staging.files[source]  # type: ignore[index]
        await put(self, key, file.path)
        disk.durable.pop(key)

    patch.setattr(ProcessBlobs, "put", put_in_memory)


def forget_to_make_the_bytes_durable(patch: pytest.MonkeyPatch) -> None:
    """An uploaded file is moved to the blobs while its bytes are in memory."""

    async def finish(self: StagedFile) -> Digest:
        await self._flush()
        return Digest(self._hash.hexdigest())

    patch.setattr(StagedFile, "finish", finish)


def ignore_the_grace(patch: pytest.MonkeyPatch) -> None:
    """A blob may be collected as soon as it is announced."""
    patch.setattr(blob_writer, "GRACE_SECONDS", -1e6)


def delete_before_the_row(patch: pytest.MonkeyPatch) -> None:
    """A blob is deleted while its row says that it can be shared."""
    collect = housekeeping.collect_blobs

    def unused(now: int) -> Script[list[BlobKey]]:
        async def find(transaction: Transaction) -> list[BlobKey]:
            rows = await transaction.fetch_all("SELECT key FROM blobs WHERE check_at <= $1", now)
            found = [BlobKey(row[0]) for row in rows]
            return [each for each in found if not await _is_used(transaction, each)]

        return find

    async def step(
        store: Store,
        stored: BlobStore,
        now: Callable[[], float],
        expired: Sequence[Callable[[int], Script[bool]]],
    ) -> bool:
        for key in await store.read(unused(int(now() * 1000))):
            await stored.delete(key)
        return await collect(store, stored, now, expired)

    patch.setattr(housekeeping, "collect_blobs", step)


def collect_without_looking(patch: pytest.MonkeyPatch) -> None:
    """A blob that lost one reference is deleted whoever else refers to it."""
    patch.setattr(blobs, "_USED", "0 = 1 OR $1 = ''")


def forget_before_the_deletion(patch: pytest.MonkeyPatch) -> None:
    """A blob is no longer to be deleted before it was."""
    forget = blobs.forget

    async def step(
        store: Store, stored: BlobStore, now: Callable[[], float], _: Sequence[object]
    ) -> bool:
        at = int(now() * 1000)
        if await store.write(uploads.expire(at - 3_600_000)):
            return True
        more = await store.write(blobs.check_some(at))
        keys: Sequence[BlobKey] = await store.read(blobs.to_delete())
        await store.write(forget(keys))
        for key in keys:
            await stored.delete(key)
        return more or bool(keys)

    patch.setattr(housekeeping, "collect_blobs", step)


async def _is_used(transaction: Transaction, key: BlobKey) -> bool:
    row = await transaction.fetch_one(f"SELECT {blobs._USED}", key)
    return row is not None and bool(row[0])


def expire_uploads_at_once(patch: pytest.MonkeyPatch) -> None:
    """Uploads are removed when the job runs, however young."""
    expire = uploads.expire
    patch.setattr(uploads, "expire", lambda before: expire(before + 100 * 86_400_000))


BROKEN = Broken(
    "service",
    Simulation(partial(simulate, together=False, images=True), 600),
    {
        commit_before_put: "named blob .* is missing now",
        forget_to_make_the_rename_durable: "named blob .* is missing after a power failure",
        forget_to_make_the_bytes_durable: "named blob .* is torn after a power failure",
        ignore_the_grace: "still there, and nobody names it|within its grace",
        delete_before_the_row: "named blob .* is missing|are left of purged files",
        collect_without_looking: "named blob .* is missing",
        forget_before_the_deletion: "still there, and nobody names it",
        expire_uploads_at_once: "the upload .* has expired",
    },
)
"""What is left out, and the message of the first failing schedule."""
