"""Cases of workspaces and of their files."""

import uuid

import httpx

from tests.e2e.operations.cases import produces
from tests.e2e.operations.world import SYNC, TEXT, UNKNOWN, Json, World, fresh_id, if_match

NEWER = "Bake for 50 minutes.\n"


@produces("listWorkspaces", "200")
def workspaces(world: World) -> httpx.Response:
    headers = world.newcomer().by_key
    made = world.ask("POST", "/api/workspaces", json={"name": "Kitchen"}, headers=headers).json()
    response = world.ask("GET", "/api/workspaces", headers=headers)
    assert response.json()["items"] == [made]
    return response


@produces("createWorkspace", "201")
def workspace_made(world: World) -> httpx.Response:
    return world.ask("POST", "/api/workspaces", json={"name": "Garden"})


@produces("getWorkspace", "200")
def workspace_read(world: World) -> httpx.Response:
    response = world.ask("GET", world.base, headers=world.reader.by_key)
    assert (response.json()["id"], response.json()["role"]) == (world.workspace, "reader")
    return response


@produces("updateWorkspace", "200")
def workspace_renamed(world: World) -> httpx.Response:
    response = world.ask("PUT", world.base, json={"name": "Kitchen and garden"})
    assert response.json()["name"] == "Kitchen and garden"
    return response


@produces("deleteWorkspace", "200")
def workspace_deleted(world: World) -> httpx.Response:
    made = workspace_made(world).json()["id"]
    response = world.ask("DELETE", f"/api/workspaces/{made}")
    assert world.ask("GET", f"/api/workspaces/{made}/files").status_code == 404
    return response


def create(path: str | None = None, text: str = "text", **more: object) -> Json:
    return {"path": path or f"{fresh_id()}.md", "text": text, **more}


@produces("createFile", "201")
def note_made(world: World) -> httpx.Response:
    file_id, mutation = fresh_id(), fresh_id()
    given = create(f"Recipes/Bread {mutation}.md", TEXT, fileId=file_id, mutationId=mutation)
    response = world.ask("POST", f"{world.base}/files", json=given)
    again = world.ask("POST", f"{world.base}/files", json=given)
    assert again.json() == response.json()
    assert response.json()["fileId"] == file_id
    return response


@produces("createFile", "file_exists")
def note_made_with_an_id_that_is_taken(world: World) -> httpx.Response:
    given = create(fileId=world.note()["fileId"])
    return world.ask("POST", f"{world.base}/files", json=given)


@produces("createFile", "file_purged")
def note_made_with_an_id_that_was_purged(world: World) -> httpx.Response:
    given = create(fileId=world.purged()["fileId"])
    return world.ask("POST", f"{world.base}/files", json=given)


@produces("createFile", "mutation_reused")
def note_made_with_a_mutation_that_was_used(world: World) -> httpx.Response:
    given = create(mutationId=world.note()["revision"]["mutationId"])
    return world.ask("POST", f"{world.base}/files", json=given)


@produces("createFile", "path_conflict")
def note_made_where_one_stands(world: World) -> httpx.Response:
    given = create(world.note()["path"].upper().replace(".MD", ".md"))
    return world.ask("POST", f"{world.base}/files", json=given)


@produces("createFile", "invalid_graph")
def note_made_below_a_note(world: World) -> httpx.Response:
    given = create(world.note()["path"] + "/below.md")
    return world.ask("POST", f"{world.base}/files", json=given)


@produces("createFile", "invalid_path")
def note_made_at_no_path(world: World) -> httpx.Response:
    return world.ask("POST", f"{world.base}/files", json=create("../up.md"))


@produces("createFile", "invalid_content")
def note_made_of_what_is_no_text(world: World) -> httpx.Response:
    return world.ask("POST", f"{world.base}/files", json=create(text="a\0b"))


@produces("listFiles", "200")
def notes_listed(world: World) -> httpx.Response:
    gone = world.deleted()["fileId"]
    deleted = world.ask("GET", f"{world.base}/files?state=deleted&limit=500")
    assert gone in [each["id"] for each in deleted.json()["items"]]
    world.contract.check("listFiles", deleted)
    note = world.note()
    response = world.ask("GET", f"{world.base}/files", params={"prefix": note["path"]})
    assert [each["id"] for each in response.json()["items"]] == [note["fileId"]]
    return response


@produces("getFile", "200")
def note_read(world: World) -> httpx.Response:
    text = "Crème brûlée: bake at 150 °C — for 40 minutes.\n"
    note = world.note(text)
    response = world.ask("GET", world.file(note), headers=world.reader.by_key)
    assert response.json()["text"] == text
    assert response.headers["etag"] == if_match(note)["if-match"]
    return response


@produces("getFile", "304")
def note_read_that_one_has(world: World) -> httpx.Response:
    note = world.note()
    tag = {"if-none-match": if_match(note)["if-match"]}
    return world.ask("GET", world.file(note), headers=tag)


@produces("getFile", "not_found")
def deleted_note_read(world: World) -> httpx.Response:
    return world.ask("GET", world.file(world.deleted()))


@produces("getFile", "file_purged")
def purged_note_read(world: World) -> httpx.Response:
    return world.ask("GET", world.file(world.purged()))


def update(world: World, note: Json, **given: object) -> httpx.Response:
    return world.ask("PUT", world.file(note), json=given, headers=if_match(note))


@produces("updateFile", "200")
def note_updated(world: World) -> httpx.Response:
    note = world.note()
    response = update(world, note, text=NEWER, path=f"Recipes/Bread {fresh_id()}.md")
    assert response.json()["position"] > note["position"]
    assert world.ask("GET", world.file(note)).json()["text"] == NEWER
    return response


@produces("updateFile", "not_found")
def deleted_note_updated(world: World) -> httpx.Response:
    return update(world, world.deleted(), text="new")


@produces("updateFile", "file_purged")
def purged_note_updated(world: World) -> httpx.Response:
    return update(world, world.purged(), text="new")


@produces("updateFile", "mutation_reused")
def note_updated_with_a_mutation_that_was_used(world: World) -> httpx.Response:
    note = world.note()
    return update(world, note, text="new", mutationId=note["revision"]["mutationId"])


@produces("updateFile", "path_conflict")
def note_moved_to_where_one_stands(world: World) -> httpx.Response:
    return update(world, world.note(), path=world.note()["path"])


@produces("updateFile", "invalid_graph")
def note_moved_below_a_note(world: World) -> httpx.Response:
    return update(world, world.note(), path=world.note()["path"] + "/below.md")


@produces("updateFile", "invalid_path")
def note_moved_to_no_path(world: World) -> httpx.Response:
    return update(world, world.note(), path="CON.md")


@produces("updateFile", "invalid_content")
def note_updated_to_what_is_no_text(world: World) -> httpx.Response:
    return update(world, world.note(), text="\0")


@produces("updateFile", "head_moved")
def note_updated_that_moved_on(world: World) -> httpx.Response:
    note = world.note()
    assert update(world, note, text="first").status_code == 200
    response = update(world, note, text="second")
    assert response.json()["fileIds"] == [note["fileId"]]
    return response


@produces("updateFile", "if_match_required")
def note_updated_unseen(world: World) -> httpx.Response:
    headers = {"if-match": "*"}
    return world.ask("PUT", world.file(world.note()), json={"text": "new"}, headers=headers)


def delete(world: World, note: Json) -> httpx.Response:
    return world.ask("DELETE", world.file(note), headers=if_match(note))


@produces("deleteFile", "200")
def note_deleted(world: World) -> httpx.Response:
    return delete(world, world.note())


@produces("deleteFile", "not_found")
def note_deleted_twice(world: World) -> httpx.Response:
    return delete(world, world.deleted())


@produces("deleteFile", "file_purged")
def purged_note_deleted(world: World) -> httpx.Response:
    return delete(world, world.purged())


@produces("deleteFile", "head_moved")
def note_deleted_that_moved_on(world: World) -> httpx.Response:
    note = world.note()
    assert update(world, note, text="first").status_code == 200
    return delete(world, note)


@produces("deleteFile", "if_match_required")
def note_deleted_unseen(world: World) -> httpx.Response:
    return world.ask("DELETE", world.file(world.note()))


def restore(world: World, note: Json, **given: object) -> httpx.Response:
    return world.ask("POST", f"{world.file(note)}/restore", json=given, headers=if_match(note))


@produces("restoreFile", "200")
def note_restored(world: World) -> httpx.Response:
    gone = world.deleted()
    response = restore(world, gone, mutationId=fresh_id())
    assert world.ask("GET", world.file(gone)).json()["text"] == TEXT
    return response


@produces("restoreFile", "not_found")
def unknown_note_restored(world: World) -> httpx.Response:
    return restore(world, {**world.deleted(), "fileId": UNKNOWN})


@produces("restoreFile", "file_live")
def live_note_restored(world: World) -> httpx.Response:
    return restore(world, world.note())


@produces("restoreFile", "file_purged")
def purged_note_restored(world: World) -> httpx.Response:
    return restore(world, world.purged())


@produces("restoreFile", "head_moved")
def note_restored_that_was_restored_and_deleted(world: World) -> httpx.Response:
    gone = world.deleted()
    assert delete(world, restore(world, gone).json()).status_code == 200
    return restore(world, gone)


@produces("restoreFile", "mutation_reused")
def note_restored_with_a_mutation_that_was_used(world: World) -> httpx.Response:
    return restore(world, world.deleted(), mutationId=world.note()["revision"]["mutationId"])


@produces("restoreFile", "path_conflict")
def note_restored_to_where_one_stands(world: World) -> httpx.Response:
    return restore(world, world.deleted(), path=world.note()["path"])


@produces("restoreFile", "invalid_graph")
def note_restored_below_a_note(world: World) -> httpx.Response:
    return restore(world, world.deleted(), path=world.note()["path"] + "/below.md")


@produces("restoreFile", "invalid_path")
def note_restored_to_no_path(world: World) -> httpx.Response:
    return restore(world, world.deleted(), path="/")


@produces("restoreFile", "if_match_required")
def note_restored_unseen(world: World) -> httpx.Response:
    return world.ask("POST", f"{world.file(world.deleted())}/restore", json={})


def purge(world: World, note: Json, **given: object) -> httpx.Response:
    return world.ask("POST", f"{world.file(note)}/purge", json=given)


@produces("purgeFile", "file_purged")
def purged_note_purged_again(world: World) -> httpx.Response:
    return purge(world, world.purged())


@produces("purgeFile", "200")
def note_purged(world: World) -> httpx.Response:
    gone = world.deleted()
    revisions = world.ask("GET", f"{world.file(gone)}/revisions").json()["items"]
    response = purge(world, gone, mutationId=fresh_id())
    for each in revisions:
        read = world.ask("GET", f"{world.file(gone)}/revisions/{each['id']}")
        assert read.status_code == 410
    return response


@produces("purgeFile", "not_found")
def unknown_note_purged(world: World) -> httpx.Response:
    return purge(world, {"fileId": UNKNOWN})


@produces("purgeFile", "file_live")
def live_note_purged(world: World) -> httpx.Response:
    return purge(world, world.note())


@produces("purgeFile", "mutation_reused")
def note_purged_with_a_mutation_that_was_used(world: World) -> httpx.Response:
    return purge(world, world.deleted(), mutationId=world.note()["revision"]["mutationId"])


@produces("listRevisions", "200")
def revisions_listed(world: World) -> httpx.Response:
    gone = world.deleted()
    first = world.ask("GET", f"{world.file(gone)}/revisions?limit=1")
    world.contract.check("listRevisions", first)
    after = first.json()["next"]
    response = world.ask("GET", f"{world.file(gone)}/revisions", params={"after": after})
    found = [each["position"] for each in (*first.json()["items"], *response.json()["items"])]
    assert found == [gone["position"], gone["position"] - 1]
    return response


@produces("getRevision", "200")
def revision_read(world: World) -> httpx.Response:
    note = world.note()
    assert update(world, note, text=NEWER).status_code == 200
    response = world.ask("GET", f"{world.file(note)}/revisions/{note['revision']['id']}")
    assert response.json()["text"] == TEXT
    return response


@produces("getRevision", "not_found")
def unknown_revision_read(world: World) -> httpx.Response:
    return world.ask("GET", f"{world.file(world.note())}/revisions/{UNKNOWN}")


@produces("getRevision", "file_purged")
def revision_of_a_purged_note_read(world: World) -> httpx.Response:
    gone = world.deleted()
    assert purge(world, gone).status_code == 200
    return world.ask("GET", f"{world.file(gone)}/revisions/{gone['revision']['id']}")


@produces("readFiles", "200")
def many_notes_read(world: World) -> httpx.Response:
    one, two, gone = world.note(), world.note(NEWER), world.deleted()
    asked = {
        "fileIds": [two["fileId"], gone["fileId"]],
        "revisionIds": [one["revision"]["id"], UNKNOWN],
    }
    response = world.ask("POST", f"{world.base}/files/read", json=asked)
    assert [each["text"] for each in response.json()["items"]] == [NEWER, TEXT]
    assert response.json()["missing"] == [gone["fileId"], UNKNOWN]
    return response


@produces("readFiles", "too_many_files")
def more_read_than_goes_at_once(world: World) -> httpx.Response:
    large = [world.note(("x" * 1_000_000 + "\n") * 2)["fileId"] for _ in range(5)]
    return world.ask("POST", f"{world.base}/files/read", json={"fileIds": large})


@produces("getFeed", "200")
def feed_read(world: World) -> httpx.Response:
    note = world.note()
    params = {"after": note["position"] - 1, "include": "text"}
    response = world.ask("GET", f"{world.base}/feed", params=params, headers=SYNC)
    assert [each["text"] for each in response.json()["entries"]] == [TEXT]
    return response


@produces("getFeed", "cursor_unknown")
def feed_read_from_another_history(world: World) -> httpx.Response:
    note = world.note("in the feed")
    headers = {"sync-mark": str(uuid.uuid4())}
    return world.ask(
        "GET", f"{world.base}/feed", params={"after": note["position"]}, headers=headers
    )


@produces("getFeed", "unsupported_protocol")
def feed_read_in_another_protocol(world: World) -> httpx.Response:
    return world.ask("GET", f"{world.base}/feed", headers={"sync-protocol": "2"})


@produces("getSnapshot", "200")
def snapshot_read(world: World) -> httpx.Response:
    note = world.note("in the snapshot")
    response = world.ask("GET", f"{world.base}/snapshot", headers=SYNC)
    assert note["fileId"] in response.text
    return response


@produces("getSnapshot", "unsupported_protocol")
def snapshot_read_in_another_protocol(world: World) -> httpx.Response:
    return world.ask("GET", f"{world.base}/snapshot", headers={"sync-protocol": "2"})
