"""Compare revisions of a note."""

from functools import partial
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from octavo.http.api.access import Access
from octavo.http.api.file_schemas import RevisionDocument, revision_document
from octavo.http.api.files import FilePath
from octavo.http.api.metering import METERED, Metering, amount_of_texts
from octavo.http.api.refusals import refused_with
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel, Identifier
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.paging import IN_DIGITS
from octavo.http.contract.problems import NotFound
from octavo.model.accounts.access_limits import READ
from octavo.model.files.confinement import Confinement
from octavo.model.files.revision_diff import ChangedHunk, ChangedPiece, unified, unified_text, words
from octavo.model.identity import FileId, Position, RevisionId, WorkspaceId
from octavo.model.refusal import FilePurged, InvalidContent
from octavo.store import Store
from octavo.store.fair_turns import FairThreads
from octavo.store.scripts.files import StoredFile, file, revision, revisions_of

MAX_THREADS = 2

_NO_REVISION = "There is no revision {} of a file in this workspace that you can see."


class DiffQuery(ContractModel):
    """Which revisions are compared, and how."""

    old: Identifier | None = None
    """The earlier one; if omitted, the one before ``new``."""
    new: Identifier | None = None
    """The later one; if omitted, the head."""
    by: Literal["lines", "words"] = "lines"
    context: Annotated[int, Field(ge=0, le=1000), IN_DIGITS] = 3
    """Number of unchanged lines around each change."""


class DiffLineSchema(ContractModel):
    """A line, including its line feed if it has one."""

    kind: Literal["context", "added", "removed"]
    text: str


class DiffHunkSchema(ContractModel):
    """Changed lines with their context."""

    old_start: int
    """The number of its first line in the old text, from 1; if it has none, of the line before."""
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[DiffLineSchema]


class DiffPieceSchema(ContractModel):
    """A piece of text that is in both texts, or in one of them."""

    kind: Literal["equal", "added", "removed"]
    text: str


class RevisionDiff(ContractModel):
    """The changes from one revision to the other."""

    old: RevisionDocument | None
    """Null when ``new`` is the first revision: everything was added."""
    new: RevisionDocument
    unified: str | None
    """By lines: a unified diff for the program patch; empty for equal texts."""
    hunks: list[DiffHunkSchema] | None
    """By lines: the same, structured."""
    words: list[DiffPieceSchema] | None
    """By words: the equal and added pieces form the new text, the equal and removed ones the old.
    """


class _SeenFile(NamedTuple):
    """A file, and the folder that the caller is limited to."""

    workspace_id: WorkspaceId
    file_id: FileId
    within: Confinement | None


class HistoryOperations:
    """The history of a note.

    Args:
        store: the store of revisions.
        access: checks the members.
        metering: counts the texts.
    """

    def __init__(self, store: Store, access: Access, metering: Metering) -> None:
        self._store = store
        self._metering = metering
        self._access = access
        self._threads = FairThreads(MAX_THREADS)

    @operation(
        id="diffRevisions",
        method="GET",
        path="/api/workspaces/{workspaceId}/files/{fileId}/diff",
        tag="files",
        summary="Compare two revisions of a note",
        description="By lines or by words. The note may be deleted.",
        security=Security.SESSION_OR_KEY,
        scope=READ,
        confinable=True,
        problems=(NotFound, *refused_with(FilePurged, InvalidContent), *METERED),
    )
    async def diff_revisions(self, call: Call, path: FilePath, query: DiffQuery) -> RevisionDiff:
        """Return the changes between two revisions."""
        workspace_id, within = await self._access.visible(call, path.workspace_id)
        await self._metering.admit(call)
        seen = _SeenFile(workspace_id, path.file_id, within)
        new = await self._revision(seen, query.new)
        old = await self._before(seen, query.old, new)
        compared = [new] if old is None else [old, new]
        await self._metering.count(call, amount_of_texts(compared))
        compare = partial(_compare, old, new, query)
        return await self._threads.run(compare)

    async def _revision(self, seen: _SeenFile, revision_id: str | None) -> StoredFile:
        if revision_id is None:
            found = await self._store.read(file(seen.workspace_id, seen.file_id))
            within = seen.within
            if found is not None and within and not within.covers(found.revision.path):
                found = None
        else:
            script = revision(seen.workspace_id, seen.file_id, RevisionId(revision_id), seen.within)
            found = await self._store.read(script)
        if found is None:
            raise NotFound(None if revision_id is None else _NO_REVISION.format(revision_id))
        if not found.revision.path:
            raise FilePurged
        if found.revision.kind != "note":
            raise InvalidContent("The file is an image: only texts of notes can be compared.")
        return found

    async def _before(
        self, seen: _SeenFile, revision_id: str | None, new: StoredFile
    ) -> StoredFile | None:
        if revision_id is not None:
            return await self._revision(seen, revision_id)
        position = Position(new.revision.position)
        script = revisions_of(seen.workspace_id, seen.file_id, position, 1, seen.within)
        before = await self._store.read(script)
        if not before:
            return None
        return await self._revision(seen, before[0].revision_id)


def _compare(old: StoredFile | None, new: StoredFile, query: DiffQuery) -> RevisionDiff:
    before = "" if old is None else old.text or ""
    after = new.text or ""
    old_document = None if old is None else revision_document(old.revision)
    document = revision_document(new.revision)
    if query.by == "words":
        pieces = [_piece(each) for each in words(before, after)]
        return RevisionDiff(old=old_document, new=document, unified=None, hunks=None, words=pieces)
    hunks = unified(before, after, context=query.context)
    old_name = "/dev/null" if old is None else f"a/{old.revision.path}"
    text = unified_text(hunks, old_name, f"b/{new.revision.path}")
    shown = [_hunk(each) for each in hunks]
    return RevisionDiff(old=old_document, new=document, unified=text, hunks=shown, words=None)


def _piece(piece: ChangedPiece) -> DiffPieceSchema:
    return DiffPieceSchema.model_construct(kind=piece.kind, text=piece.text)


def _hunk(hunk: ChangedHunk) -> DiffHunkSchema:
    return DiffHunkSchema.model_construct(
        old_start=hunk.old_start,
        old_lines=hunk.old_lines,
        new_start=hunk.new_start,
        new_lines=hunk.new_lines,
        lines=[
            DiffLineSchema.model_construct(kind=each.kind, text=each.text) for each in hunk.lines
        ],
    )
