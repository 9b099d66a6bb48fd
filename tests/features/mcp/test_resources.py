"""Notes as resources, over the API."""

import pytest

from octavo.features.mcp.resources import PAGE, TEMPLATES
from octavo.features.mcp.tools import DATA_NOTICE, NOTE_TEMPLATE, PATH_TEMPLATE, note_uri
from tests.fakes.mcp_client import LEGACY, MODERN, Json, McpClient
from tests.fakes.notes_api import NOBODYS, NotesApi


async def listed(client: McpClient) -> list[Json]:
    """The resources of every page."""
    found: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        page = await client.result("resources/list", **cursor)
        found += page["resources"]
        if page.get("nextCursor") is None:
            return found
        cursor = {"cursor": page["nextCursor"]}


async def second_workspace(api: NotesApi, name: str) -> str:
    """A workspace of the owner with one note."""
    made = await api.owner.post("/api/workspaces", {"name": name})
    workspace_id = str(made.json()["id"])
    files = f"/api/workspaces/{workspace_id}/files"
    assert (await api.owner.post(files, {"path": "z.md", "text": "z"})).status == 201
    return workspace_id


async def complete(client: McpClient, template: str, name: str, value: str, **given: str) -> Json:
    context = {"context": {"arguments": given}} if given else {}
    result = await client.result(
        "completion/complete",
        ref={"type": "ref/resource", "uri": template},
        argument={"name": name, "value": value},
        **context,
    )
    completion: Json = result["completion"]
    return completion


async def test_templates_are_listed(reader: McpClient) -> None:
    found = await reader.result("resources/templates/list")
    assert found["resourceTemplates"] == TEMPLATES


async def test_notes_of_all_workspaces_are_listed(api: NotesApi) -> None:
    for number in range(PAGE + 1):
        await api.note(f"{number:03}.md")
    empty = await api.owner.post("/api/workspaces", {"name": "Empty"})
    assert empty.status == 201
    other = await second_workspace(api, "Other")
    found = await listed(McpClient(api.application, token="owner"))
    assert [each["name"] for each in found] == [f"{n:03}.md" for n in range(PAGE + 1)] + ["z.md"]
    assert found[-1]["uri"].startswith(f"octavo://{other}/")
    assert found[-1]["mimeType"] == "text/markdown"
    assert found[-1]["size"] == 1


async def test_account_without_workspaces_has_no_resources(api: NotesApi) -> None:
    assert await listed(McpClient(api.application, token="stranger")) == []


async def test_note_is_read_by_id_and_by_path(api: NotesApi, reader: McpClient) -> None:
    note = await api.note("a folder/ä.md", "text")
    await api.note("a folder/ä.md.md", "other")
    for uri in (
        note_uri(api.workspace_id, note.id),
        f"octavo://{api.workspace_id}/notes/a%20folder/%C3%A4.md",
    ):
        [content] = (await reader.result("resources/read", uri=uri))["contents"]
        assert content == {
            "uri": uri,
            "mimeType": "text/markdown",
            "text": "text",
            "_meta": {
                "path": "a folder/ä.md",
                "revisionId": note.revision,
                "notice": DATA_NOTICE,
            },
        }


@pytest.mark.parametrize(
    ("version", "status", "code"), [(MODERN, 400, -32602), (LEGACY, 200, -32002)]
)
async def test_resource_that_cannot_be_seen_does_not_exist(
    api: NotesApi, version: str, status: int, code: int
) -> None:
    note = await api.note("a.md")
    reader = McpClient(api.application, version=version)
    stranger = McpClient(api.application, token="stranger", version=version)
    own = note_uri(api.workspace_id, note.id)
    for client, uri in (
        (stranger, own),
        (stranger, f"octavo://{api.workspace_id}/notes/a.md"),
        (reader, note_uri(api.workspace_id, NOBODYS)),
        (reader, f"octavo://{api.workspace_id}/notes/a"),
        (reader, f"octavo://{api.workspace_id}/notes/b.md"),
        (reader, f"octavo://{api.workspace_id}/notes/a%00"),
        (reader, own.removeprefix("octavo://")),
        (reader, "file:///etc/passwd"),
        (reader, "octavo://"),
    ):
        found = await client.error("resources/read", uri=uri)
        assert found == (status, code, "There is no note at this URI that you can see.")


async def test_workspaces_are_completed_by_name_and_id(api: NotesApi) -> None:
    other = await second_workspace(api, "Other")
    owner = McpClient(api.application, token="owner")
    for value, found in (("", [api.workspace_id, other]), ("oth", [other]), (other, [other])):
        completed = await complete(owner, NOTE_TEMPLATE, "workspaceId", value)
        assert completed == {"values": found, "hasMore": False}


async def test_notes_are_completed_by_path(api: NotesApi, reader: McpClient) -> None:
    note = await api.note("a/b.md")
    await api.note("c.md")
    workspace = {"workspaceId": api.workspace_id}
    completed = await complete(reader, PATH_TEMPLATE, "path", "a/", **workspace)
    assert completed == {"values": ["a/b.md"], "hasMore": False}
    completed = await complete(reader, NOTE_TEMPLATE, "fileId", "a/", **workspace)
    assert completed == {"values": [note.id], "hasMore": False}
    for elsewhere in ({}, {"workspaceId": "x"}, {"workspaceId": NOBODYS}):
        completed = await complete(reader, PATH_TEMPLATE, "path", "", **elsewhere)
        assert completed == {"values": [], "hasMore": False}


async def test_many_completions_are_cut(api: NotesApi, reader: McpClient) -> None:
    for number in range(PAGE + 1):
        await api.note(f"{number:03}.md")
    workspace = {"workspaceId": api.workspace_id}
    completed = await complete(reader, PATH_TEMPLATE, "path", "", **workspace)
    assert (len(completed["values"]), completed["hasMore"]) == (PAGE, True)


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ({"type": "ref/prompt", "name": "a"}, "workspaceId"),
        ({"type": "ref/resource", "uri": "file:///{path}"}, "path"),
        ({"type": "ref/resource", "uri": NOTE_TEMPLATE}, "path"),
        ({"type": "ref/resource", "uri": PATH_TEMPLATE}, "fileId"),
    ],
)
async def test_other_arguments_are_not_completed(
    reader: McpClient, reference: Json, name: str
) -> None:
    argument = {"name": name, "value": ""}
    _, code, _ = await reader.error("completion/complete", ref=reference, argument=argument)
    assert code == -32602


@pytest.mark.parametrize("cursor", ["", "a", "ä", "W10=", "WzEsMl0=", "W" * 40])
async def test_invalid_cursor_is_refused(reader: McpClient, cursor: str) -> None:
    _, code, message = await reader.error("resources/list", cursor=cursor)
    assert (code, message.startswith("This is not a cursor")) == (-32602, True)


@pytest.mark.parametrize("method", ["tools/list", "resources/templates/list"])
async def test_lists_of_one_page_have_no_cursor(reader: McpClient, method: str) -> None:
    assert (await reader.error(method, cursor="a"))[1] == -32602


async def test_workspace_that_is_gone_ends_the_list(api: NotesApi, reader: McpClient) -> None:
    for number in range(PAGE + 1):
        await api.note(f"{number:03}.md")
    page = await reader.result("resources/list")
    await api.owner.delete(api.place)
    assert (await reader.result("resources/list", cursor=page["nextCursor"]))["resources"] == []
