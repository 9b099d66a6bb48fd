"""Cases of the operator API."""

import httpx

from tests.e2e.operations.cases import produces
from tests.e2e.operations.identity import newcomer
from tests.e2e.operations.world import UNKNOWN, Json, World
from tests.e2e.people import client

ACCOUNTS = "/api/operator/accounts"
OPERATIONS = {
    "findOperatorAccount": ("GET", f"{ACCOUNTS}?address=nobody@example.org"),
    "readOperatorAccount": ("GET", f"{ACCOUNTS}/{UNKNOWN}"),
    "setOperatorAccountControls": ("PATCH", f"{ACCOUNTS}/{UNKNOWN}/controls"),
    "removeOperatorAccount": ("DELETE", f"{ACCOUNTS}/{UNKNOWN}"),
    "redeemPortalToken": ("POST", "/api/operator/portal/redeem"),
}
BODIES: dict[str, Json] = {"PATCH": {"revision": 1}, "POST": {"token": "x" * 43}}


def call(
    world: World, operation: str, headers: dict[str, str], http: httpx.Client | None = None
) -> httpx.Response:
    """Call an operation on an account that does not exist."""
    method, path = OPERATIONS[operation]
    return (http or world.http).request(method, path, json=BODIES.get(method), headers=headers)


def entered(operation: str) -> None:
    """Enter the cases that all operations have."""

    @produces(operation, "not_found")
    def of_nobody(world: World) -> httpx.Response:
        return call(world, operation, world.operator)

    @produces(operation, "credential_refused")
    def with_the_key_of_an_account(world: World) -> httpx.Response:
        return call(world, operation, world.owner.by_key)

    @produces(operation, "rate_limited")
    def too_often(world: World) -> httpx.Response:
        # From an address of its own, so that the other cases are admitted.
        transport = httpx.HTTPTransport(local_address="127.0.0.77")
        with client(str(world.http.base_url), transport=transport) as http:
            for _ in range(2000):
                response = call(world, operation, world.operator, http)
                if response.status_code == 429:
                    break
        return response


for each in OPERATIONS:
    entered(each)


def account(world: World) -> str:
    """The path of a new account."""
    return f"{ACCOUNTS}/{world.newcomer().account_id}"


@produces("findOperatorAccount", "200")
def found(world: World) -> httpx.Response:
    person = world.newcomer()
    address = person.address.upper()
    response = world.anybody("GET", f"{ACCOUNTS}?address={address}", headers=world.operator)
    assert response.json()["id"] == person.account_id
    return response


@produces("readOperatorAccount", "200")
def read(world: World) -> httpx.Response:
    return world.anybody("GET", account(world), headers=world.operator)


@produces("setOperatorAccountControls", "200")
def controlled(world: World) -> httpx.Response:
    address, headers = newcomer(world)
    found = world.anybody("GET", f"{ACCOUNTS}?address={address}", headers=world.operator).json()
    given = {
        "revision": found["controls"]["revision"],
        "locked": True,
        "lockReason": "The bill is open.",
    }
    path = f"{ACCOUNTS}/{found['id']}/controls"
    response = world.anybody("PATCH", path, json=given, headers=world.operator)
    refused = world.anybody("POST", "/api/workspaces", json={"name": "A"}, headers=headers)
    assert refused.status_code == 423
    return response


@produces("setOperatorAccountControls", "controls_changed")
def controlled_twice(world: World) -> httpx.Response:
    path, given = f"{account(world)}/controls", {"revision": 1, "storageBytes": 1}
    assert world.anybody("PATCH", path, json=given, headers=world.operator).status_code == 200
    return world.anybody("PATCH", path, json=given, headers=world.operator)


@produces("setOperatorAccountControls", "last_administrator")
def last_administrator_locked(world: World) -> httpx.Response:
    path = f"{ACCOUNTS}/{world.owner.account_id}/controls"
    given = {"revision": 1, "locked": True}
    return world.anybody("PATCH", path, json=given, headers=world.operator)


@produces("removeOperatorAccount", "200")
def removed(world: World) -> httpx.Response:
    return world.anybody("DELETE", account(world), headers=world.operator)


@produces("removeOperatorAccount", "last_administrator")
def last_administrator_removed(world: World) -> httpx.Response:
    path = f"{ACCOUNTS}/{world.owner.account_id}"
    return world.anybody("DELETE", path, headers=world.operator)
