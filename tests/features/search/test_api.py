"""Search over HTTP: matches, snippets, and visibility."""

import pytest
from octavo_rules.schema_base import written_time

from octavo.features.search.api import SearchOperations
from octavo.http.contract.assembly import contract_of
from octavo.http.contract.contract_model import timestamp
from octavo.http.contract.declared_responses import possible_problems
from octavo.store import StoreFull
from tests.fakes.notes_api import NOBODYS, Client, Json, NotesApi, account_id, refusal

READ = {200, 400, 401, 403, 404, 409, 423, 500, 503}


async def paths(client: Client, target: str) -> list[str]:
    response = await client.get(target)
    assert response.status == 200, response.body
    return [each["path"] for each in response.json()["items"]]


async def test_note_is_found_with_its_title_and_snippets(api: NotesApi, reader: Client) -> None:
    note = await api.note("sea/notes.md", "# The tide\n\nIt comes **twice** a day.")
    response = await reader.get(f"{api.place}/search?q=twice+tide")
    document = response.json()
    score = document["items"][0].pop("score")
    assert score > 0
    assert (response.status, document) == (
        200,
        {
            "items": [
                {
                    "workspaceId": api.workspace_id,
                    "fileId": note.id,
                    "path": "sea/notes.md",
                    "title": "The tide",
                    "revisionId": note.revision,
                    "snippets": [
                        {
                            "text": "# The tide It comes **twice** a day.",
                            "marks": [{"start": 6, "end": 10}, {"start": 22, "end": 27}],
                        }
                    ],
                }
            ],
            "more": False,
            "complete": True,
        },
    )


async def test_each_change_is_found_immediately(api: NotesApi, reader: Client) -> None:
    search = f"{api.place}/search?q="
    note = await api.note("a.md", "red")
    assert await paths(reader, f"{search}red") == ["a.md"]
    await note.update(text="blue", path="b.md")
    assert await paths(reader, f"{search}red") == []
    assert await paths(reader, f"{search}blue") == ["b.md"]
    await note.delete()
    assert await paths(reader, f"{search}blue") == []
    await note.restore()
    assert await paths(reader, f"{search}blue") == ["b.md"]
    await note.delete()
    await note.purge()
    assert await paths(reader, f"{search}blue") == []


async def test_folder_and_limit_restrict_the_results(api: NotesApi, reader: Client) -> None:
    for path in ("x/a.md", "x/y/b.md", "z/c.md"):
        await api.note(path, "tide")
    assert len(await paths(reader, f"{api.place}/search?q=tide")) == 3
    assert sorted(await paths(reader, f"{api.place}/search?q=tide&path=x/")) == [
        "x/a.md",
        "x/y/b.md",
    ]
    response = await reader.get(f"{api.place}/search?q=tide&limit=2")
    assert (len(response.json()["items"]), response.json()["more"]) == (2, True)


async def test_last_change_restricts_the_results(api: NotesApi, reader: Client) -> None:
    search = f"{api.place}/search?q=tide"
    old = await api.note("old.md", "tide")
    api.sources.time += 3600
    await api.client("editor").post(api.files, {"path": "theirs.md", "text": "tide"})
    between = written_time(timestamp(round(1000 * api.sources.time))).replace("Z", "%2B00:00")
    assert await paths(reader, f"{search}&changedSince={between}") == ["theirs.md"]
    assert await paths(reader, f"{search}&changedBefore={between}") == ["old.md"]
    for name, path in (("owner", "old.md"), ("editor", "theirs.md")):
        author = f"&author={account_id(name)}"
        assert await paths(reader, f"{search}{author}") == [path]
        assert await paths(reader, f"/api/search?q=tide{author}") == [path]
    assert await paths(reader, f"{search}&author={NOBODYS}") == []
    await old.update(text="tide again")
    assert len(await paths(reader, f"{search}&changedSince={between}")) == 2
    nothing = f"&changedSince={between}&author={account_id('owner')}&path=x"
    assert await paths(reader, search + nothing) == []


async def test_snippet_has_the_text_of_the_note_unchanged(api: NotesApi, reader: Client) -> None:
    await api.note("a.md", "<script>alert('tide')</script> 🦉 tide")
    [item] = (await reader.get(f"{api.place}/search?q=tide")).json()["items"]
    [snippet] = item["snippets"]
    assert snippet["text"] == "<script>alert('tide')</script> 🦉 tide"
    marked = [snippet["text"][each["start"] : each["end"]] for each in snippet["marks"]]
    assert marked == ["tide", "tide"]


async def test_all_workspaces_of_the_account_are_searched_and_no_other(
    api: NotesApi,
) -> None:
    made = await api.client("stranger").post("/api/workspaces", {"name": "Theirs"})
    theirs = made.json()["id"]
    await api.note("ours.md", "tide")
    file: Json = {"path": "theirs.md", "text": "tide"}
    await api.client("stranger").post(f"/api/workspaces/{theirs}/files", file)
    owner, stranger = api.owner, api.client("stranger")
    assert await paths(owner, "/api/search?q=tide") == ["ours.md"]
    assert await paths(stranger, "/api/search?q=tide") == ["theirs.md"]
    await api.execute(
        "INSERT INTO members (workspace_id, account_id, role, joined_at)"
        " VALUES ($1::uuid, $2::uuid, 'reader', 0)",
        theirs,
        account_id("owner"),
    )
    assert sorted(await paths(owner, "/api/search?q=tide")) == ["ours.md", "theirs.md"]
    assert await paths(owner, f"/api/search?q=tide&workspaceId={theirs}") == ["theirs.md"]
    assert await paths(owner, "/api/search?q=tide&path=x") == []
    for workspace_id in (api.workspace_id, NOBODYS):
        response = await stranger.get(f"/api/search?q=tide&workspaceId={workspace_id}")
        assert refusal(response) == (404, "not_found")
    response = await stranger.get(f"{api.place}/search?q=tide")
    assert refusal(response) == (404, "not_found")


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("", "/query/q"),
        ("q=", "/query/q"),
        ("q=%22%20-%22", "/query/q"),
        (f"q={'x' * 501}", "/query/q"),
        (f"q={'+'.join(map(str, range(17)))}", "/query/q"),
        ("q=x&limit=0", "/query/limit"),
        ("q=x&limit=101", "/query/limit"),
        ("q=x&path=%00", "/query/path"),
        ("q=x&order=new", "/query/order"),
        ("q=x&changedSince=yesterday", "/query/changedSince"),
        ("q=x&changedSince=2027-01-01T00:00:00", "/query/changedSince"),
        ("q=x&changedBefore=", "/query/changedBefore"),
        ("q=x&author=Ann", "/query/author"),
    ],
)
async def test_query_that_cannot_be_answered_is_refused(
    api: NotesApi, reader: Client, query: str, place: str
) -> None:
    for target in (f"{api.place}/search", "/api/search"):
        response = await reader.get(f"{target}?{query}")
        assert refusal(response) == (400, "invalid_request")
        assert [each["pointer"] for each in response.json()["errors"]] == [place]


async def test_search_uses_the_existing_index_while_writes_fail(
    api: NotesApi, reader: Client
) -> None:
    search = f"{api.place}/search?q=tide"
    await api.note("a.md", "tide")
    assert await paths(reader, search) == ["a.md"]
    await api.note("b.md", "tide")
    api.store.fail = StoreFull("no room")
    response = (await reader.get(search)).json()
    assert ([each["path"] for each in response["items"]], response["complete"]) == (["a.md"], False)
    response = (await reader.get(search)).json()
    assert (len(response["items"]), response["complete"]) == (2, True)


async def test_nothing_is_found_without_workspaces(
    api: NotesApi,
) -> None:
    assert await paths(api.client("stranger"), "/api/search?q=tide") == []


def test_operations_are_declared_as_specified() -> None:
    for found in contract_of((SearchOperations,)):
        possible = found.statuses | {each.status for each in possible_problems(found)}
        assert found.method == "GET"
        assert possible == READ | {429}


async def test_limited_key_searches_its_workspaces_alone(api: NotesApi) -> None:
    await api.note("a.md", "tea")
    other = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
    await api.owner.post(f"/api/workspaces/{other}/files", {"path": "b.md", "text": "tea"})
    key = api.key("notes:read", workspaces=[other])
    found = (await key.get("/api/search?q=tea")).json()["items"]
    assert [each["path"] for each in found] == ["b.md"]
    for target in (
        f"/api/search?q=tea&workspaceId={api.workspace_id}",
        f"{api.place}/search?q=tea",
    ):
        assert refusal(await key.get(target)) == (404, "not_found")
