"""The tools that change notes, over the API."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.mcp.notes import NoteChange, NoteContent, Notes, NotesRefused
from octavo.features.mcp.reading_tools import reading_tools
from octavo.features.mcp.tools import Tool, ToolRefused, advertised, note_uri
from octavo.features.mcp.writing_tools import replaced, writing_tools
from tests.fakes.mcp_client import LEGACY, MODERN, Json, McpClient
from tests.fakes.notes_api import Note, NotesApi
from tests.features.mcp.test_reading_tools import id_of, objects_in

WORKSPACE, FILE, REVISION, LATER = (f"01900000-0000-7000-8000-00000000000{n}" for n in range(4))
WRITING = {"create_note", "update_note", "edit_note", "move_note", "delete_note"}


@pytest.fixture(params=[MODERN, LEGACY])
def writer(api: NotesApi, request: pytest.FixtureRequest) -> McpClient:
    """An editor whose token may change notes, in both eras."""
    return McpClient(api.application, token="editor+write", version=request.param)


async def text_of(note: Note) -> str:
    return str((await note.read()).json()["text"])


@pytest.mark.parametrize("tool", writing_tools(), ids=lambda each: each.name)
def test_schemas_are_strict(tool: Tool) -> None:
    for schema in (tool.input, tool.output):
        for each in objects_in(advertised(schema)):
            assert each["required"] == list(each["properties"])
            assert each["additionalProperties"] is False


async def test_tools_are_listed_for_tokens_that_may_write(
    writer: McpClient, reader: McpClient
) -> None:
    listed = {each["name"]: each for each in (await writer.result("tools/list"))["tools"]}
    assert set(listed) - {each.name for each in reading_tools()} == WRITING
    hints = {name: listed[name]["annotations"] for name in WRITING}
    assert not any(each["readOnlyHint"] for each in hints.values())
    destructive = {name for name, each in hints.items() if each["destructiveHint"]}
    assert destructive == WRITING - {"create_note"}
    repeatable = {name for name, each in hints.items() if each["idempotentHint"]}
    assert repeatable == {"update_note", "move_note", "delete_note"}
    names = {each["name"] for each in (await reader.result("tools/list"))["tools"]}
    assert names & WRITING == set()


async def test_token_that_may_only_read_is_refused(api: NotesApi, reader: McpClient) -> None:
    arguments = {"workspace_id": api.workspace_id, "path": "a.md", "text": "a"}
    response = await reader.request("tools/call", name="create_note", arguments=arguments)
    assert (response.status, response.json()["error"]) == (403, "insufficient_scope")
    challenge = str(response.header("www-authenticate"))
    assert challenge.startswith('Bearer error="insufficient_scope", resource_metadata="https://')
    assert challenge.endswith('scope="notes:read notes:write"')
    assert (await api.owner.get(api.files)).json()["items"] == []


async def test_role_of_the_account_still_applies(api: NotesApi) -> None:
    client = McpClient(api.application, token="reader+write")
    said = await client.refusal("create_note", workspace_id=api.workspace_id, path="a.md", text="a")
    assert "tell the person" in said


async def test_note_is_created_read_changed_moved_and_deleted(
    api: NotesApi, writer: McpClient
) -> None:
    linking = await api.note("links.md", "[[draft]]")
    made = await writer.call(
        "create_note", workspace_id=api.workspace_id, path="draft.md", text="one two one"
    )
    assert (made["path"], made["outcome"]) == ("draft.md", "created")
    note_id = made["note_id"]
    edited = await writer.call(
        "edit_note",
        note_id=note_id,
        revision_id=made["revision_id"],
        old_text="one",
        new_text="1",
        replace_all=True,
    )
    assert edited["replacements"] == 2
    moved = await writer.call(
        "move_note", note_id=note_id, revision_id=edited["revision_id"], path="a/plan.md"
    )
    assert moved["path"] == "a/plan.md"
    assert "plan" in await text_of(linking)
    updated = await writer.call(
        "update_note", note_id=note_id, revision_id=moved["revision_id"], text="new"
    )
    read = await writer.call("read_note", note_id=note_id)
    assert (read["text"], read["path"]) == ("new", "a/plan.md")
    assert read["revision_id"] == updated["revision_id"]
    await writer.call("delete_note", note_id=note_id, revision_id=updated["revision_id"])
    assert "may have been deleted" in await writer.refusal("read_note", note_id=note_id)


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("update_note", {"text": "mine"}),
        ("edit_note", {"old_text": "first", "new_text": "mine"}),
        ("move_note", {"path": "b.md"}),
        ("delete_note", {}),
    ],
)
async def test_change_of_a_note_that_moved_on_is_refused_with_its_text(
    api: NotesApi, writer: McpClient, tool: str, more: Json
) -> None:
    note = await api.note("a.md", "first")
    read = note.revision
    await note.update(text="first, and more by others")
    said = await writer.refusal(tool, note_id=id_of(note), revision_id=read, **more)
    assert said.startswith("The note has changed since")
    assert f"revision_id {note.revision}" in said
    assert said.endswith("first, and more by others")
    assert await text_of(note) == "first, and more by others"


class MovingNotes:
    """A note that others change after it was read, before the change arrives."""

    def __init__(self) -> None:
        self.content = NoteContent(FILE, "a.md", REVISION, "", "first")

    async def note(self, workspace_id: str, file_id: str) -> NoteContent:
        return self.content

    async def update(self, workspace_id: str, file_id: str, expected: str, text: str) -> NoteChange:
        self.content = self.content._replace(revision_id=LATER, text="first, by others")
        raise NotesRefused("head_moved", "It moved.", {})


async def test_note_that_moves_on_while_it_is_edited_is_not_changed() -> None:
    [tool] = [each for each in writing_tools() if each.name == "edit_note"]
    arguments: dict[str, object] = {
        "note_id": note_uri(WORKSPACE, FILE),
        "revision_id": REVISION,
        "old_text": "first",
        "new_text": "mine",
        "replace_all": None,
    }
    with pytest.raises(ToolRefused, match=f"revision_id {LATER}(.|\n)*first, by others$"):
        await tool.perform(cast("Notes", MovingNotes()), arguments)


@pytest.mark.parametrize(
    ("old", "advice"),
    [("three", "does not occur"), ("one", "occurs 2 times"), ("", "at least 1 character.")],
)
async def test_edit_that_is_ambiguous_changes_nothing(
    api: NotesApi, writer: McpClient, old: str, advice: str
) -> None:
    note = await api.note("a.md", "one two one")
    said = await writer.refusal(
        "edit_note",
        note_id=id_of(note),
        revision_id=note.revision,
        old_text=old,
        new_text="x",
    )
    assert advice in said
    assert await text_of(note) == "one two one"


async def test_occupied_and_invalid_paths_are_explained(api: NotesApi, writer: McpClient) -> None:
    await api.note("a.md")
    for path, advice in (
        ("A.md", "choose another path. To change the note"),
        ("a:b.md", "such as Folder/Name.md"),
    ):
        said = await writer.refusal(
            "create_note", workspace_id=api.workspace_id, path=path, text="a"
        )
        assert advice in said


async def test_revision_must_be_one(api: NotesApi, writer: McpClient) -> None:
    note = await api.note("a.md")
    said = await writer.refusal("delete_note", note_id=id_of(note), revision_id="*")
    assert "call read_note" in said
    assert (await note.read()).status == 200


@given(st.text("ab", max_size=20), st.text("ab", min_size=1, max_size=3), st.text("ab", max_size=3))
def test_replacement_is_exact_or_refused(content: str, old: str, new: str) -> None:
    if old not in content:
        with pytest.raises(ToolRefused, match="does not occur"):
            replaced(content, old, new, every=True)
    else:
        assert replaced(content, old, new, every=True) == (
            content.replace(old, new),
            content.count(old),
        )
