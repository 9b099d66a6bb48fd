"""Cases of changesets, of their receipts, and of the notice stream."""

from collections.abc import Callable

import httpx

from tests.e2e.octavo_process import PUBLIC
from tests.e2e.operations.cases import produces
from tests.e2e.operations.files import NEWER, update
from tests.e2e.operations.world import SYNC, TEXT, UNKNOWN, Json, World, fresh_id


def create(**given: object) -> Json:
    path = f"{fresh_id()}.md"
    return {"op": "create", "fileId": fresh_id(), "path": path, "text": TEXT, **given}


def guarded(op: str, note: Json, **given: object) -> Json:
    return {"op": op, "fileId": note["fileId"], "ifMatch": note["revision"]["id"], **given}


@produces("pushChangeset", "200")
def changeset_of_every_kind_pushed(world: World) -> httpx.Response:
    moved, gone, restored, purged = world.note(), world.note(), world.deleted(), world.deleted()
    response = world.push(
        create(path=moved["path"]),
        guarded("update", moved, path=f"{fresh_id()}.md", text=NEWER),
        guarded("delete", gone),
        guarded("restore", restored),
        {"op": "purge", "fileId": purged["fileId"]},
    )
    outcomes = [each["outcome"] for each in response.json()["changes"]]
    assert outcomes == ["created", "updated", "deleted", "restored", "purged"]
    return response


REFUSED: dict[str, Callable[[World], Json]] = {
    "not_found": lambda world: guarded("update", {**world.note(), "fileId": UNKNOWN}, text="a"),
    "file_exists": lambda world: create(fileId=world.note()["fileId"]),
    "file_live": lambda world: guarded("restore", world.note()),
    "path_conflict": lambda world: create(path=world.note()["path"]),
    "file_purged": lambda world: create(fileId=world.purged()["fileId"]),
    "head_moved": lambda world: guarded("delete", moved_on(world)),
    "invalid_path": lambda _: create(path="a/../b.md"),
    "invalid_graph": lambda world: create(path=world.note()["path"] + "/below.md"),
    "invalid_content": lambda _: create(text="\0"),
}
"""Operations that are refused, together with their changeset."""


def moved_on(world: World) -> Json:
    note = world.note()
    assert update(world, note, text="newer").status_code == 200
    return note


def refused_as_a_whole(make: Callable[[World], Json]) -> Callable[[World], httpx.Response]:
    def push(world: World) -> httpx.Response:
        good = create()
        response = world.push(good, make(world))
        assert world.ask("GET", world.file(good)).status_code == 404
        return response

    return push


for code, make in REFUSED.items():
    produces("pushChangeset", code)(refused_as_a_whole(make))


@produces("pushChangeset", "mutation_reused")
def changeset_pushed_with_a_mutation_that_was_used(world: World) -> httpx.Response:
    mutation = world.note()["revision"]["mutationId"]
    body = {"mutationId": mutation, "operations": [create()]}
    return world.ask("POST", f"{world.base}/changesets", json=body, headers=SYNC)


@produces("pushChangeset", "too_many_files")
def changeset_of_too_many_files_pushed(world: World) -> httpx.Response:
    return world.push(*(create() for _ in range(501)))


@produces("pushChangeset", "unsupported_protocol")
def changeset_pushed_in_another_protocol(world: World) -> httpx.Response:
    return world.push(create(), headers={"sync-protocol": "0"})


@produces("getReceipt", "200")
def receipt_read(world: World) -> httpx.Response:
    pushed = world.push(create(), create()).json()
    response = world.ask("GET", f"{world.base}/receipts/{pushed['mutationId']}")
    assert response.json() == pushed
    return response


@produces("getReceipt", "not_found")
def unknown_receipt_read(world: World) -> httpx.Response:
    return world.ask("GET", f"{world.base}/receipts/{UNKNOWN}")


def handshake(world: World, headers: dict[str, str]) -> httpx.Response:
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-protocol": "octavo.notices.v1",
    }
    with world.http.stream("GET", "/api/sync/notices", headers={**upgrade, **headers}) as response:
        if response.status_code == 101:
            # What follows is no longer HTTP.
            return httpx.Response(101, headers=response.headers, request=response.request)
        response.read()
    return response


@produces("openSyncNotices", "101")
def stream_opened(world: World) -> httpx.Response:
    response = handshake(world, world.owner.by_cookie)
    assert response.headers["sec-websocket-protocol"] == "octavo.notices.v1"
    return response


@produces("openSyncNotices", "invalid_request")
def stream_opened_without_the_subprotocol(world: World) -> httpx.Response:
    return handshake(world, {**world.owner.by_key, "sec-websocket-protocol": "other"})


@produces("openSyncNotices", "not_signed_in")
def stream_opened_by_nobody(world: World) -> httpx.Response:
    return handshake(world, {"origin": PUBLIC})


@produces("openSyncNotices", "key_refused")
def stream_opened_with_a_key_that_is_none(world: World) -> httpx.Response:
    return handshake(world, {"authorization": "Bearer octk_none"})


@produces("openSyncNotices", "wrong_origin")
def stream_opened_from_elsewhere(world: World) -> httpx.Response:
    return handshake(world, {**world.owner.by_cookie, "origin": "https://elsewhere.example"})
