"""Cases of links between notes, and of search."""

import httpx

from tests.e2e.operations.cases import produces
from tests.e2e.operations.changesets import create, guarded
from tests.e2e.operations.files import update
from tests.e2e.operations.world import SYNC, Json, World, fresh_id

# The maximum of notes that one changeset rewrites besides its own files, and of its operations.
MAX_NOTES, MAX_OPERATIONS = 1000, 500


def linked(world: World) -> tuple[Json, Json]:
    """A new note, and one with a link to it and a broken link."""
    target = world.note("# Target\n")
    return target, world.note(f"[Bread]({target['path']}) or [[Muffins {fresh_id()}]]")


@produces("getLinks", "200")
def links_read(world: World) -> httpx.Response:
    target, note = linked(world)
    response = world.ask("GET", f"{world.file(note)}/links", headers=world.reader.by_key)
    outgoing = response.json()["outgoing"]
    assert [each["fileId"] for each in outgoing] == [target["fileId"], None]
    back = world.ask("GET", f"{world.file(target)}/links")
    world.contract.check("getLinks", back)
    assert [each["fileId"] for each in back.json()["incoming"]] == [note["fileId"]]
    return response


@produces("listUnresolvedLinks", "200")
def unresolved_links_listed(world: World) -> httpx.Response:
    _, note = linked(world)
    response = world.ask("GET", f"{world.base}/links/unresolved?limit=500")
    assert note["fileId"] in [each["fileId"] for each in response.json()["items"]]
    return response


@produces("updateFile", "200")
def note_moved_with_the_links_to_it(world: World) -> httpx.Response:
    target, note = linked(world)
    path = f"{fresh_id()}.md"
    response = update(world, target, path=path, rewriteLinks=True)
    assert f"[Bread]({path})" in world.ask("GET", world.file(note)).json()["text"]
    return response


@produces("pushChangeset", "200")
def changeset_that_moves_a_note_with_the_links_to_it_pushed(world: World) -> httpx.Response:
    target, note = linked(world)
    move = guarded("update", target, path=f"{fresh_id()}.md", rewriteLinks=True)
    response = world.push(move)
    changed = [each["fileId"] for each in response.json()["changes"]]
    assert changed == [target["fileId"], note["fileId"]]
    return response


@produces("updateFile", "too_many_files")
def note_moved_with_more_links_than_are_rewritten_at_once(world: World) -> httpx.Response:
    made = world.ask("POST", "/api/workspaces", json={"name": "Linked"}).json()["id"]
    base = f"/api/workspaces/{made}"
    given = {"path": "target.md", "text": "target"}
    target = world.ask("POST", f"{base}/files", json=given).json()
    for start in range(0, MAX_NOTES + 1, MAX_OPERATIONS):
        count = min(MAX_OPERATIONS, MAX_NOTES + 1 - start)
        notes = [create(text="[it](target.md)") for _ in range(count)]
        body = {"mutationId": fresh_id(), "operations": notes}
        pushed = world.ask("POST", f"{base}/changesets", json=body, headers=SYNC)
        assert pushed.status_code == 200, pushed.text
    return world.ask(
        "PUT",
        f"{base}/files/{target['fileId']}",
        json={"path": "moved.md", "rewriteLinks": True},
        headers={"if-match": f'"{target["revision"]["id"]}"'},
    )


def searched(world: World, path: str, **asked: str) -> httpx.Response:
    response = world.ask("GET", path, params=asked)
    while not response.json()["complete"]:
        # The words of others are still being indexed, on a busy machine.
        response = world.ask("GET", path, params=asked)
    return response


@produces("searchWorkspace", "200")
def workspace_searched(world: World) -> httpx.Response:
    note = world.note()
    changed, author = note["revision"]["createdAt"], note["revision"]["author"]
    # The workspace may have earlier notes with the word.
    word = {"q": "minutes", "changedSince": changed}
    response = searched(world, f"{world.base}/search", **word)
    [found] = response.json()["items"]
    assert (found["fileId"], found["revisionId"]) == (note["fileId"], note["revision"]["id"])
    for asked, count in (
        ({"author": author}, 1),
        ({"changedBefore": changed}, 0),
        ({"author": world.stranger.account_id}, 0),
    ):
        narrow = world.ask("GET", f"{world.base}/search", params={**word, **asked})
        assert len(narrow.json()["items"]) == count
    return response


@produces("search", "200")
def all_workspaces_searched(world: World) -> httpx.Response:
    note = world.note()
    asked = {"q": "minutes"}
    nothing = world.ask("GET", "/api/search", params=asked, headers=world.stranger.by_key)
    assert nothing.json()["items"] == []
    asked["author"] = note["revision"]["author"]
    asked["changedSince"] = note["revision"]["createdAt"]
    everywhere = searched(world, "/api/search", **asked)
    response = searched(world, "/api/search", **asked, workspaceId=world.workspace)
    for each in (everywhere, response):
        assert [found["fileId"] for found in each.json()["items"]] == [note["fileId"]]
    return response


@produces("searchWorkspace", "not_found")
def workspace_of_others_searched(world: World) -> httpx.Response:
    asked = {"q": "word"}
    headers = world.stranger.by_key
    return world.ask("GET", f"{world.base}/search", params=asked, headers=headers)


@produces("search", "not_found")
def workspace_of_others_searched_by_its_id(world: World) -> httpx.Response:
    asked = {"q": "word", "workspaceId": world.workspace}
    return world.ask("GET", "/api/search", params=asked, headers=world.stranger.by_key)
