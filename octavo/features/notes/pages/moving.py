"""Move, rename and delete a note or an image; list deleted ones, restore and erase them."""

from urllib.parse import quote

from octavo_rules.identity import RevisionId
from octavo_rules.problems import NotFound, Problem
from octavo_rules.schemas import FileChange, FileLinks, FileList, ListedRevision
from quart import Response

from octavo.features.files.api.reading import without_new_round
from octavo.features.members.pages.members import names_of
from octavo.features.notes.pages import frame
from octavo.features.notes.pages.note import live_file, newest
from octavo.http import contract
from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME, FormErrors, form_errors_of, redirect
from octavo.http.pages.workspace_paths import LIST, path_of, workspace_of
from octavo.model.etag import entity_tag
from octavo.model.files.path import name_of, written_path

_RULE = f"{HOME}/<uuid:workspace_id>/notes/<uuid:file_id>/move"
_OF_PATH = frozenset({"invalid_path", "path_conflict", "invalid_graph"})


def add_move_pages(pages: frame.NotePages) -> None:
    """Serve the form that moves a note."""

    async def form(
        visitor: Visitor, workspace_id: str, file_id: str, trouble: FormErrors | None = None
    ) -> Response:
        workspace = await frame.writable(visitor, workspace_id)
        file = await live_file(pages, visitor, workspace, file_id)
        if isinstance(file, Response):
            return file
        path = file.path or ""
        folders = await pages.folders(workspace.id) if file.kind == "note" else []
        return await pages.show(
            "notes/move.html",
            workspace,
            folders=[f"{folder}/{name_of(path)}" for folder in folders],
            folder=frame.folder_of(path),
            here=file.id,
            trouble=trouble,
            file=file,
            form=visitor.form or {"path": path, "rewrite": "on"},
            name=name_of(path),
            title=await pages.title(workspace.id, file.id, path),
            noun=frame.NOUNS[file.kind],
            crumbs=frame.crumbs_of(workspace, frame.folder_of(path)),
        )

    @pages.site.page(_RULE)
    async def show_form(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        return await form(visitor, workspace_id, file_id)

    @pages.site.form(_RULE, once=True)
    async def move(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await frame.writable(visitor, workspace_id)
        fields = visitor.form
        path = fields.get("path", "")
        if not path.strip().strip("/"):
            return await form(
                visitor, workspace_id, file_id, FormErrors(400, "", {"path": "Give a path."})
            )
        # The present head will do, whatever its text is: only the path changes.
        file = await live_file(pages, visitor, workspace, file_id)
        if isinstance(file, Response):
            return file
        if path != file.path:
            path = written_path(path) if file.kind == "note" else path.strip()
        body = {"path": path, "rewriteLinks": "rewrite" in fields}
        headers = [(b"if-match", entity_tag(RevisionId(file.head.id)))]
        try:
            made = await visitor.api.call(
                "PUT", frame.file_path(workspace.id, file.id), body, headers=headers
            )
        except Problem as problem:
            trouble = form_errors_of(problem)
            if problem.code in _OF_PATH:
                trouble = FormErrors(problem.status, "", {"path": trouble.text}, code=problem.code)
            return await form(visitor, workspace_id, file_id, trouble)
        change = contract.typed(FileChange, made.result)
        message = "unchanged" if change.outcome == "unchanged" else "moved"
        return redirect(
            f"{path_of(workspace.id)}/notes/{file.id}", f"{frame.NOUNS[file.kind]}-{message}"
        )


_NOTE = f"{HOME}/<uuid:workspace_id>/notes/<uuid:file_id>"
_ROWS = "30"
_LINKS = "100"


def add_deletion_pages(pages: frame.NotePages) -> None:
    """Serve the pages of deleted notes, and those that delete, restore and erase one."""

    @pages.site.page(f"{_NOTE}/delete")
    async def ask_delete(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await frame.writable(visitor, workspace_id)
        file = await live_file(pages, visitor, workspace, file_id)
        if isinstance(file, Response):
            return file
        path = file.path or ""
        return await pages.show(
            "notes/delete.html",
            workspace,
            folder=frame.folder_of(path),
            here=file.id,
            file=file,
            name=name_of(path),
            noun=frame.NOUNS[file.kind],
            linking=await _linking(visitor, workspace_id, file_id),
            crumbs=frame.crumbs_of(workspace, frame.folder_of(path)),
        )

    @pages.site.form(f"{_NOTE}/delete", once=True)
    async def delete(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await frame.writable(visitor, workspace_id)
        try:
            file = await frame.note_of(visitor, workspace_id, file_id)
        except NotFound:
            # Somebody else was faster.
            head = await newest(visitor, workspace_id, file_id)
            noun = frame.NOUNS["note" if head is None else head.kind]
            return redirect(f"{path_of(workspace.id)}/deleted", f"{noun}-deleted")
        noun = frame.NOUNS[file.kind]
        headers = [(b"if-match", entity_tag(RevisionId(file.head.id)))]
        if visitor.form.get("head", "") != file.head.id:
            # The person has seen another text.
            return redirect(f"{path_of(workspace.id)}/notes/{file.id}", f"{noun}-changed")
        place = frame.file_path(workspace.id, file.id)
        await visitor.api.call("DELETE", place, headers=headers)
        folder = quote(frame.folder_of(file.path or ""))
        query = f"?folder={folder}" if folder else ""
        where = query if file.kind == "note" else "/images"
        return redirect(f"{path_of(workspace.id)}{where}", f"{noun}-deleted")

    @pages.site.page(f"{HOME}/<uuid:workspace_id>/deleted")
    async def show_deleted(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        page = await visitor.api.get(
            FileList,
            f"{LIST}/{workspace_id}/files",
            state="deleted",
            order="recent",
            limit=_ROWS,
            after=visitor.query.get("after"),
        )
        return await pages.show(
            "notes/deleted.html",
            workspace,
            page=without_new_round(page),
            names=await names_of(visitor, workspace_id) if page.items else {},
            name_of=name_of,
        )

    async def restoration(
        visitor: Visitor, workspace_id: str, file_id: str, trouble: FormErrors | None = None
    ) -> Response:
        workspace = await frame.writable(visitor, workspace_id)
        head = await _deleted(visitor, workspace_id, file_id)
        path = head.path or ""
        return await pages.show(
            "notes/restore.html",
            workspace,
            folder=frame.folder_of(path),
            trouble=trouble,
            file_id=str(file_id),
            form=visitor.form or {"path": path},
            name=name_of(path),
            noun=frame.NOUNS[head.kind],
        )

    @pages.site.page(f"{_NOTE}/restore")
    async def ask_restore(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        return await restoration(visitor, workspace_id, file_id)

    @pages.site.form(f"{_NOTE}/restore", once=True)
    async def restore(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await frame.writable(visitor, workspace_id)
        head = await _deleted(visitor, workspace_id, file_id)
        headers = [(b"if-match", entity_tag(RevisionId(head.id)))]
        path = visitor.form.get("path", "")
        body: dict[str, object] = {}
        # A path that nobody has edited stays as it is.
        if path and path != head.path:
            body["path"] = written_path(path) if head.kind == "note" else path.strip()
            body["rewriteLinks"] = True
        place = f"{frame.file_path(workspace.id, file_id)}/restore"
        try:
            await visitor.api.call("POST", place, body, headers=headers)
        except Problem as problem:
            trouble = form_errors_of(problem)
            if problem.code in ("path_conflict", "invalid_path", "invalid_graph"):
                trouble = FormErrors(problem.status, "", {"path": trouble.text}, code=problem.code)
            return await restoration(visitor, workspace_id, file_id, trouble)
        return redirect(
            f"{path_of(workspace.id)}/notes/{file_id}", f"{frame.NOUNS[head.kind]}-restored"
        )

    @pages.site.page(f"{_NOTE}/purge")
    async def ask_purge(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await frame.writable(visitor, workspace_id)
        head = await _deleted(visitor, workspace_id, file_id)
        return await pages.show(
            "notes/purge.html",
            workspace,
            name=name_of(head.path or ""),
            path=head.path,
            noun=frame.NOUNS[head.kind],
        )

    @pages.site.form(f"{_NOTE}/purge", once=True)
    async def purge(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await frame.writable(visitor, workspace_id)
        head = await _deleted(visitor, workspace_id, file_id)
        place = f"{frame.file_path(workspace.id, file_id)}/purge"
        await visitor.api.send(FileChange, "POST", place, {})
        return redirect(f"{path_of(workspace.id)}/deleted", f"{frame.NOUNS[head.kind]}-erased")


async def _deleted(visitor: Visitor, workspace_id: str, file_id: str) -> ListedRevision:
    """Return the head of a deleted file. Raises `NotFound` for any other one."""
    head = await newest(visitor, workspace_id, file_id)
    if head is None or head.path is None:
        raise NotFound("It is not among the deleted notes and images: it may be erased for good.")
    try:
        await frame.note_of(visitor, workspace_id, file_id)
    except NotFound:
        return head
    raise NotFound(f"This {frame.NOUNS[head.kind]} is not deleted: somebody may have restored it.")


async def _linking(visitor: Visitor, workspace_id: str, file_id: str) -> int | None:
    """Return how many links lead to a note, at most 100; None while they are not indexed."""
    try:
        links = await visitor.api.get(
            FileLinks, f"{frame.file_path(workspace_id, file_id)}/links", limit=_LINKS
        )
    except NotFound:
        raise
    except Problem:
        return None
    return len(links.incoming)
