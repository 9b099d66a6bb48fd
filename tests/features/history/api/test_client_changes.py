"""What programs changed, and its undo."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
import trio
from octavo_rules.identity import WorkspaceId

from octavo.features.history import undo as undo_rules
from octavo.features.history.sql import program_changes
from octavo.features.history.undo import ProgramUndo, UndoOutlook
from octavo.features.usage.api import memory_of
from octavo.http.contract.memory_budget import COUNTED
from octavo.model.files.changeset import ChangeOperation
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import START
from tests.fakes.notes_api import Client, NotesApi, account_id, refusal, tag_of
from tests.fakes.refused_memory import refuse_first

ASSISTANT = "https://assistant.example/client.json"
OTHER = "https://other.example/client.json"
SINCE = datetime.fromtimestamp(START, UTC).isoformat(timespec="milliseconds")
"""The time of the first change: the clock stands still."""


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


@pytest.fixture
async def assistant(api: NotesApi) -> Client:
    return await api.program(ASSISTANT, "An assistant")


async def head(api: NotesApi, file_id: str) -> str:
    return tag_of(await api.owner.get(f"{api.files}/{file_id}?content=text"))


async def write(api: NotesApi, who: Client, file_id: str, **body: object) -> None:
    response = await who.put(f"{api.files}/{file_id}", body, if_match=await head(api, file_id))
    assert response.status == 200, response.body


async def undo(api: NotesApi, who: Client | None = None, /, **more: object) -> Response:
    body = {"client": ASSISTANT, "since": SINCE, **more}
    return await (who or api.owner).post(f"{api.place}/undo", body)


async def paths(api: NotesApi) -> dict[str, str]:
    """The texts of all live notes, by their paths."""
    listed = (await api.owner.get(api.files)).json()["items"]
    found = {}
    for each in listed:
        file = (await api.owner.get(f"{api.files}/{each['id']}?content=text")).json()
        found[each["path"]] = file["text"]
    return found


def outcomes(response: Response) -> list[tuple[str, str]]:
    assert response.status == 200, response.body
    return [(each["path"], each["outcome"]) for each in response.json()["changes"]]


def outcome_heads(response: Response) -> list[str]:
    return [each["revision"]["id"] for each in response.json()["changes"]]


def kept(response: Response) -> list[tuple[str | None, str]]:
    return [(each["path"], each["reason"]) for each in response.json()["kept"]]


async def changed_vault(api: NotesApi, assistant: Client) -> dict[str, str]:
    """Notes that the program created, changed, moved and deleted; return them as they were."""
    text = await api.note("a.md", "See [b](b.md).")
    moved = await api.note("b.md", "Bread.")
    deleted = await api.note("c.md", "Cake.")
    await api.note("untouched.md", "Mine.")
    before = await paths(api)
    await write(api, assistant, text.id, text="Something else: [b](b.md).")
    await write(api, assistant, moved.id, path="moved/b.md", rewriteLinks=True)
    response = await assistant.delete(f"{api.files}/{deleted.id}", if_match=deleted.tag)
    assert response.status == 200
    await assistant.post(api.files, {"path": "new.md", "text": "By a program."})
    assert await paths(api) != before
    return before


async def test_undo_returns_all_to_the_state_before(api: NotesApi, assistant: Client) -> None:
    before = await changed_vault(api, assistant)
    response = await undo(api)
    assert sorted(outcomes(response)) == [
        ("a.md", "restored"),
        ("b.md", "updated"),
        ("c.md", "restored"),
        ("new.md", "deleted"),
    ]
    assert kept(response) == []
    assert await paths(api) == before
    positions = {each["position"] for each in response.json()["changes"]}
    assert positions == {response.json()["position"]}
    origins = {each["revision"]["origin"] for each in response.json()["changes"]}
    assert origins == {"restore"}


async def test_preview_says_what_the_undo_does(api: NotesApi, assistant: Client) -> None:
    await changed_vault(api, assistant)
    asked = f"{api.place}/undo?{urlencode({'client': ASSISTANT, 'since': SINCE})}"
    response = await api.owner.get(asked)
    assert response.status == 200, response.body
    found = [(e["path"], e["action"], e["pathAfter"]) for e in response.json()["changes"]]
    assert found == [
        ("a.md", "reverted", "a.md"),
        ("c.md", "restored", "c.md"),
        ("moved/b.md", "reverted", "b.md"),
        ("new.md", "deleted", None),
    ]


async def test_files_that_others_changed_since_are_left_and_named(
    api: NotesApi, assistant: Client
) -> None:
    ours, theirs = await api.note("ours.md", "1"), await api.note("theirs.md", "1")
    for note in (ours, theirs):
        await write(api, assistant, note.id, text="2")
    await write(api, api.owner, ours.id, text="3")
    response = await undo(api)
    assert outcomes(response) == [("theirs.md", "restored")]
    assert kept(response) == [("ours.md", "changed_since")]
    assert await paths(api) == {"ours.md": "3", "theirs.md": "1"}


async def test_each_of_many_files_that_others_changed_since_is_named(
    api: NotesApi, assistant: Client
) -> None:
    notes = [await api.note(f"{number:02}.md", "1") for number in range(30)]
    for note in notes:
        await write(api, assistant, note.id, text="2")
    for note in notes[1:]:
        await write(api, api.owner, note.id, text="3")
    response = await undo(api)
    assert outcomes(response) == [("00.md", "restored")]
    assert kept(response) == [(f"{number:02}.md", "changed_since") for number in range(1, 30)]


async def test_file_whose_path_is_taken_is_left_and_named(api: NotesApi, assistant: Client) -> None:
    note = await api.note("a.md", "1")
    await write(api, assistant, note.id, path="b.md")
    await api.note("A.md/c.md", "in the way")
    response = await undo(api)
    assert outcomes(response) == []
    assert kept(response) == [("b.md", "path_taken")]
    position = response.json()["position"]
    assert position == (await api.owner.get(f"{api.place}/feed")).json()["position"]


async def test_undo_again_finds_nothing(api: NotesApi, assistant: Client) -> None:
    await changed_vault(api, assistant)
    await undo(api)
    announced = list(api.announced)
    response = await undo(api)
    assert (outcomes(response), kept(response)) == ([], [])
    assert api.announced == announced


async def test_note_that_somebody_brought_back_is_not_deleted_again(
    api: NotesApi, assistant: Client
) -> None:
    made = await assistant.post(api.files, {"path": "a.md", "text": "By a program."})
    place = f"{api.files}/{made.json()['fileId']}"
    tag = f'"{outcome_heads(await undo(api))[0]}"'
    assert (await api.owner.post(f"{place}/restore", {}, if_match=tag)).status == 200
    response = await undo(api)
    assert (outcomes(response), kept(response)) == ([], [("a.md", "changed_since")])
    assert await paths(api) == {"a.md": "By a program."}


async def test_repeated_undo_has_one_effect(
    api: NotesApi, assistant: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await changed_vault(api, assistant)
    mutation = api.new_id()
    first = await undo(api, mutationId=mutation)
    again = await undo(api, mutationId=mutation)
    assert again.json() == first.json()
    other = await undo(api, mutationId=mutation, client=OTHER)
    assert refusal(other) == (409, "mutation_reused")
    receipt = await api.owner.get(f"{api.place}/receipts/{mutation}")
    assert receipt.json()["changes"] == first.json()["changes"]
    # Also when it would be too much by now.
    await assistant.post(api.files, {"path": "later.md", "text": ""})
    monkeypatch.setattr(undo_rules, "MAX_OPERATIONS", 0)
    assert refusal(await undo(api)) == (422, "too_many_files")
    large = await undo(api, mutationId=mutation)
    assert (large.status, large.json()["changes"]) == (200, first.json()["changes"])
    # When the revisions since then may be removed, too.
    api.sources.time += 40 * 86_400
    assert refusal(await undo(api)) == (400, "invalid_request")
    late = await undo(api, mutationId=mutation)
    assert (late.status, late.json()["changes"]) == (200, first.json()["changes"])


async def test_memory_for_texts_is_reserved_before_they_return(
    api: NotesApi, assistant: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {"a.md": "a" * COUNTED, "b.md": "b" * COUNTED, "c.md": "c" * COUNTED}
    files = {path: (await api.note(path, text)).id for path, text in before.items()}
    await write(api, assistant, files["a.md"], text="1")
    await write(api, assistant, files["b.md"], text="2")
    # What is moved is not read.
    await write(api, assistant, files["c.md"], path="moved.md")
    reserved = refuse_first(monkeypatch)
    assert refusal(await undo(api)) == (503, "server_busy")
    assert (await undo(api)).status == 200
    assert reserved == [memory_of(2 * COUNTED)] * 2
    assert await paths(api) == before


async def test_undo_since_a_time_keeps_what_was_before(api: NotesApi, assistant: Client) -> None:
    note = await api.note("a.md", "1")
    await write(api, assistant, note.id, text="2")
    middle = (await api.owner.get(f"{note.place}/revisions")).json()["items"][0]["createdAt"]
    api.sources.time += 60
    await write(api, assistant, note.id, text="3")
    later = (await api.owner.get(f"{note.place}/revisions")).json()["items"][0]["createdAt"]
    assert middle < later
    await undo(api, since=later)
    assert await paths(api) == {"a.md": "2"}
    await undo(api, since=middle)
    assert await paths(api) == {"a.md": "1"}


async def test_changes_of_other_programs_and_accounts_stay(
    api: NotesApi, assistant: Client
) -> None:
    other = await api.program(OTHER, "An assistant")
    same = await api.program(ASSISTANT, "An assistant", "editor")
    for who, name in ((assistant, "a"), (other, "b"), (same, "c")):
        await who.post(api.files, {"path": f"{name}.md", "text": ""})
    assert outcomes(await undo(api)) == [("a.md", "deleted")]
    editors = str(account_id("editor"))
    assert outcomes(await undo(api, accountId=editors)) == [("c.md", "deleted")]
    assert await paths(api) == {"b.md": ""}


async def test_file_that_the_program_changed_for_others_since_is_left(
    api: NotesApi, assistant: Client
) -> None:
    same = await api.program(ASSISTANT, "An assistant", "editor")
    note = await api.note("a.md", "1")
    await write(api, assistant, note.id, text="2")
    await write(api, same, note.id, text="3")
    response = await undo(api)
    assert (outcomes(response), kept(response)) == ([], [("a.md", "changed_since")])
    editors = str(account_id("editor"))
    assert outcomes(await undo(api, accountId=editors)) == [("a.md", "restored")]
    assert await paths(api) == {"a.md": "2"}


async def test_program_that_was_renamed_is_undone_as_one(api: NotesApi, assistant: Client) -> None:
    renamed = await api.program(ASSISTANT, "Another name")
    for who, name in ((assistant, "a"), (renamed, "b")):
        await who.post(api.files, {"path": f"{name}.md", "text": ""})
    assert outcomes(await undo(api)) == [("a.md", "deleted"), ("b.md", "deleted")]


async def test_renamed_program_is_listed_with_its_last_name(
    api: NotesApi, assistant: Client
) -> None:
    renamed = await api.program(ASSISTANT, "A helper")
    for who, name in ((assistant, "a"), (renamed, "b")):
        await who.post(api.files, {"path": f"{name}.md", "text": ""})
    [found] = (await api.owner.get(f"{api.place}/clients")).json()["items"]
    assert (found["name"], found["revisions"]) == ("A helper", 2)


async def test_history_names_the_program(api: NotesApi, assistant: Client) -> None:
    note = await api.note("a.md", "1")
    await write(api, assistant, note.id, text="2")
    await undo(api)
    listed = (await api.owner.get(f"{note.place}/revisions")).json()["items"]
    assert [(each["origin"], each["client"]) for each in listed] == [
        ("restore", None),
        ("mcp", {"id": ASSISTANT, "name": "An assistant"}),
        ("device", None),
    ]


async def test_programs_are_listed_with_what_they_changed(api: NotesApi, assistant: Client) -> None:
    assert (await api.owner.get(f"{api.place}/clients")).json()["items"] == []
    note = await api.note("a.md", "1")
    await write(api, assistant, note.id, text="2")
    await write(api, assistant, note.id, text="3")
    [found] = (await api.owner.get(f"{api.place}/clients")).json()["items"]
    assert (found["client"], found["name"], found["revisions"]) == (ASSISTANT, "An assistant", 2)
    assert (found["accountId"], found["accountName"]) == (account_id("owner"), "owner")
    assert found["firstAt"] <= found["lastAt"]


async def undone(api: NotesApi) -> dict[str, bool]:
    """Whether all is undone of what each program changed for the owner."""
    listed = (await api.owner.get(f"{api.place}/clients")).json()["items"]
    return {each["client"]: each["undone"] for each in listed}


async def test_program_of_which_all_is_undone_is_marked(api: NotesApi, assistant: Client) -> None:
    await changed_vault(api, assistant)
    other = await api.program(OTHER, "Another")
    await other.post(api.files, {"path": "other.md", "text": ""})
    assert await undone(api) == {ASSISTANT: False, OTHER: False}
    await undo(api)
    assert await undone(api) == {ASSISTANT: True, OTHER: False}
    await assistant.post(api.files, {"path": "again.md", "text": ""})
    assert await undone(api) == {ASSISTANT: False, OTHER: False}


async def test_program_of_which_a_part_is_undone_is_not_marked(
    api: NotesApi, assistant: Client
) -> None:
    note = await api.note("a.md", "1")
    await write(api, assistant, note.id, text="2")
    api.sources.time += 60
    await write(api, assistant, note.id, text="3")
    await undo(api, since=stamp(api.sources.time))
    assert (await paths(api), await undone(api)) == ({"a.md": "2"}, {ASSISTANT: False})
    await undo(api)
    assert (await paths(api), await undone(api)) == ({"a.md": "1"}, {ASSISTANT: True})


async def test_program_that_changed_too_many_files_is_not_marked(
    api: NotesApi, assistant: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_changes, "MAX_ENDS", 3)
    await changed_vault(api, assistant)
    await undo(api)
    assert await undone(api) == {ASSISTANT: False}


async def test_time_before_which_revisions_may_be_removed_is_refused(
    api: NotesApi, assistant: Client
) -> None:
    api.sources.time += 40 * 86_400
    response = await undo(api)
    assert refusal(response) == (400, "invalid_request")
    [error] = response.json()["errors"]
    assert error["pointer"] == "/since"
    assert "Earlier revisions may have been removed" in error["message"]


async def test_time_that_is_offered_is_accepted_for_an_hour(
    api: NotesApi, assistant: Client
) -> None:
    await assistant.post(api.files, {"path": "old.md", "text": ""})
    api.sources.time += 40 * 86_400
    await assistant.post(api.files, {"path": "new.md", "text": ""})
    offered = (await api.owner.get(f"{api.place}/clients")).json()["undoableSince"]
    [error] = (await undo(api)).json()["errors"]
    assert offered in error["message"]
    api.sources.time += 3_600
    assert outcomes(await undo(api, since=offered)) == [("new.md", "deleted")]


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("editor", (200, None)),
        ("reader", (403, "forbidden")),
        ("stranger", (404, "not_found")),
    ],
)
async def test_undo_needs_an_editor(
    api: NotesApi, who: str, expected: tuple[int, str | None]
) -> None:
    response = await undo(api, api.client(who))
    code = response.json().get("code")
    assert (response.status, code) == expected


async def test_limited_keys_undo_within_their_limits(api: NotesApi, assistant: Client) -> None:
    await changed_vault(api, assistant)
    assert (await undo(api, api.key("notes:read"))).status == 403
    assert (await undo(api, api.key("notes:write", folder="moved"))).status == 403
    assert (await undo(api, api.key("notes:write"))).status == 200


async def test_too_many_files_are_undone_in_steps(api: NotesApi, assistant: Client) -> None:
    async def fill(numbers: Sequence[int]) -> None:
        made: list[dict[str, Any]] = [
            {"op": "create", "fileId": api.new_id(), "path": f"{number}.md", "text": ""}
            for number in numbers
        ]
        body = {"mutationId": api.new_id(), "operations": made}
        assert (await assistant.post(f"{api.place}/changesets", body)).status == 200

    await fill(range(300))
    api.sources.time += 60
    middle = stamp(api.sources.now())
    await fill(range(300, 600))
    assert refusal(await undo(api)) == (422, "too_many_files")
    assert len(outcomes(await undo(api, since=middle))) == 300
    assert len(outcomes(await undo(api))) == 300
    assert await paths(api) == {}


async def test_undo_beside_a_writer_loses_nothing(api: NotesApi, assistant: Client) -> None:
    notes = [await api.note(f"{number}.md", "1") for number in range(10)]
    for note in notes:
        await write(api, assistant, note.id, text="2")
    answers: list[Response] = []

    async def undo_all() -> None:
        answers.append(await undo(api))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(undo_all)
        for note in notes[:3]:
            nursery.start_soon(write_over, api, note.id)
    texts = await paths(api)
    assert all(texts[f"{number}.md"] == "1" for number in range(3, 10))
    assert all(texts[f"{number}.md"] in ("1", "mine") for number in range(3))
    undone = {path for path, _ in outcomes(answers[0])}
    assert undone | {path for path, _ in kept(answers[0])} == texts.keys()


async def write_over(api: NotesApi, file_id: str) -> None:
    while True:
        tag = await head(api, file_id)
        response = await api.owner.put(f"{api.files}/{file_id}", {"text": "mine"}, if_match=tag)
        if response.status == 200:
            return


@pytest.mark.parametrize("moment", ["before the texts are read", "before the push"])
@pytest.mark.parametrize(
    ("deleted", "meanwhile", "expected"),
    [
        (True, "purge", ([("b.md", "restored")], [(None, "purged")])),
        (True, "restore", ([("a.md", "restored"), ("b.md", "restored")], [])),
        (False, "delete", ([("b.md", "restored")], [("a.md", "changed_since")])),
        (False, "purge", ([("b.md", "restored")], [(None, "purged")])),
    ],
)
async def test_undo_continues_when_files_appear_or_go_meanwhile(
    api: NotesApi,
    assistant: Client,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
    deleted: bool,
    meanwhile: str,
    expected: tuple[list[tuple[str, str]], list[tuple[str | None, str]]],
) -> None:
    note, other = await api.note("a.md", "1"), await api.note("b.md", "1")
    for each in (note, other):
        await write(api, assistant, each.id, text="2")
        if deleted:
            tag = await head(api, each.id)
            response = await assistant.delete(each.place, if_match=tag)
            each.tag = tag_of(response)
    planned = ProgramUndo.operations
    calls = 0

    async def interfere() -> None:
        nonlocal calls
        calls += 1
        if calls > 1:
            return
        if not deleted:
            tag = await head(api, note.id)
            assert (await api.owner.delete(note.place, if_match=tag)).status == 200
        if meanwhile == "restore":
            assert (await note.restore()).status == 200
        elif meanwhile == "purge":
            assert (await note.purge()).status == 200

    async def operations(
        self: ProgramUndo, workspace_id: WorkspaceId, outlook: UndoOutlook
    ) -> tuple[ChangeOperation, ...]:
        if moment == "before the texts are read":
            await interfere()
        found = await planned(self, workspace_id, outlook)
        if moment == "before the push":
            await interfere()
        return found

    monkeypatch.setattr(ProgramUndo, "operations", operations)
    response = await undo(api)
    assert (outcomes(response), kept(response)) == expected


@pytest.mark.parametrize("client", ["", "\0", "a\0b", "a b", "é", "a" * 2049])
async def test_client_id_that_no_program_has_is_refused(api: NotesApi, client: str) -> None:
    response = await undo(api, client=client)
    assert refusal(response) == (400, "invalid_request")
    assert response.json()["errors"][0]["pointer"] == "/client"
    asked = f"{api.place}/undo?{urlencode({'client': client, 'since': SINCE})}"
    assert refusal(await api.owner.get(asked)) == (400, "invalid_request")
