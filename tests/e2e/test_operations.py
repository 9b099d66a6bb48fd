"""Every operation of the contract over real sockets: success and refusals, on both databases.

The refusals that all operations have in common are asked of each operation with SQLite.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from octavo.model.access.token import operator_token
from octavo.service.registry import api_document
from tests.e2e.databases import new_database
from tests.e2e.octavo_process import data_folder, running
from tests.e2e.operations import (
    administration,
    archives,
    attachments,
    audit,
    changesets,
    documents,
    files,
    finding,
    identity,
    installation,
    invitations,
    members,
    operator,
    password_reset,
    programs,
    publishing,
    restorations,
    usage,
)
from tests.e2e.operations.cases import CASES, Case
from tests.e2e.operations.common import ALIKE, common_case, operations
from tests.e2e.operations.examples import checked_in, members_of, recorded
from tests.e2e.operations.world import ACCEPTED, World, inhabited, options_for
from tests.e2e.people import client, settle
from tests.e2e.served_contract import ServedContract

DOCUMENT = api_document()
TOLD = {each["operationId"]: each for each in operations(DOCUMENT)}
DOCUMENTED = set(ServedContract(DOCUMENT).codes())

# Every limited key may read.
FOR_EVERY_KEY = {
    name
    for name, each in TOLD.items()
    if each.get("x-scope") == "notes:read" and each["x-folder-keys"]
}
# No request produces these; test_processes.py takes a database away, test_archives.py has jobs that
# run while others start, and antechamber tests how it responds to any request.
FROM_INSIDE = {
    "archive_job_running",
    "archive_jobs_busy",
    "head_timeout",
    "internal_error",
    "not_ready",
    "notices_unavailable",
    "request_timeout",
    "server_busy",
    "storage_full",
    "storage_unavailable",
    "too_many_connections",
    "workspace_busy",
}
# Every member of a workspace may read it, and every caller has an account.
FOR_MEMBERS_ALONE = {
    "abortWorkspaceImport",
    "completeWorkspaceImport",
    "createFile",
    "createInvitation",
    "createPublishedLink",
    "createWorkspaceInvitation",
    "deleteFile",
    "deleteWorkspace",
    "finalizeAttachment",
    "dismissReport",
    "getInstallation",
    "getUndo",
    "getRestoration",
    "getWorkspaceImport",
    "listAccounts",
    "listAuditEntries",
    "listInvitations",
    "listPublishedLinks",
    "listReports",
    "listRestorations",
    "listWorkspaceInvitations",
    "previewRestoration",
    "purgeFile",
    "pushChangeset",
    "putImportPart",
    "restoreFile",
    "restoreWorkspace",
    "readAccount",
    "revokeInvitation",
    "revokePublishedLink",
    "revokeWorkspaceInvitation",
    "removeAccount",
    "removeMember",
    "saveNote",
    "startWorkspaceImport",
    "takeDownReportedLink",
    "undoClientChanges",
    "updateAccount",
    "updateFile",
    "updateInstallation",
    "updateMember",
    "updateWorkspace",
    "uploadAttachment",
}
# A server with an operator token, where administrators decide on the registration policy, does not
# produce these; test_legal.py has the second.
OF_OTHER_SETTINGS = {"operator_off", "setting_locked"}
# It opens no event stream: tests/features/mcp/api/test_mcp.py has its refusals.
NEVER = {"openMcp"}
# While the MCP endpoint is off: test_oauth.py has the rest. And what a metadata document elsewhere
# says wrong: tests/features/oauth/test_client_documents.py.
OF_PROGRAMS = {
    *(
        (operation, "not_found")
        for operation in (
            "decideAccessRequest",
            "describeAccessRequest",
            "getAuthorizationServer",
            "getMcpMetadata",
            "getRootMcpMetadata",
            "listConnections",
        )
    ),
    ("decideAccessRequest", "invalid_client_metadata"),
    ("describeAccessRequest", "invalid_client_metadata"),
}
# Declared for every operation of the tag auth, because the specification lists the statuses for the
# group; these operations never respond so.
OF_THE_GROUP = {
    *(
        (operation, "credential_refused")
        for operation in (
            "getAuthSession",
            "registerAccount",
            "requestPasswordReset",
            "resetPassword",
            "signOut",
        )
    ),
    *(
        (operation, "not_found")
        for operation in (
            "changePassword",
            "getAuthSession",
            "requestPasswordReset",
            "resetPassword",
            "signInWithPassword",
            "signOut",
        )
    ),
    ("getAuthSession", "body_too_large"),
    ("getAuthSession", "rate_limited"),
    ("getAuthSession", "unsupported_media_type"),
    ("signOut", "rate_limited"),
}
# Only an image has no text to compare or to restore, and only notes can be created; and what was
# accepted once is within the limits, as long as these don't change.
OF_OTHER_KINDS = {
    # A body that is too large has a code of its own.
    ("putImportPart", "archive_too_large"),
    ("diffRevisions", "invalid_content"),
    ("restoreFile", "invalid_content"),
    ("restoreFile", "unrenderable_note"),
    ("undoClientChanges", "unrenderable_note"),
}

# The server responds alike to each, and does not know the formats of protocols.
ANY_OPERATION = [
    ("getAccount", "GET", "/api/account"),
    ("issueToken", "POST", "/oauth/token"),
    ("serveMcp", "POST", "/mcp"),
]

# The first success of each operation is its example in the document.
EXEMPLARY = {
    each.operation: each
    for each in reversed(CASES)
    if each.outcome < "4" and members_of(each.operation)
}


def needed() -> set[tuple[str, str]]:
    """What is documented, except for what a request alone can't produce."""
    return {
        (operation, code)
        for operation, code in DOCUMENTED
        if code not in FROM_INSIDE | OF_OTHER_SETTINGS
        and operation not in NEVER
        and (operation, code) not in OF_OTHER_KINDS | OF_THE_GROUP | OF_PROGRAMS
        and not (code == "forbidden" and operation not in FOR_MEMBERS_ALONE)
        and not (code == "insufficient_scope" and operation in FOR_EVERY_KEY)
    }


def common_cases() -> list[Case]:
    """One case of each common refusal that the modules omit."""
    shown = {(case.operation, case.outcome) for case in CASES}
    rest = sorted(pair for pair in needed() - shown if pair[1] in ALIKE)
    return [common_case(TOLD[operation], code) for operation, code in rest]


COMMON = common_cases()
SPECIFIC_ON_POSTGRES = [case for case in CASES if case.outcome != "rate_limited"]
"""Attempts are counted in memory, and are slow where each hashes a password."""
ON_POSTGRES = {case.outcome: case for case in COMMON}.values()
"""Of the common refusals one of each code: what they depend on is above the databases."""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        token = operator_token(bytes(32))
        options = options_for(folder, token)
        database = None
        if request.param == "postgres":
            server = request.getfixturevalue("postgres_server")
            database = stack.enter_context(new_database(server))
            options += ("--database", database)
        octavo = stack.enter_context(running(folder, *options))
        http = stack.enter_context(client(octavo.url))
        owner = settle(octavo, ACCEPTED)
        yield inhabited(http, folder, database, owner, {"authorization": f"Bearer {token}"})
        assert octavo.stop() == (0, [])


def test_served_document_is_the_declared_one(world: World) -> None:
    assert world.http.get("/api/openapi.json").json() == DOCUMENT


@pytest.mark.parametrize("world", ["sqlite"], indirect=True, scope="module")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_operation(world: World, case: Case) -> None:
    world = world_of(world, case)
    response = produced(world, case)
    if EXEMPLARY.get(case.operation) is case:
        example = recorded(world, case.operation, response)
        assert example == checked_in().get(case.operation), "`make examples` renews the examples"


@pytest.mark.parametrize("world", ["postgres"], indirect=True, scope="module")
@pytest.mark.parametrize("case", SPECIFIC_ON_POSTGRES, ids=str)
def test_operation_on_postgres(world: World, case: Case) -> None:
    produced(world_of(world, case), case)


@pytest.mark.parametrize("world", ["sqlite"], indirect=True, scope="module")
@pytest.mark.parametrize("case", COMMON, ids=str)
def test_common_refusal(world: World, case: Case) -> None:
    produced(world, case)


@pytest.mark.parametrize("world", ["postgres"], indirect=True, scope="module")
@pytest.mark.parametrize("case", ON_POSTGRES, ids=str)
def test_common_refusal_on_postgres(world: World, case: Case) -> None:
    produced(world, case)


@pytest.mark.parametrize(("operation", "method", "path"), ANY_OPERATION)
@pytest.mark.parametrize(
    ("code", "query", "headers"),
    [
        ("target_too_long", "?a=" + "a" * 10_000, {}),
        ("head_too_large", "", {"a": "a" * 100_000}),
        ("expectation_failed", "", {"expect": "everything"}),
    ],
)
def test_refusal_by_the_server_itself(
    world: World,
    operation: str,
    method: str,
    path: str,
    code: str,
    query: str,
    headers: dict[str, str],
) -> None:
    response = world.anybody(method, path + query, headers=headers)
    world.contract.check(operation, response)
    assert outcome(response) == code


def test_every_operation_has_its_cases() -> None:
    shown = {(case.operation, case.outcome) for case in [*CASES, *COMMON]}
    assert needed() - shown == set()


def test_every_operation_with_content_has_an_example() -> None:
    members = {each: members_of(each) for each in TOLD if each not in NEVER}
    found = {operation: [*example] for operation, example in checked_in().items()}
    assert found == {each: names for each, names in members.items() if names}


def test_no_case_covers_an_undocumented_response() -> None:
    assert {(case.operation, case.outcome) for case in CASES} - DOCUMENTED == set()


@pytest.mark.parametrize(
    "module",
    [
        identity,
        members,
        administration,
        audit,
        installation,
        invitations,
        operator,
        password_reset,
        files,
        changesets,
        documents,
        finding,
        attachments,
        archives,
        programs,
        publishing,
        restorations,
        usage,
    ],
)
def test_modules_of_cases_are_in_the_table(module: object) -> None:
    name = getattr(module, "__name__", "")
    assert any(case.way.__module__ == name for case in CASES)


def world_of(world: World, case: Case) -> World:
    """What succeeds does so in a workspace of its own."""
    return world.in_new_workspace() if case.outcome < "4" else world


def produced(world: World, case: Case) -> httpx.Response:
    """The response of a case, which is documented and has its outcome."""
    response = case.way(world)
    world.contract.check(case.operation, response)
    assert case.outcome == outcome(response), response.text[:500]
    return response


def outcome(response: httpx.Response) -> str:
    """The code of a refusal, the status of a success."""
    if response.status_code < 400:
        return str(response.status_code)
    code: str = response.json()["code"]
    return code
