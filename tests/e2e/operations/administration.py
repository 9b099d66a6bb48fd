"""Cases of the accounts of the installation."""

import httpx

from tests.e2e.operations.cases import produces
from tests.e2e.operations.world import UNKNOWN, World


def administered(world: World) -> str:
    """The path of a new account, as administrators see it."""
    return f"/api/accounts/{world.newcomer().account_id}"


@produces("listAccounts", "200")
def accounts_found(world: World) -> httpx.Response:
    person = world.newcomer()
    response = world.ask("GET", "/api/accounts", params={"text": person.address.upper()})
    assert [each["id"] for each in response.json()["items"]] == [person.account_id]
    nothing = world.ask("GET", "/api/accounts", params={"text": "%_\\"})
    assert nothing.json()["items"] == []
    return response


@produces("listAccounts", "200")
def accounts_listed(world: World) -> httpx.Response:
    response = world.ask("GET", "/api/accounts")
    addresses = {each["address"] for each in response.json()["items"]}
    assert {world.owner.address, world.reader.address} <= addresses
    return response


@produces("readAccount", "200")
def account_read(world: World) -> httpx.Response:
    person = world.newcomer()
    response = world.ask("GET", f"/api/accounts/{person.account_id}")
    assert response.json()["address"] == person.address
    return response


@produces("readAccount", "not_found")
def unknown_account_read(world: World) -> httpx.Response:
    return world.ask("GET", f"/api/accounts/{UNKNOWN}")


@produces("updateAccount", "200")
def account_updated(world: World) -> httpx.Response:
    controls = {
        "locked": True,
        "lockReason": "The bill is open.",
        "storageBytes": 1_073_741_824,
        "downloadBytesPerMonth": 10_737_418_240,
        "downloadObjectsPerMonth": 100_000,
        "publishing": False,
    }
    given = {
        "role": "administrator",
        "state": "locked",
        "limit": {"storageBytes": 2_147_483_648},
        "controls": {"revision": 1, **controls},
    }
    response = world.ask("PATCH", administered(world), json=given)
    assert response.json()["controls"] == {"revision": 2, **controls}
    return response


@produces("updateAccount", "not_found")
def unknown_account_updated(world: World) -> httpx.Response:
    return world.ask("PATCH", f"/api/accounts/{UNKNOWN}", json={"role": "member"})


@produces("updateAccount", "last_administrator")
def last_administrator_demoted(world: World) -> httpx.Response:
    path = f"/api/accounts/{world.owner.account_id}"
    return world.ask("PATCH", path, json={"role": "member"})


@produces("updateAccount", "controls_changed")
def controls_changed_twice(world: World) -> httpx.Response:
    path, given = administered(world), {"controls": {"revision": 1, "storageBytes": None}}
    assert world.ask("PATCH", path, json=given).status_code == 200
    return world.ask("PATCH", path, json=given)


@produces("removeAccount", "200")
def account_removed(world: World) -> httpx.Response:
    return world.ask("DELETE", administered(world))


@produces("removeAccount", "not_found")
def account_removed_twice(world: World) -> httpx.Response:
    path = administered(world)
    assert world.ask("DELETE", path).status_code == 200
    return world.ask("DELETE", path)


@produces("removeAccount", "last_administrator")
def last_administrator_removed(world: World) -> httpx.Response:
    return world.ask("DELETE", f"/api/accounts/{world.owner.account_id}")
