"""Workspaces and their members: create, rename, delete and leave one, invite and remove people."""

from collections.abc import Iterable, Mapping

from octavo_rules.problems import Forbidden, NotFound, Problem, TemporaryProblem
from octavo_rules.schemas import Workspace, WorkspaceList
from quart import Response

from octavo.features.members.api.invitations import InvitationCreated, InvitationList
from octavo.features.members.api.members import MemberList, MemberSchema
from octavo.http import contract
from octavo.http.pages.page_registry import PageRegistry, Visitor
from octavo.http.pages.responses import HOME, FormErrors, form_errors_of, redirect, show
from octavo.http.pages.workspace_paths import LIST, listed_workspace, path_of, workspace_of
from octavo.model.workspace import LastOwner, Role, grants, may_change_role

MOST_NAMED = 2_000
"""Members whose names a page reads, at most: reading more would take most of its time."""


def add_workspace_pages(site: PageRegistry) -> None:
    """Serve the list of workspaces, and the settings of each."""

    @site.page(HOME)
    async def show_list(visitor: Visitor) -> Response:
        return await _list(visitor)

    @site.form(HOME, once=True)
    async def create(visitor: Visitor) -> Response:
        body = {"name": visitor.form.get("name", "")}
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
        body = {"name": visitor.form.get("name", "")}
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
        if visitor.form.get("name", "").strip() != workspace.name:
            wrong = FormErrors(400, "", {"name": f"Type the name exactly: {workspace.name}"})
            return await _deletion(workspace, wrong, visitor.form)
        try:
            await visitor.api.send(contract.Removed, "DELETE", f"{LIST}/{workspace_id}")
        except NotFound:
            raise
        except Problem as problem:
            return await _deletion(workspace, form_errors_of(problem), visitor.form)
        return redirect(HOME, "workspace-deleted")


async def _list(visitor: Visitor, trouble: FormErrors | None = None) -> Response:
    page = await visitor.api.get(WorkspaceList, LIST, **visitor.page)
    exportable: set[str] = set()
    if visitor.account.state == "locked":
        exportable = {item.id for item in page.items if await _exportable(visitor, item)}
    return await show(
        "members/list.html",
        trouble=trouble,
        page=page,
        form=visitor.form,
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
    fields = visitor.form or {"name": workspace.name}
    return await show("members/settings.html", trouble=trouble, workspace=workspace, form=fields)


async def _deletion(
    workspace: Workspace,
    trouble: FormErrors | None = None,
    fields: object = None,
) -> Response:
    return await show(
        "members/delete.html", trouble=trouble, workspace=workspace, form=fields or {}
    )


ROLES: Mapping[Role, str] = {
    "owner": "Owner: everything, including deleting the workspace",
    "administrator": "Administrator: also manages members and the name",
    "editor": "Editor: reads and writes notes",
    "reader": "Reader: reads notes",
}
"""What a person may do in a role, the highest first."""
_LAST_OWNER = LastOwner
_RULE = f"{HOME}/<uuid:workspace_id>"


def grantable(role: Role) -> dict[str, str]:
    """Return the names of the roles that a member with ``role`` can grant."""
    return {name: name.capitalize() for name in ROLES if may_change_role(role, None, name)}


def explanations(names: Iterable[str]) -> dict[str, str]:
    """Return what a person may do in each of some roles, as a sentence."""
    meanings = {name: text.partition(": ")[2] for name, text in ROLES.items() if name in names}
    return {name: f"{text[:1].upper()}{text[1:]}." for name, text in meanings.items()}


def add_member_pages(site: PageRegistry) -> None:
    """Serve the pages of members and invitations of workspaces."""

    @site.page(f"{_RULE}/members")
    async def show_members(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        page = await visitor.api.get(MemberList, f"{LIST}/{workspace_id}/members", **visitor.page)
        return await show(
            "members/members.html", workspace=workspace, page=page, roles_explained=ROLES
        )

    @site.page(f"{_RULE}/members/<uuid:account_id>/role")
    async def show_role(visitor: Visitor, workspace_id: str, account_id: str) -> Response:
        return await _role(visitor, workspace_id, str(account_id))

    @site.form(f"{_RULE}/members/<uuid:account_id>/role")
    async def change_role(visitor: Visitor, workspace_id: str, account_id: str) -> Response:
        path = f"{LIST}/{workspace_id}/members/{account_id}"
        role = visitor.form.get("role", "")
        if str(account_id) == visitor.account.id and "confirmed" not in visitor.form:
            workspace = await workspace_of(visitor, workspace_id)
            if role in ROLES and role != workspace.role:
                if await _is_sole_owner(visitor, workspace):
                    trouble = form_errors_of(_LAST_OWNER())
                    return await _role(visitor, workspace_id, str(account_id), trouble)
                return await show("members/own_role.html", workspace=workspace, role=role)
        body = {"role": role}
        try:
            await visitor.api.send(MemberSchema, "PATCH", path, body)
        except Problem as problem:
            return await _role(visitor, workspace_id, str(account_id), form_errors_of(problem))
        return redirect(f"{path_of(workspace_id)}/members", "member-changed")

    @site.page(f"{_RULE}/members/<uuid:account_id>/remove")
    async def ask_remove(visitor: Visitor, workspace_id: str, account_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        return await _removal(visitor, workspace, str(account_id))

    @site.form(f"{_RULE}/members/<uuid:account_id>/remove")
    async def remove(visitor: Visitor, workspace_id: str, account_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        own = str(account_id) == visitor.account.id
        path = f"{LIST}/{workspace_id}/members/{account_id}"
        try:
            await visitor.api.send(contract.Removed, "DELETE", path)
        except Problem as problem:
            return await _removal(visitor, workspace, str(account_id), form_errors_of(problem))
        if own:
            return redirect(HOME, "workspace-left")
        return redirect(f"{path_of(workspace_id)}/members", "member-removed")

    @site.page(f"{_RULE}/invitations")
    async def show_invitations(visitor: Visitor, workspace_id: str) -> Response:
        return await _invitations(visitor, workspace_id)

    @site.form(f"{_RULE}/invitations", once=True)
    async def invite(visitor: Visitor, workspace_id: str) -> Response:
        fields = visitor.form
        body = {
            "role": fields.get("role", ""),
            "address": fields.get("address", "").strip() or None,
        }
        path = f"{LIST}/{workspace_id}/invitations"
        try:
            made = await visitor.api.send(InvitationCreated, "POST", path, body)
        except Problem as problem:
            return await _invitations(visitor, workspace_id, form_errors_of(problem))
        return await show(
            "members/invited.html",
            workspace=await workspace_of(visitor, workspace_id),
            invitation=made,
        )

    @site.form(f"{_RULE}/invitations/<uuid:invitation_id>/revoke")
    async def revoke(visitor: Visitor, workspace_id: str, invitation_id: str) -> Response:
        path = f"{LIST}/{workspace_id}/invitations/{invitation_id}"
        await visitor.api.send(contract.Removed, "DELETE", path)
        return redirect(f"{path_of(workspace_id)}/invitations", "invitation-revoked")


async def _role(
    visitor: Visitor, workspace_id: str, account_id: str, trouble: FormErrors | None = None
) -> Response:
    workspace = await workspace_of(visitor, workspace_id)
    member = await _member(visitor, workspace.id, account_id)
    if not may_change_role(workspace.role, member.role, None):
        raise Forbidden("You may not change the role of this member.")
    roles = grantable(workspace.role)
    return await show(
        "members/role.html",
        trouble=trouble,
        workspace=workspace,
        member=member,
        roles=roles,
        explained=explanations(roles),
        chosen=visitor.form.get("role", member.role),
    )


async def _removal(
    visitor: Visitor,
    workspace: Workspace,
    account_id: str,
    trouble: FormErrors | None = None,
) -> Response:
    member = await _member(visitor, workspace.id, account_id)
    own = account_id == visitor.account.id
    needed = own and await _is_sole_owner(visitor, workspace)
    return await show(
        "members/remove_member.html",
        trouble=trouble,
        workspace=workspace,
        member=member,
        own=own,
        needed=needed,
    )


async def _member(visitor: Visitor, workspace_id: str, account_id: str) -> MemberSchema:
    path = f"{LIST}/{workspace_id}/members"
    member = await visitor.api.find(
        MemberList, path, lambda member: member.account_id == account_id
    )
    if member is None:
        raise NotFound
    return member


async def _is_sole_owner(visitor: Visitor, workspace: Workspace) -> bool:
    if workspace.role != "owner":
        return False
    own, path = visitor.account.id, f"{LIST}/{workspace.id}/members"
    other = await visitor.api.find(
        MemberList, path, lambda member: member.role == "owner" and member.account_id != own
    )
    return other is None


async def names_of(visitor: Visitor, workspace_id: str) -> Mapping[str, str]:
    """Return the names of the members by their accounts: of the first `MOST_NAMED`."""
    path, after = f"{LIST}/{workspace_id}/members", None
    names: dict[str, str] = {}
    while True:
        page = await visitor.api.get(MemberList, path, limit="500", after=after)
        names |= {member.account_id: member.display_name for member in page.items}
        if page.next is None or len(names) >= MOST_NAMED:
            return names
        after = page.next


async def _invitations(
    visitor: Visitor, workspace_id: str, trouble: FormErrors | None = None
) -> Response:
    workspace = await workspace_of(visitor, workspace_id)
    page = await visitor.api.get(
        InvitationList,
        f"{LIST}/{workspace_id}/invitations",
        **visitor.page,
    )
    roles = grantable(workspace.role)
    return await show(
        "members/invitations.html",
        trouble=trouble,
        workspace=workspace,
        page=page,
        form=visitor.form or {"role": "editor"},
        roles=roles,
        explained=explanations(roles),
    )
