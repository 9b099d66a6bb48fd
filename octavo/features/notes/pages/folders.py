"""The page of a workspace or a folder: what is in it, and what changed last."""

from collections.abc import Mapping, Sequence

from octavo_rules.schemas import FileList, ListedFile
from quart import Response

from octavo.features.files.api.reading import without_new_round
from octavo.features.members.pages.members import names_of
from octavo.features.notes.pages.frame import NotePages, crumbs_of
from octavo.features.notes.pages.note import newest
from octavo.http.pages.page_registry import Audience, Visitor
from octavo.http.pages.responses import HOME, show
from octavo.http.pages.workspace_paths import LIST, workspace_of
from octavo.model.files.path import name_of

ROWS = 200
"""Folders and notes of a folder on one page."""
SHORTCUTS: Mapping[str, str] = {
    "t": "the notes of the workspace",
    "n": "a new note",
    "f": "search",
    "r": "recent changes",
    "e": "edit the note",
    "h": "the history of the note",
    "m": "move or rename the note",
    "s": "save",
    "p": "preview",
}
"""The access keys of the pages of notes, and where they lead."""
_RECENT = "8"
_ROWS_OF_CHANGES = "30"
_MAX_DIGITS = 7


def add_folder_pages(pages: NotePages) -> None:
    """Serve the pages of folders, and of what changed last."""

    @pages.site.page(f"{HOME}/<uuid:workspace_id>")
    async def show_folder(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        folder = visitor.query.get("folder", "").strip("/")
        levels = await pages.way(workspace.id, folder)
        contents = levels[-1].contents if levels[-1].path == folder else None
        rows = _rows(visitor.query.get("from", ""))
        recent: Sequence[ListedFile] = ()
        if not folder and not rows:
            listed = f"{LIST}/{workspace_id}/files"
            page = await visitor.api.get(FileList, listed, order="recent", limit=_RECENT)
            recent = page.items
        return await pages.show(
            "notes/folder.html",
            workspace,
            folder=folder,
            levels=levels,
            contents=contents,
            crumbs=crumbs_of(workspace, folder),
            first=rows,
            rows=ROWS,
            mutation=pages.new_id(),
            recent=recent,
            names=await names_of(visitor, workspace_id) if recent else {},
            name_of=name_of,
        )

    @pages.site.page("/shortcuts", Audience.ANYBODY)
    async def show_shortcuts(visitor: Visitor) -> Response:
        return await show("notes/shortcuts.html", shortcuts=SHORTCUTS)

    @pages.site.page(f"{HOME}/<uuid:workspace_id>/recent")
    async def show_recent(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        page = await visitor.api.get(
            FileList,
            f"{LIST}/{workspace_id}/files",
            order="recent",
            limit=_ROWS_OF_CHANGES,
            after=visitor.query.get("after"),
        )
        return await pages.show(
            "notes/recent.html",
            workspace,
            page=without_new_round(page),
            programs=await _programs(visitor, workspace_id, page.items),
            names=await names_of(visitor, workspace_id),
            name_of=name_of,
        )


async def _programs(
    visitor: Visitor, workspace_id: str, items: Sequence[ListedFile]
) -> Mapping[str, str]:
    """Return the names of the programs that changed files last, by the ids of the files."""
    programs: dict[str, str] = {}
    for file in items:
        if file.head.origin == "mcp":
            revision = await newest(visitor, workspace_id, file.id)
            if revision is not None and revision.client is not None:
                programs[file.id] = revision.client.name
    return programs


def _rows(text: str) -> int:
    """Return the number of the first row; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else 0
