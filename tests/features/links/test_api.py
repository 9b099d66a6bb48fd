"""Links over HTTP: those of a file, those to it, and broken ones."""

import pytest

from octavo.features.links.api import LinkOperations
from octavo.features.links.sql import link_index
from octavo.http.contract.assembly import contract_of
from octavo.http.contract.declared_responses import possible_problems
from octavo.store import StoreFull
from tests.fakes.notes_api import NOBODYS, Client, Json, NotesApi, refusal

READ = {200, 400, 401, 403, 404, 409, 423, 500, 503}


async def test_links_of_a_file_and_its_backlinks_are_listed(api: NotesApi, reader: Client) -> None:
    one = await api.note("x/one.md", "# One\n\n[two](two.md#part) ![[none.png]]")
    two = await api.note("x/two.md", "# Two\n\n## Part\n\n[[one|1]] [[one]] [up](#two)")
    response = await reader.get(f"{one.place}/links")
    assert (response.status, response.json()) == (
        200,
        {
            "outgoing": [
                {
                    "kind": "standard",
                    "embed": False,
                    "target": "two.md",
                    "heading": "part",
                    "fileId": two.id,
                    "path": "x/two.md",
                    "headingFound": True,
                },
                {
                    "kind": "wiki",
                    "embed": True,
                    "target": "none.png",
                    "heading": None,
                    "fileId": None,
                    "path": None,
                    "headingFound": None,
                },
            ],
            "incoming": [
                {
                    "fileId": two.id,
                    "path": "x/two.md",
                    "title": "Two",
                    "kind": "wiki",
                    "embed": False,
                    "target": "one",
                    "heading": None,
                }
            ],
            "next": None,
        },
    )
    received = (await reader.get(f"{two.place}/links")).json()
    assert [(each["target"], each["fileId"]) for each in received["outgoing"]] == [
        ("one", one.id),
        ("", two.id),
    ]


async def test_backlinks_of_a_file_are_paged(api: NotesApi, reader: Client) -> None:
    one = await api.note("one.md", "[[two]]")
    for number in range(5):
        await api.note(f"n{number}.md", "[[one]]")
    found: list[Json] = []
    page = (await reader.get(f"{one.place}/links?limit=2")).json()
    assert len(page["outgoing"]) == 1
    while page["next"] is not None:
        found += page["incoming"]
        page = (await reader.get(f"{one.place}/links?limit=2&after={page['next']}")).json()
        assert page["outgoing"] == []
    found += page["incoming"]
    assert sorted(each["path"] for each in found) == [f"n{number}.md" for number in range(5)]


async def test_broken_links_are_paged(api: NotesApi, reader: Client) -> None:
    await api.note("one.md", "[[two]] [[three]] [web](https://example.org) [[one]] [](#x)")
    two = await api.note("two.md", "![x](none.png) [[three#part]]")
    items = await reader.pages(f"{api.place}/links/unresolved", 1)
    assert [(each["path"], each["target"], each["heading"]) for each in items] == [
        ("one.md", "three", None),
        ("two.md", "none.png", None),
        ("two.md", "three", "part"),
    ]
    await two.delete()
    items = await reader.pages(f"{api.place}/links/unresolved", 100)
    assert [each["target"] for each in items] == ["two", "three"]


async def test_links_older_than_the_index_are_listed(api: NotesApi, reader: Client) -> None:
    one = await api.note("one.md", "[[two]]")
    await api.note("two.md", "[[one]]")
    await api.forget_indexes()
    received = (await reader.get(f"{one.place}/links")).json()
    assert [each["path"] for each in received["outgoing"] + received["incoming"]] == [
        "two.md",
        "two.md",
    ]
    await api.forget_indexes()
    await api.note("three.md", "[[none]] [[one]]")
    items = await reader.pages(f"{api.place}/links/unresolved", 100)
    assert [each["target"] for each in items] == ["none"]


async def test_links_are_listed_while_indexing_is_impossible(api: NotesApi, reader: Client) -> None:
    one = await api.note("one.md", "[[two]]")
    await api.forget_indexes()
    await api.note("two.md", "[[one]]")
    api.store.fail = StoreFull("no room")
    received = (await reader.get(f"{one.place}/links")).json()
    for direction in ("outgoing", "incoming"):
        assert [each["path"] for each in received[direction]] == ["two.md"]
    assert await reader.pages(f"{api.place}/links/unresolved", 100) == []


@pytest.mark.parametrize("place", ["links", "unresolved"])
async def test_links_are_refused_while_indexing_many_files_is_impossible(
    api: NotesApi, reader: Client, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(link_index, "MAX_FILES", 2)
    one, *_ = [await api.note(f"{number}.md", "[[0]]") for number in range(3)]
    asked = f"{one.place}/links" if place == "links" else f"{api.place}/links/unresolved"
    api.store.fail = StoreFull("no room")
    response = await reader.get(asked)
    assert refusal(response) == (503, "storage_unavailable")
    assert response.header("retry-after") == "1"
    assert (await reader.get(asked)).status == 200


async def test_links_of_many_changed_files_are_listed(api: NotesApi, reader: Client) -> None:
    one = await api.note("one.md")
    for number in range(5):
        create = [
            {"op": "create", "fileId": api.new_id(), "path": f"{number}/{n}.md", "text": "[[one]]"}
            for n in range(50)
        ]
        assert (await api.push(*create)).status == 200
    received = (await reader.get(f"{one.place}/links?limit=500")).json()
    assert len(received["incoming"]) == 250


@pytest.mark.parametrize("state", ["deleted", "purged", "unknown"])
async def test_file_that_is_not_live_has_no_links(
    api: NotesApi, reader: Client, state: str
) -> None:
    note = await api.note("one.md", "[[one]]")
    if state != "unknown":
        await note.delete()
    if state == "purged":
        await note.purge()
    place = note.place if state != "unknown" else f"{api.files}/{NOBODYS}"
    assert refusal(await reader.get(f"{place}/links")) == (404, "not_found")


async def test_strangers_see_no_links(api: NotesApi) -> None:
    note = await api.note("one.md")
    stranger = api.client("stranger")
    for place in (f"{note.place}/links", f"{api.place}/links/unresolved"):
        assert refusal(await stranger.get(place)) == (404, "not_found")


@pytest.mark.parametrize(
    "after", ["x", "WyIiLCAieCJd", "WyIiLCAiLTEiXQ", "WyIiXQ", "WyIiLCAiwrIiXQ"]
)
async def test_malformed_cursor_is_refused(api: NotesApi, reader: Client, after: str) -> None:
    note = await api.note("one.md")
    for place in (f"{note.place}/links", f"{api.place}/links/unresolved"):
        response = await reader.get(f"{place}?after={after}")
        assert refusal(response) == (400, "invalid_request")


def test_operations_are_declared_as_specified() -> None:
    for found in contract_of((LinkOperations,)):
        possible = found.statuses | {each.status for each in possible_problems(found)}
        assert found.method == "GET"
        assert possible == READ
