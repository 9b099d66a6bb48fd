"""Read files: heads, many at once, lists, revisions."""

from collections.abc import Mapping
from functools import partial
from sys import getsizeof
from typing import Annotated, Literal, NamedTuple

from octavo_rules import schemas
from octavo_rules.identity import READ, FileId, Position, ProgramNumber, RevisionId, WorkspaceId
from octavo_rules.problems import InvalidRequest, NotFound
from pydantic import Field

from octavo.actors.workspace.current_files import MAX_BYTES as MAX_CACHED_BYTES
from octavo.actors.workspace.current_files import CurrentFiles
from octavo.actors.workspace.messages import CommitFailed, HeadOf, RebuildDocuments
from octavo.actors.workspace.planning import read_current
from octavo.features.accounts.sql import accounts
from octavo.features.files.api.changeset_submission import ChangesetSubmitter, Workspaces
from octavo.features.files.api.files import ETAG, FilePath
from octavo.features.files.sql import RecordedProgram, programs_of
from octavo.features.usage import api
from octavo.http import contract, file_schemas
from octavo.http.blob_stream import IfNoneMatch
from octavo.http.callers import caller_of
from octavo.http.refusals import WorkspaceBusy
from octavo.model.etag import entity_tag
from octavo.model.files.confinement import Confinement
from octavo.model.files.revision import Revision
from octavo.model.refusal import FilePurged, TooManyFiles
from octavo.model.usage import Amount
from octavo.store import Store
from octavo.store.queries import files
from octavo.store.queries.files import RecentPlace, StoredFile

MAX_READ = 500
"""Maximum number of files in a request."""
MAX_BYTES = 8 * 1024 * 1024
"""Maximum size of the text in a response. Control characters take six bytes in JSON, so the
response may be six times as large.
"""
_LONGEST_BODY = 65_536
_NEWEST = 1 << 62


class ContentQuery(contract.Model):
    """How much of the file is returned."""

    content: Literal["text", "full"] = "full"
    """``text`` omits the document."""


class ListQuery(contract.PageQuery):
    """Which files are listed."""

    prefix: file_schemas.FolderPath = ""
    """The prefix of their paths."""
    state: Literal["live", "deleted"] = "live"
    order: Literal["path", "recent"] = "path"
    """``path``: a file that is moved while the pages are read may be left out, or be listed twice.
    ``recent``: the file that changed last first. If files change while the pages are read, more
    pages list these again after the others: together they have every file that exists all the
    while, some of them twice. A page may be shorter than ``limit``: only ``next: null`` is the end.
    """


def without_new_round(page: schemas.FileList) -> schemas.FileList:
    """Return a page of the order ``recent`` as the last one, if the next one begins at the top.

    People who follow the pages look for older changes.
    """
    place = _place(page.next)
    if place is None or not place.begins_round:
        return page
    return page.model_copy(update={"next": None})


def _place(cursor: str | None) -> RecentPlace | None:
    parts = contract.read_cursor(cursor, 4, identifier=1, numbers=(0, 2, 3))
    if parts is None:
        return None
    position, file_id, floor, top = parts
    return RecentPlace(
        Position(int(position)), FileId(file_id), Position(int(floor)), Position(int(top))
    )


class RevisionPath(FilePath):
    """A revision of a file."""

    revision_id: Annotated[RevisionId, contract.IN_PATH]


class ReadFilesInput(contract.Model):
    """The files and revisions to read."""

    file_ids: list[contract.Identifier] = Field(default_factory=list, max_length=MAX_READ)
    """Files, at their heads."""
    revision_ids: list[contract.Identifier] = Field(default_factory=list, max_length=MAX_READ)
    """Revisions, including those of deleted files."""
    content: Literal["text", "full"] = "text"
    """``full`` includes the documents of the files."""


class TextResponse(NamedTuple):
    """The response to a request for the text of a file, and the amount that is metered for it."""

    reply: contract.Reply[schemas.WorkspaceFile]
    amount: Amount


CurrentTexts = CurrentFiles[TextResponse]
"""Reads the responses with the texts of files."""


def current_texts(
    workspaces: Workspaces, store: Store, max_bytes: int = MAX_CACHED_BYTES
) -> CurrentTexts:
    """Return the reader of texts, whose cache takes ``max_bytes``."""
    return CurrentFiles(workspaces, store, _text_response, _size_in_memory, max_bytes)


def _text_response(workspace_id: WorkspaceId, stored: StoredFile, caches: bool) -> TextResponse:
    file = file_schemas.workspace_file(workspace_id, stored)
    etag = (b"etag", entity_tag(stored.revision.revision_id))
    # Other responses are encoded when there is memory for them.
    encoded = contract.encoded_json(file) if caches else None
    return TextResponse(
        contract.Reply(file, headers=(etag,), encoded=encoded), api.amount_of_text(stored)
    )


def _size_in_memory(response: TextResponse) -> int:
    reply = response.reply
    # An encoded string that is not ASCII also holds its UTF-8. The other objects take about 4 KB.
    return getsizeof(reply.body.text) + len(reply.encoded or b"") + 4096


class ReadingOperations:
    """Operations that read files.

    Args:
        submitter: the actors of the workspaces, and their access control.
        store: the store of files.
        metering: counts the texts.
        texts: reads the texts of files.
    """

    def __init__(
        self,
        submitter: ChangesetSubmitter,
        store: Store,
        metering: api.Metering,
        texts: CurrentTexts,
    ) -> None:
        self._workspaces = submitter.workspaces
        self._access = submitter.access
        self._store = store
        self._metering = metering
        self._texts = texts

    @contract.operation(
        id="getFile",
        method="GET",
        path="/api/workspaces/{workspaceId}/files/{fileId}",
        tag="files",
        summary="Get a file at its head",
        scope=READ,
        confinable=True,
        headers=ETAG,
        problems=(NotFound, FilePurged, WorkspaceBusy, *api.METERED),
    )
    async def get_file(
        self, call: contract.Call, path: FilePath, query: ContentQuery, headers: IfNoneMatch
    ) -> contract.Reply[schemas.WorkspaceFile] | contract.NotModified:
        """Return a file."""
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        await self._metering.admit(call)
        file_id = path.file_id
        if headers.if_none_match is not None:
            head_of = HeadOf(file_id)
            # `answer` is faster than `ask` if the actor has the head at hand.
            known = self._workspaces.answer(workspace_id, head_of, None)
            head = _live(known or await self._workspaces.ask(workspace_id, head_of), within)
            if headers.names(head.revision_id):
                if head.kind == "note":
                    await self._metering.admit(call, Amount(head.size, 1))
                return contract.NotModified(headers=((b"etag", entity_tag(head.revision_id)),))
        if query.content == "text":
            current = await self._texts.read(workspace_id, file_id, partial(_reserve, call))
            if current is None:
                raise NotFound
            _live(current.head, within)
            await self._metering.read(call, current.value.amount)
            return current.value.reply
        script = files.text_size(workspace_id, [file_id], within=within, documents=True)
        await _reserve(call, await self._store.read(script))
        whole = await read_current(
            lambda merge: self._store.read_much(files.whole_file(workspace_id, file_id, merge)),
            lambda file: _seen(file, within),
            lambda message: self._follow(workspace_id, message),
        )
        head = _live(None if whole is None else whole.stored.revision, within)
        if whole is None:
            raise NotFound
        await self._metering.read(call, api.amount_of_file(whole))
        return contract.Reply(
            _whole(workspace_id, whole), headers=((b"etag", entity_tag(head.revision_id)),)
        )

    async def _follow(self, workspace_id: WorkspaceId, message: RebuildDocuments) -> bool:
        try:
            await self._workspaces.ask(workspace_id, message)
        except CommitFailed:
            # The disk may be full: notes can be read nevertheless.
            return False
        return True

    @contract.operation(
        id="listFiles",
        method="GET",
        path="/api/workspaces/{workspaceId}/files",
        tag="files",
        summary="List the files of a workspace",
        scope=READ,
        confinable=True,
        problems=(NotFound,),
    )
    async def list_files(
        self, call: contract.Call, path: file_schemas.WorkspacePath, query: ListQuery
    ) -> schemas.FileList:
        """Return a page of files."""
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        if "\0" in query.prefix:
            raise InvalidRequest(
                errors=[("/query/prefix", "A path cannot contain the character NUL.")]
            )
        if query.order == "recent":
            return await self._recent(workspace_id, query, within)
        after = contract.read_cursor(query.after, 2, identifier=1) or ("", "")
        script = files.list_of(
            workspace_id, query.state, query.prefix, (after[0], after[1]), query.limit + 1, within
        )
        listed = await self._store.read_much(script)
        page, following = contract.split_page(
            listed, query.limit, lambda file: (file.path, file.file_id)
        )
        items = await contract.converted(page, partial(file_schemas.listed_file, workspace_id))
        return schemas.FileList(items=tuple(items), next=following)

    async def _recent(
        self, workspace_id: WorkspaceId, query: ListQuery, within: Confinement | None
    ) -> schemas.FileList:
        place = _place(query.after) or files.newest_above(0)
        script = files.recent(workspace_id, query.state, query.prefix, place, query.limit, within)
        page, following = await self._store.read_much(script)
        items = await contract.converted(page, partial(file_schemas.listed_file, workspace_id))
        after = None if following is None else contract.cursor(*map(str, following))
        return schemas.FileList(items=tuple(items), next=after)

    @contract.operation(
        id="listRevisions",
        method="GET",
        path="/api/workspaces/{workspaceId}/files/{fileId}/revisions",
        tag="files",
        summary="List the revisions of a file, newest first",
        description="A deleted file keeps its revisions. Of a purged file only their times remain.",
        scope=READ,
        confinable=True,
        problems=(NotFound,),
    )
    async def list_revisions(
        self, call: contract.Call, path: FilePath, query: contract.PageQuery
    ) -> schemas.RevisionList:
        """Return a page of revisions."""
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        after = contract.read_cursor(query.after, 1, numbers=(0,))
        before = Position(int(after[0]) if after else _NEWEST)
        script = files.revisions_of(workspace_id, path.file_id, before, query.limit + 1, within)
        revisions = await self._store.read_much(script)
        if not revisions and after is None:
            raise NotFound
        page, following = contract.split_page(
            revisions, query.limit, lambda revision: (str(revision.position),)
        )
        names = await self._store.read(
            accounts.display_names([revision.author for revision in page])
        )
        numbers = [revision.program for revision in page if revision.program is not None]
        programs = await self._store.read(programs_of(numbers)) if numbers else {}
        items = [
            schemas.ListedRevision.model_construct(
                **dict(file_schemas.revision_document(revision)),
                author_name=names.get(revision.author),
                client=revision_client(programs, revision),
            )
            for revision in page
        ]
        return schemas.RevisionList(items=tuple(items), next=following)

    @contract.operation(
        id="getRevision",
        method="GET",
        path="/api/workspaces/{workspaceId}/files/{fileId}/revisions/{revisionId}",
        tag="files",
        summary="Get a file at one of its revisions",
        scope=READ,
        confinable=True,
        problems=(NotFound, FilePurged, *api.METERED),
    )
    async def get_revision(self, call: contract.Call, path: RevisionPath) -> schemas.WorkspaceFile:
        """Return a revision with its text."""
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        await self._metering.admit(call)
        named = [path.revision_id]
        size = files.text_size(workspace_id, [], named, within)
        await _reserve(call, await self._store.read(size))
        script = files.revision(workspace_id, path.file_id, path.revision_id, within)
        stored = await self._store.read_much(script)
        if stored is None:
            raise NotFound
        if not stored.revision.path:
            raise FilePurged
        await self._metering.read(call, api.amount_of_text(stored))
        return file_schemas.workspace_file(workspace_id, stored)

    @contract.operation(
        id="readFiles",
        method="POST",
        path="/api/workspaces/{workspaceId}/files/read",
        tag="files",
        summary="Get many files or revisions",
        description="They may have at most 8 MiB of text in total, including requested documents; "
        "a single one is always returned.",
        scope=READ,
        confinable=True,
        problems=(NotFound, TooManyFiles, WorkspaceBusy, *api.METERED),
        body=contract.json_body(ReadFilesInput, limit=_LONGEST_BODY),
        reads=True,
    )
    async def read_files(
        self, call: contract.Call, path: file_schemas.WorkspacePath, body: ReadFilesInput
    ) -> schemas.ReadFiles:
        """Return the files and revisions that exist."""
        workspace_id, within = await self._access.visible(caller_of(call), path.workspace_id)
        await self._metering.admit(call)
        named = (
            workspace_id,
            [FileId(file_id) for file_id in body.file_ids],
            [RevisionId(revision_id) for revision_id in body.revision_ids],
            MAX_BYTES,
        )
        documents = body.content == "full"
        size = files.text_size(*named[:3], within, documents=documents)
        await _reserve(call, min(await self._store.read(size), MAX_BYTES))
        if body.content == "full":
            whole, revisions = await read_current(
                lambda merge: self._store.read_much(files.whole_files(*named, merge, within)),
                lambda answer: answer[0],
                lambda message: self._follow(workspace_id, message),
            )
        else:
            heads, revisions = await self._store.read_much(files.files(*named, within))
            whole = [files.WholeFile(head, None) for head in heads]
        amount = api.amount_of_texts(revisions)
        for file in whole:
            amount = amount.plus(api.amount_of_file(file))
        await self._metering.read(call, amount)
        read_ids = {file.stored.revision.file_id for file in whole}
        known = {revision.revision.revision_id for revision in revisions}
        missing = [file_id for file_id in body.file_ids if file_id not in read_ids]
        missing += [revision_id for revision_id in body.revision_ids if revision_id not in known]
        items = await contract.converted(
            whole, partial(_whole, workspace_id), lambda file: api.amount_of_file(file).size
        )
        items += [file_schemas.workspace_file(workspace_id, revision) for revision in revisions]
        return schemas.ReadFiles(items=tuple(items), missing=tuple(missing))


async def _reserve(call: contract.Call, size: int) -> None:
    await call.reserve(api.memory_of(size))


def _whole(workspace_id: WorkspaceId, whole: files.WholeFile) -> schemas.WorkspaceFile:
    document = None if whole.document is None else file_schemas.note_document(whole.document)
    return file_schemas.workspace_file(workspace_id, whole.stored, document)


def revision_client(
    programs: Mapping[ProgramNumber, RecordedProgram], revision: Revision
) -> schemas.RevisionClient | None:
    """Return the program that made a revision in its API form; None without one."""
    program = None if revision.program is None else programs.get(revision.program)
    return (
        None if program is None else schemas.RevisionClient(id=program.client_id, name=program.name)
    )


def _seen(whole: files.WholeFile | None, within: Confinement | None) -> tuple[files.WholeFile, ...]:
    """Return the file that a caller who is limited to a folder gets; nothing without one."""
    head = None if whole is None else whole.stored.revision
    if whole is None or head is None or head.state != "live":
        return ()
    return (whole,) if within is None or within.covers(head.path) else ()


def _live(head: Revision | None, within: Confinement | None) -> Revision:
    if head is None or head.state == "deleted":
        raise NotFound
    if within is not None and not within.covers(head.path):
        raise NotFound
    if head.state == "purged":
        raise FilePurged
    return head
