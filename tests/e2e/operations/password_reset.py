"""Cases of forgotten passwords."""

from dataclasses import replace

import httpx

from tests.e2e.operations.cases import produces
from tests.e2e.operations.identity import OURS, newcomer, sign_in
from tests.e2e.operations.world import World
from tests.e2e.people import PASSWORD, client


def request(world: World, address: str, **headers: str) -> httpx.Response:
    given = {"email": address, "redirectTo": "/reset-password"}
    headers = headers or OURS
    return world.anybody("POST", "/api/auth/request-password-reset", json=given, headers=headers)


def reset(world: World, token: str, **headers: str) -> httpx.Response:
    given = {"newPassword": PASSWORD, "token": token}
    headers = headers or OURS
    return world.anybody("POST", "/api/auth/reset-password", json=given, headers=headers)


@produces("requestPasswordReset", "200")
def requested(world: World) -> httpx.Response:
    known = request(world, world.stranger.address)
    assert request(world, "unknown@example.org").json() == known.json()
    return known


@produces("requestPasswordReset", "rate_limited")
def requested_too_often(world: World) -> httpx.Response:
    for _ in range(20):
        response = request(world, "often@example.org")
        if response.status_code == 429:
            break
    return response


@produces("requestPasswordReset", "wrong_origin")
def requested_from_elsewhere(world: World) -> httpx.Response:
    return request(world, "a@example.org", origin="https://elsewhere.example")


@produces("resetPassword", "200")
def done(world: World) -> httpx.Response:
    address = world.locked.address
    signed_in = sign_in(world, address)
    cookie = {"cookie": signed_in.headers["set-cookie"].partition(";")[0]}
    assert world.anybody("GET", "/api/account", headers=cookie).status_code == 200
    response = reset(world, world.reset_token(address))
    assert world.anybody("GET", "/api/account", headers=cookie).status_code == 401
    assert world.ask("GET", "/api/account", headers=world.locked.by_key).status_code == 200
    return response


@produces("resetPassword", "200")
def done_for_an_address_that_was_not_proven(world: World) -> httpx.Response:
    address, session = newcomer(world)
    made = world.anybody("POST", "/api/account/keys", json={"name": "a key"}, headers=session)
    key = {"authorization": f"Bearer {made.json()['secret']}"}
    assert world.anybody("GET", "/api/account", headers=key).status_code == 200
    response = reset(world, world.reset_token(address))
    assert world.anybody("GET", "/api/account", headers=key).status_code == 401
    return response


@produces("resetPassword", "invalid_token")
def done_twice(world: World) -> httpx.Response:
    token = world.reset_token(world.locked.address)
    assert reset(world, token).status_code == 200
    return reset(world, token)


@produces("resetPassword", "wrong_origin")
def done_from_elsewhere(world: World) -> httpx.Response:
    return reset(world, "a" * 43, origin="https://elsewhere.example")


@produces("resetPassword", "rate_limited")
def done_too_often(world: World) -> httpx.Response:
    # From an address of its own, so that the other cases are admitted.
    transport = httpx.HTTPTransport(local_address="127.0.0.78")
    with client(str(world.http.base_url), transport=transport) as http:
        elsewhere = replace(world, http=http)
        for _ in range(200):
            response = reset(elsewhere, "a" * 43)
            if response.status_code == 429:
                break
    return response
