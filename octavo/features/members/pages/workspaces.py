"""Workspaces: create, rename and delete them, and leave."""

from octavo_rules.problems import Forbidden, NotFound, Problem, TemporaryProblem
from octavo_rules.schemas import Workspace, WorkspaceList
from quart import Response

from octavo.http import contract
from octavo.http.pages.form_errors import FormErrors, form_errors_of
from octavo.http.pages.page_registry import PageRegistry, Visitor
from octavo.http.pages.responses import HOME, redirect, show
from octavo.http.pages.workspace_paths import LIST, listed_workspace, path_of, workspace_of
from octavo.model.workspace import grants


def add_workspace_pages(site: PageRegistry) -> None:
    """Serve the list of workspaces, and the settings of each."""

    @site.page(HOME)
    async def show_list(visitor: Visitor) -> Response:
        return await _list(visitor)

    @site.form(HOME, once=True)
    async def create(visitor: Visitor) -> Response:
        body = {"name": visitor.given.get("name", "")}
        try:
            made = await visitor.api.send(Workspace, "POST", LIST, body)
        except Problem as problem:
            return await _list(visitor, form_errors_of(problem))
        return redirect(path_of(made.id), "workspace-created")

    @site.page(f"{HOME}/<uuid:workspace_id>/settings")
    async def show_settings(visitor: Visitor, workspace_id: str) -> Response:
        return await _settings(visitor, await workspace_of(visitor, workspace_id))

    @site.form(f"{HOME}/<uuid:workspace_id>/settings")
    async def rename(visitor: Visitor, workspace_id: str) -> Response:
        body = {"name": visitor.given.get("name", "")}
        path = f"{LIST}/{workspace_id}"
        try:
            await visitor.api.send(Workspace, "PUT", path, body)
        except NotFound:
            raise
        except Problem as problem:
            workspace = await workspace_of(visitor, workspace_id)
            return await _settings(visitor, workspace, form_errors_of(problem))
        return redirect(f"{path_of(workspace_id)}/settings", "workspace-renamed")

    @site.page(f"{HOME}/<uuid:workspace_id>/delete")
    async def ask_delete(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await listed_workspace(visitor, str(workspace_id))
        if not grants(workspace.role, "own"):
            raise Forbidden("Only an owner of the workspace can delete it.")
        return await _deletion(workspace)

    @site.form(f"{HOME}/<uuid:workspace_id>/delete")
    async def delete(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await listed_workspace(visitor, str(workspace_id))
        if visitor.given.get("name", "").strip() != workspace.name:
            wrong = FormErrors(400, "", {"name": f"Type the name exactly: {workspace.name}"})
            return await _deletion(workspace, wrong, visitor.given)
        try:
            await visitor.api.send(contract.Removed, "DELETE", f"{LIST}/{workspace_id}")
        except NotFound:
            raise
        except Problem as problem:
            return await _deletion(workspace, form_errors_of(problem), visitor.given)
        return redirect(HOME, "workspace-deleted")


async def _list(visitor: Visitor, trouble: FormErrors | None = None) -> Response:
    page = await visitor.api.get(WorkspaceList, LIST, **visitor.page)
    exportable: set[str] = set()
    if visitor.account.state == "locked":
        exportable = {each.id for each in page.items if await _exportable(visitor, each)}
    return await show(
        "workspaces/list.html",
        trouble=trouble,
        page=page,
        given=visitor.given,
        exportable=exportable,
    )


async def _exportable(visitor: Visitor, workspace: Workspace) -> bool:
    if not grants(workspace.role, "own"):
        return False
    try:
        await visitor.api.call("HEAD", f"{LIST}/{workspace.id}/export")
    except TemporaryProblem:
        return True
    except Problem:
        return False
    return True


async def _settings(
    visitor: Visitor, workspace: Workspace, trouble: FormErrors | None = None
) -> Response:
    given = visitor.given or {"name": workspace.name}
    return await show("workspaces/settings.html", trouble=trouble, workspace=workspace, given=given)


async def _deletion(
    workspace: Workspace,
    trouble: FormErrors | None = None,
    given: object = None,
) -> Response:
    return await show(
        "workspaces/delete.html", trouble=trouble, workspace=workspace, given=given or {}
    )
