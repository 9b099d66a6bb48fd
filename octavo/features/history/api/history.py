"""Compare revisions of a note."""

from collections.abc import Sequence
from functools import partial
from sys import getsizeof
from typing import Annotated, Literal, NamedTuple

from octavo_rules.identity import READ, FileId, Position, RevisionId, WorkspaceId
from octavo_rules.problems import InvalidContent, NotFound
from octavo_rules.schemas import DiffHunk, DiffLine, DiffPiece, RevisionDiff
from pydantic import Field
from pydantic_core import to_json

from octavo.access.workspaces import Access
from octavo.features.files.api.files import FilePath
from octavo.features.history.rules import revision_diff
from octavo.features.usage.api import METERED, Metering, amount_of_texts
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.http.file_schemas import revision_document
from octavo.model.files.confinement import Confinement
from octavo.model.refusal import FilePurged
from octavo.store import Store
from octavo.store.fair_turns import FairThreads
from octavo.store.queries.files import StoredFile, file, revision, revisions_of, text_size

MAX_THREADS = 2
MOST_LISTED = 10_000
"""The highest limit of lines or pieces."""
_OF_COMPARING = 16
"""The memory that comparing takes, as a multiple of the bytes of both texts."""
_OF_A_LINE = 256
"""The memory of a listed line, in bytes."""
_TOTAL = 24
"""The memory of comparing, with the response, as a multiple of the bytes of usual texts."""
_NEWEST = Position(1 << 62)
_BATCH = 500
"""Lines or pieces that are encoded while nothing else runs."""

_NO_REVISION = "There is no revision {} of a file in this workspace that you can see."


class DiffQuery(contract.Model):
    """Which revisions are compared, and how."""

    old: contract.Identifier | None = None
    """The earlier one; if omitted, the one before ``new``."""
    new: contract.Identifier | None = None
    """The later one; if omitted, the head."""
    by: Literal["lines", "words"] = "lines"
    context: Annotated[int, Field(ge=0, le=1000), contract.IN_DIGITS] = 3
    """Number of unchanged lines around each change."""
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED), contract.IN_DIGITS] | None = None
    """Maximum number of lines or pieces; by default all are returned."""


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

    @contract.operation(
        id="diffRevisions",
        method="GET",
        path="/api/workspaces/{workspaceId}/files/{fileId}/diff",
        tag="files",
        summary="Compare two revisions of a note",
        description="By lines or by words. The note may be deleted.",
        scope=READ,
        confinable=True,
        problems=(NotFound, FilePurged, InvalidContent, *METERED),
    )
    async def diff_revisions(
        self, call: contract.Call, path: FilePath, query: DiffQuery
    ) -> RevisionDiff | contract.EncodedJson[RevisionDiff]:
        """Return the changes between two revisions."""
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        await self._metering.admit(call)
        seen = _SeenFile(workspace_id, path.file_id, within)
        await call.reserve(_TOTAL * await self._size(seen, query))
        new = await self._revision(seen, query.new)
        old = await self._before(seen, query.old, new)
        compared = [new] if old is None else [old, new]
        call.take(_memory_for(compared))
        await self._metering.count(call, amount_of_texts(compared))
        return await self._threads.run(partial(_compare, old, new, query))

    async def _size(self, seen: _SeenFile, query: DiffQuery) -> int:
        """Estimate the bytes of both texts together."""
        named = [
            RevisionId(revision_id)
            for revision_id in (query.old, query.new)
            if revision_id is not None
        ]
        size = text_size(seen.workspace_id, [], named, seen.within)
        total = await self._store.read(size) if named else 0
        others = revisions_of(seen.workspace_id, seen.file_id, _NEWEST, 2, seen.within)
        newest = await self._store.read(others) if len(named) < 2 else []
        texts = [revision.size for revision in newest[: 2 - len(named)] if revision.kind == "note"]
        return total + sum(texts)

    async def _revision(self, seen: _SeenFile, revision_id: str | None) -> StoredFile:
        if revision_id is None:
            stored = await self._store.read_much(file(seen.workspace_id, seen.file_id))
            within = seen.within
            if stored is not None and within and not within.covers(stored.revision.path):
                stored = None
        else:
            script = revision(seen.workspace_id, seen.file_id, RevisionId(revision_id), seen.within)
            stored = await self._store.read_much(script)
        if stored is None:
            raise NotFound(None if revision_id is None else _NO_REVISION.format(revision_id))
        if not stored.revision.path:
            raise FilePurged
        if stored.revision.kind != "note":
            raise InvalidContent("The file is an image: only texts of notes can be compared.")
        return stored

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


def _memory_for(compared: Sequence[StoredFile]) -> int:
    """Return the maximum memory for comparing texts, with the response, in bytes."""
    texts = [note.text or "" for note in compared]
    lines = sum(text.count("\n") for text in texts)
    return _OF_COMPARING * sum(map(getsizeof, texts)) + _OF_A_LINE * lines


def _compare(
    old: StoredFile | None, new: StoredFile, query: DiffQuery
) -> RevisionDiff | contract.EncodedJson[RevisionDiff]:
    before = "" if old is None else old.text or ""
    after = new.text or ""
    diff = RevisionDiff.model_construct(
        old=None if old is None else revision_document(old.revision),
        new=revision_document(new.revision),
        unified=None,
        hunks=None,
        words=None,
        cut=False,
    )
    if query.by == "words":
        pieces = revision_diff.words(before, after)
        if query.limit is None:
            empty = diff.model_copy(update={"words": ()})
            return _with_list(contract.encoded_json(empty), b"words", _listed(pieces))
        cut, shown = len(pieces) > query.limit, map(_piece, pieces[: query.limit])
        return diff.model_copy(update={"words": tuple(shown), "cut": cut})
    names = "/dev/null" if old is None else f"a/{old.revision.path}", f"b/{new.revision.path}"
    if query.limit is None:
        hunks = revision_diff.unified(before, after, context=query.context)
        empty = diff.model_copy(
            update={"unified": revision_diff.unified_text(hunks, *names), "hunks": ()}
        )
        return _with_list(
            contract.encoded_json(empty), b"hunks", b",".join(map(_encoded_hunk, hunks))
        )
    first = revision_diff.first_hunks(before, after, query.limit, context=query.context)
    text = None if first.cut else revision_diff.unified_text(first.hunks, *names)
    update = {"unified": text, "hunks": tuple(map(_hunk, first.hunks)), "cut": first.cut}
    return diff.model_copy(update=update)


def _with_list(encoded: bytes, member: bytes, listed: bytes) -> contract.EncodedJson[RevisionDiff]:
    """Return an encoded object with items in its empty list ``member``."""
    # No string contains the mark: its quotes would be escaped.
    start, mark, end = encoded.partition(b'"%b":[]' % member)
    return contract.EncodedJson(b"".join((start, mark[:-1], listed, b"]", end)))


def _encoded_hunk(hunk: revision_diff.ChangedHunk) -> bytes:
    head = contract.encoded_json(_hunk(hunk._replace(lines=())))
    return b"".join((head.removesuffix(b"]}"), _listed(hunk.lines), b"]}"))


def _listed(items: Sequence[revision_diff.ChangedLine | revision_diff.ChangedPiece]) -> bytes:
    batches = (items[at : at + _BATCH] for at in range(0, len(items), _BATCH))
    return b",".join(to_json([item._asdict() for item in batch])[1:-1] for batch in batches)


def _piece(piece: revision_diff.ChangedPiece) -> DiffPiece:
    return DiffPiece.model_construct(kind=piece.kind, text=piece.text)


def _hunk(hunk: revision_diff.ChangedHunk) -> DiffHunk:
    return DiffHunk.model_construct(
        old_start=hunk.old_start,
        old_lines=hunk.old_lines,
        new_start=hunk.new_start,
        new_lines=hunk.new_lines,
        lines=tuple(
            DiffLine.model_construct(kind=line.kind, text=line.text) for line in hunk.lines
        ),
    )
