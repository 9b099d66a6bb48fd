"""Read texts of earlier revisions that are to be restored."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic_core import MISSING

from octavo.http.api.access import Access
from octavo.http.api.changeset_submission import visible_receipt
from octavo.http.contract.call import Call
from octavo.http.contract.problems import InvalidRequest
from octavo.model.files.changeset import ChangeOperation, fingerprint
from octavo.model.files.content import NoteText, note_text
from octavo.model.files.receipt import Receipt
from octavo.model.identity import FileId, MutationId, RevisionId, WorkspaceId
from octavo.model.refusal import FilePurged, MutationReused
from octavo.store import Store
from octavo.store.scripts import files
from octavo.store.scripts.changesets import receipts

MAX_BYTES = 8 * 1024 * 1024
"""Maximum size of the text that one changeset restores."""


class RevisionTexts(NamedTuple):
    """Reads texts of revisions for members who may change the workspace."""

    store: Store
    access: Access

    async def accepted_before(
        self,
        call: Call,
        workspace_id: WorkspaceId,
        mutation_id: str | MISSING,
        operations: Sequence[ChangeOperation],
    ) -> Receipt | None:
        """Return the receipt of a change that is repeated after its texts were erased.

        Raises `MutationReused` when it was for another change.
        """
        if mutation_id is MISSING:
            return None
        mutation = MutationId(mutation_id)
        found = (await self.store.read(receipts(workspace_id, [mutation]))).get(mutation)
        if found is not None and found.fingerprint != fingerprint(operations):
            raise MutationReused
        return None if found is None else visible_receipt(call, found)

    async def contents(
        self, call: Call, workspace_id: WorkspaceId, named: Mapping[FileId, RevisionId]
    ) -> dict[FileId, NoteText]:
        """Return the texts of revisions, by file and revision.

        Raises `NotFound` or `Forbidden` for callers that may not change the workspace,
        `FilePurged`, `TooManyFiles`, and `InvalidRequest` for a file without that revision or a
        revision without text.
        """
        if not named:
            return {}
        within = (await self.access.require(call, workspace_id, "write")).confinement
        script = files.files(workspace_id, [], [*named.values()], MAX_BYTES, within)
        _, found = await self.store.read_much(script)
        texts = {
            each.revision.file_id: note_text(each.text)
            for each in found
            if each.text is not None
            and named.get(each.revision.file_id) == each.revision.revision_id
        }
        for file_id in named.keys() - texts.keys():
            head = await self.store.read(files.file(workspace_id, file_id))
            # Within a folder, a purged file is not visible.
            if head is not None and head.revision.state == "purged" and within is None:
                raise FilePurged
            message = f"The file {file_id} has no such revision, or the revision has no text."
            raise InvalidRequest(errors=[("/revisionId", message)])
        return texts
