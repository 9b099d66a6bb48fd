"""Upload images and attach them."""

from collections.abc import Callable, Mapping
from typing import Annotated, NamedTuple

from attrs import define
from octavo_rules.identity import WRITE, Digest, FileId, WorkspaceId
from octavo_rules.problems import InvalidContent, InvalidRequest, NotFound
from octavo_rules.schemas import AttachmentUploadResult, FileChange
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import MISSING

from octavo.access.workspaces import Access
from octavo.features.files.api import files
from octavo.features.files.api.changeset_submission import ChangesetSubmitter, expected_heads
from octavo.features.images import sql as uploads
from octavo.features.images.sql import UploaderGone
from octavo.features.images.uploading import ImageUploads
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import PathText, WorkspacePath
from octavo.model.files.changeset import AttachImage
from octavo.model.files.image import ObjectId, UnacceptableImage, UploadedImage, UploadMissing
from octavo.model.image_limits import MAX_BYTES
from octavo.model.refusal import MutationReused
from octavo.model.usage import StorageLimitReached, WriteLimitReached
from octavo.store import Store


class UploadedImages(NamedTuple):
    """Finds uploads for members who may change the workspace.

    Attributes:
        store: the database.
        access: checks the members.
        now: the clock, in seconds of Unix time.
    """

    store: Store
    access: Access
    now: Callable[[], float]

    async def find(
        self, call: contract.Call, workspace_id: WorkspaceId, named: Mapping[FileId, ObjectId]
    ) -> dict[ObjectId, UploadedImage]:
        """Return the uploads of the files that get them.

        Raises `NotFound` or `Forbidden` for callers that may not change the workspace, and
        `UploadMissing` when one does not exist, has expired, or was attached.
        """
        if not named:
            return {}
        await self.access.check(workspace_id, caller_of(call), "write")
        script = uploads.find(workspace_id, [*named.values()], int(self.now() * 1000))
        uploaded = await self.store.read(script)
        for file_id, object_id in named.items():
            if object_id not in uploaded:
                # The id is empty if the server chooses it.
                raise UploadMissing(file_id or None)
        return uploaded


def unknown_image(object_id: ObjectId) -> UploadedImage:
    """Return a placeholder for an upload that is gone, to recognise a repeated change."""
    return UploadedImage(object_id, Digest(""), 0, "", 0, 0, 0)


TRANSFER_SECONDS = 180.0
"""Seconds in which an upload has to progress, and to be inspected after its last byte."""
_FORM_BYTES = 64 * 1024
_SHORT_BODY = 16_384
_LONGEST_NAME = 1024
_DIGEST_LENGTH = 64

_FORM = {
    "type": "object",
    "title": "UploadAttachmentInput",
    "description": "The form of an upload.",
    "properties": {
        "file": {
            **contract.BYTES,
            "description": "The image, with its file name and its media type.",
        },
        "declaredDigest": {
            "type": "string",
            "pattern": "^[0-9A-Fa-f]{64}$",
            "description": "The SHA-256 digest of the image, to be compared.",
        },
    },
    "required": ["file"],
    "additionalProperties": False,
}
_DeclaredDigest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_digests: TypeAdapter[str] = TypeAdapter(_DeclaredDigest)


class ObjectPath(WorkspacePath):
    """An uploaded image."""

    object_id: Annotated[ObjectId, contract.IN_PATH]


class FinalizeAttachmentInput(contract.Model):
    """Which file the image becomes."""

    path: PathText
    """Below attachments/, with an ending of the type of the image."""
    file_id: contract.ChosenIdentifier | MISSING = MISSING
    """The image file to replace, or an id chosen for a new one; if omitted, the server generates
    one.
    """
    mutation_id: contract.Identifier | MISSING = MISSING
    """Makes the change repeatable: sent again, it has one effect and the same response."""


@define(eq=False)
class AttachmentOperations:
    """Uploads of images.

    Args:
        submitter: the actors of the workspaces, and their access control.
        uploads: receives images.
        images: finds uploads.
        texts: finds the receipts of repeated changes.
    """

    _submitter: ChangesetSubmitter
    _uploads: ImageUploads
    _images: UploadedImages
    _texts: files.RevisionTexts

    @contract.operation(
        id="uploadAttachment",
        method="POST",
        path="/api/workspaces/{workspaceId}/attachments",
        tag="attachments",
        summary="Upload an image",
        description="Accepted are PNG, JPEG, GIF and WebP images of at most 32 MiB, 16,384 pixels "
        "a side, 50 million pixels, and 2,000 frames. Width and height are those that are shown, "
        "after the EXIF orientation. The image is temporary until it is attached to a file.",
        scope=WRITE,
        status=201,
        problems=(NotFound, UnacceptableImage, StorageLimitReached, WriteLimitReached),
        body=contract.multipart_body(limit=MAX_BYTES + _FORM_BYTES, schema=_FORM),
        time=TRANSFER_SECONDS,
        renews_time=True,
    )
    async def upload_attachment(
        self, call: contract.Call, path: WorkspacePath, body: contract.MultipartStream
    ) -> AttachmentUploadResult:
        """Receive an image."""
        caller = caller_of(call)
        workspace_id = await self._submitter.access.workspace(caller, path.workspace_id, "write")
        await self._uploads.require_room(workspace_id)
        digest: Digest | None = None
        async for part in body:
            if part.name == "declaredDigest" and part.filename is None:
                digest = await _declared_digest(part)
            elif part.name != "file":
                raise _refused(part.name, "The form has the parts file and declaredDigest alone.")
            else:
                break
        else:
            raise _refused("file", "The part file is missing.")
        if not part.filename or len(part.filename) > _LONGEST_NAME:
            raise _refused("file", "The part needs a file name of at most 1024 characters.")
        async with self._uploads.receiving(part.filename, part.media_type) as incoming:
            async for chunk in part:
                await incoming.write(chunk)
            async for part in body:
                if part.name != "declaredDigest" or part.filename is not None:
                    raise _refused(part.name, "The form has one part file, and declaredDigest.")
                digest = await _declared_digest(part)
            incoming.declared_digest = digest
            try:
                upload = await incoming.finish(workspace_id, caller.account_id)
            except UploaderGone:
                raise NotFound from None
        image = upload.image
        return AttachmentUploadResult(
            object_id=image.object_id,
            digest=image.digest,
            size=image.size,
            media_type=image.media_type,
            width=image.width,
            height=image.height,
            frames=image.frames,
            expires_at=contract.timestamp(upload.expires_at),
        )

    @contract.operation(
        id="finalizeAttachment",
        method="POST",
        path="/api/workspaces/{workspaceId}/attachments/{objectId}/finalize",
        tag="attachments",
        summary="Make an uploaded image a file, or the next revision of one",
        description="To replace the image of an existing file, give its fileId, and its head in "
        "if-match. An upload can be attached once; 404 means that it has expired or was attached.",
        scope=WRITE,
        headers=files.ETAG,
        problems=(
            *files.COMMON_PROBLEMS,
            *files.PATH_PROBLEMS,
            *files.HEAD_PROBLEMS,
            InvalidContent,
            MutationReused,
        ),
        body=contract.json_body(FinalizeAttachmentInput, limit=_SHORT_BODY),
    )
    async def finalize_attachment(
        self,
        call: contract.Call,
        path: ObjectPath,
        headers: files.IfMatch,
        body: FinalizeAttachmentInput,
    ) -> contract.Reply[FileChange]:
        """Attach an image."""
        workspace_id, object_id = path.workspace_id, path.object_id
        chosen = files.UNASSIGNED if body.file_id is MISSING else FileId(body.file_id)
        heads = None if headers.if_match is None else expected_heads(headers.if_match)
        requested = AttachImage(chosen, body.path, unknown_image(object_id), heads)
        try:
            uploaded = await self._images.find(call, workspace_id, {chosen: object_id})
        except UploadMissing:
            before = await self._texts.accepted_before(
                call, workspace_id, body.mutation_id, (requested,)
            )
            if before is None:
                raise
            return files.changed(before)
        file_id = chosen or FileId(self._submitter.new_id())
        attach = AttachImage(file_id, body.path, uploaded[object_id], heads)
        receipt = await self._submitter.push(
            call, workspace_id, (attach,), body.mutation_id, requested=(requested,)
        )
        return files.changed(receipt)


async def _declared_digest(part: contract.Part) -> Digest:
    digits = (await part.read(_DIGEST_LENGTH + 1)).decode("latin-1").lower()
    try:
        return Digest(_digests.validate_python(digits))
    except ValidationError:
        raise _refused("declaredDigest", "Give 64 hexadecimal digits.") from None


def _refused(name: str, message: str) -> InvalidRequest:
    pointer = name.replace("~", "~0").replace("/", "~1")
    return InvalidRequest(errors=[(f"/{pointer}", message)])
