"""The shapes that the specification names: the document has each, and uses it there."""

from typing import Any

import pytest

from octavo.features.sync.notices import SyncNoticeProtocol
from octavo.service.registry import api_document
from octavo.ws.notice_stream import SUBPROTOCOL

# Operation, its body, its success.
BODIES = """
getAccount - Account
acceptLegalDocuments ConsentInput ConsentRecorded
listApiKeys - ApiKeyList
createApiKey ApiKeyCreateInput ApiKeyCreated
revokeApiKey - Removed
openAccountPortal PortalOpen PortalOpened
updatePreferences PreferencesUpdate Preferences
removeOwnAccount AccountRemoval Removed
requestPasswordReset AuthPasswordResetRequest AuthOutcome
resetPassword AuthPasswordReset AuthOutcome
signInWithPassword AuthPasswordSignIn AuthSession
signOut AuthSignOut AuthSignOutResult
listAccounts - AccountList
updateAccount AccountUpdateInput AccountSummary
removeAccount - Removed
getInstallation - Installation
updateInstallation InstallationUpdateInput Installation
revokeInvitation - Removed
listReports - LinkReportList
dismissReport - Removed
takeDownReportedLink - Removed
findOperatorAccount - OperatorAccount
readOperatorAccount - OperatorAccount
removeOperatorAccount - Removed
setOperatorAccountControls AccountControlsInput OperatorAccount
listWorkspaces - WorkspaceList
createWorkspace WorkspaceNameInput Workspace
updateWorkspace WorkspaceNameInput Workspace
deleteWorkspace - Removed
uploadAttachment UploadAttachmentInput AttachmentUploadResult
finalizeAttachment FinalizeAttachmentInput FileChange
getFile - WorkspaceFile
updateFile UpdateFileInput FileChange
abortWorkspaceImport - Removed
completeWorkspaceImport - ImportWorkspaceResult
createPublishedLink CreatePublishedLinkInput PublishedLinkCreated
listPublishedLinks - PublishedLinkList
revokePublishedLink - Removed
openPublishedPage PublishedPasswordFormInput -
getRootMcpMetadata - McpMetadata
getMcpMetadata - McpMetadata
serveMcp McpMessage McpMessage
openMcp - McpMessage
"""
# Operation, status, its shapes.
REFUSALS = """
getPublishedAttachment 404 PublishedRefusal
serveMcp 400 McpError
serveMcp 401 OAuthError
serveMcp 403 OAuthError McpError
openMcp 401 OAuthError
openMcp 405 McpError
"""

DOCUMENT: dict[str, Any] = api_document()
OPERATIONS = {
    each["operationId"]: each for path in DOCUMENT["paths"].values() for each in path.values()
}


def shapes(content: dict[str, Any]) -> set[str]:
    """The names that the schemas in ``content`` refer to."""
    schemas = [each["schema"] for each in content.values()]
    referring = [one for schema in schemas for one in schema.get("anyOf", [schema])]
    return {one["$ref"].removeprefix("#/components/schemas/") for one in referring if "$ref" in one}


@pytest.mark.parametrize("line", BODIES.strip().splitlines())
def test_body_and_success_have_the_shapes_of_the_specification(line: str) -> None:
    name, given, returned = line.split()
    operation = OPERATIONS[name]
    if given != "-":
        assert given in shapes(operation["requestBody"]["content"])
    if returned != "-":
        [success] = [
            each["content"]
            for status, each in operation["responses"].items()
            if status < "300" and "content" in each
        ]
        assert returned in shapes(success)
    assert {given, returned} - {"-"} <= set(DOCUMENT["components"]["schemas"])


@pytest.mark.parametrize("line", REFUSALS.strip().splitlines())
def test_refusal_has_the_shapes_of_the_specification(line: str) -> None:
    name, status, *expected = line.split()
    assert set(expected) <= shapes(OPERATIONS[name]["responses"][status]["content"])
    assert set(expected) <= set(DOCUMENT["components"]["schemas"])


def test_monthly_limit_is_named_by_its_shape() -> None:
    headers = OPERATIONS["getFileContent"]["responses"]["429"]["headers"]
    assert headers["service-limit"]["schema"] == {"$ref": "#/components/schemas/UsageLimit"}
    assert DOCUMENT["components"]["schemas"]["UsageLimit"]["enum"] == [
        "account-download-bytes",
        "account-download-objects",
        "installation-download-bytes",
        "installation-download-objects",
        "installation-write-objects",
    ]


def test_notices_need_their_subprotocol() -> None:
    [parameter] = [
        each
        for each in OPERATIONS["openSyncNotices"]["parameters"]
        if each.get("name") == "sec-websocket-protocol"
    ]
    assert (parameter["in"], parameter["required"]) == ("header", True)
    assert parameter["schema"] == {"$ref": "#/components/schemas/SyncNoticeProtocol"}
    assert [each.value for each in SyncNoticeProtocol] == [SUBPROTOCOL]
