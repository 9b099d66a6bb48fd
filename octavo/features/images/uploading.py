"""Receive uploaded images: stream them to a file, prove that they are images, store them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from attrs import define, field
from octavo_rules.identity import AccountId, Digest, WorkspaceId

from octavo.features.images import sql as uploads
from octavo.features.images.blob_writer import BlobWriter
from octavo.features.images.image_work import ImageWork, InspectedImage, WrittenFile
from octavo.features.images.worker.image_file import media_type_of
from octavo.features.usage.storage import StorageQuota
from octavo.model.files import image as model
from octavo.model.files.image import MediaTypeMismatch, ObjectId, UploadedImage
from octavo.model.image_limits import MAX_BYTES
from octavo.store import Store
from octavo.store.blobs import StagedFile, Staging

LIFETIME_SECONDS = 86_400.0
"""Seconds after which an image that was not attached expires (contract, "Attachments")."""
_MAGIC_SIZE = 32
# The type of unknown bytes declares nothing. The aliases are common, but not registered.
_UNDECLARED = (None, "application/octet-stream")
_ALIASES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}


@define(eq=False)
class ImageUploads:
    """Receives images that are to be attached to files.

    Args:
        store: the database.
        writer: stores blobs.
        staging: files on their way to the blob store.
        work: inspects images.
        now: the clock, in seconds of Unix time.
        new_id: returns an id.
        storage: limits the storage of the owners of workspaces.
        removes_metadata: remove what identifies people and places from images.
    """

    _store: Store
    _writer: BlobWriter
    _staging: Staging
    _work: ImageWork
    _now: Callable[[], float]
    _new_id: Callable[[], str]
    _storage: StorageQuota
    _removes_metadata: bool = False

    async def require_room(self, workspace_id: WorkspaceId) -> None:
        """Raise `StorageLimitReached` if a workspace has no room for any image.

        Raises also `octavo.store.StoreUnavailable`.
        """
        await self._storage.require(workspace_id, 1)

    @asynccontextmanager
    async def receiving(self, name: str, media_type: str | None) -> AsyncIterator["IncomingImage"]:
        """Receive an image in the block.

        ``name`` is the name of the file, ``media_type`` its declared type; None without one. Raises
        `octavo.store.blobs.BlobsUnavailable`.
        """
        object_id = ObjectId(self._new_id())
        async with self._staging.file(object_id) as staged:
            yield IncomingImage(self, object_id, staged, name, media_type)

    async def store(
        self, workspace_id: WorkspaceId, account_id: AccountId, incoming: "IncomingImage"
    ) -> uploads.Upload:
        """Prove that a complete file is an image and store it; see `IncomingImage.finish`."""
        staged = incoming.staged
        digest = await staged.finish()
        if incoming.declared_digest not in (None, digest):
            raise model.DigestMismatch
        received = WrittenFile(staged.path, digest, staged.size, staged.crc)
        async with self._staging.place(f"{incoming.object_id}.out") as out:
            if self._removes_metadata:
                facts = await self._work.inspect_without_metadata(staged.path, out)
            else:
                facts = await self._work.inspect(staged.path)
            if facts.media_type != incoming.checked_type():
                raise MediaTypeMismatch("The file is of another type than its first bytes say.")
            file = facts.written or received
            image = _uploaded(incoming.object_id, file, facts)
            expires_at = int((self._now() + LIFETIME_SECONDS) * 1000)
            upload = uploads.Upload(workspace_id, account_id, image, expires_at)
            # Before the look-up: otherwise a refusal would reveal which bytes others have stored.
            await self._writer.require_writes()
            await self._storage.require(workspace_id, image.size)
            # Count it before it is stored, so that concurrent uploads don't exceed the limit.
            self._storage.grew(workspace_id, image.size)
            try:
                stored = await self._store.write(uploads.add_stored(upload))
                if not stored:
                    key = await self._writer.put(file)
                    await self._store.write(uploads.add(upload, key))
            except BaseException:
                self._storage.grew(workspace_id, -image.size)
                raise
            if stored:
                await self._writer.heal(file)
        return upload


@define(eq=False)
class IncomingImage:
    """An image that is being received. Created by `ImageUploads.receiving`.

    Attributes:
        object_id: the id of the upload.
        staged: the file.
        declared_digest: the SHA-256 digest that the client declared; None without one. May be set
            until `finish`.
    """

    _uploads: ImageUploads
    object_id: ObjectId
    staged: StagedFile
    _name: str
    _media_type: str | None
    declared_digest: Digest | None = field(default=None, init=False)
    _beginning: bytes = field(default=b"", init=False)

    async def write(self, chunk: bytes) -> None:
        """Receive the next bytes.

        Raises `MediaTypeMismatch`, `ImageTooLarge` and `octavo.store.blobs.BlobsUnavailable`. Then,
        and when cancelled, nothing is stored.
        """
        if len(self._beginning) < _MAGIC_SIZE:
            self._beginning += chunk[:_MAGIC_SIZE]
            if len(self._beginning) >= _MAGIC_SIZE:
                self.checked_type()
        if self.staged.size + len(chunk) > MAX_BYTES:
            raise model.ImageTooLarge(MAX_BYTES)
        await self.staged.write(chunk)

    def checked_type(self) -> str:
        """Return the media type on which the first bytes, the name and the declaration agree.

        Raises `MediaTypeMismatch`.
        """
        actual = media_type_of(self._beginning)
        if actual is None:
            *others, last = model.IMAGE_NAMES.values()
            accepted = f"{', '.join(others)} or {last}"
            raise MediaTypeMismatch(f"The file is not an image of an accepted type: {accepted}.")
        if model.media_type_of_name(self._name) != actual:
            raise MediaTypeMismatch(
                f"The file is a {model.IMAGE_NAMES[actual]} image, but its name does not end with "
                f"{model.endings_of(actual)}: rename the file."
            )
        declared = self._media_type
        if declared not in _UNDECLARED and _ALIASES.get(declared or "", declared) != actual:
            raise MediaTypeMismatch(
                f"The file is {actual}, but is declared as {declared}: declare what it is."
            )
        return actual

    async def finish(self, workspace_id: WorkspaceId, account_id: AccountId) -> uploads.Upload:
        """Store the image, and return the upload, which expires.

        The bytes are durable then. The same bytes are stored once.

        Raises:
            MediaTypeMismatch: it is no image of an accepted type, or its name, its declared type
                and its bytes do not agree.
            UnacceptableImage: it is damaged, or exceeds a limit.
            DigestMismatch: its bytes do not have the declared digest.
            StorageLimitReached: an owner of the workspace has no room for it.
            WriteLimitReached: the installation may write no more objects in this month.
            UploaderGone: the account has left the workspace.
            BlobsUnavailable: the blob store failed.
            StoreUnavailable: the database failed.
            WorkerFailed: there is no process that inspects the image.

        If it fails or is cancelled, nothing refers to bytes that were stored; they are collected.
        """
        self.checked_type()
        return await self._uploads.store(workspace_id, account_id, self)


def _uploaded(object_id: ObjectId, file: WrittenFile, facts: InspectedImage) -> UploadedImage:
    return UploadedImage(
        object_id, file.digest, file.size, facts.media_type, facts.width, facts.height, facts.frames
    )
