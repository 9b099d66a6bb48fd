"""Save notes as documents: updates of devices are merged with concurrent changes."""

import trio
from octavo_rules.changes import SaveNote
from octavo_rules.documents.document import NOTHING
from octavo_rules.documents.encoding import LONG_BYTES, NO_CLIENTS, read_state_vector
from octavo_rules.identity import WRITE, Epoch, FileId, WorkspaceId
from octavo_rules.problems import DocumentTooLarge
from octavo_rules.schemas import NoteSave
from pydantic_core import MISSING

from octavo.actors.workspace.messages import HeadOf
from octavo.features.files.api import files
from octavo.features.files.api.changeset_submission import ChangesetSubmitter
from octavo.features.usage.api import METERED, Metering, memory_of
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import note_save
from octavo.model.etag import entity_tag
from octavo.model.refusal import MutationReused
from octavo.model.usage import Amount
from octavo.store import Store
from octavo.store.queries.files import text_size


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
