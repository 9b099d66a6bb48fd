"""Who may call which workspace operation: every operation of the contract is in the table."""

from typing import NamedTuple

import pytest

from octavo.http.contract.assembly import contract_of
from octavo.http.contract.operation import Locked, Operation, Security
from octavo.http.contract.router import parameters_of
from octavo.model.workspace import Right
from octavo.service.registry import CONTRACT
from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import NOBODYS, ROLES, Client, Json, Note, NotesApi, refusal


class Sample(NamedTuple):
    """A request that is accepted from an authorized caller."""

    right: Right
    document: Json | None = None
    if_match: bool = False
    form: bool = False
    part: bool = False
    query: str = ""


SINCE = "2100-01-01T00:00:00Z"
ARCHIVE = b"PK\5\6" + bytes(18)
"""An empty archive."""
IMAGE = encoded(picture((2, 2)), "PNG")
NEWCOMER = "01900000-0000-7000-8000-dddddddddddd"
"""An account; for operations on a member, it is one."""

OPERATIONS = {each.id: each for each in contract_of(CONTRACT) if "{workspaceId}" in each.path}
SAMPLES = {
    "getWorkspace": Sample("read"),
    "updateWorkspace": Sample("manage", {"name": "Anew"}),
    "deleteWorkspace": Sample("own"),
    "listMembers": Sample("read"),
    "updateMember": Sample("manage", {"role": "editor"}),
    "removeMember": Sample("manage"),
    "createWorkspaceInvitation": Sample("manage", {"role": "reader"}),
    "listWorkspaceInvitations": Sample("manage"),
    "revokeWorkspaceInvitation": Sample("manage"),
    "createFile": Sample("write", {"path": "new.md", "text": ""}),
    "updateFile": Sample("write", {"text": "new"}, if_match=True),
    "saveNote": Sample("write", {"epoch": NOBODYS, "update": "AAA="}),
    "deleteFile": Sample("write", if_match=True),
    "restoreFile": Sample("write", {}, if_match=True),
    "purgeFile": Sample("write", {}),
    "pushChangeset": Sample(
        "write",
        {
            "mutationId": NOBODYS,
            "operations": [{"op": "create", "fileId": NOBODYS, "path": "new.md", "text": ""}],
        },
    ),
    "getReceipt": Sample("read"),
    "getFile": Sample("read"),
    "listFiles": Sample("read"),
    "listRevisions": Sample("read"),
    "getRevision": Sample("read"),
    "diffRevisions": Sample("read"),
    "listClientChanges": Sample("read"),
    "getUndo": Sample("write", query=f"client=a&since={SINCE}"),
    "undoClientChanges": Sample("write", {"client": "a", "since": SINCE}),
    "previewRestoration": Sample("write", query=f"moment={SINCE}"),
    "restoreWorkspace": Sample("write", {"moment": SINCE}),
    "listRestorations": Sample("write"),
    "getRestoration": Sample("write"),
    "getLinks": Sample("read"),
    "listUnresolvedLinks": Sample("read"),
    "searchWorkspace": Sample("read", query="q=text"),
    "readFiles": Sample("read", {"fileIds": []}),
    "uploadAttachment": Sample("write", form=True),
    "finalizeAttachment": Sample("write", {"path": "attachments/a.png"}),
    "getFileContent": Sample("read"),
    "startWorkspaceImport": Sample("write", {}),
    "putImportPart": Sample("write", part=True),
    "getWorkspaceImport": Sample("write"),
    "completeWorkspaceImport": Sample("write"),
    "abortWorkspaceImport": Sample("write"),
    "exportWorkspace": Sample("read"),
    "getFeed": Sample("read"),
    "getSnapshot": Sample("read"),
    "createPublishedLink": Sample("manage", {"target": {"kind": "folder", "path": ""}}),
    "listPublishedLinks": Sample("manage"),
    "revokePublishedLink": Sample("manage"),
}
HAVE: dict[Right, tuple[str, ...]] = {
    "read": ROLES,
    "write": ("owner", "administrator", "editor"),
    "manage": ("owner", "administrator"),
    "own": ("owner",),
}
MUTATION = "01900000-0000-7000-8000-eeeeeeeeeeee"


async def ask(
    client: Client, note: Note, operation: Operation, workspace_id: str | None = None
) -> Response:
    sample = SAMPLES[operation.id]
    if operation.id in ("restoreFile", "purgeFile"):
        await note.delete()
    if operation.id == "revokeWorkspaceInvitation":
        await note.api.invitation(NEWCOMER)
    if operation.id.endswith("Member"):
        await note.api.member(NEWCOMER, "reader")
    import_id = ""
    if "{importId}" in operation.path:
        # Only who has started an import may see it.
        import_id = await started(client, note.api, workspace_id)
    restoration_id = await restored(note.api) if "{restorationId}" in operation.path else ""
    place = operation.path.format(
        restorationId=restoration_id,
        importId=import_id,
        number="1",
        workspaceId=workspace_id or note.api.workspace_id,
        fileId=note.id,
        accountId=NEWCOMER,
        invitationId=NEWCOMER,
        revisionId=note.revision,
        mutationId=MUTATION,
        publicationId=await published(note.api) if operation.id == "revokePublishedLink" else "",
        objectId=await uploaded(note.api) if operation.id == "finalizeAttachment" else "",
    )
    if sample.form:
        return await client.upload(place.removesuffix("/attachments"), IMAGE)
    if sample.part:
        return await client.put(place, ARCHIVE, content_type="application/octet-stream")
    headers = {"if_match": note.tag} if sample.if_match else {}
    if sample.query:
        place = f"{place}?{sample.query}"
    document = sample.document
    if operation.id == "saveNote" and document is not None:
        document = {**document, "epoch": note.revision}
    return await client.ask(operation.method, place, document, **headers)


async def started(client: Client, api: NotesApi, workspace_id: str | None) -> str:
    """An import of the caller with a part; an unknown id if the caller may not start one."""
    place = f"/api/workspaces/{workspace_id or api.workspace_id}/imports"
    response = await client.post(place, {})
    if response.status != 201:
        return NOBODYS
    import_id = str(response.json()["importId"])
    part = f"{place}/{import_id}/parts/1"
    await client.put(part, ARCHIVE, content_type="application/octet-stream")
    return import_id


async def restored(api: NotesApi) -> str:
    """A restoration that has nothing to do, unless the one who would start it is locked."""
    if "owner" in api.authenticator.locked:
        return NOBODYS
    response = await api.owner.post(f"{api.place}/restorations", {"position": 1})
    return str(response.json()["restorationId"])


async def published(api: NotesApi) -> str:
    """A link, unless the one who would publish it is locked."""
    if "owner" in api.authenticator.locked:
        return NOBODYS
    return (await api.publish({"kind": "folder", "path": ""})).id


async def uploaded(api: NotesApi) -> str:
    """An image, unless the one who would upload it is locked."""
    return NOBODYS if "owner" in api.authenticator.locked else await api.upload(IMAGE)


def test_every_workspace_operation_is_in_the_table() -> None:
    assert set(SAMPLES) == set(OPERATIONS)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("role", ROLES)
async def test_member_may_call_what_the_role_grants(api: NotesApi, name: str, role: str) -> None:
    note = await api.note("a.md", mutationId=MUTATION)
    response = await ask(api.client(role), note, OPERATIONS[name])
    if role in HAVE[SAMPLES[name].right]:
        assert response.status == OPERATIONS[name].status, response.body
    else:
        assert refusal(response) == (403, "forbidden")
        assert role in response.json()["detail"]


@pytest.mark.parametrize("name", SAMPLES)
async def test_foreign_workspace_looks_like_a_missing_one(api: NotesApi, name: str) -> None:
    note = await api.note("a.md", mutationId=MUTATION)
    stranger = api.client("stranger")
    foreign = await ask(stranger, note, OPERATIONS[name])
    missing = await ask(stranger, note, OPERATIONS[name], NOBODYS)
    assert refusal(foreign) == (404, "not_found")
    assert foreign.body == missing.body
    assert foreign.headers == missing.headers


@pytest.mark.parametrize("name", [n for n in SAMPLES if "{fileId}" in OPERATIONS[n].path])
async def test_file_of_another_workspace_is_not_found(api: NotesApi, name: str) -> None:
    note = await api.note("a.md")
    other = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
    response = await ask(api.owner, note, OPERATIONS[name], other)
    assert refusal(response) == (404, "not_found")


@pytest.mark.parametrize("name", SAMPLES)
async def test_locked_account_may_use_operations_declared_for_it(api: NotesApi, name: str) -> None:
    note = await api.note("a.md", mutationId=MUTATION)
    if name in ("restoreFile", "purgeFile"):
        await note.delete()
    api.authenticator.locked.add("owner")
    operation = OPERATIONS[name]
    response = await ask(api.owner, note, operation)
    # The workspace has other members.
    if operation.locked is Locked.ALLOWED:
        assert response.status == operation.status
    else:
        assert refusal(response) == (423, "account_locked")


@pytest.mark.parametrize("name", SAMPLES)
def test_workspace_operation_accepts_a_session_or_a_key(name: str) -> None:
    assert OPERATIONS[name].security is Security.SESSION_OR_KEY


@pytest.mark.parametrize(
    ("name", "parameter"),
    [(name, each) for name in SAMPLES for each in parameters_of(OPERATIONS[name].path)],
)
async def test_malformed_identifier_is_refused(api: NotesApi, name: str, parameter: str) -> None:
    operation = OPERATIONS[name]
    given = dict.fromkeys(parameters_of(operation.path), NOBODYS) | {"number": "1"}
    place = operation.path.format(**given | {parameter: "42" if parameter != "number" else "x"})
    sample = SAMPLES[name]
    target = f"{place}?{sample.query}" if sample.query else place
    response = await api.owner.ask(operation.method, target, sample.document)
    assert refusal(response) == (400, "invalid_request")
    assert [each["pointer"] for each in response.json()["errors"]] == [f"/path/{parameter}"]
