"""Move and rename a note or an image, with the links that lead to it."""

from octavo_rules.identity import RevisionId
from octavo_rules.problems import Problem
from octavo_rules.schemas import FileChange
from quart import Response

from octavo.features.notes.pages import frame
from octavo.features.notes.pages.reading import live_file
from octavo.http import contract
from octavo.http.pages.form_errors import FormErrors, form_errors_of
from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME, redirect
from octavo.http.pages.workspace_paths import path_of
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
            folders=[f"{each}/{name_of(path)}" for each in folders],
            folder=frame.folder_of(path),
            here=file.id,
            trouble=trouble,
            file=file,
            given=visitor.given or {"path": path, "rewrite": "on"},
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
        given = visitor.given
        path = given.get("path", "")
        if not path.strip().strip("/"):
            return await form(
                visitor, workspace_id, file_id, FormErrors(400, "", {"path": "Give a path."})
            )
        # Whatever the text is: only the path changes.
        file = await live_file(pages, visitor, workspace, file_id)
        if isinstance(file, Response):
            return file
        if path != file.path:
            path = written_path(path) if file.kind == "note" else path.strip()
        body = {"path": path, "rewriteLinks": "rewrite" in given}
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
