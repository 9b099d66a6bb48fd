"""The contract of the operations on workspaces and files."""

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from octavo.features.archives.api.exports import ExportOperations
from octavo.features.archives.api.imports import ImportOperations
from octavo.features.files.api.attachments import AttachmentOperations
from octavo.features.files.api.changesets import ChangesetOperations
from octavo.features.files.api.contents import ContentOperations
from octavo.features.files.api.files import FileOperations
from octavo.features.files.api.reading import ReadingOperations
from octavo.features.history.api.restorations import RestorationOperations
from octavo.features.members.api.workspaces import WorkspaceOperations
from octavo.features.sync.api import SyncOperations
from octavo.features.sync.notices import NoticeOperations
from octavo.http.contract.assembly import contract_of
from octavo.http.contract.declared_responses import possible_problems
from octavo.http.contract.openapi import openapi_document

GROUPS = (
    WorkspaceOperations,
    FileOperations,
    ChangesetOperations,
    ReadingOperations,
    RestorationOperations,
    SyncOperations,
    AttachmentOperations,
    ContentOperations,
    ImportOperations,
    ExportOperations,
    NoticeOperations,
)
OPERATIONS = {each.id: each for each in contract_of(GROUPS)}
WORKSPACE = "/api/workspaces/{workspaceId}"
FILE = f"{WORKSPACE}/files/{{fileId}}"
IMPORT = f"{WORKSPACE}/imports/{{importId}}"
BODY = {408, 413, 415}
READ = {200, 400, 401, 403, 404, 409, 423, 500, 503}
CHANGED = {400, 401, 403, 404, 409, 410, 412, 422, 423, 500, 503, 507}


@pytest.mark.parametrize(
    ("name", "place", "statuses"),
    [
        ("listWorkspaces", "GET /api/workspaces", READ - {404, 409, 423}),
        ("createWorkspace", "POST /api/workspaces", (READ - {200, 404}) | BODY | {201, 507}),
        ("getWorkspace", f"GET {WORKSPACE}", READ),
        ("updateWorkspace", f"PUT {WORKSPACE}", READ | BODY | {507}),
        ("deleteWorkspace", f"DELETE {WORKSPACE}", (READ - {409, 423}) | {507}),
        ("getFile", f"GET {FILE}", READ | {304, 410, 429}),
        ("updateFile", f"PUT {FILE}", CHANGED | BODY | {200, 428}),
        ("createFile", f"POST {WORKSPACE}/files", (CHANGED - {412}) | BODY | {201}),
        ("deleteFile", f"DELETE {FILE}", (CHANGED - {422}) | {200, 428}),
        ("restoreFile", f"POST {FILE}/restore", CHANGED | BODY | {200, 428}),
        ("purgeFile", f"POST {FILE}/purge", (CHANGED - {412, 422}) | BODY | {200}),
        ("pushChangeset", f"POST {WORKSPACE}/changesets", CHANGED | BODY | {200, 428}),
        (
            "uploadAttachment",
            f"POST {WORKSPACE}/attachments",
            (READ - {200}) | BODY | {201, 422, 507},
        ),
        (
            "finalizeAttachment",
            f"POST {WORKSPACE}/attachments/{{objectId}}/finalize",
            CHANGED | BODY | {200, 428},
        ),
        (
            "startWorkspaceImport",
            f"POST {WORKSPACE}/imports",
            (READ - {200}) | BODY | {201, 507},
        ),
        ("putImportPart", f"PUT {IMPORT}/parts/{{number}}", READ | BODY | {507}),
        ("getWorkspaceImport", f"GET {IMPORT}", READ),
        ("completeWorkspaceImport", f"POST {IMPORT}/complete", READ | {413, 422, 429, 507}),
        ("abortWorkspaceImport", f"DELETE {IMPORT}", READ | {507}),
        ("exportWorkspace", f"GET {WORKSPACE}/export", READ | {429}),
        ("getFileContent", f"GET {FILE}/content", READ | {206, 304, 410, 416, 429}),
        ("getReceipt", f"GET {WORKSPACE}/receipts/{{mutationId}}", READ),
        ("listFiles", f"GET {WORKSPACE}/files", READ),
        ("listRevisions", f"GET {FILE}/revisions", READ),
        ("getRevision", f"GET {FILE}/revisions/{{revisionId}}", READ | {410, 429}),
        ("readFiles", f"POST {WORKSPACE}/files/read", READ | BODY | {422, 429, 507}),
        ("previewRestoration", f"GET {WORKSPACE}/restorations/preview", READ | {422}),
        (
            "restoreWorkspace",
            f"POST {WORKSPACE}/restorations",
            (READ - {200}) | BODY | {201, 422, 507},
        ),
        ("listRestorations", f"GET {WORKSPACE}/restorations", READ),
        ("getRestoration", f"GET {WORKSPACE}/restorations/{{restorationId}}", READ),
        ("getSyncProtocol", "GET /api/sync/protocol", {200, 400, 500, 503}),
        ("getFeed", f"GET {WORKSPACE}/feed", READ | {429}),
        ("getSnapshot", f"GET {WORKSPACE}/snapshot", READ | {429}),
        ("openSyncNotices", "GET /api/sync/notices", {101, 400, 401, 403, 500, 503}),
    ],
)
def test_operation_is_declared_as_specified(name: str, place: str, statuses: set[int]) -> None:
    found = OPERATIONS[name]
    possible = found.statuses | {each.status for each in possible_problems(found)}
    assert f"{found.method} {found.path}" == place
    assert possible == statuses


def test_document_of_the_operations_is_valid() -> None:
    described = openapi_document(GROUPS, title="Octavo", version="1")
    OpenAPIV31SpecValidator(described).validate()
