"""The images of a workspace: a gallery, and one of them with the notes that show it."""

from octavo_rules.problems import NotFound, Problem
from octavo_rules.schemas import FileLinks, FileList
from quart import Response

from octavo.features.notes.pages.adding import add_image
from octavo.features.notes.pages.frame import NotePages, file_path, writable
from octavo.features.notes.pages.reading import linking_notes, live_file, newest
from octavo.http.pages.form_errors import FormErrors
from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME, redirect
from octavo.http.pages.workspace_paths import LIST, path_of, workspace_of
from octavo.model.files.path import ATTACHMENTS

_ROWS = "48"
_RULE = f"{HOME}/<uuid:workspace_id>/images"


def add_image_pages(pages: NotePages) -> None:
    """Serve the gallery, and the pages of images."""

    @pages.site.page(_RULE)
    async def show_gallery(visitor: Visitor, workspace_id: str) -> Response:
        return await gallery(visitor, workspace_id)

    async def gallery(
        visitor: Visitor, workspace_id: str, trouble: FormErrors | None = None
    ) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        page = await visitor.api.get(
            FileList,
            f"{LIST}/{workspace_id}/files",
            prefix=ATTACHMENTS,
            limit=_ROWS,
            after=visitor.query.get("after"),
        )
        images = [each for each in page.items if each.kind == "attachment"]
        return await pages.show(
            "notes/images.html",
            workspace,
            trouble=trouble,
            page=page,
            images=images,
            file_name=file_name,
        )

    @pages.site.form(_RULE, once=True, writes=writable)
    async def add(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await writable(visitor, workspace_id)
        added = await add_image(pages, visitor, workspace.id)
        if isinstance(added, FormErrors):
            return await gallery(visitor, workspace_id, added)
        return redirect(f"{path_of(workspace.id)}/images/{added.file_id}", "image-added")

    @pages.site.page(f"{_RULE}/<uuid:file_id>")
    async def show_image(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        file = await live_file(pages, visitor, workspace, file_id)
        if isinstance(file, Response):
            return file
        if file.kind != "attachment":
            raise NotFound("This is a note, and not an image.")
        try:
            place = f"{file_path(workspace_id, file_id)}/links"
            links = await visitor.api.get(FileLinks, place, limit=_ROWS)
            showing = linking_notes(links.incoming)
        except NotFound:
            raise
        except Problem:
            showing = []
        return await pages.show(
            "notes/image.html",
            workspace,
            file=file,
            name=file_name(file.path or ""),
            revision=await newest(visitor, workspace_id, file_id),
            showing=showing,
        )


def file_name(path: str) -> str:
    """Return the name of an image: the last segment of its path."""
    return path.rpartition("/")[2]
