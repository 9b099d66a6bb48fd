"""Cases of invitations."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from octavo.features.members.rules import MAX_OPEN_OF_WORKSPACE
from tests.e2e.octavo_process import PUBLIC
from tests.e2e.operations.cases import produces
from tests.e2e.operations.identity import hasty, limited, newcomer, registration
from tests.e2e.operations.world import UNKNOWN, Json, World


def invited_into(world: World, path: str, **given: object) -> Json:
    """A new invitation."""
    response = world.ask("POST", path, json=given)
    assert response.status_code == 201, response.text
    found: Json = response.json()
    return found


@produces("createInvitation", "201")
def invitation_made(world: World) -> httpx.Response:
    given = {"workspaceId": world.workspace, "workspaceRole": "reader"}
    response = world.ask("POST", "/api/invitations", json=given)
    assert response.json()["link"].startswith(f"{PUBLIC}/register?invitation=")
    made = registration(world, invitation=response.json()["token"])
    headers = {"cookie": made.headers["set-cookie"].partition(";")[0]}
    assert world.anybody("GET", world.base + "/files", headers=headers).status_code == 200
    return response


@produces("createInvitation", "not_found")
def invitation_made_into_an_unknown_workspace(world: World) -> httpx.Response:
    given = {"workspaceId": UNKNOWN, "workspaceRole": "reader"}
    return world.ask("POST", "/api/invitations", json=given)


def crowded(world: World) -> tuple[str, dict[str, str]]:
    """A new workspace with the maximum number of open invitations, and the headers of its owner."""
    _, headers = newcomer(world)
    made = world.ask("POST", "/api/workspaces", json={"name": "Crowded"}, headers=headers).json()
    path = f"/api/workspaces/{made['id']}/invitations"
    for _ in range(MAX_OPEN_OF_WORKSPACE):
        assert world.ask("POST", path, json={"role": "reader"}, headers=headers).status_code == 201
    return made["id"], headers


@contextmanager
def administering(world: World, headers: dict[str, str]) -> Iterator[None]:
    """Make the account with ``headers`` an administrator meanwhile."""
    path = f"/api/accounts/{world.ask('GET', '/api/account', headers=headers).json()['id']}"
    assert world.ask("PATCH", path, json={"role": "administrator"}).status_code == 200
    yield
    assert world.ask("PATCH", path, json={"role": "member"}).status_code == 200


@produces("createInvitation", "too_many_invitations")
def invitation_made_into_a_crowded_workspace(world: World) -> httpx.Response:
    workspace, headers = crowded(world)
    given = {"workspaceId": workspace, "workspaceRole": "reader"}
    with administering(world, headers):
        return world.ask("POST", "/api/invitations", json=given, headers=headers)


@produces("createWorkspaceInvitation", "too_many_invitations")
def workspace_invitation_made_into_a_crowded_workspace(world: World) -> httpx.Response:
    workspace, headers = crowded(world)
    path = f"/api/workspaces/{workspace}/invitations"
    response = world.ask("POST", path, json={"role": "reader"}, headers=headers)
    oldest = world.ask("GET", path, headers=headers).json()["items"][0]["id"]
    assert world.ask("DELETE", f"{path}/{oldest}", headers=headers).status_code == 200
    again = world.ask("POST", path, json={"role": "reader"}, headers=headers)
    assert again.status_code == 201, again.text
    return response


@produces("createInvitation", "rate_limited")
def invitations_made_too_often(world: World) -> httpx.Response:
    headers = hasty(world)
    with administering(world, headers):
        return limited(world, "/api/invitations", {}, headers)


@produces("createWorkspaceInvitation", "rate_limited")
def workspace_invitations_made_too_often(world: World) -> httpx.Response:
    headers = hasty(world)
    made = world.ask("POST", "/api/workspaces", json={"name": "Mine"}, headers=headers).json()
    path = f"/api/workspaces/{made['id']}/invitations"
    return limited(world, path, {"role": "reader"}, headers)


@produces("listInvitations", "200")
def invitations_listed(world: World) -> httpx.Response:
    _, made = (invited_into(world, "/api/invitations") for _ in range(2))
    response = world.ask("GET", "/api/invitations?limit=1")
    assert response.json()["items"][0]["id"] == made["id"]
    return response


@produces("revokeInvitation", "200")
def invitation_revoked(world: World) -> httpx.Response:
    made = invited_into(world, "/api/invitations")
    response = world.ask("DELETE", f"/api/invitations/{made['id']}")
    assert registration(world, invitation=made["token"]).status_code == 404
    return response


@produces("revokeInvitation", "not_found")
def unknown_invitation_revoked(world: World) -> httpx.Response:
    return world.ask("DELETE", f"/api/invitations/{UNKNOWN}")


@produces("createWorkspaceInvitation", "201")
def workspace_invitation_made(world: World) -> httpx.Response:
    return world.ask("POST", f"{world.base}/invitations", json={"role": "reader"})


@produces("listWorkspaceInvitations", "200")
def workspace_invitations_listed(world: World) -> httpx.Response:
    made = invited_into(world, f"{world.base}/invitations", role="reader")
    response = world.ask("GET", f"{world.base}/invitations")
    assert response.json()["items"][0]["id"] == made["id"]
    return response


@produces("revokeWorkspaceInvitation", "200")
def workspace_invitation_revoked(world: World) -> httpx.Response:
    made = invited_into(world, f"{world.base}/invitations", role="reader")
    return world.ask("DELETE", f"{world.base}/invitations/{made['id']}")


@produces("acceptInvitation", "200")
def invitation_accepted(world: World) -> httpx.Response:
    made = invited_into(world, f"{world.base}/invitations", role="editor")
    _, headers = newcomer(world)
    given = {"token": made["token"]}
    response = world.anybody("POST", "/api/invitations/accept", json=given, headers=headers)
    assert (response.json()["id"], response.json()["role"]) == (world.workspace, "editor")
    return response


@produces("acceptInvitation", "already_member")
def invitation_accepted_by_a_member(world: World) -> httpx.Response:
    made = invited_into(world, f"{world.base}/invitations", role="editor")
    return world.ask("POST", "/api/invitations/accept", json={"token": made["token"]})


@produces("acceptInvitation", "not_found")
def unknown_invitation_accepted(world: World) -> httpx.Response:
    return world.ask("POST", "/api/invitations/accept", json={"token": "unknown"})
