"""Operations on single files, each a changeset of its own, and the texts that they write."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, NamedTuple, TypeVar

from octavo_rules import problems
from octavo_rules.changes import PurgeFile
from octavo_rules.content import NoteText, note_text
from octavo_rules.identity import WRITE, FileId, MutationId, RevisionId, WorkspaceId
from octavo_rules.schemas import FileChange
from pydantic_core import MISSING

from octavo.access.workspaces import Access
from octavo.features.files.api.changeset_submission import (
    ChangesetSubmitter,
    expected_heads,
    visible_receipt,
)
from octavo.features.usage.api import memory_of
from octavo.http import contract, file_schemas
from octavo.http.callers import caller_of
from octavo.http.refusals import WorkspaceBusy
from octavo.model import refusal
from octavo.model.etag import entity_tag
from octavo.model.files import changeset
from octavo.model.files.plan import Receipt
from octavo.model.usage import StorageLimitReached
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
    """Checks texts; long ones in a thread, since they would block the event loop."""

    def __init__(self) -> None:
        self._threads = FairThreads(1)

    async def content(self, text: str) -> NoteText:
        """Return ``text`` as the content of a note. Raises the same problems as `text_of`.

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
    except problems.Problem as refusal:
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
        operations: Sequence[changeset.ChangeOperation],
    ) -> Receipt | None:
        """Return the receipt of a change that is repeated after its texts were erased.

        Raises `MutationReused` when it was for another change.
        """
        if mutation_id is MISSING:
            return None
        mutation = MutationId(mutation_id)
        receipt = (await self.store.read(receipts(workspace_id, [mutation]))).get(mutation)
        if receipt is not None and receipt.fingerprint != changeset.fingerprint(operations):
            raise refusal.MutationReused
        return None if receipt is None else visible_receipt(call, receipt)

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
        # Don't wait: the request may hold the memory of its body. More is refused below.
        call.take(memory_of(min(size, MAX_BYTES)))
        script = files.files(workspace_id, [], [*named.values()], MAX_BYTES, within)
        _, stored = await self.store.read_much(script)
        texts = {
            file.revision.file_id: EarlierText(note_text(file.text), file.revision.path)
            for file in stored
            if file.text is not None
            and named.get(file.revision.file_id) == file.revision.revision_id
        }
        for file_id in named.keys() - texts.keys():
            head = await self.store.read(files.file(workspace_id, file_id, longest=0))
            # Within a folder, a purged file is not visible.
            if head is not None and head.revision.state == "purged" and within is None:
                raise refusal.FilePurged
            message = f"The file {file_id} has no such revision, or the revision has no text."
            raise problems.InvalidRequest(errors=[("/revisionId", message)])
        return texts


LONGEST_CHANGE = 8 * 1024 * 1024
"""Maximum size in bytes of a request body with text."""
ETAG = {"etag": "The entity tag of the accepted head, for if-match."}
_SHORT_BODY = 16_384
COMMON_PROBLEMS: tuple[type[problems.Problem], ...] = (
    problems.NotFound,
    refusal.FilePurged,
    WorkspaceBusy,
)
# The problems of a path, of a text, of an expected head, and of an update of a document.
PATH_PROBLEMS = (refusal.PathConflict, refusal.InvalidPath, refusal.InvalidGraph)
TEXT_PROBLEMS = (problems.InvalidContent, refusal.UnrenderableNote, StorageLimitReached)
HEAD_PROBLEMS = (refusal.HeadMoved, refusal.HeadNotNamed)
DOCUMENT_PROBLEMS = (
    problems.EpochMismatch,
    problems.DocumentMalformed,
    problems.DocumentDependencyMissing,
    problems.DocumentUnsupported,
    problems.DocumentTooLarge,
)
LINKS_WITHOUT_PATH = "Links are rewritten when a file moves: give its path, too."
UNASSIGNED = FileId("")
"""Placeholder for an id that the server chooses."""


class FilePath(file_schemas.WorkspacePath):
    """A file of a workspace."""

    file_id: Annotated[FileId, contract.IN_PATH]


class IfMatch(contract.HeaderModel):
    """The precondition of the change."""

    if_match: file_schemas.ExpectedHead | None = None
    """The entity tag of the head to be changed, or a list of tags; ``*`` is refused."""


class CreateFileInput(contract.Model):
    """A new note."""

    file_id: contract.ChosenIdentifier | MISSING = MISSING
    """An id chosen by the client; if omitted, the server generates one."""
    path: file_schemas.PathText
    """The path of the note; it ends with ``.md``."""
    text: file_schemas.MarkdownText
    mutation_id: contract.Identifier | MISSING = MISSING
    """Makes the change repeatable: sent again, it has one effect and the same response."""


class UpdateFileInput(contract.Model):
    """The new text, path, or both."""

    text: file_schemas.MarkdownText | MISSING = MISSING
    path: file_schemas.PathText | MISSING = MISSING
    rewrite_links: bool = False
    """With a path: also update all links to the file, and the file's own links, so that they keep
    their targets. The feed contains the changed notes.
    """
    mutation_id: contract.Identifier | MISSING = MISSING


class RestoreFileInput(contract.Model):
    """How the file is restored."""

    path: file_schemas.PathText | MISSING = MISSING
    """If omitted, its path before it was deleted."""
    rewrite_links: bool = False
    """With a path: also update the links of a note, so that they keep their targets."""
    revision_id: contract.Identifier | MISSING = MISSING
    """A revision of the file whose text becomes the new text; also possible for a live note."""
    mutation_id: contract.Identifier | MISSING = MISSING


class PurgeFileInput(contract.Model):
    """Only the identity of the change."""

    mutation_id: contract.Identifier | MISSING = MISSING


class FileOperations:
    """Operations on single files."""

    def __init__(self, submitter: ChangesetSubmitter, texts: RevisionTexts) -> None:
        self._submitter = submitter
        self._texts = texts
        self._written = NoteTexts()

    @contract.operation(
        id="createFile",
        method="POST",
        path="/api/workspaces/{workspaceId}/files",
        tag="files",
        summary="Create a note",
        scope=WRITE,
        confinable=True,
        status=201,
        headers=ETAG,
        problems=(
            *COMMON_PROBLEMS,
            *PATH_PROBLEMS,
            refusal.FileExists,
            refusal.MutationReused,
            *TEXT_PROBLEMS,
        ),
        body=contract.json_body(
            CreateFileInput, limit=LONGEST_CHANGE, too_large=problems.DocumentTooLarge
        ),
    )
    async def create_file(
        self, call: contract.Call, path: file_schemas.WorkspacePath, body: CreateFileInput
    ) -> contract.Reply[FileChange]:
        """Create a note."""
        content = await self._written.content(body.text)
        if body.file_id is not MISSING:
            create = changeset.CreateFile(FileId(body.file_id), body.path, content)
            return await self._push(call, path, create, body.mutation_id)
        create = changeset.CreateFile(FileId(self._submitter.new_id()), body.path, content)
        requested = changeset.CreateFile(UNASSIGNED, body.path, content)
        return await self._push(call, path, create, body.mutation_id, requested)

    @contract.operation(
        id="updateFile",
        method="PUT",
        path="/api/workspaces/{workspaceId}/files/{fileId}",
        tag="files",
        summary="Change the text of a file, its path, or both",
        scope=WRITE,
        confinable=True,
        headers=ETAG,
        problems=(
            *COMMON_PROBLEMS,
            *PATH_PROBLEMS,
            *HEAD_PROBLEMS,
            *TEXT_PROBLEMS,
            refusal.MutationReused,
            refusal.TooManyFiles,
        ),
        body=contract.json_body(
            UpdateFileInput, limit=LONGEST_CHANGE, too_large=problems.DocumentTooLarge
        ),
    )
    async def update_file(
        self, call: contract.Call, path: FilePath, headers: IfMatch, body: UpdateFileInput
    ) -> contract.Reply[FileChange]:
        """Update a file."""
        if body.text is MISSING and body.path is MISSING:
            raise problems.InvalidRequest(errors=[("", "Give text, path, or both.")])
        update = changeset.UpdateFile(
            path.file_id,
            expected_heads(headers.if_match),
            None if body.text is MISSING else await self._written.content(body.text),
            None if body.path is MISSING else body.path,
            body.rewrite_links,
        )
        if body.rewrite_links and body.path is MISSING:
            raise problems.InvalidRequest(errors=[("/rewriteLinks", LINKS_WITHOUT_PATH)])
        receipt = await self._submitter.push(call, path.workspace_id, (update,), body.mutation_id)
        return changed(receipt)

    @contract.operation(
        id="deleteFile",
        method="DELETE",
        path="/api/workspaces/{workspaceId}/files/{fileId}",
        tag="files",
        summary="Delete a file",
        description="Its revisions remain readable, and it can be restored.",
        scope=WRITE,
        confinable=True,
        headers=ETAG,
        problems=(*COMMON_PROBLEMS, *HEAD_PROBLEMS),
    )
    async def delete_file(
        self, call: contract.Call, path: FilePath, headers: IfMatch
    ) -> contract.Reply[FileChange]:
        """Delete a file."""
        delete = changeset.DeleteFile(path.file_id, expected_heads(headers.if_match))
        return await self._push(call, path, delete, MISSING)

    @contract.operation(
        id="restoreFile",
        method="POST",
        path="/api/workspaces/{workspaceId}/files/{fileId}/restore",
        tag="files",
        summary="Restore a deleted file, or an earlier text",
        description="With revisionId, the text of that revision becomes the text of a new head.",
        scope=WRITE,
        confinable=True,
        headers=ETAG,
        problems=(
            *COMMON_PROBLEMS,
            *PATH_PROBLEMS,
            *HEAD_PROBLEMS,
            *TEXT_PROBLEMS,
            refusal.FileLive,
            refusal.MutationReused,
        ),
        body=contract.json_body(RestoreFileInput, limit=_SHORT_BODY),
    )
    async def restore_file(
        self, call: contract.Call, path: FilePath, headers: IfMatch, body: RestoreFileInput
    ) -> contract.Reply[FileChange]:
        """Restore a file; ``if-match`` names its head, which may be the one that deleted it."""
        file_id, heads = path.file_id, expected_heads(headers.if_match)
        if body.rewrite_links and body.path is MISSING:
            raise problems.InvalidRequest(errors=[("/rewriteLinks", LINKS_WITHOUT_PATH)])
        target = None if body.path is MISSING else body.path
        restore = changeset.RestoreFile(file_id, heads, target, rewrite_links=body.rewrite_links)
        if body.revision_id is MISSING:
            return await self._push(call, path, restore, body.mutation_id)
        workspace_id = path.workspace_id
        revision_id = RevisionId(body.revision_id)
        restore = replace(restore, revision_id=revision_id)
        try:
            texts = await self._texts.contents(call, workspace_id, {file_id: revision_id})
        except (refusal.FilePurged, problems.InvalidRequest):
            before = await self._texts.accepted_before(
                call, workspace_id, body.mutation_id, (restore,)
            )
            if before is None:
                raise
            return changed(before)
        restore = replace(restore, **texts[file_id]._asdict())
        return await self._push(call, path, restore, body.mutation_id)

    @contract.operation(
        id="purgeFile",
        method="POST",
        path="/api/workspaces/{workspaceId}/files/{fileId}/purge",
        tag="files",
        summary="Erase the content of a deleted file permanently",
        description="The texts and paths of all its revisions are erased. The id cannot be used "
        "again.",
        headers=ETAG,
        problems=(*COMMON_PROBLEMS, refusal.FileLive, refusal.MutationReused),
        body=contract.json_body(PurgeFileInput, limit=_SHORT_BODY),
    )
    async def purge_file(
        self, call: contract.Call, path: FilePath, body: PurgeFileInput
    ) -> contract.Reply[FileChange]:
        """Purge a file."""
        return await self._push(call, path, PurgeFile(path.file_id), body.mutation_id)

    async def _push(
        self,
        call: contract.Call,
        path: file_schemas.WorkspacePath,
        change: changeset.ChangeOperation,
        mutation_id: str | MISSING,
        requested: changeset.ChangeOperation | None = None,
    ) -> contract.Reply[FileChange]:
        receipt = await self._submitter.push(
            call,
            path.workspace_id,
            (change,),
            mutation_id,
            requested=(change if requested is None else requested,),
        )
        return changed(receipt)


def changed(receipt: Receipt) -> contract.Reply[FileChange]:
    """Return the response to a change of one file, which is the first outcome of ``receipt``.

    The outcomes of notes whose links were updated follow it.
    """
    outcome = receipt.outcomes[0]
    tag = (b"etag", entity_tag(outcome.head.revision_id))
    return contract.Reply(file_schemas.file_change(outcome), headers=(tag,))
