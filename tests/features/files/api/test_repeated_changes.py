"""A change that is sent again with its mutationId has one effect, also if it had none at first."""

from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest
from octavo_rules.documents.document import NOTHING

from octavo.features.history.feature import pruning
from octavo.features.history.rules.retention import Retention
from octavo.http.contract.assembly import contract_of
from octavo.service.registry import CONTRACT
from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import NotesApi
from tests.features.history.api.test_client_changes import ASSISTANT, SINCE

MUTATION = "01900000-0000-7000-8000-bbbbbbbbbbbb"
NAMED = {"mutationId": MUTATION}
# What a device lacks depends on what was saved since.
OF_THE_MOMENT = {"update", "stateVector"}


class Repeated(NamedTuple):
    """A request, and what happens before it is sent again: it would have an effect then."""

    send: Callable[[], Awaitable[Response]]
    meanwhile: Callable[[], Awaitable[Response]]


async def create(api: NotesApi) -> Repeated:
    body = {"path": "a.md", "text": "1", **NAMED}

    async def meanwhile() -> Response:
        [found] = (await api.owner.get(api.files)).json()["items"]
        return await api.owner.delete(
            f"{api.files}/{found['id']}", if_match=f'"{found["head"]["id"]}"'
        )

    return Repeated(lambda: api.owner.post(api.files, body), meanwhile)


async def update(api: NotesApi) -> Repeated:
    note = await api.note("a.md", "1")
    tag = note.tag
    return Repeated(
        lambda: api.owner.put(note.place, {"text": "1", **NAMED}, if_match=tag),
        lambda: note.update(text="2"),
    )


async def restore(api: NotesApi) -> Repeated:
    note = await api.note("a.md", "1")
    tag, body = note.tag, {"revisionId": note.revision, **NAMED}
    return Repeated(
        lambda: api.owner.post(f"{note.place}/restore", body, if_match=tag),
        lambda: note.update(text="2"),
    )


async def purge(api: NotesApi) -> Repeated:
    note = await api.note("a.md", "1")
    await note.delete()
    return Repeated(
        lambda: api.owner.post(f"{note.place}/purge", NAMED),
        lambda: api.owner.post(api.files, {"path": "a.md", "text": "2"}),
    )


async def push(api: NotesApi) -> Repeated:
    note = await api.note("a.md", "1")
    operation = {"op": "update", "fileId": note.id, "ifMatch": note.revision, "text": "1"}
    return Repeated(lambda: api.push(operation, mutation=MUTATION), lambda: note.update(text="2"))


async def save(api: NotesApi) -> Repeated:
    note = await api.note("a.md", "1")
    body = {"epoch": note.revision, "update": b64encode(NOTHING).decode(), **NAMED}
    return Repeated(
        lambda: api.owner.post(f"{note.place}/saves", body), lambda: note.update(text="2")
    )


async def attach(api: NotesApi) -> Repeated:
    object_id = await api.upload(encoded(picture((30, 20)), "PNG"))
    file_id = api.new_id()
    body = {"path": "attachments/a.png", "fileId": file_id, **NAMED}
    place = f"{api.place}/attachments/{object_id}/finalize"

    async def meanwhile() -> Response:
        head = await api.owner.get(f"{api.files}/{file_id}")
        return await api.owner.delete(f"{api.files}/{file_id}", if_match=head.header("etag") or "")

    return Repeated(lambda: api.owner.post(place, body), meanwhile)


async def undo(api: NotesApi) -> Repeated:
    assistant = await api.program(ASSISTANT, "An assistant")
    body = {"client": ASSISTANT, "since": SINCE, **NAMED}
    return Repeated(
        lambda: api.owner.post(f"{api.place}/undo", body),
        lambda: assistant.post(api.files, {"path": "a.md", "text": "1"}),
    )


async def restore_all(api: NotesApi) -> Repeated:
    note = await api.note("a.md", "1")
    body = {"position": 1, **NAMED}
    return Repeated(
        lambda: api.owner.post(f"{api.place}/restorations", body),
        lambda: note.update(text="2"),
    )


OPERATIONS = {
    "createFile": create,
    "updateFile": update,
    "restoreFile": restore,
    "purgeFile": purge,
    "pushChangeset": push,
    "saveNote": save,
    "finalizeAttachment": attach,
    "undoClientChanges": undo,
    "restoreWorkspace": restore_all,
}


def test_every_operation_that_can_be_repeated_is_here() -> None:
    models = {each.id: each.body.model for each in contract_of(CONTRACT) if each.body is not None}
    assert OPERATIONS.keys() == {
        name
        for name, model in models.items()
        if model is not None and "mutation_id" in model.model_fields
    }


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_change_that_is_sent_again_has_the_first_answer_and_no_effect(
    api: NotesApi, operation: str
) -> None:
    change = await OPERATIONS[operation](api)
    first = await change.send()
    assert first.status in (200, 201), first.body
    meanwhile = await change.meanwhile()
    assert meanwhile.status in (200, 201), meanwhile.body
    before = (await api.owner.get(f"{api.place}/feed")).json()["position"]
    again = await change.send()
    assert again.status == first.status
    known, told = first.json(), again.json()
    for each in OF_THE_MOMENT:
        known.pop(each, None)
        told.pop(each, None)
    assert told == known
    assert (await api.owner.get(f"{api.place}/feed")).json()["position"] == before


async def test_restore_of_a_revision_that_was_pruned_since_has_the_first_response(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", "1")
    body = {"revisionId": note.revision, **NAMED}
    await note.update(text="2")
    tag = note.tag
    first = await api.owner.post(f"{note.place}/restore", body, if_match=tag)
    assert first.status == 200, first.body
    a_year_later = api.sources.now() + 366 * 86_400
    await pruning(Retention(0, 0, 1))(api.store, int(a_year_later * 1000))
    assert (await api.owner.get(f"{note.place}/revisions/{body['revisionId']}")).status == 404
    again = await api.owner.post(f"{note.place}/restore", body, if_match=tag)
    assert (again.status, again.json()) == (200, first.json())
