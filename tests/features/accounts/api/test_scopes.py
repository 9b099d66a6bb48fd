"""What limited keys may call: every operation of accounts is in the table."""

import json
from typing import NamedTuple

import pytest
from octavo_rules.identity import READ, WRITE

from octavo.http.contract.assembly import contract_of
from octavo.http.contract.operation import Security
from octavo.http.contract.router import parameters_of
from octavo.model.access.account import AccessLimits, parse_scopes
from octavo.service.registry import CONTRACT, api_document
from tests.access.test_workspaces import MUTATION, ask
from tests.fakes.asgi_client import Response
from tests.fakes.asgi_client import ask as request
from tests.fakes.notes_api import NOBODYS, Client, NotesApi, refusal
from tests.fakes.users_api import UsersApi


class Rule(NamedTuple):
    """What an operation declares.

    ``folder`` is the status that a key of a folder gets for a file outside it, or for its sample of
    a changed path outside; None when such keys may not call it at all.
    """

    scope: str | None
    folder: int | None = None


FULL = Rule(None)
RULES = {
    "getAccount": FULL,
    "updateOwnAccount": FULL,
    "updatePreferences": FULL,
    "acceptLegalDocuments": FULL,
    "openAccountPortal": FULL,
    "removeOwnAccount": FULL,
    "listSessions": FULL,
    "revokeSession": FULL,
    "revokeOtherSessions": FULL,
    "listApiKeys": FULL,
    "createApiKey": FULL,
    "revokeApiKey": FULL,
    "listAccounts": FULL,
    "readAccount": FULL,
    "updateAccount": FULL,
    "removeAccount": FULL,
    "listAuditEntries": FULL,
    "getInstallation": FULL,
    "updateInstallation": FULL,
    "listWorkspaces": Rule(READ, 200),
    "createWorkspace": FULL,
    "getWorkspace": Rule(READ, 200),
    "updateWorkspace": FULL,
    "deleteWorkspace": FULL,
    "listMembers": FULL,
    "updateMember": FULL,
    "removeMember": FULL,
    "createInvitation": FULL,
    "listInvitations": FULL,
    "revokeInvitation": FULL,
    "acceptInvitation": FULL,
    "createWorkspaceInvitation": FULL,
    "listWorkspaceInvitations": FULL,
    "revokeWorkspaceInvitation": FULL,
    "createFile": Rule(WRITE, 403),
    "updateFile": Rule(WRITE, 404),
    "deleteFile": Rule(WRITE, 404),
    "restoreFile": Rule(WRITE, 404),
    "purgeFile": FULL,
    "saveNote": Rule(WRITE, 404),
    "pushChangeset": Rule(WRITE, 403),
    "getReceipt": Rule(READ, 404),
    "getFile": Rule(READ, 404),
    "listFiles": Rule(READ, 200),
    "listRevisions": Rule(READ, 404),
    "getRevision": Rule(READ, 404),
    "readFiles": Rule(READ, 200),
    "diffRevisions": Rule(READ, 404),
    "listClientChanges": Rule(READ),
    "getUndo": Rule(WRITE),
    "undoClientChanges": Rule(WRITE),
    "previewRestoration": Rule(WRITE),
    "restoreWorkspace": Rule(WRITE),
    "listRestorations": Rule(WRITE),
    "getRestoration": Rule(WRITE),
    "getLinks": Rule(READ, 404),
    "listUnresolvedLinks": Rule(READ, 200),
    "searchWorkspace": Rule(READ, 200),
    "search": Rule(READ, 200),
    "getFeed": Rule(READ, 200),
    "getSnapshot": Rule(READ, 200),
    "uploadAttachment": Rule(WRITE),
    "finalizeAttachment": Rule(WRITE),
    "getFileContent": Rule(READ, 404),
    "startWorkspaceImport": Rule(WRITE),
    "putImportPart": Rule(WRITE),
    "getWorkspaceImport": Rule(WRITE),
    "completeWorkspaceImport": Rule(WRITE),
    "abortWorkspaceImport": Rule(WRITE),
    "exportWorkspace": Rule(READ, 200),
    "openSyncNotices": Rule(READ, 200),
    "createPublishedLink": FULL,
    "listPublishedLinks": FULL,
    "revokePublishedLink": FULL,
    "listReports": FULL,
    "dismissReport": FULL,
    "takeDownReportedLink": FULL,
    "listConnections": FULL,
    "revokeConnection": FULL,
    "describeAccessRequest": FULL,
    "decideAccessRequest": FULL,
}
OPERATIONS = {
    each.id: each for each in contract_of(CONTRACT) if each.security is Security.SESSION_OR_KEY
}
# The WebSocket is served outside the pipeline (`tests/ws/test_notice_stream.py`).
OF_NOTES = [name for name, rule in RULES.items() if rule.scope and name != "openSyncNotices"]
OF_WORKSPACES = [name for name in OF_NOTES if "{workspaceId}" in OPERATIONS[name].path]
CONFINABLE = [name for name in OF_NOTES if RULES[name].folder is not None]


def bare(name: str) -> tuple[str, str]:
    """The method and the target of a request that names nothing that exists."""
    operation = OPERATIONS[name]
    given = dict.fromkeys(parameters_of(operation.path), NOBODYS) | {"number": "1"}
    return operation.method, operation.path.format(**given)


async def sent(client: Client, api: NotesApi, name: str, path: str) -> Response:
    """A request that a key with full access is granted, about a note at ``path``."""
    if name == "search":
        return await client.get("/api/search?q=text")
    if name == "listWorkspaces":
        return await client.get("/api/workspaces")
    note = await api.note(path, mutationId=MUTATION)
    return await ask(client, note, OPERATIONS[name])


def test_every_operation_of_accounts_is_in_the_table() -> None:
    declared = {name: (each.scope, each.confinable) for name, each in OPERATIONS.items()}
    assert {name: (rule.scope, rule.folder is not None) for name, rule in RULES.items()} == declared


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule is FULL])
async def test_limited_key_is_refused_what_requires_full_access(
    users: UsersApi, api: NotesApi, name: str
) -> None:
    made, _ = await users.account(role="administrator")
    method, target = bare(name)
    key = await users.key(made, limits=AccessLimits(parse_scopes([WRITE])))
    of_users = await request(users.application, method, target, headers=[key])
    of_notes = await api.key(WRITE).ask(method, target)
    found = [each for each in (of_users, of_notes) if each.code not in UNSERVED]
    assert found
    for response in found:
        assert refusal(response) == (403, "insufficient_scope")
        assert response.json()["scope"] is None
        assert response.header("www-authenticate") == 'Bearer error="insufficient_scope"'


UNSERVED = {"not_found", "method_not_allowed"}
"""What an application responds that does not serve the operation."""


@pytest.mark.parametrize("name", OF_NOTES)
async def test_key_that_reads_may_not_write(api: NotesApi, name: str) -> None:
    response = await sent(api.key(READ), api, name, "a.md")
    if RULES[name].scope == READ:
        assert response.status == OPERATIONS[name].status, response.body
    else:
        assert refusal(response) == (403, "insufficient_scope")
        assert response.json()["scope"] == WRITE


@pytest.mark.parametrize("name", OF_NOTES)
async def test_key_that_writes_may_call_every_operation_of_notes(api: NotesApi, name: str) -> None:
    response = await sent(api.key(WRITE), api, name, "a.md")
    assert response.status == OPERATIONS[name].status, response.body


@pytest.mark.parametrize("name", OF_WORKSPACES)
async def test_key_of_another_workspace_finds_none(api: NotesApi, name: str) -> None:
    other = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
    response = await sent(api.key(WRITE, workspaces=[other]), api, name, "a.md")
    assert refusal(response) == (404, "not_found")


@pytest.mark.parametrize("name", OF_NOTES)
async def test_key_of_a_folder_gets_no_file_outside(api: NotesApi, name: str) -> None:
    response = await sent(api.key(WRITE, folder="tea"), api, name, "a.md")
    expected = RULES[name].folder
    if expected is None:
        assert refusal(response) == (403, "insufficient_scope")
    else:
        assert response.status == expected, response.body
        if expected == 403:
            assert response.code == "insufficient_scope"
    assert b"a.md" not in response.body


@pytest.mark.parametrize("name", CONFINABLE)
async def test_key_of_a_folder_gets_its_files(api: NotesApi, name: str) -> None:
    response = await sent(api.key(WRITE, folder="tea"), api, name, "TEA/a.md")
    expected = 403 if RULES[name].folder == 403 else OPERATIONS[name].status
    assert response.status == expected, response.body


async def test_limited_key_purges_nothing_in_a_changeset(api: NotesApi) -> None:
    note = await api.note("a.md")
    await note.delete()
    purge = {"op": "purge", "fileId": note.id}
    document = {"mutationId": NOBODYS, "operations": [purge]}
    response = await api.key(WRITE).post(f"{api.place}/changesets", document)
    assert refusal(response) == (403, "insufficient_scope")
    assert response.json()["scope"] is None
    assert (await api.push(purge)).status == 200


def test_document_says_which_keys_may_call_an_operation() -> None:
    paths = json.loads(json.dumps(api_document()))["paths"]
    declared = {
        each["operationId"]: (each["x-scope"], each["x-folder-keys"])
        for path in paths.values()
        for each in path.values()
        if isinstance(each, dict) and "x-scope" in each
    }
    assert declared == {n: (rule.scope, rule.folder is not None) for n, rule in RULES.items()}
