"""Texts of notes that an operation writes: they are checked, or read of earlier revisions."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from octavo_rules.content import NoteText, note_text
from octavo_rules.identity import FileId, MutationId, RevisionId, WorkspaceId
from octavo_rules.problems import InvalidRequest, Problem
from pydantic_core import MISSING

from octavo.access.workspaces import Access
from octavo.features.files.api.changeset_submission import visible_receipt
from octavo.features.usage.api import memory_of
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.model.files.changeset import ChangeOperation, fingerprint
from octavo.model.files.receipt import Receipt
from octavo.model.refusal import FilePurged, MutationReused
from octavo.render.limits import check_renderable
from octavo.store import Store
from octavo.store.fair_turns import FairThreads
from octavo.store.queries import files
from octavo.store.queries.changesets import receipts

LONG = 128 * 1024
"""Characters whose check takes some milliseconds."""

MAX_BYTES = 8 * 1024 * 1024
"""Maximum size of the text that one changeset restores."""

T = TypeVar("T")


class NoteTexts:
    """Checks texts; long ones in a thread, since they would hold the event loop."""

    def __init__(self) -> None:
        self._threads = FairThreads(1)

    async def content(self, text: str) -> NoteText:
        """Return ``text`` as the content of a note; raises as `text_of`.

        Cancellation is deferred while a long text is checked.
        """
        return await self.run(partial(text_of, text), len(text))

    async def run(self, work: Callable[[], T], longest: int) -> T:
        """Return what ``work`` returns, which checks texts of at most ``longest`` characters."""
        return work() if longest <= LONG else await self._threads.run(work)


def text_of(text: str, file_id: FileId | None = None) -> NoteText:
    """Return ``text`` as the content of a note.

    Raises the problems ``invalid_content`` and ``unrenderable_note`` with ``file_id``.
    """
    try:
        check_renderable(text)
        return note_text(text)
    except Problem as refusal:
        refusal.file_id = file_id
        raise


class EarlierText(NamedTuple):
    """The text of a revision, and the path that the file had then."""

    content: NoteText
    was_at: str


class RevisionTexts(NamedTuple):
    """Reads texts of revisions for members who may change the workspace."""

    store: Store
    access: Access

    async def accepted_before(
        self,
        call: contract.Call,
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
        self, call: contract.Call, workspace_id: WorkspaceId, named: Mapping[FileId, RevisionId]
    ) -> dict[FileId, EarlierText]:
        """Return the texts of revisions by their files.

        Raises `NotFound` or `Forbidden` for callers that may not change the workspace,
        `FilePurged`, `TooManyFiles`, `ServerBusy` without memory for them, and `InvalidRequest`
        for a file without that revision or a revision without text.
        """
        if not named:
            return {}
        caller = caller_of(call)
        await self.access.check(workspace_id, caller, "write")
        within = caller.confinement
        size = await self.store.read(files.text_size(workspace_id, [], [*named.values()], within))
        # Without waiting: the request may hold the memory of its body. More is refused below.
        call.take(memory_of(min(size, MAX_BYTES)))
        script = files.files(workspace_id, [], [*named.values()], MAX_BYTES, within)
        _, found = await self.store.read_much(script)
        texts = {
            each.revision.file_id: EarlierText(note_text(each.text), each.revision.path)
            for each in found
            if each.text is not None
            and named.get(each.revision.file_id) == each.revision.revision_id
        }
        for file_id in named.keys() - texts.keys():
            head = await self.store.read(files.file(workspace_id, file_id, longest=0))
            # Within a folder, a purged file is not visible.
            if head is not None and head.revision.state == "purged" and within is None:
                raise FilePurged
            message = f"The file {file_id} has no such revision, or the revision has no text."
            raise InvalidRequest(errors=[("/revisionId", message)])
        return texts
