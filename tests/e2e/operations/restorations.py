"""Cases of restorations."""

import httpx

from tests.e2e.operations.cases import produces
from tests.e2e.operations.common import AFTER_ALL
from tests.e2e.operations.files import NEWER
from tests.e2e.operations.world import TEXT, Json, World, fresh_id, if_match


def changed_in_folder(world: World) -> tuple[Json, Json]:
    """A note in a folder of its own that was changed, and what restores it."""
    note, folder = world.note(), f"Recipes {fresh_id()}"
    body = {"path": f"{folder}/Bread.md"}
    moved = world.ask("PUT", world.file(note), json=body, headers=if_match(note)).json()
    body = {"text": NEWER}
    changed = world.ask("PUT", world.file(note), json=body, headers=if_match(moved))
    assert changed.status_code == 200, changed.text
    return note, {"position": moved["position"], "folder": folder}


def restore(world: World, **asked: object) -> httpx.Response:
    return world.ask("POST", f"{world.base}/restorations", json=asked)


@produces("previewRestoration", "200")
def restoration_previewed(world: World) -> httpx.Response:
    note, asked = changed_in_folder(world)
    # Of a moment in the future, when everything is as it is now.
    preview = f"{world.base}/restorations/preview"
    nothing = world.ask("GET", preview, params={"moment": AFTER_ALL})
    assert (nothing.status_code, nothing.json()["items"]) == (200, [])
    response = world.ask("GET", preview, params=asked)
    assert [each["fileId"] for each in response.json()["items"]] == [note["fileId"]]
    return response


@produces("restoreWorkspace", "201")
def folder_restored(world: World) -> httpx.Response:
    note, asked = changed_in_folder(world)
    response = restore(world, **asked)
    assert response.json()["state"] == "done"
    text = world.ask("GET", world.file(note), params={"content": "text"}).json()["text"]
    assert text == TEXT
    return response


@produces("restoreWorkspace", "mutation_reused")
def folder_restored_with_a_mutation_that_was_used(world: World) -> httpx.Response:
    note, asked = changed_in_folder(world)
    return restore(world, **asked, mutationId=note["revision"]["mutationId"])


@produces("previewRestoration", "invalid_path")
def restoration_of_an_impossible_folder_previewed(world: World) -> httpx.Response:
    asked = {"position": 0, "folder": "/"}
    return world.ask("GET", f"{world.base}/restorations/preview", params=asked)


@produces("restoreWorkspace", "invalid_path")
def impossible_folder_restored(world: World) -> httpx.Response:
    return restore(world, position=0, folder="../tea")


@produces("listRestorations", "200")
def restorations_listed(world: World) -> httpx.Response:
    _, asked = changed_in_folder(world)
    made = [restore(world, **asked).json()["restorationId"] for _ in range(3)]
    path = f"{world.base}/restorations"
    page = world.ask("GET", path, params={"limit": 2}).json()
    found = [each["restorationId"] for each in page["items"]]
    response = world.ask("GET", path, params={"after": page["next"]})
    found += [each["restorationId"] for each in response.json()["items"]]
    assert found[:3] == made[::-1]
    assert len({*found}) == len(found)
    return response


@produces("getRestoration", "200")
def restoration_read(world: World) -> httpx.Response:
    later = restore(world, moment=AFTER_ALL).json()
    assert (later["state"], later["total"]) == ("done", 0)
    _, asked = changed_in_folder(world)
    made = restore(world, **asked).json()
    return world.ask("GET", f"{world.base}/restorations/{made['restorationId']}")
