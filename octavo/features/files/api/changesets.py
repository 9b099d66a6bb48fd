"""Changesets: many changes in one transaction, their receipts, and saves of note documents."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, assert_never

import trio
from octavo_rules.changes import PurgeFile, SaveNote
from octavo_rules.documents.document import NOTHING
from octavo_rules.documents.encoding import LONG_BYTES, NO_CLIENTS, read_state_vector
from octavo_rules.identity import READ, WRITE, Epoch, FileId, MutationId, RevisionId, WorkspaceId
from octavo_rules.problems import DocumentTooLarge, InsufficientScope, InvalidRequest, NotFound
from octavo_rules.schemas import ChangesetResult, NoteSave
from pydantic import FailFast, Field, field_validator
from pydantic_core import MISSING

from octavo.actors.workspace.messages import HeadOf
from octavo.features.files.api import files
from octavo.features.files.api.attachments import UploadedImages, unknown_image
from octavo.features.files.api.changeset_submission import ChangesetSubmitter, visible_receipt
from octavo.features.usage.api import METERED, Metering, memory_of
from octavo.http import contract, file_schemas
from octavo.http.callers import caller_of
from octavo.http.file_schemas import note_save
from octavo.model.etag import entity_tag
from octavo.model.files import changeset
from octavo.model.files.image import ObjectId, UploadedImage, UploadMissing
from octavo.model.refusal import FileExists, FileLive, FilePurged, MutationReused, TooManyFiles
from octavo.model.usage import Amount
from octavo.store import Store
from octavo.store.queries.changesets import receipts
from octavo.store.queries.files import head_paths, text_size


class _Single(contract.Model):
    file_id: contract.ChosenIdentifier


class _Guarded(_Single):
    if_match: contract.Identifier
    """The id of the head revision that the client knows."""


class CreateOperation(_Single):
    """Create a note."""

    op: Literal["create"]
    path: file_schemas.PathText
    text: file_schemas.MarkdownText


class UpdateOperation(_Guarded):
    """Change the text of a file, its path, or both."""

    op: Literal["update"]
    text: file_schemas.MarkdownText | MISSING = MISSING
    path: file_schemas.PathText | MISSING = MISSING
    rewrite_links: bool = False
    """With a path: also update all links to the file, and the file's own links, in the same
    changeset, so that they keep their targets. The changed notes follow the operations in the
    response.
    """


class SaveOperation(_Single):
    """Merge an update into the document of a note."""

    op: Literal["save"]
    epoch: contract.Identifier
    """The epoch of the document that the update applies to."""
    update: contract.GivenBytes
    """A Yjs update, version 1."""


class DeleteOperation(_Guarded):
    """Delete a file."""

    op: Literal["delete"]


class RestoreOperation(_Guarded):
    """Restore a deleted file, or an earlier text."""

    op: Literal["restore"]
    path: file_schemas.PathText | MISSING = MISSING
    rewrite_links: bool = False
    """With a path: also update the links of a note, so that they keep their targets."""
    revision_id: contract.Identifier | MISSING = MISSING
    """A revision of the file whose text becomes the new text; also possible for a live note."""


class AttachOperation(_Single):
    """Make an uploaded image a file, or the next revision of one."""

    op: Literal["attach"]
    object_id: contract.Identifier
    """The upload, which can be attached once."""
    path: file_schemas.PathText
    """Below attachments/, with an ending of the type of the image."""
    if_match: contract.Identifier | MISSING = MISSING
    """The id of the head revision that the client knows, of an existing file."""


class PurgeOperation(_Single):
    """Erase the content of a deleted file permanently."""

    op: Literal["purge"]


AnyOperation = Annotated[
    CreateOperation
    | UpdateOperation
    | SaveOperation
    | DeleteOperation
    | RestoreOperation
    | AttachOperation
    | PurgeOperation,
    Field(discriminator="op"),
]


class ChangesetInput(contract.Model):
    """Changes of different files, accepted together or not at all."""

    mutation_id: contract.Identifier
    """Makes the changeset repeatable: sent again, it has one effect and the same response."""
    operations: Annotated[
        list[AnyOperation],
        Field(min_length=1, json_schema_extra={"maxItems": changeset.MAX_OPERATIONS}),
        FailFast(),
    ]
    """At most 500, each on a different file. They are validated against the resulting tree."""

    @field_validator("operations", mode="before")
    @classmethod
    def _check_count(cls, value: object) -> object:
        # Checked before the operations are parsed, which would take long for many.
        if isinstance(value, list) and len(value) > changeset.MAX_OPERATIONS:
            raise TooManyFiles(
                f"The changeset has {len(value)} operations: "
                f"at most {changeset.MAX_OPERATIONS} are allowed."
            )
        return value


class MutationPath(file_schemas.WorkspacePath):
    """A changeset of a workspace."""

    mutation_id: Annotated[MutationId, contract.IN_PATH]


class ChangesetOperations:
    """Changesets and their receipts."""

    def __init__(self, submitter: ChangesetSubmitter, store: Store, images: UploadedImages) -> None:
        self._submitter = submitter
        self._store = store
        self._texts = files.RevisionTexts(store, submitter.access)
        self._images = images
        self._written = files.NoteTexts()

    @contract.operation(
        id="pushChangeset",
        method="POST",
        path="/api/workspaces/{workspaceId}/changesets",
        tag="files",
        summary="Apply many changes in one transaction",
        scope=WRITE,
        confinable=True,
        problems=(
            *files.COMMON_PROBLEMS,
            *files.PATH_PROBLEMS,
            *files.HEAD_PROBLEMS,
            *files.TEXT_PROBLEMS,
            *files.DOCUMENT_PROBLEMS,
            FileExists,
            FileLive,
            MutationReused,
            TooManyFiles,
            file_schemas.UnsupportedProtocol,
        ),
        body=contract.json_body(ChangesetInput, limit=files.LONGEST_CHANGE),
    )
    async def push_changeset(
        self,
        call: contract.Call,
        path: file_schemas.WorkspacePath,
        headers: file_schemas.SyncProtocol,
        body: ChangesetInput,
    ) -> ChangesetResult:
        """Push a changeset."""
        file_schemas.check_protocol(headers)
        if caller_of(call).limits is not None and any(
            isinstance(operation, PurgeOperation) for operation in body.operations
        ):
            raise InsufficientScope(None, "Erasing a file permanently requires full access.")
        idle = [
            (f"/operations/{index}", "Give text, path, or both.")
            for index, operation in enumerate(body.operations)
            if isinstance(operation, UpdateOperation)
            and operation.text is MISSING
            and operation.path is MISSING
        ]
        idle += [
            (f"/operations/{index}/rewriteLinks", files.LINKS_WITHOUT_PATH)
            for index, operation in enumerate(body.operations)
            if isinstance(operation, UpdateOperation | RestoreOperation)
            and operation.rewrite_links
            and operation.path is MISSING
        ]
        if idle:
            raise InvalidRequest(errors=idle)
        named = {
            FileId(operation.file_id): RevisionId(operation.revision_id)
            for operation in body.operations
            if isinstance(operation, RestoreOperation) and operation.revision_id is not MISSING
        }
        workspace_id = path.workspace_id
        attached = {
            FileId(operation.file_id): ObjectId(operation.object_id)
            for operation in body.operations
            if isinstance(operation, AttachOperation)
        }
        try:
            texts = await self._texts.contents(call, workspace_id, named)
            images = await self._images.find(call, workspace_id, attached)
        except (FilePurged, InvalidRequest, TooManyFiles, UploadMissing):
            operations = await self._operations(body, {}, {})
            before = await self._texts.accepted_before(
                call, workspace_id, body.mutation_id, operations
            )
            if before is None:
                raise
            return await file_schemas.changeset_result(before)
        operations = await self._operations(body, texts, images)
        repeated = changeset.first_repeated(operations)
        if repeated is not None:
            message = "Another operation of this changeset is on the same file: combine them."
            raise InvalidRequest(errors=[(f"/operations/{repeated}/fileId", message)])
        receipt = await self._submitter.push(call, path.workspace_id, operations, body.mutation_id)
        return await file_schemas.changeset_result(receipt)

    async def _operations(
        self,
        body: ChangesetInput,
        texts: Mapping[FileId, files.EarlierText],
        images: Mapping[ObjectId, UploadedImage],
    ) -> tuple[changeset.ChangeOperation, ...]:
        def make(operation: AnyOperation) -> changeset.ChangeOperation:
            return _operation(operation, texts, images)

        longest = max(map(_size, body.operations), default=0)
        if longest <= files.LONG:
            return tuple(await contract.converted(body.operations, make, _size))
        return await self._written.run(lambda: tuple(map(make, body.operations)), longest)

    @contract.operation(
        id="getReceipt",
        method="GET",
        path="/api/workspaces/{workspaceId}/receipts/{mutationId}",
        tag="files",
        summary="Get the result of a change",
        description="404 means that no such change was accepted so far.",
        scope=READ,
        confinable=True,
        problems=(NotFound,),
    )
    async def get_receipt(self, call: contract.Call, path: MutationPath) -> ChangesetResult:
        """Return a receipt."""
        access, mutation_id = self._submitter.access, path.mutation_id
        workspace_id, within = await access.visible(caller_of(call), path.workspace_id)
        accepted = await self._store.read_much(receipts(workspace_id, [mutation_id]))
        if mutation_id not in accepted:
            raise NotFound
        receipt = accepted[mutation_id]
        if within is not None:
            file_ids = [outcome.head.file_id for outcome in receipt.outcomes]
            paths = await self._store.read(head_paths(workspace_id, file_ids))
            seen = [o for o in receipt.outcomes if within.covers(paths.get(o.head.file_id, ""))]
            receipt = visible_receipt(call, replace(receipt, outcomes=tuple(seen)))
        return await file_schemas.changeset_result(receipt)


def _size(operation: AnyOperation) -> int:
    text = getattr(operation, "text", MISSING)
    return len(text) if isinstance(text, str) else 0


def _operation(
    operation: AnyOperation,
    texts: Mapping[FileId, files.EarlierText],
    images: Mapping[ObjectId, UploadedImage],
) -> changeset.ChangeOperation:
    file_id = FileId(operation.file_id)
    match operation:
        case CreateOperation():
            return changeset.CreateFile(
                file_id, operation.path, files.text_of(operation.text, file_id)
            )
        case UpdateOperation():
            text = None if operation.text is MISSING else files.text_of(operation.text, file_id)
            path = None if operation.path is MISSING else operation.path
            return changeset.UpdateFile(
                file_id, frozenset({operation.if_match}), text, path, operation.rewrite_links
            )
        case SaveOperation():
            return SaveNote(file_id, Epoch(operation.epoch), operation.update)
        case DeleteOperation():
            return changeset.DeleteFile(file_id, frozenset({operation.if_match}))
        case RestoreOperation():
            path = None if operation.path is MISSING else operation.path
            revision_id = (
                None if operation.revision_id is MISSING else RevisionId(operation.revision_id)
            )
            restore = changeset.RestoreFile(
                file_id,
                frozenset({operation.if_match}),
                path,
                revision_id=revision_id,
                rewrite_links=operation.rewrite_links,
            )
            earlier = texts.get(file_id)
            return restore if earlier is None else replace(restore, **earlier._asdict())
        case AttachOperation():
            object_id = ObjectId(operation.object_id)
            image = images.get(object_id) or unknown_image(object_id)
            expected = None if operation.if_match is MISSING else frozenset({operation.if_match})
            return changeset.AttachImage(file_id, operation.path, image, expected)
        case PurgeOperation():
            return PurgeFile(file_id)
        case _:
            assert_never(operation)


class SaveNoteInput(contract.Model):
    """An update of a note's document."""

    mutation_id: contract.Identifier | MISSING = MISSING
    epoch: contract.Identifier
    """The epoch of the document that the update applies to."""
    update: contract.GivenBytes
    """A Yjs update, version 1."""
    state_vector: contract.GivenBytes | MISSING = MISSING
    """The state vector of the device, including this update; the response contains what it lacks of
    the document. If omitted, the response contains the whole document.
    """


class SaveOperations:
    """Saves of documents."""

    def __init__(self, submitter: ChangesetSubmitter, metering: Metering, store: Store) -> None:
        self._submitter = submitter
        self._store = store
        self._metering = metering

    @contract.operation(
        id="saveNote",
        method="POST",
        path="/api/workspaces/{workspaceId}/files/{fileId}/saves",
        tag="files",
        summary="Merge an update into the document of a note",
        description="Updates commute, so a save needs no if-match. A refused save leaves the note "
        "unchanged. A save that changes the note is never refused for what its response sends.",
        scope=WRITE,
        confinable=True,
        headers=files.ETAG,
        problems=(
            *files.COMMON_PROBLEMS,
            *files.TEXT_PROBLEMS,
            MutationReused,
            *files.DOCUMENT_PROBLEMS,
            *METERED,
        ),
        body=contract.json_body(
            SaveNoteInput, limit=files.LONGEST_CHANGE, too_large=DocumentTooLarge
        ),
    )
    async def save_note(
        self, call: contract.Call, path: files.FilePath, body: SaveNoteInput
    ) -> contract.Reply[NoteSave]:
        """Save a note."""
        workspace_id, file_id = path.workspace_id, path.file_id
        vector = NO_CLIENTS if body.state_vector is MISSING else body.state_vector
        if len(vector) <= LONG_BYTES:
            read_state_vector(vector)
        else:
            await trio.to_thread.run_sync(read_state_vector, vector)
        await self._reserve(call, workspace_id, file_id)
        save = SaveNote(file_id, Epoch(body.epoch), body.update)
        receipt = await self._submitter.push(call, workspace_id, (save,), body.mutation_id)
        missing_update = await self._submitter.missing_update(
            call, workspace_id, file_id, body.epoch, vector
        )
        [outcome] = receipt.outcomes
        if missing_update.update != NOTHING:
            amount = Amount(len(missing_update.update), 1)
            if outcome.outcome == "unchanged":
                await self._metering.read(call, amount)
            else:
                self._metering.add(call, amount)
        tag = (b"etag", entity_tag(outcome.head.revision_id))
        return contract.Reply(note_save(outcome, missing_update), headers=(tag,))

    async def _reserve(
        self, call: contract.Call, workspace_id: WorkspaceId, file_id: FileId
    ) -> None:
        """Reserve memory for all of a long note, which the device may lack: before it changes.

        Raises `NotFound` or `Forbidden` for who may not change it, and `ServerBusy`.
        """
        caller = caller_of(call)
        await self._submitter.access.check(workspace_id, caller, "write")
        within = caller.confinement
        head = self._submitter.workspaces.answer(workspace_id, HeadOf(file_id), None)
        if head is None:
            size = await self._store.read(text_size(workspace_id, [file_id], within=within))
        else:
            size = head.size if within is None or within.covers(head.path) else 0
        await call.expect(memory_of(size))
