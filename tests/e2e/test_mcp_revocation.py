"""The access of a program ends with the next request: at the server where it ends, and at another.

Each test runs with one server on SQLite, and with two servers on one PostgreSQL database.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.e2e.databases import new_database
from tests.e2e.octavo_process import data_folder, running
from tests.e2e.people import Person, settle
from tests.e2e.programs import Program, Servers
from tests.e2e.test_legal import FIRST, write_terms

WRITING = {"create_note", "update_note", "edit_note", "move_note", "delete_note"}
ON = ("--mcp", "true", "--mcp-write", "true")


@pytest.fixture(scope="module", params=["one on sqlite", "two on postgres"])
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    options: tuple[str, ...] = ON
    database, count = None, 1
    with ExitStack() as stack:
        if request.param == "two on postgres":
            database = stack.enter_context(new_database(request.getfixturevalue("postgres_server")))
            options, count = (*ON, "--database", database), 2
        each = [
            stack.enter_context(running(stack.enter_context(data_folder()), *options))
            for _ in range(count)
        ]
        yield Servers(each, settle(each[0]), database)
        for server in each:
            assert server.stop() == (0, [])


@pytest.fixture(scope="module")
def person(servers: Servers) -> Person:
    """An account that no test changes."""
    return servers.guest()


def seen(servers: Servers, person: Person) -> Program:
    """A program that a person allowed everything; every server has seen its token."""
    made = Program.allowed(servers, person)
    assert {each.status_code for each in made.ask("ping")} == {200}
    return made


@pytest.fixture
def program(servers: Servers, person: Person) -> Program:
    return seen(servers, person)


def _end_by_person(program: Program) -> None:
    servers, person = program.servers, program.person
    listed = servers.send(person, "GET", "/api/account/connections")["items"]
    [found] = [each["id"] for each in listed if each["clientId"] == program.client_id]
    servers.send(person, "DELETE", f"/api/account/connections/{found}")


def _end_refresh_token(program: Program) -> None:
    token = program.tokens["refresh_token"]
    assert program.post("/oauth/revoke", token=token).status_code == 200


def _end_access_token(program: Program) -> None:
    token = program.tokens["access_token"]
    assert program.post("/oauth/revoke", token=token).status_code == 200


def _remove_program(program: Program) -> None:
    assert program.remove().status_code == 204


def _replay_code(program: Program) -> None:
    assert program.exchange().json()["error"] == "invalid_grant"


def _replay_refresh_token(program: Program) -> None:
    assert program.renew().status_code == 200
    assert {each.status_code for each in program.ask("ping")} == {200}
    assert program.renew().json()["error"] == "invalid_grant"


def _change_account(method: str, body: object = None) -> Callable[[Program], None]:
    def change(program: Program) -> None:
        servers = program.servers
        servers.send(servers.root, method, f"/api/accounts/{program.person.account_id}", body)

    return change


ENDS: dict[str, Callable[[Program], None]] = {
    "the person ends it": _end_by_person,
    "the program ends its refresh token": _end_refresh_token,
    "the program ends its access token": _end_access_token,
    "the program is removed": _remove_program,
    "its code is used again": _replay_code,
    "its refresh token is used again": _replay_refresh_token,
}
ACCOUNT_ENDS: dict[str, Callable[[Program], None]] = {
    "disabled": _change_account("PATCH", {"state": "disabled"}),
    "removed": _change_account("DELETE"),
}
LOCKS: dict[str, Callable[[Program], None]] = {
    "by its state": _change_account("PATCH", {"state": "locked"}),
    "by the controls": _change_account("PATCH", {"controls": {"revision": 1, "locked": True}}),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_token_is_refused_at_once(program: Program, end: Callable[[Program], None]) -> None:
    end(program)
    _refused(program)


@pytest.mark.parametrize("end", ACCOUNT_ENDS.values(), ids=ACCOUNT_ENDS)
def test_token_of_an_account_that_ended_is_refused_at_once(
    servers: Servers, end: Callable[[Program], None]
) -> None:
    program = seen(servers, servers.guest())
    end(program)
    _refused(program)
    assert program.renew().json()["error"] == "invalid_grant"


def _refused(program: Program) -> None:
    for refused in program.ask("ping"):
        assert (refused.status_code, refused.json()["error"]) == (401, "invalid_token")
        assert 'error="invalid_token"' in refused.headers["www-authenticate"]


def test_of_concurrent_renewals_at_any_server_one_succeeds_and_everything_ends(
    program: Program,
) -> None:
    places = [*range(len(program.servers.urls))] * 2
    with ThreadPoolExecutor(len(places)) as threads:
        answers = [*threads.map(lambda at: program.renew(at=at), places)]
    [won] = [each.json() for each in answers if each.status_code == 200]
    assert {each.status_code for each in answers} == {200, 400}
    for tokens in (program.tokens, won):
        program.tokens = tokens
        assert {each.status_code for each in program.ask("ping")} == {401}
    assert program.renew().json()["error"] == "invalid_grant"


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_program_of_a_locked_account_is_refused(
    servers: Servers, lock: Callable[[Program], None]
) -> None:
    program = seen(servers, servers.guest())
    lock(program)
    for refused in program.ask("ping"):
        assert refused.status_code == 403
        assert refused.json()["error"]["data"] == {"code": "forbidden"}
    assert program.renew().status_code == 200


def test_membership_that_ends_or_is_less_counts_at_once(program: Program) -> None:
    servers, guest = program.servers, program.person
    made = servers.send(servers.root, "POST", "/api/workspaces", {"name": "Shared"})
    place, workspace_id = f"/api/workspaces/{made['id']}", made["id"]
    servers.send(servers.root, "POST", f"{place}/files", {"path": "a.md", "text": "tea"})
    given = servers.send(servers.root, "POST", f"{place}/invitations", {"role": "editor"})
    servers.send(guest, "POST", "/api/invitations/accept", {"token": given["token"]})
    [listed, *_] = program.call("list_notes", workspace_id=workspace_id)
    [note] = listed["structuredContent"]["notes"]
    created = program.call("create_note", workspace_id=workspace_id, path="b.md", text="b")
    assert not created[0]["isError"]
    member = f"{place}/members/{guest.account_id}"
    servers.send(servers.root, "PATCH", member, {"role": "reader"})
    for refused in program.call("create_note", workspace_id=workspace_id, path="c.md", text="c"):
        assert refused["isError"]
        assert "may not do this" in refused["content"][0]["text"]
    servers.send(servers.root, "DELETE", member)
    _see_nothing(program, workspace_id, note["note_id"])


def test_deleted_workspace_is_gone_at_once(program: Program) -> None:
    servers, person = program.servers, program.person
    made = servers.send(person, "POST", "/api/workspaces", {"name": "Short-lived"})
    place = f"/api/workspaces/{made['id']}"
    servers.send(person, "POST", f"{place}/files", {"path": "a.md", "text": "tea"})
    [listed, *_] = program.call("list_notes", workspace_id=made["id"])
    [note] = listed["structuredContent"]["notes"]
    servers.send(person, "DELETE", place)
    _see_nothing(program, made["id"], note["note_id"])


def _see_nothing(program: Program, workspace_id: str, note_id: str) -> None:
    """Check that no tool and no resource shows a workspace."""
    for tool, arguments in (
        ("list_notes", {"workspace_id": workspace_id}),
        ("recent_changes", {"workspace_id": workspace_id}),
        ("read_note", {"note_id": note_id}),
        ("fetch", {"id": note_id}),
        ("note_history", {"note_id": note_id}),
        ("backlinks", {"note_id": note_id}),
    ):
        for refused in program.call(tool, **arguments):
            assert refused["isError"], tool
            assert "Check the id" in refused["content"][0]["text"]
    for found in program.call("search", query="tea"):
        assert found["structuredContent"] == {"results": []}
    for found in program.call("list_workspaces"):
        assert found["structuredContent"]["workspaces"] == []
    for response in program.ask("resources/read", uri=note_id):
        assert response.json()["error"]["code"] == -32002
    for response in program.ask("resources/list"):
        assert response.json()["result"]["resources"] == []


def test_what_the_operator_switches_off_or_requires_counts_for_tokens_that_exist() -> None:
    with data_folder() as folder:
        with running(folder, *ON) as octavo:
            servers = Servers([octavo], settle(octavo), None)
            program = Program.allowed(servers, servers.root)
            made = servers.send(servers.root, "POST", "/api/workspaces", {"name": "Notes"})
            assert program.tokens["scope"] == "notes:read notes:write"
            assert program.names() >= WRITING
            assert octavo.stop() == (0, [])
        with running(folder, "--mcp", "true", *write_terms(folder, "1")) as octavo:
            servers.urls = [octavo.url]
            # The documents came into force meanwhile.
            [refused] = program.ask("tools/list")
            assert refused.status_code == 403
            assert refused.json()["error"]["data"] == {"code": "forbidden"}
            servers.send(servers.root, "POST", "/api/account/consent", FIRST)
            assert program.names()
            assert not program.names() & WRITING
            arguments = {"workspace_id": made["id"], "path": "a.md", "text": "a"}
            [unknown] = program.ask("tools/call", name="create_note", arguments=arguments)
            assert unknown.json()["error"]["code"] == -32602
            [listed] = program.call("list_notes", workspace_id=made["id"])
            assert listed["structuredContent"]["notes"] == []
            metadata = "/.well-known/oauth-authorization-server"
            offered = servers.send(servers.root, "GET", metadata)["scopes_supported"]
            assert offered == ["notes:read"]
            assert program.renew(scope="notes:write").json()["error"] == "invalid_scope"
            assert program.renew().json()["scope"] == "notes:read"
            assert octavo.stop() == (0, [])
