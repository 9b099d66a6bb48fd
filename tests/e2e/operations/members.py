"""Cases of the members of a workspace."""

import httpx

from tests.e2e.operations.cases import produces
from tests.e2e.operations.identity import registration
from tests.e2e.operations.world import World


def members(world: World) -> str:
    return f"{world.base}/members"


def joined(world: World) -> str:
    """The path of a new member of the workspace."""
    invitation = world.ask("POST", f"{world.base}/invitations", json={"role": "reader"})
    made = registration(world, invitation=invitation.json()["token"])
    assert made.status_code == 201, made.text
    return f"{members(world)}/{made.json()['id']}"


@produces("listMembers", "200")
def members_listed(world: World) -> httpx.Response:
    response = world.ask("GET", members(world))
    listed = {each["accountId"]: each for each in response.json()["items"]}
    assert listed[world.owner.account_id]["address"] == world.owner.address
    seen = world.ask("GET", members(world), headers=world.reader.by_key).json()["items"]
    assert all("address" not in each for each in seen)
    return response


@produces("updateMember", "200")
def member_changed(world: World) -> httpx.Response:
    return world.ask("PATCH", joined(world), json={"role": "administrator"})


@produces("updateMember", "last_owner")
def last_owner_changed(world: World) -> httpx.Response:
    path = f"{members(world)}/{world.owner.account_id}"
    return world.ask("PATCH", path, json={"role": "reader"})


@produces("removeMember", "200")
def member_removed(world: World) -> httpx.Response:
    return world.ask("DELETE", joined(world))


@produces("removeMember", "forbidden")
def member_removed_by_a_reader(world: World) -> httpx.Response:
    path = f"{members(world)}/{world.owner.account_id}"
    return world.ask("DELETE", path, headers=world.reader.by_key)


@produces("removeMember", "last_owner")
def last_owner_left(world: World) -> httpx.Response:
    return world.ask("DELETE", f"{members(world)}/{world.owner.account_id}")
