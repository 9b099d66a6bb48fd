"""Cases of notes as documents: saves, earlier texts, diffs, and texts past a limit."""

from base64 import b64encode
from collections.abc import Callable

import httpx
from pycrdt import Doc, Text

from tests.e2e.operations.cases import produces
from tests.e2e.operations.changesets import create, guarded
from tests.e2e.operations.files import NEWER, restore, update
from tests.e2e.operations.world import TEXT, UNKNOWN, Json, World, fresh_id
from tests.fakes.yjs_device import Device

DEEP = "> " * 100 + "deep"
"""More nested quotes than a note may have."""
# One update may have 2 MiB.
LARGE = "x" * (2 * 1024 * 1024 + 1)


def device_of(world: World, note: Json, client: int = 7) -> Device:
    return Device.of(world.ask("GET", world.file(note)).json(), client)


def save(world: World, note: Json, **given: object) -> httpx.Response:
    return world.ask("POST", f"{world.file(note)}/saves", json=given)


@produces("saveNote", "200")
def note_saved_by_two_devices(world: World) -> httpx.Response:
    note = world.note("Bake for 40 minutes.")
    first, second = device_of(world, note, 7), device_of(world, note, 8)
    first.insert(0, "Rest for an hour. ")
    second.insert(20, " Let it cool.")
    assert save(world, note, **first.save()).json()["outcome"] == "merged"
    response = save(world, note, **second.save(mutationId=fresh_id()))
    second.take(response.json())
    read = world.ask("GET", world.file(note))
    text = "Rest for an hour. Bake for 40 minutes. Let it cool."
    assert (second.text, read.json()["text"]) == (text, text)
    assert response.headers["etag"] == read.headers["etag"]
    return response


@produces("saveNote", "file_purged")
def purged_note_saved(world: World) -> httpx.Response:
    return save(world, world.purged(), epoch=UNKNOWN, update="AAA=")


@produces("saveNote", "mutation_reused")
def note_saved_with_a_mutation_that_was_used(world: World) -> httpx.Response:
    note = world.note()
    device = device_of(world, note)
    device.insert(0, "more ")
    return save(world, note, **device.save(mutationId=note["revision"]["mutationId"]))


def encoded(written: Callable[[Text], None], root: str = "text", *, late: bool = False) -> str:
    """An update of an unknown device; only its second half if ``late``."""
    doc: Doc[Text] = Doc(client_id=9)
    text = doc.get(root, type=Text)
    between = doc.get_state()
    if late:
        text.insert(0, "first")
        between = doc.get_state()
    written(text)
    return b64encode(doc.get_update(between)).decode()


UPDATES: dict[str, Callable[[], str]] = {
    "document_malformed": lambda: "AQ==",
    "document_dependency_missing": lambda: encoded(lambda text: text.insert(5, "x"), late=True),
    "document_unsupported": lambda: encoded(lambda text: text.insert(0, "x"), "title"),
    "document_too_large": lambda: encoded(lambda text: text.insert(0, LARGE)),
    "unrenderable_note": lambda: encoded(lambda text: text.insert(0, DEEP + "\n")),
    "invalid_content": lambda: encoded(lambda text: text.insert(0, "a\0b")),
}
"""Updates that are refused without effect on the note."""


def save_refused(make: Callable[[], str]) -> Callable[[World], httpx.Response]:
    def send(world: World) -> httpx.Response:
        note = world.note()
        before = world.ask("GET", world.file(note)).json()
        response = save(world, note, epoch=before["document"]["epoch"], update=make())
        assert world.ask("GET", world.file(note)).json() == before
        return response

    return send


def changeset_refused(make: Callable[[], str]) -> Callable[[World], httpx.Response]:
    def send(world: World) -> httpx.Response:
        good, note = create(), world.note()
        response = world.push(good, saving(note, update=make()))
        assert world.ask("GET", world.file(good)).status_code == 404
        return response

    return send


def saving(note: Json, **given: object) -> Json:
    # The document of a new note belongs to the revision that created it.
    epoch = note["revision"]["id"]
    return {"op": "save", "fileId": note["fileId"], "epoch": epoch, "update": "AAA=", **given}


for code, update_of in UPDATES.items():
    produces("saveNote", code)(save_refused(update_of))
    produces("pushChangeset", code)(changeset_refused(update_of))


@produces("saveNote", "epoch_mismatch")
def note_saved_of_another_generation(world: World) -> httpx.Response:
    return save(world, world.note(), epoch=UNKNOWN, update="AAA=")


@produces("pushChangeset", "epoch_mismatch")
def changeset_that_saves_another_generation_pushed(world: World) -> httpx.Response:
    return world.push(saving(world.note(), epoch=UNKNOWN))


@produces("pushChangeset", "200")
def changeset_that_saves_and_gives_back_pushed(world: World) -> httpx.Response:
    saved, given_back = world.note("saved"), world.note("first")
    device = device_of(world, saved)
    device.insert(0, "well ")
    second = update(world, given_back, text="second").json()
    received = saving(saved, update=device.save()["update"])
    first = given_back["revision"]["id"]
    response = world.push(received, guarded("restore", second, revisionId=first))
    assert [each["outcome"] for each in response.json()["changes"]] == ["merged", "restored"]
    texts = [world.ask("GET", world.file(each)).json()["text"] for each in (saved, given_back)]
    assert texts == ["well saved", "first"]
    return response


# As texts


@produces("restoreFile", "200")
def earlier_text_given_back_to_a_live_note(world: World) -> httpx.Response:
    note = world.note("first")
    device = device_of(world, note)
    second = update(world, note, text="second").json()
    response = restore(world, second, revisionId=note["revision"]["id"])
    assert response.json()["outcome"] == "restored"
    device.insert(5, " and on")
    assert save(world, note, **device.save()).status_code == 200
    assert "first" in world.ask("GET", world.file(note)).json()["text"]
    return response


@produces("createFile", "unrenderable_note")
def note_made_past_a_limit(world: World) -> httpx.Response:
    given = {"path": f"{fresh_id()}.md", "text": DEEP}
    response = world.ask("POST", f"{world.base}/files", json=given)
    assert response.json()["noteRefusal"]["limit"] == "nesting"
    return response


@produces("updateFile", "unrenderable_note")
def note_updated_past_a_limit(world: World) -> httpx.Response:
    return update(world, world.note(), text=DEEP)


@produces("diffRevisions", "200")
def revisions_compared(world: World) -> httpx.Response:
    note = world.note()
    update(world, note, text=NEWER)
    words = world.ask("GET", f"{world.file(note)}/diff?by=words")
    world.contract.check("diffRevisions", words)
    assert [each["kind"] for each in words.json()["words"]] == [
        *("equal", "removed", "added", "equal")
    ]
    response = world.ask("GET", f"{world.file(note)}/diff", params={"old": note["revision"]["id"]})
    assert f"-{TEXT}+{NEWER}" in response.json()["unified"]
    return response


@produces("diffRevisions", "file_purged")
def revisions_of_a_purged_note_compared(world: World) -> httpx.Response:
    return world.ask("GET", f"{world.file(world.purged())}/diff")
