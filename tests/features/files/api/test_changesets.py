"""Atomic changesets, and their receipts."""

import pytest
import trio

from tests.fakes.asgi_client import Response
from tests.fakes.notes_api import NOBODYS, Json, Note, NotesApi, refusal

MUTATION = "01900000-0000-7000-8000-eeeeeeeeeeee"


def create(api: NotesApi, path: str, text: str = "") -> Json:
    return {"op": "create", "fileId": api.new_id(), "path": path, "text": text}


def update(note: Note, **document: str) -> Json:
    return {"op": "update", "fileId": note.id, "ifMatch": note.revision, **document}


def delete(note: Note) -> Json:
    return {"op": "delete", "fileId": note.id, "ifMatch": note.revision}


async def paths(api: NotesApi) -> dict[str, str]:
    listed = await api.owner.pages(api.files, 500)
    return {each["id"]: each["path"] for each in listed}


async def test_changeset_of_every_operation_has_outcomes_in_order(
    api: NotesApi,
) -> None:
    kept, gone = await api.note("kept.md"), await api.note("gone.md")
    back, burnt = await api.note("back.md"), await api.note("burnt.md")
    await back.delete()
    await burnt.delete()
    restore = {"op": "restore", "fileId": back.id, "ifMatch": back.revision, "path": "here.md"}
    purge = {"op": "purge", "fileId": burnt.id}
    new = create(api, "new.md", "hello")
    response = await api.push(
        new, update(kept, text="2"), delete(gone), restore, purge, mutation=MUTATION
    )
    document = response.json()
    assert response.status == 200
    assert (document["mutationId"], document["position"]) == (MUTATION, 7)
    assert [(each["outcome"], each["path"]) for each in document["changes"]] == [
        ("created", "new.md"),
        ("updated", "kept.md"),
        ("deleted", "gone.md"),
        ("restored", "here.md"),
        ("purged", None),
    ]
    assert {each["position"] for each in document["changes"]} == {7}
    assert await paths(api) == {
        new["fileId"]: "new.md",
        kept.id: "kept.md",
        back.id: "here.md",
    }
    assert api.announced[-1] == (api.workspace_id, 7)


async def test_changeset_swaps_two_paths_and_rotates_three(
    api: NotesApi,
) -> None:
    one, two, three = [await api.note(f"{name}.md", name) for name in ("a", "b", "c")]
    swap = await api.push(update(one, path="b.md"), update(two, path="a.md"))
    assert swap.status == 200
    one.tag, two.tag = (f'"{each["revision"]["id"]}"' for each in swap.json()["changes"])
    assert await paths(api) == {one.id: "b.md", two.id: "a.md", three.id: "c.md"}
    turn = await api.push(
        update(one, path="C.md"), update(two, path="b.md"), update(three, path="a.md")
    )
    assert turn.status == 200
    assert await paths(api) == {one.id: "C.md", two.id: "b.md", three.id: "a.md"}


async def test_file_takes_the_path_of_one_deleted_in_the_same_changeset(
    api: NotesApi,
) -> None:
    note = await api.note("a.md")
    assert (await api.push(create(api, "A.md/b.md"), delete(note))).status == 200
    assert list((await paths(api)).values()) == ["A.md/b.md"]


@pytest.mark.parametrize(
    ("others", "refused"),
    [
        (["b.md", "B.md"], (409, "path_conflict")),
        (["b.md", "b.md/c.md"], (422, "invalid_graph")),
        (["taken.md"], (409, "path_conflict")),
        (["taken.md/x.md"], (422, "invalid_graph")),
        (["x.txt"], (422, "invalid_path")),
    ],
)
async def test_changeset_with_one_refused_change_has_no_effect(
    api: NotesApi, others: list[str], refused: tuple[int, str]
) -> None:
    note = await api.note("taken.md", "before")
    response = await api.push(
        update(note, text="after"),
        *[create(api, path) for path in others],
        mutation=MUTATION,
    )
    assert refusal(response) == refused
    assert (await note.read()).json()["text"] == "before"
    assert await paths(api) == {note.id: "taken.md"}
    assert refusal(await api.owner.get(f"{api.place}/receipts/{MUTATION}")) == (
        404,
        "not_found",
    )


async def test_changeset_with_moved_heads_names_all_of_them(
    api: NotesApi,
) -> None:
    notes = [await api.note(f"{number}.md") for number in range(5)]
    stale = [update(note, text="late") for note in notes]
    for note in (notes[1], notes[3]):
        await note.update(text="soon")
    response = await api.push(*stale)
    assert refusal(response) == (412, "head_moved")
    assert response.json()["fileIds"] == [notes[1].id, notes[3].id]


async def test_purged_file_is_reported_before_missing_ones_and_those_before_moved_heads(
    api: NotesApi,
) -> None:
    moved, purged = await api.note("a.md"), await api.note("b.md")
    stale = update(moved, text="late")
    await moved.update(text="soon")
    late = update(purged, text="late")
    await purged.delete()
    missing = {**late, "fileId": NOBODYS}
    assert refusal(await api.push(stale, missing)) == (404, "not_found")
    await purged.purge()
    assert refusal(await api.push(stale, missing, late)) == (410, "file_purged")


async def test_changeset_accepts_at_most_five_hundred_operations(
    api: NotesApi,
) -> None:
    operations = [create(api, f"{number}.md") for number in range(501)]
    assert refusal(await api.push(*operations)) == (422, "too_many_files")
    assert api.announced == []
    response = await api.push(*operations[:500], mutation=MUTATION)
    assert response.status == 200
    assert len(response.json()["changes"]) == 500
    receipt = await api.owner.get(f"{api.place}/receipts/{MUTATION}")
    assert (receipt.status, receipt.body) == (200, response.body)


async def test_changeset_without_effect_takes_no_position_and_has_a_receipt(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", "same")
    response = await api.push(update(note, text="same"), mutation=MUTATION)
    assert (response.json()["position"], len(api.announced)) == (1, 1)
    assert response.json()["changes"][0]["outcome"] == "unchanged"
    await note.update(text="other")
    again = await api.push(update(note, text="same"), mutation=MUTATION)
    assert again.status == 409
    receipt = await api.owner.get(f"{api.place}/receipts/{MUTATION}")
    assert receipt.body == response.body


async def test_concurrently_repeated_changeset_has_one_effect_and_one_receipt(
    api: NotesApi,
) -> None:
    new, responses = create(api, "a.md"), list[Response]()

    async def push() -> None:
        responses.append(await api.push(new, mutation=MUTATION))

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(push)
    assert {(response.status, response.body) for response in responses} == {
        (200, responses[0].body),
    }
    assert api.announced == [(api.workspace_id, 1)]
    other = await api.push(create(api, "b.md"), mutation=MUTATION)
    assert refusal(other) == (409, "mutation_reused")


async def test_concurrent_changesets_get_positions_without_gaps(api: NotesApi) -> None:
    positions: list[int] = []

    async def push(number: int) -> None:
        response = await api.push(create(api, f"{number}.md"))
        positions.append(response.json()["position"])

    async with trio.open_nursery() as nursery:
        for number in range(150):
            nursery.start_soon(push, number)
    assert sorted(positions) == list(range(1, 151))


async def test_one_of_several_concurrent_changes_of_a_head_succeeds(
    api: NotesApi,
) -> None:
    note = await api.note("a.md")
    responses: list[Response] = []

    async def push(number: int) -> None:
        responses.append(await api.push(update(note, text=f"by {number}")))

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(push, number)
    assert sorted(response.status for response in responses) == [200, *[412] * 19]


@pytest.mark.parametrize(
    ("operations", "pointer"),
    [
        ([], "/operations"),
        ([{"op": "rename", "fileId": NOBODYS}], "/operations/0/op"),
        ([{"fileId": NOBODYS}], "/operations/0/op"),
        ([{"op": "create", "fileId": NOBODYS, "path": "a.md"}], "/operations/0/text"),
        ([{"op": "update", "fileId": NOBODYS, "ifMatch": NOBODYS}], "/operations/0"),
        ([{"op": "update", "fileId": NOBODYS, "text": ""}], "/operations/0/ifMatch"),
        ([{"op": "delete", "fileId": NOBODYS, "ifMatch": "*"}], "/operations/0/ifMatch"),
        ([{"op": "purge", "fileId": 1}], "/operations/0/fileId"),
        (
            [{"op": "purge", "fileId": NOBODYS}, {"op": "purge", "fileId": NOBODYS}],
            "/operations/1/fileId",
        ),
        ({}, "/operations"),
    ],
)
async def test_malformed_operation_is_refused_with_its_path(
    api: NotesApi, operations: object, pointer: str
) -> None:
    document = {"mutationId": MUTATION, "operations": operations}
    response = await api.owner.post(f"{api.place}/changesets", document)
    assert refusal(response) == (400, "invalid_request")
    assert [each["pointer"] for each in response.json()["errors"]] == [pointer]


async def test_faults_of_a_changeset_say_what_to_send(api: NotesApi) -> None:
    body = {"mutationId": "1", "operations": []}
    response = await api.owner.post(f"{api.place}/changesets", body)
    assert {each["pointer"]: each["message"] for each in response.json()["errors"]} == {
        "/mutationId": "This must be a UUID: 32 hexadecimal digits in groups 8-4-4-4-12, letters "
        "in lower case.",
        "/operations": "At least 1 must be given, not 0.",
    }


async def test_note_with_nul_in_a_changeset_is_refused(api: NotesApi) -> None:
    response = await api.push(create(api, "a.md"), create(api, "b.md", "\0"))
    assert refusal(response) == (422, "invalid_content")
    assert await paths(api) == {}


@pytest.mark.parametrize(("version", "status"), [("1", 200), ("2", 400), ("", 400), ("1, 1", 400)])
async def test_changeset_of_a_protocol_that_is_not_served_is_refused(
    api: NotesApi, version: str, status: int
) -> None:
    document = {"mutationId": MUTATION, "operations": [create(api, "a.md")]}
    response = await api.owner.post(f"{api.place}/changesets", document, sync_protocol=version)
    assert response.status == status
    if status == 400:
        assert response.code == "unsupported_protocol"
        assert api.announced == []


async def test_receipt_of_a_change_that_was_never_sent_is_missing(
    api: NotesApi,
) -> None:
    response = await api.owner.get(f"{api.place}/receipts/{MUTATION}")
    assert refusal(response) == (404, "not_found")


async def test_receipt_of_a_single_change_is_that_of_its_changeset(
    api: NotesApi,
) -> None:
    note = await api.note("a.md", mutationId=MUTATION)
    receipt = (await api.owner.get(f"{api.place}/receipts/{MUTATION}")).json()
    [change] = receipt["changes"]
    assert (change["fileId"], change["outcome"], receipt["position"]) == (note.id, "created", 1)


async def test_receipt_of_a_purged_file_reveals_nothing_of_it(
    api: NotesApi,
) -> None:
    note = await api.note("secret.md", "secret", mutationId=MUTATION)
    await note.delete()
    await note.purge()
    receipt = await api.owner.get(f"{api.place}/receipts/{MUTATION}")
    [change] = receipt.json()["changes"]
    assert (change["outcome"], change["path"], change["revision"]["digest"]) == (
        "created",
        None,
        None,
    )
    assert b"secret" not in receipt.body


async def test_body_full_of_faults_is_refused_at_its_first(api: NotesApi) -> None:
    document: Json = {"mutationId": MUTATION, "operations": [0] * 500}
    response = await api.owner.post(f"{api.place}/changesets", document)
    assert refusal(response) == (400, "invalid_request")
    assert len(response.json()["errors"]) == 1


async def test_operations_are_counted_before_they_are_validated(
    api: NotesApi,
) -> None:
    document: Json = {"mutationId": MUTATION, "operations": [0] * 15_000}
    response = await api.owner.post(f"{api.place}/changesets", document)
    assert refusal(response) == (422, "too_many_files")
    assert "15000 operations" in response.json()["detail"]
    document["operations"] = [0] * 300_000
    with trio.fail_after(5):
        response = await api.owner.post(f"{api.place}/changesets", document)
    assert refusal(response) == (400, "invalid_request")
    assert "more than 20,000 values" in response.json()["errors"][0]["message"]
