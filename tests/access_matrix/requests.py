"""Valid requests of every operation, made out of the document of the API."""

import json
import re
from typing import Any, NamedTuple
from urllib.parse import urlencode

from octavo.service.registry import EXAMPLES
from tests.access_matrix.world import (
    ARCHIVE,
    FROM_HERE,
    IMAGE,
    JSON,
    JSON_ANSWERED,
    OF_CALLER,
    SYNC,
    Header,
    Ids,
    World,
    access_request,
    token_request,
    tool_call,
)
from tests.e2e.operations.common import AFTER_ALL, QUERIES, Documented
from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.notes_api import form
from tests.fakes.oauth_rig import PROGRAM
from tests.fakes.users_api import bearer

NEW = f"{OF_CALLER} {OF_CALLER}"
"""A new password."""
UNKNOWN = "00000000-0000-7000-8000-000000000000"
_FIELDS = b"application/x-www-form-urlencoded"
_EXAMPLES: dict[str, dict[str, Any]] = json.loads(EXAMPLES.read_bytes())
DELETED = {"restoreFile", "purgeFile"}
"""The operations on deleted files."""
OF_PROGRAMS = {"getClient", "updateClient", "removeClient"}
"""The operations that a program may call for itself."""


class Request(NamedTuple):
    method: str
    target: str
    headers: tuple[Header, ...]
    body: bytes


def request_of(world: World, described: Documented, ids: Ids) -> Request:
    """A request that succeeds if the caller may do what it asks for."""
    name = described["operationId"]
    given = {"number": "1", "document": "terms", **ids}
    path = re.sub(r"\{(\w+)\}", lambda found: given.get(found[1], UNKNOWN), described["path"])
    query = query_of(world, name, ids) or QUERIES.get(name, "")
    headers: tuple[Header, ...] = (SYNC, (b"if-match", f'"{ids.get("revisionId")}"'.encode()))
    if name == "finalizeAttachment":
        headers = (SYNC,)
    if name == "serveMcp":
        headers += (JSON_ANSWERED,)
    if described["tags"] == ["auth"]:
        # Browsers send it, also those of strangers.
        headers += (FROM_HERE,)
    if name in OF_PROGRAMS:
        headers += (bearer(world.secrets["registration"]),)
    body = b""
    if "requestBody" in described:
        body, kind = body_of(world, name, ids)
        headers += (JSON if kind == b"" else (b"content-type", kind),)
    return Request(described["method"], path + query, headers, body)


def query_of(world: World, name: str, ids: Ids) -> str:
    if name in ("search", "searchWorkspace"):
        return "?q=nowhere"
    if name == "findOperatorAccount":
        return "?address=guest@example.org"
    if name == "describeAccessRequest":
        return "?" + urlencode(access_request(world))
    if name == "diffRevisions":
        return f"?old={ids.get('revisionId')}&new={ids.get('revisionId')}"
    return ""


def body_of(world: World, name: str, ids: Ids) -> tuple[bytes, bytes]:
    """A body, and its media type if it is not JSON."""
    if name == "uploadAttachment":
        body, kind = form(IMAGE, f"{OF_CALLER}.png")
        return body, kind.encode()
    if name == "putImportPart":
        return ARCHIVE, b"application/octet-stream"
    if name == "reportPublishedLink":
        return f"reason=spam&note={OF_CALLER}".encode(), _FIELDS
    if name == "openPublishedPage":
        return b"password=" + PASSWORD.replace(" ", "+").encode(), _FIELDS
    if name == "issueToken":
        return token_request(world, world.secrets["code"]), _FIELDS
    if name == "revokeToken":
        fields = {"client_id": world.house["client"], "token": world.secrets["refresh"]}
        return urlencode(fields).encode(), _FIELDS
    return json.dumps(document_of(world, name, ids)).encode(), b""


def document_of(world: World, name: str, ids: Ids) -> object:
    """A JSON body: that of the example, unless it names something."""
    folder, file = ids.get("path", ""), ids.get("fileId", UNKNOWN)
    documents: dict[str, object] = {
        "acceptInvitation": {"token": world.house["invitation"]},
        "acceptLegalDocuments": {"termsVersion": None, "privacyVersion": None},
        "changePassword": {"currentPassword": PASSWORD, "newPassword": NEW},
        "createApiKey": {"name": OF_CALLER},
        "createFile": {"path": f"{folder}{OF_CALLER}.md", "text": OF_CALLER},
        "createInvitation": {"role": "member"},
        "createPublishedLink": {
            "target": {"kind": "note", "fileId": file},
            "label": OF_CALLER,
            "password": f"{OF_CALLER} {OF_CALLER}",
        },
        "createWorkspace": {"name": OF_CALLER},
        "decideAccessRequest": {"parameters": access_request(world), "allow": True},
        "finalizeAttachment": {"path": f"{folder}attachments/{OF_CALLER}.png"},
        "purgeFile": {},
        "pushChangeset": {
            "mutationId": UNKNOWN,
            "operations": [
                {"op": "delete", "fileId": file, "ifMatch": ids.get("revisionId", UNKNOWN)}
            ],
        },
        "readFiles": {"fileIds": [file]},
        "redeemPortalToken": {"token": world.secrets.get("portal", "")},
        "registerAccount": {
            "invitation": world.house["invitation"],
            "address": "new@example.org",
            "password": NEW,
            "displayName": OF_CALLER,
        },
        "registerClient": {**PROGRAM, "client_name": OF_CALLER},
        "removeOwnAccount": {"password": PASSWORD},
        "requestPasswordReset": {"email": "guest@example.org"},
        "resetPassword": {
            "token": world.secrets.get("reset", ""),
            "newPassword": NEW,
        },
        "restoreFile": {},
        "restoreWorkspace": {"position": 1},
        "saveNote": {"epoch": ids.get("epoch", UNKNOWN), "update": "AAA="},
        "serveMcp": tool_call(
            "read_note", {"note_id": f"octavo://{ids.get('workspaceId', UNKNOWN)}/{file}"}
        ),
        "setOperatorAccountControls": {"revision": 1, "locked": True},
        "signInWithPassword": {"email": "guest@example.org", "password": PASSWORD},
        "startWorkspaceImport": {},
        "undoClientChanges": {"client": "a", "since": AFTER_ALL},
        "updateAccount": {"state": "locked"},
        "updateClient": {**PROGRAM, "client_id": world.house["client"]},
        "updateFile": {"text": OF_CALLER},
        "updateOwnAccount": {"displayName": OF_CALLER},
        "updateWorkspace": {"name": OF_CALLER},
    }
    return documents[name] if name in documents else _EXAMPLES[name]["request"]
