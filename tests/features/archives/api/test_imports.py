"""Imports of archives in parts: progress, refusals, failures and repetitions."""

import io
import zipfile
from collections.abc import Mapping
from hashlib import sha256

import pytest

from octavo.features.archives import archive_check
from octavo.features.archives.import_commits import NOTES_AT_ONCE
from octavo.features.archives.imports import LIFETIME_SECONDS, OPEN_IMPORTS, PART_SIZE
from tests.fakes.asgi_client import Response
from tests.fakes.image_files import encoded, personal_exif, picture
from tests.fakes.notes_api import Client, NotesApi, refusal
from tests.fakes.zip_files import ONES_32, ONES_64, Crafted, crafted, zip64_extra

PNG = encoded(picture((20, 10)), "PNG")
OTHER_PNG = encoded(picture((10, 20), seed=1), "PNG")
Files = Mapping[str, str | bytes]


def archive(files: Files) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, data in files.items():
            packed.writestr(path, data)
    return written.getvalue()


class Import:
    """An import of a member."""

    def __init__(self, api: NotesApi, client: Client, import_id: str) -> None:
        self.api = api
        self.client = client
        self.id = import_id
        self.place = f"{api.place}/imports/{import_id}"

    async def send(self, number: int, data: bytes) -> Response:
        return await self.client.put(
            f"{self.place}/parts/{number}", data, content_type="application/octet-stream"
        )

    async def complete(self) -> Response:
        return await self.client.ask("POST", f"{self.place}/complete")

    async def read(self) -> Response:
        return await self.client.get(self.place)


async def start(api: NotesApi, name: str = "owner") -> Import:
    client = api.client(name)
    response = await client.post(f"{api.place}/imports", {})
    assert response.status == 201, response.body
    return Import(api, client, response.json()["importId"])


async def imported(api: NotesApi, files: Files) -> Response:
    """Import an archive in one part."""
    given = await start(api)
    assert (await given.send(1, archive(files))).status == 200
    return await given.complete()


async def contents(api: NotesApi) -> dict[str, bytes]:
    """The live files of the workspace."""
    found: dict[str, bytes] = {}
    for each in await api.owner.pages(api.files, 500):
        read = await api.owner.get(f"{api.files}/{each['id']}/content")
        assert read.status == 200
        found[each["path"]] = read.body
    return found


async def test_archive_becomes_the_workspace(api: NotesApi) -> None:
    files: Files = {
        "a.md": "# A\r\n\r\n[[b]] and ![[p.png]]\r\n",
        "sub/b.md": "\ufeffback to [[a|first]]",
        "img/p.png": PNG,
        "attachments/q.png": OTHER_PNG,
        ".obsidian/app.json": "{}",
        "plan.pdf": b"%PDF",
    }
    response = await imported(api, files)
    assert response.status == 200
    assert response.json() == {
        "notes": 2,
        "attachments": 2,
        "leftOut": {"settings": 1, "history": 0, "other": 1},
        "cleaned": 0,
        "position": 2,
    }
    assert await contents(api) == {
        "a.md": b"# A\r\n\r\n[b](sub/b.md) and ![p.png](attachments/img/p.png)\r\n",
        "sub/b.md": "\ufeffback to [first](../a.md)".encode(),
        "attachments/img/p.png": PNG,
        "attachments/q.png": OTHER_PNG,
    }
    listed = await api.owner.get(api.files)
    origins = {each["head"]["origin"] for each in listed.json()["items"]}
    assert origins == {"import"}


async def test_paths_lose_their_hidden_characters_and_links_follow(api: NotesApi) -> None:
    files: Files = {
        "a.md": "[b](x%E2%80%8B/b.md) [[c\ufeff]]",
        "x\u200b/b.md": "[a](../a.md)",
        "c\ufeff.md": "",
    }
    response = await imported(api, files)
    assert (response.status, response.json()["cleaned"]) == (200, 2)
    assert await contents(api) == {
        "a.md": "[b](x/b.md) [c\ufeff](c.md)".encode(),
        "x/b.md": b"[a](../a.md)",
        "c.md": b"",
    }


async def test_parts_come_in_any_order_and_again(api: NotesApi) -> None:
    data = archive({"a.md": "text", "attachments/p.png": PNG})
    given = await start(api)
    half = len(data) // 2
    assert (await given.send(2, data[half:])).status == 200
    assert (await given.send(1, b"wrong")).status == 200
    sent = await given.send(1, data[:half])
    assert (sent.json()["number"], sent.json()["size"]) == (1, half)
    state = (await given.read()).json()
    assert (state["state"], state["parts"], state["total"]) == ("started", [1, 2], 0)
    assert state["received"] == [
        {"number": number, "size": len(part), "digest": sha256(part).hexdigest()}
        for number, part in ((1, data[:half]), (2, data[half:]))
    ]
    assert (await given.complete()).status == 200
    assert set(await contents(api)) == {"a.md", "attachments/p.png"}


async def test_result_is_kept_and_the_parts_are_not(api: NotesApi) -> None:
    given = await start(api)
    await given.send(1, archive({"a.md": "text"}))
    first = await given.complete()
    assert (await given.complete()).json() == first.json()
    state = (await given.read()).json()
    assert (state["state"], state["parts"], state["result"]) == ("done", [], first.json())
    assert state["received"] == []
    assert state["read"] == state["total"] == 4
    assert refusal(await given.send(1, b"x")) == (409, "import_not_open")
    assert [*api.images.folder.iterdir()] == []


async def test_images_are_imported_without_personal_metadata_with_the_setting(
    api: NotesApi,
) -> None:
    personal = encoded(picture((40, 30)), "JPEG", exif=personal_exif())
    api.archives.work.removes_metadata = True
    assert (await imported(api, {"attachments/a.jpg": personal})).status == 200
    stored = (await contents(api))["attachments/a.jpg"]
    assert len(stored) < len(personal)
    assert b"Ada" not in stored
    api.archives.work.removes_metadata = False
    assert (await imported(api, {"attachments/b.jpg": personal})).status == 200
    assert (await contents(api))["attachments/b.jpg"] == personal


async def test_empty_archive_imports_nothing(api: NotesApi) -> None:
    await api.note("a.md")
    response = await imported(api, {})
    assert response.json()["position"] == 1
    assert response.json()["notes"] == 0


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, "No part"),
        ({1: b"text"}, "zip"),
        ({2: b"text"}, "Part 1"),
        ({1: b"a", 3: b"b"}, "Part 2"),
    ],
)
async def test_parts_that_make_no_archive_are_refused(
    api: NotesApi, parts: dict[int, bytes], said: str
) -> None:
    given = await start(api)
    for number, data in parts.items():
        await given.send(number, data)
    response = await given.complete()
    assert refusal(response) == (422, "archive_invalid")
    assert said in response.json()["detail"]
    # The parts are kept, and can be corrected.
    assert (await given.read()).json()["parts"] == sorted(parts)
    await given.send(1, archive({"a.md": "x"}))


async def test_position_beyond_64_bits_is_refused(api: NotesApi) -> None:
    given = await start(api)
    lie = Crafted("a.md", offset=ONES_32, extra=zip64_extra(ONES_64))
    await given.send(1, crafted(lie))
    response = await given.complete()
    assert refusal(response) == (422, "archive_invalid")
    assert "a.md" in response.json()["detail"]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.md": "fine", "b.md": b"\xff\xfe"}, "b.md: It is not UTF-8"),
        ({"a.md": "fine", "con.md": "x"}, "con.md"),
        ({"a.md": "fine", "A.md": "x"}, "A.md"),
        ({"a.md": "fine", "attachments/p.png": PNG[:-9]}, "attachments/p.png"),
        ({"a.md": "fine", "attachments/p.jpg": PNG}, "attachments/p.jpg"),
        ({"a.md": "fine", "b.md": "x\0"}, "b.md"),
    ],
)
async def test_archive_is_refused_with_the_name_and_the_reason(
    api: NotesApi, files: Files, said: str
) -> None:
    response = await imported(api, files)
    assert refusal(response) == (422, "archive_invalid")
    assert said in response.json()["detail"]
    assert await contents(api) == {}
    assert [*api.images.folder.iterdir()] == []


async def test_refusal_is_kept_for_who_lost_the_response(api: NotesApi) -> None:
    given = await start(api)
    await given.send(1, archive({"a.md": b"\xff"}))
    refused = (await given.complete()).json()
    state = (await given.read()).json()
    assert (state["state"], state["parts"]) == ("failed", [1])
    assert state["failure"] == {"code": refused["code"], "detail": refused["detail"]}
    assert [each["number"] for each in state["received"]] == [1]
    await given.send(1, archive({"a.md": "fine"}))
    state = (await given.read()).json()
    assert (state["state"], state["failure"]) == ("started", None)
    assert (await given.complete()).status == 200


async def test_paths_of_the_workspace_are_not_taken(api: NotesApi) -> None:
    await api.note("A.md", "mine")
    await api.note("folder/b.md", "mine")
    response = await imported(api, {"a.md": "theirs", "c.md": "theirs", "folder/c.md": "theirs"})
    assert refusal(response) == (409, "path_conflict")
    assert "a.md" in response.json()["detail"]
    assert set(await contents(api)) == {"A.md", "folder/b.md"}
    assert (await imported(api, {"c.md": "theirs"})).status == 200


async def test_import_larger_than_a_changeset_is_committed_in_several(api: NotesApi) -> None:
    count = 2 * NOTES_AT_ONCE + 1
    response = await imported(api, {f"{number}.md": str(number) for number in range(count)})
    assert response.json()["position"] == 3
    found = await contents(api)
    assert found == {f"{number}.md": b"%d" % number for number in range(count)}


async def test_same_bytes_are_stored_once(api: NotesApi) -> None:
    given = await start(api)
    for _ in range(2):
        sent = await given.send(1, b"text")
        assert (sent.status, sent.json()["size"]) == (200, 4)
    assert len(api.images.blobs.blobs) == 1


async def test_aborted_import_stops(api: NotesApi) -> None:
    given = await start(api)
    await given.send(1, archive({"a.md": "text"}))
    removed = await given.client.delete(given.place)
    assert removed.json() == {"removed": True}
    for response in (await given.read(), await given.complete(), await given.send(1, b"x")):
        assert refusal(response) == (404, "not_found")
    assert (await given.client.delete(given.place)).json() == {"removed": True}


async def test_import_of_another_member_looks_missing(api: NotesApi) -> None:
    given = await start(api)
    await given.send(1, archive({"a.md": "text"}))
    foreign = Import(api, api.client("editor"), given.id)
    for response in (await foreign.read(), await foreign.complete(), await foreign.send(1, b"x")):
        assert refusal(response) == (404, "not_found")
    assert (await foreign.client.delete(foreign.place)).json() == {"removed": True}
    assert (await given.read()).status == 200


async def test_account_has_a_few_open_imports(api: NotesApi) -> None:
    for _ in range(OPEN_IMPORTS):
        given = await start(api)
    response = await api.owner.post(f"{api.place}/imports", {})
    assert refusal(response) == (409, "too_many_imports")
    assert given.id in response.json()["detail"]
    await given.client.delete(given.place)
    await start(api)


async def test_sizes_are_limited(api: NotesApi) -> None:
    response = await api.owner.post(f"{api.place}/imports", {"size": 1 << 50})
    assert refusal(response) == (413, "archive_too_large")
    given = await start(api)
    response = await given.send(1, bytes(PART_SIZE + 1))
    assert refusal(response) == (413, "body_too_large")
    for number in ("0", "2049", "-1"):
        response = await given.client.put(
            f"{given.place}/parts/{number}", b"x", content_type="application/octet-stream"
        )
        assert refusal(response) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("MAX_ENTRIES", (422, "archive_too_many_files")),
        ("MAX_TOTAL", (413, "archive_too_large")),
    ],
)
async def test_contents_are_limited(
    api: NotesApi, monkeypatch: pytest.MonkeyPatch, limit: str, expected: tuple[int, str]
) -> None:
    monkeypatch.setattr(archive_check, limit, 1)
    assert refusal(await imported(api, {"a.md": "text", "b.md": "text"})) == expected
    assert await contents(api) == {}


async def test_import_expires_a_week_after_its_last_part(api: NotesApi) -> None:
    given = await start(api)
    api.sources.time += LIFETIME_SECONDS - 1
    await given.send(1, archive({"a.md": "text"}))
    api.sources.time += LIFETIME_SECONDS - 1
    assert (await given.read()).status == 200
