"""Cases of images: uploads, the changes that attach them, and contents."""

import hashlib

import httpx

from tests.e2e.operations.cases import produces
from tests.e2e.operations.common import sent_in_part
from tests.e2e.operations.world import UNKNOWN, Json, World, fresh_id
from tests.fakes.image_files import encoded, picture

PNG = encoded(picture((300, 200)), "PNG")
LONGEST = 32 * 1024 * 1024


def upload(
    world: World,
    data: bytes = PNG,
    media_type: str = "image/png",
    *,
    headers: dict[str, str] | None = None,
    fields: dict[str, str] | None = None,
) -> httpx.Response:
    # Read now: what checks the response looks at the request, too.
    files = {"file": ("a.png", data, media_type)}
    form = httpx.Request("POST", world.http.base_url, files=files, data=fields or {})
    sent = {"content-type": form.headers["content-type"], **(headers or {})}
    return world.ask("POST", f"{world.base}/attachments", content=form.read(), headers=sent)


def uploaded(world: World, data: bytes = PNG) -> str:
    response = upload(world, data)
    assert response.status_code == 201, response.text
    return str(response.json()["objectId"])


def finalize(
    world: World, object_id: str, headers: dict[str, str] | None = None, **given: object
) -> httpx.Response:
    body = {"path": f"attachments/{fresh_id()}.png", **given}
    place = f"{world.base}/attachments/{object_id}/finalize"
    return world.ask("POST", place, json=body, headers=headers or {})


def image(world: World, data: bytes = PNG) -> Json:
    """Upload an image and attach it; return the change."""
    response = finalize(world, uploaded(world, data))
    assert response.status_code == 200, response.text
    change: Json = response.json()
    return change


@produces("uploadAttachment", "201")
def image_uploaded(world: World) -> httpx.Response:
    digest = hashlib.sha256(PNG).hexdigest()
    response = upload(world, fields={"declaredDigest": digest})
    found = response.json()
    assert (found["digest"], found["width"], found["height"]) == (digest, 300, 200)
    return response


@produces("uploadAttachment", "forbidden")
def image_uploaded_by_a_reader(world: World) -> httpx.Response:
    return upload(world, headers=world.reader.by_key)


@produces("uploadAttachment", "not_found")
def image_uploaded_by_a_stranger(world: World) -> httpx.Response:
    return upload(world, headers=world.stranger.by_key)


@produces("uploadAttachment", "account_locked")
def image_uploaded_by_a_locked_account(world: World) -> httpx.Response:
    return upload(world, headers=world.locked.by_key)


@produces("uploadAttachment", "unsupported_media_type")
def image_that_is_declared_as_another(world: World) -> httpx.Response:
    return upload(world, media_type="image/gif")


@produces("uploadAttachment", "invalid_image")
def damaged_image_uploaded(world: World) -> httpx.Response:
    return upload(world, PNG[:-30])


@produces("uploadAttachment", "body_too_large")
def too_large_an_image_uploaded(world: World) -> httpx.Response:
    return upload(world, PNG + bytes(LONGEST + 1 - len(PNG)))


@produces("uploadAttachment", "body_timeout")
def upload_that_stops(world: World) -> httpx.Response:
    start = (
        b"--b\r\ncontent-disposition: form-data; name=file; filename=a.png\r\n"
        b"content-type: image/png\r\n\r\n"
    )
    place, media_type = f"{world.base}/attachments", "multipart/form-data; boundary=b"
    return sent_in_part(world, "POST", place, media_type, start)


@produces("finalizeAttachment", "200")
def image_attached(world: World) -> httpx.Response:
    object_id, mutation, path = uploaded(world), fresh_id(), f"attachments/Loaf {fresh_id()}.png"
    response = finalize(world, object_id, path=path, mutationId=mutation)
    again = finalize(world, object_id, path=path, mutationId=mutation)
    assert again.json() == response.json()
    head = response.json()["revision"]["id"]
    read = world.ask("GET", f"{world.base}/files/{response.json()['fileId']}")
    assert read.json()["head"]["id"] == head
    return response


@produces("finalizeAttachment", "not_found")
def image_attached_that_does_not_exist(world: World) -> httpx.Response:
    return finalize(world, UNKNOWN)


@produces("finalizeAttachment", "path_conflict")
def image_attached_where_one_is(world: World) -> httpx.Response:
    return finalize(world, uploaded(world), path=image(world)["path"].upper().lower())


@produces("finalizeAttachment", "file_purged")
def image_attached_to_a_purged_file(world: World) -> httpx.Response:
    return finalize(world, uploaded(world), fileId=world.purged()["fileId"])


@produces("finalizeAttachment", "mutation_reused")
def image_attached_with_a_used_mutation(world: World) -> httpx.Response:
    mutation = world.note()["revision"]["mutationId"]
    return finalize(world, uploaded(world), mutationId=mutation)


@produces("finalizeAttachment", "head_moved")
def image_replaced_that_has_moved_on(world: World) -> httpx.Response:
    file_id = image(world)["fileId"]
    headers = {"if-match": f'"{UNKNOWN}"'}
    response = finalize(world, uploaded(world), fileId=file_id, headers=headers)
    assert response.json()["fileIds"] == [file_id]
    return response


@produces("finalizeAttachment", "if_match_required")
def image_replaced_whatever_it_is(world: World) -> httpx.Response:
    file_id, object_id = image(world)["fileId"], uploaded(world)
    anything = finalize(world, object_id, fileId=file_id, headers={"if-match": "*"})
    assert anything.status_code == 428
    return finalize(world, object_id, fileId=file_id)


@produces("finalizeAttachment", "invalid_path")
def image_attached_elsewhere(world: World) -> httpx.Response:
    return finalize(world, uploaded(world), path="a.png")


@produces("finalizeAttachment", "invalid_graph")
def image_attached_below_an_image(world: World) -> httpx.Response:
    return finalize(world, uploaded(world), path=f"{image(world)['path']}/a.png")


@produces("finalizeAttachment", "invalid_content")
def image_attached_to_a_note(world: World) -> httpx.Response:
    note = world.note()
    headers = {"if-match": f'"{note["revision"]["id"]}"'}
    return finalize(world, uploaded(world), fileId=note["fileId"], headers=headers)


@produces("finalizeAttachment", "forbidden")
def image_attached_by_a_reader(world: World) -> httpx.Response:
    return finalize(world, uploaded(world), headers=world.reader.by_key)


@produces("pushChangeset", "if_match_required")
def image_replaced_in_a_changeset(world: World) -> httpx.Response:
    change = image(world)
    return world.push(
        {
            "op": "attach",
            "fileId": change["fileId"],
            "objectId": uploaded(world),
            "path": change["path"],
        }
    )


@produces("getFileContent", "200")
def content_read(world: World) -> httpx.Response:
    place = f"{world.file(image(world))}/content"
    response = world.ask("GET", place, headers=world.reader.by_key)
    assert response.content == PNG
    small = world.ask("GET", f"{place}?width=160", headers=world.reader.by_key)
    world.contract.check("getFileContent", small)
    assert small.headers["content-type"] == "image/webp"
    return response


@produces("getFileContent", "206")
def part_of_a_content_read(world: World) -> httpx.Response:
    place, headers = f"{world.file(image(world))}/content", {"range": "bytes=3-9"}
    response = world.ask("GET", place, headers=headers)
    assert response.content == PNG[3:10]
    head = world.ask("HEAD", place, headers=headers)
    world.contract.check("getFileContent", head)
    assert (head.status_code, head.headers["content-length"]) == (200, str(len(PNG)))
    return response


@produces("getFileContent", "304")
def known_content_read(world: World) -> httpx.Response:
    change = image(world)
    headers = {"if-none-match": f'"{change["revision"]["id"]}"'}
    return world.ask("GET", f"{world.file(change)}/content", headers=headers)


@produces("getFileContent", "range_not_satisfiable")
def content_read_after_its_end(world: World) -> httpx.Response:
    headers = {"range": "bytes=100000000-"}
    return world.ask("GET", f"{world.file(image(world))}/content", headers=headers)


@produces("getFileContent", "file_purged")
def content_of_a_purged_file_read(world: World) -> httpx.Response:
    return world.ask("GET", f"{world.file(world.purged())}/content")
