"""Cases of signing in, accounts, sessions and keys, and of operations without authentication."""

from datetime import UTC, datetime, timedelta
from itertools import count

import httpx

from tests.e2e.octavo_process import PUBLIC
from tests.e2e.operations.cases import produces
from tests.e2e.operations.world import CONSENT, UNKNOWN, Json, World
from tests.e2e.people import PASSWORD, Person

OURS = {"origin": PUBLIC}

_numbers = count(1)


@produces("getHealth", "200")
def health(world: World) -> httpx.Response:
    return world.anybody("GET", "/api/health")


@produces("getRootHealth", "200")
def root_health(world: World) -> httpx.Response:
    return world.anybody("GET", "/health")


@produces("getReadiness", "200")
def readiness(world: World) -> httpx.Response:
    return world.anybody("GET", "/api/ready")


@produces("getRootReadiness", "200")
def root_readiness(world: World) -> httpx.Response:
    return world.anybody("GET", "/ready?detail=summary")


@produces("getContract", "200")
def contract(world: World) -> httpx.Response:
    return world.anybody("GET", "/api/openapi.json")


@produces("getSyncProtocol", "200")
def protocol(world: World) -> httpx.Response:
    return world.anybody("GET", "/api/sync/protocol")


def registration(world: World, **given: object) -> httpx.Response:
    number = next(_numbers)
    body = {
        "invitation": "unknown",
        "address": f"nobody{number}@example.org",
        "password": PASSWORD,
        "displayName": f"Nobody{number}",
        "consent": CONSENT,
        **given,
    }
    return world.anybody("POST", "/api/registrations", json=body, headers=OURS)


@produces("registerAccount", "201")
def registered(world: World) -> httpx.Response:
    return registration(world, invitation=world.invitation())


@produces("registerAccount", "not_found")
def registered_without_an_invitation(world: World) -> httpx.Response:
    return registration(world)


@produces("registerAccount", "address_taken")
def registered_twice(world: World) -> httpx.Response:
    return registration(world, invitation=world.invitation(), address=world.owner.address)


@produces("registerAccount", "consent_required")
def registered_without_consent(world: World) -> httpx.Response:
    return registration(world, invitation=world.invitation(), consent=None)


@produces("registerAccount", "rate_limited")
def registered_too_often(world: World) -> httpx.Response:
    for _ in range(20):
        response = registration(world, address="often@example.org")
        if response.status_code == 429:
            break
    return response


@produces("registerAccount", "wrong_origin")
def registered_from_elsewhere(world: World) -> httpx.Response:
    body = {"address": "a@example.org", "password": PASSWORD, "displayName": "A"}
    headers = {"origin": "https://elsewhere.example"}
    return world.anybody("POST", "/api/registrations", json=body, headers=headers)


def sign_in(world: World, address: str, password: str = PASSWORD, **more: object) -> httpx.Response:
    given = {"email": address, "password": password, **more}
    return world.anybody("POST", "/api/auth/sign-in/email", json=given, headers=OURS)


@produces("signInWithPassword", "200")
def signed_in(world: World) -> httpx.Response:
    return sign_in(world, world.stranger.address, callbackURL="/notes", rememberMe=True)


@produces("signInWithPassword", "credential_refused")
def signed_in_with_another_password(world: World) -> httpx.Response:
    return sign_in(world, world.stranger.address, "another password")


@produces("signInWithPassword", "rate_limited")
def signed_in_too_often(world: World) -> httpx.Response:
    for _ in range(20):
        response = sign_in(world, "nobody@example.org")
        if response.status_code == 429:
            break
    return response


@produces("signInWithPassword", "wrong_origin")
def signed_in_from_elsewhere(world: World) -> httpx.Response:
    given = {"email": world.stranger.address, "password": PASSWORD}
    return world.anybody("POST", "/api/auth/sign-in/email", json=given)


@produces("getAuthSession", "200")
def auth_session(world: World) -> httpx.Response:
    headers = {"cookie": world.owner.cookie}
    response = world.anybody("GET", "/api/auth/get-session", headers=headers)
    assert response.json()["user"]["email"] == world.owner.address
    return response


@produces("getAuthSession", "wrong_origin")
def auth_session_from_elsewhere(world: World) -> httpx.Response:
    headers = {"cookie": world.owner.cookie, "origin": "https://elsewhere.example"}
    return world.anybody("GET", "/api/auth/get-session", headers=headers)


def signed_in_anew(world: World, address: str = "") -> dict[str, str]:
    response = sign_in(world, address or world.stranger.address)
    assert response.status_code == 200, response.text
    return {"cookie": response.headers["set-cookie"].partition(";")[0], **OURS}


@produces("signOut", "200")
def signed_out(world: World) -> httpx.Response:
    headers = signed_in_anew(world)
    response = world.anybody("POST", "/api/auth/sign-out", json={}, headers=headers)
    assert world.anybody("GET", "/api/account", headers=headers).status_code == 401
    return response


@produces("signOut", "wrong_origin")
def signed_out_from_elsewhere(world: World) -> httpx.Response:
    headers = {"cookie": world.owner.cookie}
    return world.anybody("POST", "/api/auth/sign-out", json={}, headers=headers)


def password_change(
    world: World, headers: dict[str, str], current: str = PASSWORD, new: str = PASSWORD
) -> httpx.Response:
    given = {"currentPassword": current, "newPassword": new, "revokeOtherSessions": False}
    return world.anybody("POST", "/api/auth/change-password", json=given, headers=headers)


def newcomer(world: World) -> tuple[str, dict[str, str]]:
    """The address of a new account, and the headers of its session."""
    made = world.newcomer()
    return made.address, made.by_cookie


@produces("changePassword", "200")
def password_changed(world: World) -> httpx.Response:
    address, headers = newcomer(world)
    response = password_change(world, headers, new="another good password")
    assert sign_in(world, address).status_code == 401
    assert sign_in(world, address, "another good password").status_code == 200
    return response


@produces("changePassword", "credential_refused")
def password_changed_by_a_guess(world: World) -> httpx.Response:
    _, headers = newcomer(world)
    return password_change(world, headers, current="a mere guess")


@produces("changePassword", "not_signed_in")
def password_changed_by_nobody(world: World) -> httpx.Response:
    return password_change(world, OURS)


@produces("changePassword", "account_locked")
def password_changed_by_who_is_locked(world: World) -> httpx.Response:
    # A session of its own: another case ends those of this account.
    signed_in = sign_in(world, world.locked.address)
    cookie = {"cookie": signed_in.headers["set-cookie"].partition(";")[0], **OURS}
    return password_change(world, cookie)


@produces("changePassword", "consent_required")
def password_changed_before_consent(world: World) -> httpx.Response:
    return password_change(world, world.due.by_cookie)


@produces("changePassword", "wrong_origin")
def password_changed_from_elsewhere(world: World) -> httpx.Response:
    return password_change(world, {"cookie": world.owner.cookie})


@produces("changePassword", "rate_limited")
def password_changed_too_often(world: World) -> httpx.Response:
    _, headers = newcomer(world)
    for _ in range(20):
        response = password_change(world, headers, current="a mere guess")
        if response.status_code == 429:
            break
    return response


@produces("getAccount", "200")
def account(world: World) -> httpx.Response:
    address, headers = newcomer(world)
    response = world.anybody("GET", "/api/account", headers=headers)
    assert response.json()["address"] == address
    return response


@produces("updateOwnAccount", "200")
def renamed(world: World) -> httpx.Response:
    _, headers = newcomer(world)
    given = {"displayName": "Ada of the kitchen"}
    response = world.anybody("PATCH", "/api/account", json=given, headers=headers)
    assert response.json() == world.anybody("GET", "/api/account", headers=headers).json()
    return response


@produces("updatePreferences", "200")
def preferred(world: World) -> httpx.Response:
    _, headers = newcomer(world)
    before = world.ask("GET", "/api/account", headers=headers).json()["preferences"]
    given = {"appearance": "dark", "spellCheck": False}
    response = world.ask("PUT", "/api/account/preferences", json=given, headers=headers)
    assert response.json() == {**before, **given}
    after = world.ask("GET", "/api/account", headers=headers).json()
    assert after["preferences"] == response.json()
    return response


@produces("listSessions", "200")
def sessions(world: World) -> httpx.Response:
    return world.ask("GET", "/api/account/sessions", headers=newcomer(world)[1])


def sessions_of(world: World, person: Person) -> list[Json]:
    response = world.ask("GET", "/api/account/sessions", headers=person.by_key)
    found: list[Json] = response.json()["items"]
    return found


@produces("revokeSession", "200")
def session_revoked(world: World) -> httpx.Response:
    headers = signed_in_anew(world)
    newest = sessions_of(world, world.stranger)[0]["id"]
    path = f"/api/account/sessions/{newest}"
    response = world.ask("DELETE", path, headers=world.stranger.by_key)
    assert world.anybody("GET", "/api/account", headers=headers).status_code == 401
    return response


@produces("revokeSession", "not_found")
def session_of_another_revoked(world: World) -> httpx.Response:
    foreign = sessions_of(world, world.owner)[0]["id"]
    return world.ask("DELETE", f"/api/account/sessions/{foreign}", headers=world.stranger.by_key)


@produces("revokeOtherSessions", "200")
def other_sessions_revoked(world: World) -> httpx.Response:
    address, others = newcomer(world)
    headers = signed_in_anew(world, address)
    response = world.anybody("POST", "/api/account/sessions/revoke-others", headers=headers)
    assert world.anybody("GET", "/api/account", headers=others).status_code == 401
    return response


@produces("listApiKeys", "200")
def keys(world: World) -> httpx.Response:
    _, headers = newcomer(world)
    world.ask("POST", "/api/account/keys", json={"name": "Backup script"}, headers=headers)
    response = world.ask("GET", "/api/account/keys", headers=headers)
    assert all("secret" not in key for key in response.json()["items"])
    return response


def new_key(world: World) -> httpx.Response:
    return world.ask(
        "POST", "/api/account/keys", json={"name": "one more"}, headers=world.stranger.by_key
    )


@produces("createApiKey", "201")
def key_made(world: World) -> httpx.Response:
    given = {
        "name": "Backup script",
        "expiresAt": (datetime.now(UTC) + timedelta(days=360)).isoformat(),
        "scopes": ["notes:read"],
        "workspaceIds": [world.workspace],
        "folder": "Recipes",
    }
    response = world.ask("POST", "/api/account/keys", json=given)
    by_key = {"authorization": f"Bearer {response.json()['secret']}"}
    assert world.anybody("GET", f"{world.base}/files", headers=by_key).status_code == 200
    return response


@produces("createApiKey", "too_many_keys")
def too_many_keys_made(world: World) -> httpx.Response:
    made = []
    while (response := new_key(world)).status_code == 201:
        made.append(response.json()["id"])
        assert len(made) < 30
    for key in made:
        world.ask("DELETE", f"/api/account/keys/{key}", headers=world.stranger.by_key)
    return response


def hasty(world: World) -> dict[str, str]:
    """The headers of a new account that has created too many keys and invitations."""
    _, headers = newcomer(world)
    for _ in range(200):
        made = world.ask("POST", "/api/account/keys", json={"name": "a key"}, headers=headers)
        if made.status_code == 429:
            break
    return headers


def limited(world: World, path: str, body: object, headers: dict[str, str]) -> httpx.Response:
    """The response to a request that is sent until it comes too often.

    On a slow machine, an attempt becomes free between others.
    """
    for _ in range(5):
        response = world.ask("POST", path, json=body, headers=headers)
        if response.status_code == 429:
            break
    return response


@produces("createApiKey", "rate_limited")
def key_made_too_often(world: World) -> httpx.Response:
    headers = hasty(world)
    made = new_key(world).json()
    path = f"/api/account/keys/{made['id']}"
    revoked = world.ask("DELETE", path, headers=world.stranger.by_key)
    assert revoked.status_code == 200, revoked.text
    return limited(world, "/api/account/keys", {"name": "a key"}, headers)


@produces("revokeApiKey", "200")
def key_revoked(world: World) -> httpx.Response:
    made = new_key(world).json()
    path = f"/api/account/keys/{made['id']}"
    response = world.ask("DELETE", path, headers=world.stranger.by_key)
    by_key = {"authorization": f"Bearer {made['secret']}"}
    assert world.anybody("GET", "/api/account", headers=by_key).status_code == 401
    return response


@produces("revokeApiKey", "not_found")
def unknown_key_revoked(world: World) -> httpx.Response:
    return world.ask("DELETE", f"/api/account/keys/{UNKNOWN}")


def own_removal(world: World, headers: dict[str, str], password: str = PASSWORD) -> httpx.Response:
    given = {"password": password}
    return world.anybody("POST", "/api/account/removal", json=given, headers=headers)


@produces("removeOwnAccount", "200")
def own_account_removed(world: World) -> httpx.Response:
    address, headers = newcomer(world)
    made = world.anybody("POST", "/api/workspaces", json={"name": "Mine"}, headers=headers)
    assert made.status_code == 201
    response = own_removal(world, headers)
    assert world.anybody("GET", "/api/account", headers=headers).status_code == 401
    assert sign_in(world, address).status_code == 401
    return response


@produces("removeOwnAccount", "credential_refused")
def own_account_removed_by_a_guess(world: World) -> httpx.Response:
    _, headers = newcomer(world)
    return own_removal(world, headers, "a mere guess")


@produces("removeOwnAccount", "last_administrator")
def last_administrator_removed_itself(world: World) -> httpx.Response:
    return own_removal(world, world.owner.by_cookie)


@produces("removeOwnAccount", "rate_limited")
def own_account_removed_too_often(world: World) -> httpx.Response:
    _, headers = newcomer(world)
    for _ in range(20):
        response = own_removal(world, headers, "a mere guess")
        if response.status_code == 429:
            break
    return response
