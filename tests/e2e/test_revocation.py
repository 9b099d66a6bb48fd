"""A right that ends is refused with the next request, and its stream closes within a second.

Each test runs with one server on either database, and with two servers on one PostgreSQL database:
the right ends at one of them, and is used at both.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest
import trio

from tests.e2e.databases import new_database
from tests.e2e.listening import Device, listening
from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, running
from tests.e2e.people import PASSWORD, Person, async_client, client, join, settle
from tests.e2e.plain_client import PlainClient

WITHIN = 1.0
"""Seconds until a stream closes whose credential or membership has ended."""
STAYS = 1.0
"""Seconds for which a stream is watched that must not close."""


@dataclass
class Servers:
    """The servers of an installation, and its administrator.

    Attributes:
        here: where rights end.
        each: every server.
        root: the administrator.
        database: the URL of the PostgreSQL database, if there is one.
    """

    here: Octavo
    each: list[Octavo]
    root: Person
    database: str | None

    async def guest(self) -> Person:
        """A new account."""
        return await trio.to_thread.run_sync(join, self.here.folder, self.database)

    @asynccontextmanager
    async def devices(self, headers: dict[str, str]) -> AsyncIterator[list[Device]]:
        """A stream at each server."""
        async with AsyncExitStack() as stack:
            yield [
                await stack.enter_async_context(listening(each.port, headers)) for each in self.each
            ]

    async def statuses(self, headers: dict[str, str], *request: str) -> list[int]:
        """The status of a request at each server."""
        method, path = request or ("GET", "/api/account")
        found = []
        for each in self.each:
            async with PlainClient(each.port, headers) as plain:
                body: dict[str, str] | None = None if method == "GET" else {}
                found.append((await plain.request(method, path, body)).status)
        return found

    def administer(self) -> httpx.AsyncClient:
        return async_client(self.here.url, self.root)


@pytest.fixture(scope="module", params=["one on sqlite", "one on postgres", "two on postgres"])
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    options: tuple[str, ...] = ()
    database = None
    with ExitStack() as stack:
        if request.param != "one on sqlite":
            server = request.getfixturevalue("postgres_server")
            database = stack.enter_context(new_database(server))
            options = ("--database", database)
        each = [
            stack.enter_context(running(stack.enter_context(data_folder()), *options))
            for _ in range(2 if request.param == "two on postgres" else 1)
        ]
        yield Servers(each[0], each, settle(each[0]), database)
        for server in each:
            assert server.stop() == (0, [])


async def ended(servers: Servers, headers: dict[str, str], devices: list[Device]) -> None:
    """Check that a credential is refused with the next request, and that its streams close soon."""
    with trio.fail_after(WITHIN):
        assert set(await servers.statuses(headers)) == {401}
        assert {await device.closed() for device in devices} == {1008}


def signed_in(server: Octavo, person: Person) -> dict[str, str]:
    """The headers of a new session."""
    with client(server.url) as http:
        given = {"email": person.address, "password": PASSWORD}
        response = http.post("/api/auth/sign-in/email", json=given, headers={"origin": PUBLIC})
    assert response.status_code == 200, response.text
    return {"cookie": response.headers["set-cookie"].partition(";")[0], "origin": PUBLIC}


@pytest.mark.parametrize("way", ["signed out", "revoked", "others revoked", "password changed"])
async def test_ended_session(servers: Servers, way: str) -> None:
    guest = await servers.guest()
    session = signed_in(servers.here, guest)
    assert set(await servers.statuses(session)) == {200}
    async with (
        servers.devices(session) as devices,
        PlainClient(servers.here.port, session) as own,
        PlainClient(servers.here.port, guest.by_cookie) as other,
    ):
        match way:
            case "signed out":
                done = await own.request("POST", "/api/auth/sign-out", {})
            case "revoked":
                listed = (await other.request("GET", "/api/account/sessions")).json()["items"]
                done = await other.request("DELETE", f"/api/account/sessions/{listed[0]['id']}")
            case "others revoked":
                done = await other.request("POST", "/api/account/sessions/revoke-others")
            case _:
                given = {
                    "currentPassword": PASSWORD,
                    "newPassword": "another good password",
                    "revokeOtherSessions": True,
                }
                done = await other.request("POST", "/api/auth/change-password", given)
        assert done.status == 200
        await ended(servers, session, devices)


async def test_revoked_key(servers: Servers) -> None:
    guest = await servers.guest()
    async with async_client(servers.here.url, guest) as http:
        made = (await http.post("/api/account/keys", json={"name": "lost"})).json()
        by_key = {"authorization": f"Bearer {made['secret']}"}
        assert set(await servers.statuses(by_key)) == {200}
        async with servers.devices(by_key) as devices:
            assert (await http.delete(f"/api/account/keys/{made['id']}")).status_code == 200
            await ended(servers, by_key, devices)
    assert set(await servers.statuses(guest.by_key)) == {200}


@pytest.mark.parametrize("credential", ["key", "session"])
@pytest.mark.parametrize("way", ["disabled", "removed"])
async def test_disabled_or_removed_account(servers: Servers, way: str, credential: str) -> None:
    guest = await servers.guest()
    headers = guest.by_key if credential == "key" else guest.by_cookie
    assert set(await servers.statuses(headers)) == {200}
    path = f"/api/accounts/{guest.account_id}"
    async with servers.devices(headers) as devices, servers.administer() as http:
        if way == "disabled":
            done = await http.patch(path, json={"state": "disabled"})
        else:
            done = await http.delete(path)
        assert done.status_code == 200
        await ended(servers, headers, devices)


@pytest.mark.parametrize("by", ["state", "controls"])
async def test_locked_account_is_refused_and_keeps_its_stream(servers: Servers, by: str) -> None:
    # A locked account keeps listWorkspaces and openSyncNotices, with what they show.
    guest = await servers.guest()
    async with async_client(servers.here.url, guest) as http:
        workspace = (await http.post("/api/workspaces", json={"name": "A"})).json()["id"]
    refused = ("POST", f"/api/workspaces/{workspace}/files")
    assert set(await servers.statuses(guest.by_key, *refused)) == {400}
    given = {"state": "locked"} if by == "state" else {"controls": {"revision": 1, "locked": True}}
    async with servers.devices(guest.by_key) as devices, servers.administer() as http:
        for device in devices:
            await device.subscribe(workspace)
        path = f"/api/accounts/{guest.account_id}"
        assert (await http.patch(path, json=given)).status_code == 200
        assert set(await servers.statuses(guest.by_key, *refused)) == {423}
        assert set(await servers.statuses(guest.by_key, "GET", "/api/workspaces")) == {200}
        with trio.move_on_after(STAYS) as watching:
            await devices[-1].closed()
        assert watching.cancelled_caught
        # The streams still work, and new ones can be opened.
        for device in devices:
            assert await device.subscribe(workspace) == 0
        async with servers.devices(guest.by_key):
            pass


async def test_lost_membership(servers: Servers) -> None:
    guest = await servers.guest()
    async with servers.administer() as http, servers.devices(guest.by_key) as devices:
        workspace = (await http.post("/api/workspaces", json={"name": "A"})).json()["id"]
        path = f"/api/workspaces/{workspace}"
        invited_to = (await http.post(f"{path}/invitations", json={"role": "reader"})).json()
        given = {"token": invited_to["token"]}
        async with async_client(servers.each[-1].url, guest) as theirs:
            joined = await theirs.post("/api/invitations/accept", json=given)
        assert joined.status_code == 200
        assert set(await servers.statuses(guest.by_key, "GET", f"{path}/files")) == {200}
        for device in devices:
            await device.subscribe(workspace)
        removed = await http.delete(f"{path}/members/{guest.account_id}")
        assert removed.status_code == 200
        with trio.fail_after(WITHIN):
            assert set(await servers.statuses(guest.by_key, "GET", f"{path}/files")) == {404}
            for device in devices:
                gone = {"type": "gone", "workspaceId": workspace, "reason": "not_found"}
                assert await device.next() == gone
                assert await device.closed() == 1008
    assert set(await servers.statuses(guest.by_key)) == {200}
