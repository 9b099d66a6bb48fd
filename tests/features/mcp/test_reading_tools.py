"""The tools that read notes, over the API."""

from collections.abc import Iterator
from typing import Any

import pytest

from octavo.features.mcp.reading_tools import MAX_FETCHED, MAX_RESULTS, PAGE, reading_tools
from octavo.features.mcp.tools import DATA_NOTICE, Tool, advertised, note_uri
from tests.fakes.image_files import encoded, picture
from tests.fakes.mcp_client import McpClient
from tests.fakes.notes_api import NOBODYS, Note, NotesApi

Json = dict[str, Any]
PNG = encoded(picture((4, 4)), "PNG")


def id_of(note: Note) -> str:
    return note_uri(note.api.workspace_id, note.id)


async def image(api: NotesApi) -> str:
    """An image file of the workspace."""
    target = f"{api.place}/attachments/{await api.upload(PNG)}/finalize"
    response = await api.owner.post(target, {"path": "attachments/a.png"})
    assert response.status in (200, 201), response.body
    return note_uri(api.workspace_id, response.json()["fileId"])


def objects_in(schema: Json) -> Iterator[Json]:
    """Every schema of an object in ``schema``, itself included."""
    if schema.get("type") == "object":
        yield schema
        for inner in schema["properties"].values():
            yield from objects_in(inner)
    elif schema.get("type") == "array":
        yield from objects_in(schema["items"])


@pytest.mark.parametrize("tool", reading_tools(), ids=lambda each: each.name)
def test_schemas_are_strict(tool: Tool) -> None:
    for schema in (tool.input, tool.output):
        shown = advertised(schema)
        for each in objects_in(shown):
            assert each["required"] == list(each["properties"])
            assert each["additionalProperties"] is False
        for word in ("format", "pattern", "minLength", "maxLength", "default", "$ref"):
            assert f"'{word}':" not in str(shown)
        assert "'type': [" not in str(shown)


@pytest.mark.parametrize("tool", reading_tools(), ids=lambda each: each.name)
def test_tools_are_described(tool: Tool) -> None:
    assert tool.description.endswith(".")
    assert not tool.writes
    assert tool.repeatable


async def test_list_has_every_tool_with_its_hints(reader: McpClient) -> None:
    listed = (await reader.result("tools/list"))["tools"]
    assert [each["name"] for each in listed] == [each.name for each in reading_tools()]
    assert listed[0]["annotations"] == {
        "title": "Search notes",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


async def test_workspaces_are_listed(api: NotesApi, reader: McpClient) -> None:
    assert await reader.call("list_workspaces") == {
        "workspaces": [{"workspace_id": api.workspace_id, "name": "Vault", "role": "reader"}],
        "next_cursor": None,
    }


async def test_notes_of_a_folder_are_listed_page_by_page(api: NotesApi, reader: McpClient) -> None:
    await api.note("other.md")
    for number in range(PAGE + 2):
        await api.note(f"a/{number:03}.md")
    await image(api)
    workspace = api.workspace_id
    first = await reader.call("list_notes", workspace_id=workspace, folder="a")
    following = await reader.call(
        "list_notes", workspace_id=workspace, folder="/a/", cursor=first["next_cursor"]
    )
    assert following["next_cursor"] is None
    paths = [each["path"] for each in (*first["notes"], *following["notes"])]
    assert paths == [f"a/{number:03}.md" for number in range(PAGE + 2)]
    root = f"octavo://{workspace.upper()}/"
    everything = await reader.call("list_notes", workspace_id=root)
    rest = await reader.call("list_notes", workspace_id=root, cursor=everything["next_cursor"])
    assert [each["path"] for each in rest["notes"]][-2:] == ["a/101.md", "other.md"]


async def test_search_returns_what_fetch_takes(api: NotesApi, reader: McpClient) -> None:
    note = await api.note("sea/tide.md", "# The tide\n\nIt comes twice a day.")
    await api.note("sea/tide table.md", "no heading")
    found = await reader.call("search", query="tide")
    url = f"https://notes.example.org/workspaces/{api.workspace_id}/notes/{note.id}"
    assert {"id": id_of(note), "title": "The tide", "url": url} in found["results"]
    assert {each["title"] for each in found["results"]} == {"The tide", "tide table"}
    fetched = await reader.call("fetch", id=id_of(note))
    changed = fetched["metadata"].pop("changed_at")
    assert changed.endswith("Z")
    assert fetched == {
        "id": id_of(note),
        "title": "The tide",
        "text": "# The tide\n\nIt comes twice a day.",
        "url": url,
        "metadata": {
            "path": "sea/tide.md",
            "workspace_id": api.workspace_id,
            "revision_id": note.revision,
            "truncated": False,
            "notice": DATA_NOTICE,
        },
    }


async def test_search_returns_few_results(api: NotesApi, reader: McpClient) -> None:
    for number in range(MAX_RESULTS + 1):
        await api.note(f"{number}.md", "tide")
    assert len((await reader.call("search", query="tide"))["results"]) == MAX_RESULTS


async def test_long_text_is_fetched_in_part(api: NotesApi, reader: McpClient) -> None:
    note = await api.note("a.md", "word " * MAX_FETCHED)
    fetched = await reader.call("fetch", id=id_of(note))
    assert len(fetched["text"]) == MAX_FETCHED
    assert fetched["metadata"]["truncated"]


async def test_note_is_read_with_its_revision(api: NotesApi, reader: McpClient) -> None:
    note = await api.note("a.md", "one\ntwo\n")
    read = await reader.call("read_note", note_id=id_of(note))
    assert read.pop("changed_at").endswith("Z")
    assert read == {
        "note_id": id_of(note),
        "path": "a.md",
        "revision_id": note.revision,
        "notice": DATA_NOTICE,
        "text": "one\ntwo\n",
        "first_line": 1,
        "last_line": 2,
        "total_lines": 2,
        "start_character": 0,
        "total_characters": 8,
        "next_character": None,
    }


async def test_long_note_is_read_in_parts(api: NotesApi, reader: McpClient) -> None:
    text = "".join(f"line {number}\n" for number in range(9_000))
    note = await api.note("a.md", text)
    parts: list[Json] = []
    at: int | None = None
    while not parts or at is not None:
        parts.append(await reader.call("read_note", note_id=id_of(note), start_character=at))
        at = parts[-1]["next_character"]
    assert len(parts) > 1
    assert "".join(each["text"] for each in parts) == text
    lines = await reader.call("read_note", note_id=id_of(note), first_line=5001, last_line=5002)
    assert lines["text"] == "line 5000\nline 5001\n"


async def test_earlier_revision_is_read(api: NotesApi, reader: McpClient) -> None:
    note = await api.note("a.md", "before")
    earlier = note.revision
    await note.update(text="after")
    history = await reader.call("note_history", note_id=id_of(note))
    assert [each["revision_id"] for each in history["revisions"]] == [note.revision, earlier]
    assert {each["author"] for each in history["revisions"]} == {"owner"}
    read = await reader.call("read_note", note_id=id_of(note), revision_id=earlier)
    assert (read["text"], read["revision_id"]) == ("before", earlier)


async def test_backlinks_are_listed(api: NotesApi, reader: McpClient) -> None:
    target = await api.note("target.md", "# Target\n\n## Part")
    await api.note("a.md", "[[target#Part]]")
    [link] = (await reader.call("backlinks", note_id=id_of(target)))["links"]
    assert (link["path"], link["title"]) == ("a.md", "a")
    assert (link["target"], link["heading"]) == ("target", "Part")


async def test_recent_changes_are_newest_first(api: NotesApi, reader: McpClient) -> None:
    first, second, third = [await api.note(f"{number}.md") for number in range(3)]
    await image(api)
    await first.update(text="again")
    await second.delete()
    found = await reader.call("recent_changes", workspace_id=api.workspace_id)
    assert [(each["note_id"], each["state"]) for each in found["changes"]] == [
        (id_of(second), "deleted"),
        (id_of(first), "live"),
        (id_of(third), "live"),
    ]
    assert found["next_cursor"] is None


async def test_changes_are_listed_once_each_over_pages(api: NotesApi, reader: McpClient) -> None:
    created = [
        {"op": "create", "fileId": api.new_id(), "path": f"a/{number}.md", "text": "a"}
        for number in range(PAGE + 20)
    ]
    response = await api.push(*created)
    assert response.status == 200, response.body
    busy = await api.note("busy.md", "0")
    for number in range(1, 130):
        await busy.update(text=str(number))
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await reader.call("recent_changes", workspace_id=api.workspace_id, cursor=cursor)
        assert len(page["changes"]) <= PAGE
        found += [each["note_id"] for each in page["changes"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found[0] == id_of(busy)
    assert sorted(found[1:]) == sorted(
        note_uri(api.workspace_id, str(each["fileId"])) for each in created
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "advice"),
    [
        ("read_note", {"note_id": "a.md"}, "Call one of them first"),
        ("read_note", {}, "The argument note_id is missing"),
        ("read_note", {"note_id": 1}, "must be of type string"),
        ("read_note", {"id": "a"}, "There is no argument 'id'"),
        ("list_notes", {"workspace_id": "Vault"}, "list_workspaces returns"),
        ("list_notes", {"workspace_id": NOBODYS}, "Check the id"),
        ("recent_changes", {"workspace_id": NOBODYS}, "Check the id"),
        ("search", {"query": ""}, "at least 1 character."),
        ("search", {"query": '"'}, "call the tool again"),
        ("list_workspaces", {"cursor": "!"}, "cursor must be next_cursor of the previous page"),
    ],
)
async def test_failure_tells_a_model_what_to_do(
    reader: McpClient, tool: str, arguments: Json, advice: str
) -> None:
    assert advice in await reader.refusal(tool, **arguments)


async def test_invalid_part_of_a_note_is_explained(api: NotesApi, reader: McpClient) -> None:
    note = await api.note("a.md", "one\ntwo")
    said = await reader.refusal("read_note", note_id=id_of(note), first_line=3)
    assert said == "The note ends at line 2: first_line is too large."
    said = await reader.refusal("read_note", note_id=id_of(note), revision_id="head")
    assert "note_history" in said
    said = await reader.refusal("recent_changes", workspace_id=api.workspace_id, cursor="a")
    assert "next_cursor" in said


@pytest.mark.parametrize("tool", ["read_note", "backlinks", "note_history"])
async def test_note_that_cannot_be_seen_does_not_exist(api: NotesApi, tool: str) -> None:
    note = await api.note("a.md")
    stranger = McpClient(api.application, token="stranger")
    assert "Check the id" in await stranger.refusal(tool, note_id=id_of(note))
    member = McpClient(api.application)
    unknown = note_uri(api.workspace_id, NOBODYS)
    assert "Check the id" in await member.refusal(tool, note_id=unknown)


async def test_deleted_and_purged_notes_are_not_read(api: NotesApi, reader: McpClient) -> None:
    note = await api.note("a.md")
    await note.delete()
    assert "may have been deleted" in await reader.refusal("read_note", note_id=id_of(note))
    await note.purge()
    assert "erased permanently" in await reader.refusal("fetch", id=id_of(note))


async def test_image_is_no_note(api: NotesApi, reader: McpClient) -> None:
    uri = await image(api)
    assert "not a note" in await reader.refusal("read_note", note_id=uri)
