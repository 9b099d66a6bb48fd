"""The page of a note and its history: revisions, differences, and restoring an earlier text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from octavo_rules import schemas
from octavo_rules.identity import RevisionId
from octavo_rules.problems import NotFound, Problem
from octavo_rules.schemas import DiffHunk, ListedRevision, RevisionDiff, RevisionList, WorkspaceFile
from quart import Response

from octavo.features.history.rules.revision_diff import ChangedPiece
from octavo.features.members.pages.members import names_of
from octavo.features.notes.pages import differences, frame
from octavo.features.publishing.pages.outline import outline_of
from octavo.http import contract
from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME, form_errors_of, redirect
from octavo.http.pages.workspace_paths import path_of, workspace_of
from octavo.model.etag import entity_tag
from octavo.model.files.path import kind_of, name_of

_BACK_LINKS = "50"
_AWAY = 503


def add_note_page(pages: frame.NotePages) -> None:
    """Serve the pages of notes."""

    @pages.site.page(f"{HOME}/<uuid:workspace_id>/notes/<uuid:file_id>")
    async def show_note(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        file = await live_file(pages, visitor, workspace, file_id)
        if isinstance(file, Response):
            return file
        path = file.path or ""
        if file.kind != "note":
            return redirect(f"{path_of(workspace_id)}/images/{file_id}")
        links = await _links(visitor, workspace_id, file_id)
        body, levels = await pages.open_note(workspace.id, str(file_id), frame.folder_of(path))
        return await pages.show(
            "notes/note.html",
            workspace,
            folder=frame.folder_of(path),
            levels=levels,
            here=file.id,
            file=file,
            title=(body.title if body is not None else "") or name_of(path),
            name=name_of(path),
            crumbs=frame.crumbs_of(workspace, frame.folder_of(path)),
            body=body,
            contents=[] if body is None else list(outline_of(body.outline)),
            revision=await newest(visitor, workspace_id, file_id),
            incoming=None if links is None else linking_notes(links.incoming),
            more_incoming=links is not None and links.next is not None,
            attachments=[] if links is None else attachments_of(links.outgoing),
            name_of=name_of,
        )


async def live_file(
    pages: frame.NotePages, visitor: Visitor, workspace: schemas.Workspace, file_id: str
) -> schemas.WorkspaceFile | Response:
    """Return a live file with its text; for a deleted or erased one, the page that says so.

    Raises `NotFound` without the file.
    """
    try:
        return await frame.note_of(visitor, workspace.id, file_id)
    except NotFound:
        if await newest(visitor, workspace.id, file_id) is None:
            raise
        # It was deleted.
        return redirect(f"{path_of(workspace.id)}/notes/{file_id}/history")
    except frame.ERASED:
        head = await newest(visitor, workspace.id, file_id)
        return await pages.show_erased(workspace, file_id, "note" if head is None else head.kind)


async def newest(
    visitor: Visitor, workspace_id: str, file_id: str
) -> schemas.ListedRevision | None:
    """Return the head of a file in any state; None without the file."""
    place = f"{frame.file_path(workspace_id, file_id)}/revisions"
    try:
        revisions = await visitor.api.get(schemas.RevisionList, place, limit="1")
    except NotFound:
        return None
    return revisions.items[0] if revisions.items else None


async def _links(visitor: Visitor, workspace_id: str, file_id: str) -> schemas.FileLinks | None:
    """Return the links of a note; None while they are not indexed."""
    place = f"{frame.file_path(workspace_id, file_id)}/links"
    try:
        return await visitor.api.get(schemas.FileLinks, place, limit=_BACK_LINKS)
    except NotFound:
        raise
    except Problem as problem:
        if problem.status != _AWAY:
            raise
        return None


def linking_notes(incoming: Sequence[schemas.FoundLinkDocument]) -> list[schemas.FoundLinkDocument]:
    """Return one link of each note that links to a file."""
    links: dict[str, schemas.FoundLinkDocument] = {}
    for link in incoming:
        links.setdefault(link.file_id, link)
    return [*links.values()]


def attachments_of(outgoing: Sequence[schemas.OutgoingLinkDocument]) -> list[tuple[str, str]]:
    """Return the images that a note links to, each once: its id and its path."""
    images: dict[str, str] = {}
    for link in outgoing:
        if link.file_id is not None and link.path is not None and kind_of(link.path) != "note":
            images.setdefault(link.file_id, link.path)
    return [*images.items()]


VIEWS: Mapping[str, str] = {"words": "By words", "lines": "By lines", "sides": "Side by side"}
"""How a difference is shown."""
_NOTE = f"{HOME}/<uuid:workspace_id>/notes/<uuid:file_id>"
_ROWS = "30"


@dataclass(frozen=True, slots=True)
class SideRow:
    """A row of two texts side by side; a side without a line is None."""

    old: str | None
    new: str | None
    changed: bool


def add_history_pages(pages: frame.NotePages) -> None:
    """Serve the pages of the history of notes."""

    @pages.site.page(f"{_NOTE}/history")
    async def show_history(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        head = await newest(visitor, workspace_id, file_id)
        if head is None:
            raise NotFound
        path = head.path or ""
        page = await visitor.api.get(
            RevisionList,
            f"{frame.file_path(workspace_id, file_id)}/revisions",
            limit=_ROWS,
            after=visitor.query.get("after"),
        )
        live = await _is_live(visitor, workspace_id, file_id)
        return await pages.show(
            "notes/history.html",
            workspace,
            folder=frame.folder_of(path),
            here=str(file_id),
            page=page,
            head=head,
            live=live,
            noun=frame.NOUNS[head.kind],
            name=name_of(path),
            title=await pages.title(workspace.id, file_id, path),
            crumbs=frame.crumbs_of(workspace, frame.folder_of(path)),
            undo_of=undo_of,
        )

    @pages.site.page(f"{_NOTE}/history/<uuid:revision_id>")
    async def show_revision(
        visitor: Visitor, workspace_id: str, file_id: str, revision_id: str
    ) -> Response:
        return await _revision(pages, visitor, workspace_id, file_id, revision_id)

    @pages.site.form(f"{_NOTE}/history/<uuid:revision_id>", once=True)
    async def restore(
        visitor: Visitor, workspace_id: str, file_id: str, revision_id: str
    ) -> Response:
        workspace = await frame.writable(visitor, workspace_id)
        head = await newest(visitor, workspace_id, file_id)
        if head is None:
            raise NotFound
        headers = [(b"if-match", entity_tag(RevisionId(head.id)))]
        place = f"{frame.file_path(workspace.id, file_id)}/restore"
        try:
            await visitor.api.call("POST", place, {"revisionId": str(revision_id)}, headers=headers)
        except Problem as problem:
            return await _revision(
                pages, visitor, workspace_id, file_id, revision_id, trouble=problem
            )
        return redirect(f"{path_of(workspace.id)}/notes/{file_id}", "text-restored")

    @pages.site.page(f"{_NOTE}/difference")
    async def show_difference(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        view = visitor.query.get("view", "words")
        if view not in VIEWS:
            view = "words"
        difference = await visitor.api.get(
            RevisionDiff,
            f"{frame.file_path(workspace_id, file_id)}/diff",
            old=visitor.query.get("old"),
            new=visitor.query.get("new"),
            by="words" if view == "words" else "lines",
            limit=str(differences.MOST_PIECES if view == "words" else differences.MOST_LINES),
        )
        path = difference.new.path or ""
        pieces = [ChangedPiece(piece.kind, piece.text) for piece in difference.words or ()]
        shown, is_short = differences.shortened(pieces)
        hunks, is_cut = differences.cut(differences.without_line_ends(difference.hunks or ()))
        return await pages.show(
            "notes/difference.html",
            workspace,
            folder=frame.folder_of(path),
            here=str(file_id),
            comparison=difference,
            pieces=shown,
            hunks=hunks,
            sides=[list(side_by_side(hunk)) for hunk in hunks],
            is_cut=difference.cut or is_short or is_cut,
            view=view,
            views=[(_query(visitor, name), name, text) for name, text in VIEWS.items()],
            name=name_of(path),
            title=await pages.title(workspace.id, file_id, path),
            crumbs=frame.crumbs_of(workspace, frame.folder_of(path)),
        )


def undo_of(revision: ListedRevision) -> str:
    """Return the query of the page that undoes what a program did since a revision."""
    if revision.client is None:
        return ""
    return urlencode(
        {
            "client": revision.client.id,
            "account": revision.author,
            "since": contract.written_time(revision.created_at),
        }
    )


def side_by_side(hunk: DiffHunk) -> Iterator[SideRow]:
    """Yield the rows of a hunk: removed lines beside the added ones that replace them."""
    removed: list[str] = []
    added: list[str] = []
    for line in hunk.lines:
        if line.kind == "context":
            yield from _paired(removed, added)
            removed, added = [], []
            yield SideRow(line.text, line.text, changed=False)
        elif line.kind == "removed":
            removed.append(line.text)
        else:
            added.append(line.text)
    yield from _paired(removed, added)


def _paired(removed: Sequence[str], added: Sequence[str]) -> Iterator[SideRow]:
    for at in range(max(len(removed), len(added))):
        old = removed[at] if at < len(removed) else None
        new = added[at] if at < len(added) else None
        yield SideRow(old, new, changed=True)


def _query(visitor: Visitor, view: str) -> str:
    compared = {name: visitor.query[name] for name in ("old", "new") if name in visitor.query}
    return urlencode({**compared, "view": view})


async def _is_live(visitor: Visitor, workspace_id: str, file_id: str) -> bool:
    place = frame.file_path(workspace_id, file_id)
    try:
        await visitor.api.get(WorkspaceFile, place, content="text")
    except Problem as problem:
        if problem.code not in ("not_found", "file_purged"):
            raise
        return False
    return True


async def _revision(
    pages: frame.NotePages,
    visitor: Visitor,
    workspace_id: str,
    file_id: str,
    revision_id: str,
    *,
    trouble: Problem | None = None,
) -> Response:
    workspace = await workspace_of(visitor, workspace_id)
    place = f"{frame.file_path(workspace_id, file_id)}/revisions/{revision_id}"
    file = await visitor.api.get(WorkspaceFile, place)
    path, text = file.path or "", file.text or ""
    head = await newest(visitor, workspace_id, file_id)
    body = await pages.preview(workspace.id, path, text)
    return await pages.show(
        "notes/revision.html",
        workspace,
        folder=frame.folder_of(path),
        here=str(file_id),
        trouble=None if trouble is None else form_errors_of(trouble),
        file=file,
        body=body,
        author=(await names_of(visitor, workspace_id)).get(file.head.author),
        is_head=head is not None and head.id == file.head.id,
        name=name_of(path),
        title=("" if body is None else body.title) or name_of(path),
        crumbs=frame.crumbs_of(workspace, frame.folder_of(path)),
    )
