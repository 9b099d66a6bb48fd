"""Cases of limits: of what is read and written in a month, and of storage."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from octavo.model.usage import USAGE_LIMITS, month_of
from tests.e2e.operations.archives import OCTETS, archive
from tests.e2e.operations.attachments import PNG, image, upload
from tests.e2e.operations.cases import produces
from tests.e2e.operations.identity import newcomer
from tests.e2e.operations.publishing import shown_image
from tests.e2e.operations.world import SYNC, UNKNOWN, WRITES, Json, World, fresh_id, if_match
from tests.e2e.server import PATIENCE
from tests.fakes.image_files import encoded, personal_exif, picture
from tests.fakes.yjs_device import Device

READ: dict[str, tuple[str, str, Json | None]] = {
    "getFile": ("GET", "{base}/files/{file}", None),
    "getRevision": ("GET", "{base}/files/{file}/revisions/{file}", None),
    "readFiles": ("POST", "{base}/files/read", {}),
    "diffRevisions": ("GET", "{base}/files/{file}/diff", None),
    "searchWorkspace": ("GET", "{base}/search?q=tea", None),
    "search": ("GET", "/api/search?q=tea", None),
    "getFeed": ("GET", "{base}/feed?include=text", None),
    "getSnapshot": ("GET", "{base}/snapshot", None),
    "getFileContent": ("GET", "{base}/files/{file}/content", None),
    "exportWorkspace": ("GET", "{base}/export", None),
}
_seeds = itertools.count(1)


@dataclass
class Limited:
    """A person whose use is limited, with a workspace."""

    world: World
    headers: dict[str, str]
    account_id: str
    base: str = ""

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:  # noqa: ANN401
        headers = {**self.headers, **SYNC, **given.pop("headers", {})}
        return self.world.ask(method, path, headers=headers, **given)

    def note(self, text: str) -> Json:
        response = self.ask("POST", f"{self.base}/files", json={"path": "a.md", "text": text})
        assert response.status_code == 201, response.text
        made: Json = response.json()
        return made

    def limit(self, **limits: int) -> None:
        """Set limits, as the operator."""
        place = f"/api/operator/accounts/{self.account_id}"
        read = self.world.anybody("GET", place, headers=self.world.operator)
        given = {"revision": read.json()["controls"]["revision"], **limits}
        changed = self.world.anybody(
            "PATCH", f"{place}/controls", json=given, headers=self.world.operator
        )
        assert changed.status_code == 200, changed.text


def person(world: World) -> Limited:
    _, headers = newcomer(world)
    account = world.ask("GET", "/api/account", headers=headers).json()
    made = Limited(world, headers, account["id"])
    workspace = made.ask("POST", "/api/workspaces", json={"name": "Kitchen"}).json()
    made.base = f"/api/workspaces/{workspace['id']}"
    return made


def expect_limit(response: httpx.Response, name: str) -> None:
    assert name in USAGE_LIMITS
    assert response.headers["service-limit"] == name
    assert 0 < int(response.headers["retry-after"]) <= 31 * 86_400
    assert len(response.headers["retry-after"]) <= 16


def entered(operation: str) -> None:
    """Enter the case of a read beyond the limit of the account."""
    method, target, body = READ[operation]

    @produces(operation, "download_limit")
    def beyond_the_limit(world: World) -> httpx.Response:
        limited = person(world)
        place = target.format(base=limited.base, file=UNKNOWN)
        limited.limit(downloadBytesPerMonth=0)
        if method == "GET":
            head = limited.ask("HEAD", place)
            assert (head.status_code, head.content) == (429, b"")
            expect_limit(head, "account-download-bytes")
        limited.limit(downloadBytesPerMonth=1 << 50, downloadObjectsPerMonth=0)
        response = limited.ask(method, place, json=body)
        expect_limit(response, "account-download-objects")
        return response


for each in READ:
    entered(each)


@produces("saveNote", "download_limit")
def save_that_only_reads_beyond_the_limit(world: World) -> httpx.Response:
    limited = person(world)
    note = limited.note("x" * 1000)
    limited.limit(downloadBytesPerMonth=999)
    given = {"epoch": note["revision"]["id"], "update": "AAA="}
    response = limited.ask("POST", f"{limited.base}/files/{note['fileId']}/saves", json=given)
    expect_limit(response, "account-download-bytes")
    return response


@produces("getAccount", "200")
def usage_read(world: World) -> httpx.Response:
    limited = person(world)
    note = limited.note("x" * 1000)
    read = limited.ask("GET", f"{limited.base}/files/{note['fileId']}?content=text")
    assert read.status_code == 200
    for _ in patiently():
        response = limited.ask("GET", "/api/account")
        usage = response.json()["usage"]
        if usage["downloadObjects"]:
            break
    assert usage == {
        "storageBytes": 1000,
        "downloadBytes": 1000,
        "downloadObjects": 1,
        "month": month_of(time.time()),
    }
    return response


def patiently() -> Iterator[None]:
    """Yield again and again, until the patience is at its end."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        yield
        time.sleep(0.1)
    raise AssertionError("this takes too long")


@produces("createFile", "storage_limit")
def note_made_without_room(world: World) -> httpx.Response:
    limited = person(world)
    limited.limit(storageBytes=10)
    limited.note("x" * 10)
    given = {"path": "b.md", "text": "x"}
    return limited.ask("POST", f"{limited.base}/files", json=given)


@produces("pushChangeset", "storage_limit")
def changeset_pushed_without_room(world: World) -> httpx.Response:
    limited = person(world)
    limited.limit(storageBytes=10)
    made = {"op": "create", "fileId": fresh_id(), "path": "a.md", "text": "x" * 11}
    given = {"mutationId": fresh_id(), "operations": [made]}
    return limited.ask("POST", f"{limited.base}/changesets", json=given)


@produces("updateFile", "storage_limit")
def note_updated_without_room(world: World) -> httpx.Response:
    limited = person(world)
    note = limited.note("x" * 10)
    limited.limit(storageBytes=5)
    place = f"{limited.base}/files/{note['fileId']}"
    shorter = limited.ask("PUT", place, json={"text": "x" * 8}, headers=if_match(note))
    assert shorter.status_code == 200
    headers = if_match(shorter.json())
    return limited.ask("PUT", place, json={"text": "x" * 9}, headers=headers)


@produces("saveNote", "storage_limit")
def note_saved_without_room(world: World) -> httpx.Response:
    limited = person(world)
    place = f"{limited.base}/files/{limited.note('text')['fileId']}"
    device = Device.of(limited.ask("GET", place).json())
    limited.limit(storageBytes=5)
    device.insert(0, "more ")
    return limited.ask("POST", f"{place}/saves", json=device.save())


@produces("restoreFile", "storage_limit")
def text_restored_without_room(world: World) -> httpx.Response:
    limited = person(world)
    note = limited.note("x" * 10)
    place = f"{limited.base}/files/{note['fileId']}"
    shorter = limited.ask("PUT", place, json={"text": "x"}, headers=if_match(note)).json()
    limited.limit(storageBytes=5)
    given = {"revisionId": note["revision"]["id"]}
    return limited.ask("POST", f"{place}/restore", json=given, headers=if_match(shorter))


@produces("uploadAttachment", "storage_limit")
def image_uploaded_without_room(world: World) -> httpx.Response:
    limited = person(world)
    limited.limit(storageBytes=len(PNG) - 1)
    files = {"file": ("a.png", PNG, "image/png")}
    form = httpx.Request("POST", world.http.base_url, files=files)
    headers = {"content-type": form.headers["content-type"]}
    place = f"{limited.base}/attachments"
    return limited.ask("POST", place, content=form.read(), headers=headers)


def part_sent(limited: Limited, data: bytes) -> tuple[str, httpx.Response]:
    """The URL of a new import, and the response to its first part."""
    started = limited.ask("POST", f"{limited.base}/imports", json={}).json()
    place = f"{limited.base}/imports/{started['importId']}"
    return place, limited.ask("PUT", f"{place}/parts/1", content=data, headers=OCTETS)


@produces("putImportPart", "storage_limit")
def part_sent_without_room(world: World) -> httpx.Response:
    limited = person(world)
    limited.limit(storageBytes=100)
    return part_sent(limited, bytes(101))[1]


@produces("completeWorkspaceImport", "storage_full")
def import_completed_without_room(world: World) -> httpx.Response:
    limited = person(world)
    limited.limit(storageBytes=9_999)
    place, sent = part_sent(limited, archive({"a.md": "x" * 10_000}))
    assert sent.status_code == 200
    response = limited.ask("POST", f"{place}/complete")
    assert "retry-after" in response.headers
    assert limited.ask("GET", f"{limited.base}/files").json()["items"] == []
    return response


@produces("completeWorkspaceImport", "import_incomplete")
def import_without_room_for_its_links(world: World) -> httpx.Response:
    limited = person(world)
    # Links get longer, so that what fits into the storage before does not after it.
    text = "[[a long name of a note]]" + "x" * 500
    notes = {f"{number}.md": text for number in range(600)}
    notes["folder/a long name of a note.md"] = ""
    size = sum(map(len, notes.values()))
    limited.limit(storageBytes=size + 100)
    place, sent = part_sent(limited, archive(notes))
    assert sent.status_code == 200
    response = limited.ask("POST", f"{place}/complete")
    assert "retry-after" in response.headers
    came_in = response.json()["files"]
    assert 0 < came_in < len(notes)
    assert limited.ask("GET", place).json()["parts"] == [1]
    limited.limit(storageBytes=10 * size)
    done = limited.ask("POST", f"{place}/complete")
    assert (done.status_code, done.json()["notes"]) == (200, len(notes)), done.text
    return response


@contextmanager
def writes_used_up(world: World) -> Iterator[None]:
    """Let the installation have written as many objects as it may, in the block."""

    def write(count: int) -> None:
        month = month_of(time.time())
        world.change(
            "INSERT INTO installation_usage"
            " (month, download_bytes, download_objects, write_objects)"
            f" VALUES ('{month}', 0, 0, {count}) ON CONFLICT (month)"
            " DO UPDATE SET write_objects = excluded.write_objects"
        )

    note = world.file(world.note())

    def until(status: int) -> None:
        for _ in patiently():
            # The server reads the total again when it stores its counts: this counts something.
            world.ask("GET", note)
            # Other bytes each time: those that are stored are not written again.
            data = encoded(picture((20, 20), seed=next(_seeds)), "PNG")
            if upload(world, data).status_code == status:
                return

    write(WRITES)
    until(503)
    try:
        yield
    finally:
        write(0)
        until(201)


Act = Callable[[World], httpx.Response]


_prepared: dict[str, Callable[[World], Act]] = {}


def beyond_the_writes(operation: str) -> Callable[[Callable[[World], Act]], None]:
    """Enter the case of a write beyond the limit; the function prepares the request.

    The first of these cases sends the requests of all: the limit takes seconds to come and to go.
    """

    def enter(prepare: Callable[[World], Act]) -> None:
        _prepared[operation] = prepare

        @produces(operation, "storage_busy")
        def write(world: World) -> httpx.Response:
            if ("storage_busy", operation) not in world.together:
                acts = {name: prepare(world) for name, prepare in _prepared.items()}
                with writes_used_up(world):
                    for name, act in acts.items():
                        world.together["storage_busy", name] = act(world)
            response = world.together["storage_busy", operation]
            expect_limit(response, "installation-write-objects")
            return response

    return enter


@beyond_the_writes("uploadAttachment")
def upload_prepared(world: World) -> Act:
    return lambda world: upload(world, encoded(picture((31, 7)), "PNG"))


@beyond_the_writes("getFileContent")
def thumbnail_prepared(world: World) -> Act:
    place = f"{world.file(image(world))}/content?width=1280"
    return lambda world: world.ask("GET", place)


@beyond_the_writes("getPublishedAttachment")
def copy_prepared(world: World) -> Act:
    address, _ = shown_image(world, encoded(picture((23, 9)), "PNG", exif=personal_exif()))
    return lambda world: world.anybody("GET", address)


@beyond_the_writes("putImportPart")
def part_prepared(world: World) -> Act:
    limited = person(world)
    return lambda _: part_sent(limited, b"part")[1]


@beyond_the_writes("completeWorkspaceImport")
def completion_prepared(world: World) -> Act:
    limited = person(world)
    place, sent = part_sent(limited, archive({"a.png": encoded(picture((9, 31)), "PNG")}))
    assert sent.status_code == 200
    return lambda _: limited.ask("POST", f"{place}/complete")
