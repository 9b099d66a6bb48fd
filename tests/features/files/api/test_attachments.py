"""Uploads of images, and the changes that attach them."""

import hashlib

import pytest

from octavo.features.images.uploading import LIFETIME_SECONDS
from octavo.model.image_limits import MAX_BYTES
from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import NOBODYS, NotesApi, form, refusal, tag_of
from tests.features.archives.api.test_imports import imported

PNG = encoded(picture((30, 20)), "PNG")
JPEG = encoded(picture((30, 20)), "JPEG")
DIGEST = hashlib.sha256(PNG).hexdigest()


def finalize(api: NotesApi, object_id: str) -> str:
    return f"{api.place}/attachments/{object_id}/finalize"


async def test_upload_is_described(api: NotesApi) -> None:
    response = await api.owner.upload(api.place, PNG)
    assert response.status == 201
    found = response.json()
    del found["objectId"]
    assert found["expiresAt"] > "2026"
    del found["expiresAt"]
    assert found == {
        "digest": DIGEST,
        "size": len(PNG),
        "mediaType": "image/png",
        "width": 30,
        "height": 20,
        "frames": 1,
    }


async def test_bytes_are_stored_once_and_exactly(api: NotesApi) -> None:
    await api.upload(PNG)
    await api.upload(PNG)
    assert [*api.images.blobs.blobs.values()] == [PNG]
    assert [*api.images.folder.iterdir()] == []


async def test_image_whose_bytes_were_lost_is_put_back_by_another_upload(api: NotesApi) -> None:
    image = (await attached(api, "lost.png")).json()
    content = f"{api.files}/{image['fileId']}/content"
    blobs = api.images.blobs.blobs
    [key] = blobs
    for again in ("upload", "import"):
        blobs.clear()
        response = await api.owner.get(content)
        assert refusal(response) == (404, "not_found")
        assert "damaged or missing" in response.json()["detail"]
        assert (await api.owner.ask("HEAD", content)).status == 404
        if again == "upload":
            await api.upload(PNG)
        else:
            await imported(api, {f"{again}.png": PNG})
        assert blobs[key] == PNG
        assert (await api.owner.get(content)).body == PNG


async def attached(api: NotesApi, name: str) -> Response:
    path = f"attachments/{name}"
    return await api.owner.post(finalize(api, await api.upload(PNG)), {"path": path})


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [
        (PNG, "a.jpg", "image/png"),
        (PNG, "a", "image/png"),
        (PNG, "a.png", "image/jpeg"),
        (PNG, "a.png", "text/plain"),
        (JPEG, "a.png", "image/png"),
        (b"<svg/>", "a.svg", "image/svg+xml"),
        (b"", "a.png", "image/png"),
        (b"BM" + bytes(100), "a.png", "image/png"),
    ],
)
async def test_file_whose_name_or_type_lies_is_refused(
    api: NotesApi, data: bytes, name: str, media_type: str
) -> None:
    response = await api.owner.upload(api.place, data, name, media_type)
    assert refusal(response) == (415, "unsupported_media_type")
    assert api.images.blobs.blobs == {}


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [
        (PNG, "A.PNG", "application/octet-stream"),
        (JPEG, "a.jpeg", "image/jpg"),
        (JPEG, "a.b.jpg", "image/jpeg"),
    ],
)
async def test_usual_descriptions_are_accepted(
    api: NotesApi, data: bytes, name: str, media_type: str
) -> None:
    response = await api.owner.upload(api.place, data, name, media_type)
    assert response.status == 201


async def test_damaged_image_is_refused(api: NotesApi) -> None:
    response = await api.owner.upload(api.place, PNG[:-20])
    assert refusal(response) == (422, "invalid_image")
    assert "truncated" in response.json()["detail"]
    assert [*api.images.folder.iterdir()] == []


async def test_image_with_too_many_bytes_is_refused(api: NotesApi) -> None:
    response = await api.owner.upload(api.place, PNG + bytes(MAX_BYTES + 1 - len(PNG)))
    assert refusal(response) == (413, "body_too_large")


@pytest.mark.parametrize("given", [DIGEST, DIGEST.upper()])
async def test_declared_digest_is_compared(api: NotesApi, given: str) -> None:
    assert (await api.owner.upload(api.place, PNG, declaredDigest=given)).status == 201
    response = await api.owner.upload(api.place, JPEG, "a.jpg", "image/jpeg", declaredDigest=given)
    assert refusal(response) == (422, "invalid_image")


@pytest.mark.parametrize(
    ("fields", "name", "pointer"),
    [
        ({"declaredDigest": "abc"}, "a.png", "/declaredDigest"),
        ({"declaredDigest": "0" * 65}, "a.png", "/declaredDigest"),
        ({"path": "a.png"}, "a.png", "/path"),
        ({}, "", "/file"),
        ({}, "x" * 1021 + ".png", "/file"),
    ],
)
async def test_form_is_checked(
    api: NotesApi, fields: dict[str, str], name: str, pointer: str
) -> None:
    response = await api.owner.upload(api.place, PNG, name, **fields)
    assert refusal(response) == (400, "invalid_request")
    assert [each["pointer"] for each in response.json()["errors"]] == [pointer]


async def test_form_without_a_file_or_with_two_is_refused(api: NotesApi) -> None:
    body, content_type = form(PNG, "a.png")
    twice = body.removesuffix(b"--b--\r\n") + body
    for sent in (b"--b--\r\n", twice):
        response = await api.owner.post(f"{api.place}/attachments", sent, content_type=content_type)
        assert refusal(response) == (400, "invalid_request")


async def test_failing_blob_store_is_temporary(api: NotesApi) -> None:
    api.images.blobs.away = True
    response = await api.owner.upload(api.place, PNG)
    assert refusal(response) == (503, "storage_unavailable")
    assert response.header("retry-after") is not None
    api.images.blobs.away = False
    await api.upload(PNG)


async def test_image_becomes_a_file(api: NotesApi) -> None:
    object_id = await api.upload(PNG)
    response = await api.owner.post(finalize(api, object_id), {"path": "attachments/a.png"})
    assert response.status == 200
    change = response.json()
    assert (change["outcome"], change["path"], change["position"]) == (
        "created",
        "attachments/a.png",
        1,
    )
    assert change["revision"]["digest"] == DIGEST
    assert change["revision"]["mediaType"] == "image/png"
    assert tag_of(response) == f'"{change["revision"]["id"]}"'
    listed = (await api.owner.get(api.files)).json()["items"]
    assert [(each["path"], each["kind"]) for each in listed] == [
        ("attachments/a.png", "attachment")
    ]


async def test_upload_is_attached_once(api: NotesApi) -> None:
    object_id = await api.upload(PNG)
    for path, status in (("attachments/a.png", 200), ("attachments/b.png", 404)):
        response = await api.owner.post(finalize(api, object_id), {"path": path})
        assert response.status == status


async def test_repeated_finalize_has_the_first_outcome(api: NotesApi) -> None:
    object_id = await api.upload(PNG)
    given = {"path": "attachments/a.png", "mutationId": api.new_id()}
    first = await api.owner.post(finalize(api, object_id), given)
    again = await api.owner.post(finalize(api, object_id), given)
    assert (again.status, again.json()) == (200, first.json())
    other = await api.owner.post(finalize(api, object_id), {**given, "path": "attachments/b.png"})
    assert refusal(other) == (409, "mutation_reused")


async def test_image_is_replaced_with_its_head_alone(api: NotesApi) -> None:
    first = await api.owner.post(
        finalize(api, await api.upload(PNG)), {"path": "attachments/a.png"}
    )
    file_id, place = first.json()["fileId"], {"path": "attachments/b.jpg"}
    object_id = await api.upload(JPEG, "b.jpg", "image/jpeg")
    given = {**place, "fileId": file_id}
    for headers, expected in (
        ({}, (428, "if_match_required")),
        ({"if_match": "*"}, (428, "if_match_required")),
        ({"if_match": f'"{NOBODYS}"'}, (412, "head_moved")),
    ):
        response = await api.owner.post(finalize(api, object_id), given, **headers)
        assert refusal(response) == expected
    response = await api.owner.post(finalize(api, object_id), given, if_match=tag_of(first))
    assert (response.status, response.json()["outcome"]) == (200, "updated")
    assert response.json()["path"] == "attachments/b.jpg"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.png", "invalid_path"),
        ("attachments/a.jpg", "invalid_path"),
        ("attachments/../a.png", "invalid_path"),
        ("attachments/n.md/a.png", "invalid_graph"),
    ],
)
async def test_path_is_checked(api: NotesApi, path: str, code: str) -> None:
    await api.note("attachments/n.md")
    object_id = await api.upload(PNG)
    response = await api.owner.post(finalize(api, object_id), {"path": path})
    assert refusal(response) == (422, code)
    # The upload is still there.
    response = await api.owner.post(finalize(api, object_id), {"path": "attachments/a.png"})
    assert response.status == 200


async def test_image_cannot_replace_a_note(api: NotesApi) -> None:
    note = await api.note("n.md")
    object_id = await api.upload(PNG)
    response = await api.owner.post(
        finalize(api, object_id),
        {"path": "attachments/a.png", "fileId": note.id},
        if_match=note.tag,
    )
    assert refusal(response) == (422, "invalid_content")


async def test_expired_or_foreign_upload_is_not_found(api: NotesApi) -> None:
    object_id = await api.upload(PNG)
    other = (await api.owner.post("/api/workspaces", {"name": "Other"})).json()["id"]
    foreign = await api.owner.post(
        f"/api/workspaces/{other}/attachments/{object_id}/finalize", {"path": "attachments/a.png"}
    )
    assert refusal(foreign) == (404, "not_found")
    api.sources.time += LIFETIME_SECONDS + 1
    expired = await api.owner.post(finalize(api, object_id), {"path": "attachments/a.png"})
    assert refusal(expired) == (404, "not_found")
    assert "fileIds" not in expired.json()


async def test_changeset_attaches_images_beside_notes(api: NotesApi) -> None:
    objects = [await api.upload(PNG), await api.upload(PNG)]
    operations = [
        {"op": "create", "fileId": api.new_id(), "path": "n.md", "text": "![](attachments/0.png)"},
        *(
            {
                "op": "attach",
                "fileId": api.new_id(),
                "objectId": each,
                "path": f"attachments/{number}.png",
            }
            for number, each in enumerate(objects)
        ),
    ]
    mutation = api.new_id()
    first = await api.push(*operations, mutation=mutation)
    assert first.status == 200
    assert [each["outcome"] for each in first.json()["changes"]] == ["created"] * 3
    assert {each["position"] for each in first.json()["changes"]} == {1}
    again = await api.push(*operations, mutation=mutation)
    assert again.json() == first.json()
    gone = await api.push(
        {"op": "create", "fileId": api.new_id(), "path": "m.md", "text": ""},
        {**operations[1], "fileId": operations[2]["fileId"]},
    )
    assert refusal(gone) == (404, "not_found")
    assert gone.json()["fileIds"] == [operations[2]["fileId"]]
    assert len((await api.owner.get(api.files)).json()["items"]) == 3


async def test_changeset_with_one_upload_for_two_files_is_refused(api: NotesApi) -> None:
    object_id = await api.upload(PNG)
    attach = {"op": "attach", "objectId": object_id}
    response = await api.push(
        {**attach, "fileId": api.new_id(), "path": "attachments/a.png"},
        {**attach, "fileId": api.new_id(), "path": "attachments/b.png"},
    )
    assert refusal(response) == (404, "not_found")
    assert (await api.owner.get(api.files)).json()["items"] == []


async def test_attach_names_the_head_of_an_existing_file(api: NotesApi) -> None:
    first = await api.owner.post(
        finalize(api, await api.upload(PNG)), {"path": "attachments/a.png"}
    )
    attach = {
        "op": "attach",
        "fileId": first.json()["fileId"],
        "objectId": await api.upload(JPEG, "a.jpg", "image/jpeg"),
        "path": "attachments/a.jpg",
    }
    assert refusal(await api.push(attach)) == (428, "if_match_required")
    assert refusal(await api.push({**attach, "ifMatch": NOBODYS})) == (412, "head_moved")
    named = await api.push({**attach, "ifMatch": first.json()["revision"]["id"]})
    assert named.json()["changes"][0]["outcome"] == "updated"
