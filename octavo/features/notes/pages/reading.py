"""The page of a note: its text as HTML, its contents, and what links to it."""

from collections.abc import Sequence

from octavo_rules import schemas
from octavo_rules.problems import NotFound, Problem
from quart import Response

from octavo.features.notes.pages import frame
from octavo.features.publishing.pages.outline import outline_of
from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME, redirect
from octavo.http.pages.workspace_paths import path_of, workspace_of
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
        found = await visitor.api.get(schemas.RevisionList, place, limit="1")
    except NotFound:
        return None
    return found.items[0] if found.items else None


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
    found: dict[str, schemas.FoundLinkDocument] = {}
    for each in incoming:
        found.setdefault(each.file_id, each)
    return [*found.values()]


def attachments_of(outgoing: Sequence[schemas.OutgoingLinkDocument]) -> list[tuple[str, str]]:
    """Return the images that a note links to, each once: its id and its path."""
    found: dict[str, str] = {}
    for each in outgoing:
        if each.file_id is not None and each.path is not None and kind_of(each.path) != "note":
            found.setdefault(each.file_id, each.path)
    return [*found.items()]
