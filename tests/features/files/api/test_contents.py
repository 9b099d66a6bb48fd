"""The bytes of files: ranges, caching, names and thumbnails."""

import pytest
import trio

from octavo.features.images.worker.image_file import media_type_of
from octavo.features.usage.api import memory_of
from octavo.http.contract.memory_budget import COUNTED, Hold, MemoryBudget
from octavo.store import compression
from tests.fakes.image_files import encoded, opened, picture
from tests.fakes.notes_api import NotesApi, refusal, tag_of

PNG = encoded(picture((1400, 700)), "PNG")


async def attached(api: NotesApi, path: str = "attachments/a.png") -> str:
    """The URL of an image."""
    object_id = await api.upload(PNG)
    response = await api.owner.post(f"{api.place}/attachments/{object_id}/finalize", {"path": path})
    assert response.status == 200, response.body
    return f"{api.files}/{response.json()['fileId']}"


async def test_image_is_read_as_it_was_uploaded(api: NotesApi) -> None:
    response = await api.client("reader").get(f"{await attached(api)}/content")
    assert (response.status, response.body) == (200, PNG)
    assert response.header("content-type") == "image/png"
    assert response.header("content-length") == str(len(PNG))
    assert response.header("content-disposition") == 'inline; filename="a.png"'
    assert response.header("x-content-type-options") == "nosniff"
    assert response.header("cache-control") == "private, no-cache"


async def test_note_is_saved_by_browsers(api: NotesApi) -> None:
    note = await api.note("Größe.md", "täxt")
    response = await api.owner.get(f"{note.place}/content")
    assert response.body == "täxt".encode()
    assert response.header("content-type") == "text/markdown; charset=utf-8"
    assert response.header("content-disposition") == (
        "attachment; filename=\"Gr__e.md\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.md"
    )


async def test_memory_for_a_long_note_is_reserved_before_it_is_read(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    wait = MemoryBudget.wait_briefly

    async def reserve(budget: MemoryBudget, client: str | None, size: int) -> Hold:
        steps.append(f"reserve {size}")
        return await wait(budget, client, size)

    def read(data: bytes | None, file_id: str) -> str | None:
        steps.append("read")
        return compression.text_of(data, file_id)

    long = "x" * COUNTED
    note = await api.note("a.md", long)
    place = f"{note.place}/content"
    monkeypatch.setattr(MemoryBudget, "wait_briefly", reserve)
    monkeypatch.setattr("octavo.store.queries.files.text_of", read)
    for each in (place, f"{place}?revision={note.revision}"):
        assert (await api.owner.get(each)).body == long.encode()
        assert steps == [f"reserve {memory_of(len(long))}", "read"]
        steps.clear()
    # Nothing is read for a head, or what the client has.
    head = await api.owner.ask("HEAD", place)
    assert (head.status, head.header("content-length")) == (200, str(len(long)))
    assert (await api.owner.get(place, if_none_match="*")).status == 304
    assert steps == []


async def test_revision_may_be_cached_forever(api: NotesApi) -> None:
    note = await api.note("a.md", "old")
    old = note.revision
    await note.update(text="new")
    response = await api.owner.get(f"{note.place}/content?revision={old}")
    assert response.body == b"old"
    assert response.header("etag") == f'"{old}"'
    assert response.header("cache-control") == "private, max-age=31536000, immutable"
    await note.delete()
    assert (await api.owner.get(f"{note.place}/content?revision={old}")).body == b"old"
    assert refusal(await api.owner.get(f"{note.place}/content")) == (404, "not_found")


async def test_known_content_is_not_sent_again(api: NotesApi) -> None:
    place = f"{await attached(api)}/content"
    tag = tag_of(await api.owner.get(place))
    for each in (tag, f"W/{tag}", "*", f'"other", {tag}'):
        response = await api.owner.get(place, if_none_match=each)
        assert (response.status, response.body) == (304, b"")
        assert response.header("etag") == tag
    small = await api.owner.get(f"{place}?width=160", if_none_match=tag)
    assert small.status == 200
    tag = tag_of(small)
    assert (await api.owner.get(f"{place}?width=160", if_none_match=tag)).status == 304
    assert (await api.owner.get(f"{place}?width=480", if_none_match=tag)).status == 200


async def test_head_has_the_same_headers_and_no_bytes(api: NotesApi) -> None:
    place = f"{await attached(api)}/content"
    got, head = await api.owner.get(place), await api.owner.ask("HEAD", place)
    assert head.body == b""
    assert head.headers == got.headers


@pytest.mark.parametrize("given", ["bytes=10-19", f"bytes={len(PNG)}-"])
async def test_head_ignores_ranges(api: NotesApi, given: str) -> None:
    place = f"{await attached(api)}/content"
    head = await api.owner.ask("HEAD", place, range=given)
    assert (head.status, head.body) == (200, b"")
    assert head.header("content-length") == str(len(PNG))
    assert head.headers == (await api.owner.get(place)).headers


@pytest.mark.parametrize(
    ("given", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=-5", len(PNG) - 5, len(PNG)),
        ("bytes=5-", 5, len(PNG)),
        (f"bytes=0-{len(PNG) + 10}", 0, len(PNG)),
        (f"bytes=-{len(PNG) + 10}", 0, len(PNG)),
    ],
)
async def test_range_is_served(api: NotesApi, given: str, start: int, stop: int) -> None:
    response = await api.owner.get(f"{await attached(api)}/content", range=given)
    assert (response.status, response.body) == (206, PNG[start:stop])
    assert response.header("content-range") == f"bytes {start}-{stop - 1}/{len(PNG)}"
    assert response.header("content-length") == str(stop - start)


@pytest.mark.parametrize("given", ["bytes=0-1,3-4", "lines=1-2", "bytes=b", "bytes=9-3", ""])
async def test_other_ranges_are_ignored(api: NotesApi, given: str) -> None:
    response = await api.owner.get(f"{await attached(api)}/content", range=given)
    assert (response.status, response.body) == (200, PNG)


@pytest.mark.parametrize("given", [f"bytes={len(PNG)}-", "bytes=-0"])
async def test_range_after_the_end_is_refused(api: NotesApi, given: str) -> None:
    response = await api.owner.get(f"{await attached(api)}/content", range=given)
    assert refusal(response) == (416, "range_not_satisfiable")
    assert response.header("content-range") == f"bytes */{len(PNG)}"


async def test_range_of_another_version_is_the_whole(api: NotesApi) -> None:
    place = f"{await attached(api)}/content"
    tag = tag_of(await api.owner.get(place))
    for given, status in ((tag, 206), (f"W/{tag}", 200), ('"other"', 200), ("Sun", 200)):
        response = await api.owner.get(place, range="bytes=0-3", if_range=given)
        assert response.status == status


@pytest.mark.parametrize(("width", "height"), [(160, 80), (480, 240), (1280, 640)])
async def test_thumbnail_is_made_once(api: NotesApi, width: int, height: int) -> None:
    place = f"{await attached(api)}/content?width={width}"
    first = await api.owner.get(place)
    assert first.header("content-type") == "image/webp"
    assert first.header("content-disposition") == f'inline; filename="a-{width}.webp"'
    assert media_type_of(first.body) == "image/webp"
    assert opened(first.body).size == (width, height)
    stored = len(api.images.blobs.blobs)
    assert (await api.owner.get(place)).body == first.body
    assert len(api.images.blobs.blobs) == stored == 2
    assert [*api.images.folder.iterdir()] == []


async def test_thumbnail_that_many_ask_for_is_made_once(api: NotesApi) -> None:
    place = f"{await attached(api)}/content?width=160"
    bodies: list[bytes] = []

    async def get() -> None:
        bodies.append((await api.owner.get(place)).body)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(get)
    assert len(set(bodies)) == 1
    assert len(api.images.blobs.blobs) == 2


async def test_thumbnail_of_a_note_and_other_widths_are_refused(api: NotesApi) -> None:
    note = await api.note("a.md")
    assert refusal(await api.owner.get(f"{note.place}/content?width=160")) == (
        400,
        "invalid_request",
    )
    place = await attached(api)
    for width in ("161", "0", "small"):
        response = await api.owner.get(f"{place}/content?width={width}")
        assert refusal(response) == (400, "invalid_request")


async def test_failing_blob_store_is_temporary(api: NotesApi) -> None:
    place = f"{await attached(api)}/content"
    api.images.blobs.away = True
    for each in (place, f"{place}?width=160"):
        assert refusal(await api.owner.get(each)) == (503, "storage_unavailable")


async def test_image_whose_blob_was_collected_meanwhile_is_not_found(api: NotesApi) -> None:
    place = f"{await attached(api)}/content"
    api.images.blobs.blobs.clear()
    for each in (place, f"{place}?width=160"):
        assert refusal(await api.owner.get(each)) == (404, "not_found")


async def test_purged_file_has_no_content(api: NotesApi) -> None:
    note = await api.note("a.md")
    revision = note.revision
    await note.delete()
    await note.purge()
    for each in (f"{note.place}/content", f"{note.place}/content?revision={revision}"):
        assert refusal(await api.owner.get(each)) == (410, "file_purged")
