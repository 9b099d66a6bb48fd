"""Cases of imports and exports."""

import io
import zipfile
from collections.abc import Mapping

import httpx

from octavo.features.archives.archive_check import MAX_ENTRIES, MAX_TOTAL
from octavo.features.archives.worker.entry_reader import MAX_RATIO
from octavo.features.archives.worker.zip_format import CENTRAL
from octavo.model.image_limits import MAX_BYTES
from tests.e2e.operations.attachments import PNG
from tests.e2e.operations.cases import produces
from tests.e2e.operations.common import sent_in_part
from tests.e2e.operations.world import World, fresh_id
from tests.fakes.zip_files import Crafted, crafted

OCTETS = {"content-type": "application/octet-stream"}
PART_SIZE = 32 * 1024 * 1024
MAX_PARTS = 2048


def archive(files: Mapping[str, str | bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, data in files.items():
            packed.writestr(path, data)
    return written.getvalue()


def workspace(world: World) -> str:
    """The URL of a new workspace of the owner."""
    made = world.ask("POST", "/api/workspaces", json={"name": fresh_id()})
    return f"/api/workspaces/{made.json()['id']}"


def started(world: World, base: str | None = None) -> str:
    """The URL of a new import; one that was open is aborted, as there can be a few."""
    base = base or world.base
    response = world.ask("POST", f"{base}/imports", json={})
    assert response.status_code == 201, response.text
    return f"{base}/imports/{response.json()['importId']}"


def send(world: World, place: str, data: bytes, number: int = 1) -> httpx.Response:
    return world.ask("PUT", f"{place}/parts/{number}", content=data, headers=OCTETS)


def completed(
    world: World, files: Mapping[str, str | bytes], base: str | None = None
) -> httpx.Response:
    """Import an archive; the import is aborted unless it succeeds."""
    return completed_as_it_is(world, archive(files), base)


def completed_as_it_is(world: World, data: bytes, base: str | None = None) -> httpx.Response:
    """Import the bytes of an archive; as `completed`."""
    place = started(world, base)
    for number, at in enumerate(range(0, len(data), PART_SIZE), 1):
        assert send(world, place, data[at : at + PART_SIZE], number).status_code == 200
    response = world.ask("POST", f"{place}/complete")
    if response.status_code != 200:
        world.ask("DELETE", place)
    return response


@produces("startWorkspaceImport", "201")
def import_started(world: World) -> httpx.Response:
    response = world.ask("POST", f"{world.base}/imports", json={"size": 41_889_024})
    assert (response.json()["partSize"], response.json()["maxParts"]) == (PART_SIZE, MAX_PARTS)
    world.ask("DELETE", f"{world.base}/imports/{response.json()['importId']}")
    return response


@produces("startWorkspaceImport", "archive_too_large")
def too_large_an_import_started(world: World) -> httpx.Response:
    return world.ask("POST", f"{world.base}/imports", json={"size": PART_SIZE * MAX_PARTS + 1})


@produces("startWorkspaceImport", "too_many_imports")
def too_many_imports_started(world: World) -> httpx.Response:
    open_ones: list[str] = []
    while True:
        response = world.ask("POST", f"{world.base}/imports", json={})
        if response.status_code != 201:
            break
        open_ones.append(f"{world.base}/imports/{response.json()['importId']}")
    assert len(open_ones) == 5
    for each in open_ones:
        world.ask("DELETE", each)
    return response


@produces("putImportPart", "200")
def part_sent(world: World) -> httpx.Response:
    place = started(world)
    response = send(world, place, b"half", 2)
    assert (response.json()["number"], response.json()["size"]) == (2, 4)
    world.ask("DELETE", place)
    return response


@produces("putImportPart", "import_not_open")
def part_sent_to_an_import_that_is_done(world: World) -> httpx.Response:
    place = started(world, workspace(world))
    send(world, place, archive({"a.md": ""}))
    world.ask("POST", f"{place}/complete")
    return send(world, place, b"more")


@produces("putImportPart", "body_too_large")
def too_large_a_part_sent(world: World) -> httpx.Response:
    place = started(world)
    response = send(world, place, bytes(PART_SIZE + 1))
    world.ask("DELETE", place)
    return response


@produces("putImportPart", "body_timeout")
def part_that_stops(world: World) -> httpx.Response:
    place = started(world)
    response = sent_in_part(world, "PUT", f"{place}/parts/1", OCTETS["content-type"], b"half")
    world.ask("DELETE", place)
    return response


@produces("putImportPart", "forbidden")
def part_sent_by_a_reader(world: World) -> httpx.Response:
    place = f"{world.base}/imports/{fresh_id()}/parts/1"
    return world.ask("PUT", place, content=b"", headers={**OCTETS, **world.reader.by_key})


@produces("putImportPart", "not_found")
def part_sent_to_no_import(world: World) -> httpx.Response:
    return send(world, f"{world.base}/imports/{fresh_id()}", b"half")


@produces("getWorkspaceImport", "200")
def import_read(world: World) -> httpx.Response:
    place = started(world)
    send(world, place, b"half", 2)
    response = world.ask("GET", place)
    assert (response.json()["state"], response.json()["parts"]) == ("started", [2])
    world.ask("DELETE", place)
    return response


@produces("completeWorkspaceImport", "200")
def archive_imported(world: World) -> httpx.Response:
    base = workspace(world)
    files: dict[str, str | bytes] = {
        "a.md": "[[b]] ![[p.png]]",
        "b.md": "b",
        "img/p.png": PNG,
        "x.pdf": "x",
    }
    response = completed(world, files, base)
    assert response.json()["leftOut"] == {"settings": 0, "history": 0, "other": 1}
    exported = world.ask("GET", f"{base}/export")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as packed:
        assert {name: packed.read(name) for name in packed.namelist()} == {
            "a.md": b"[b](b.md) ![p.png](attachments/img/p.png)",
            "b.md": b"b",
            "attachments/img/p.png": PNG,
        }
    return response


@produces("completeWorkspaceImport", "path_conflict")
def archive_imported_over_a_file(world: World) -> httpx.Response:
    return completed(world, {world.note()["path"]: "theirs"})


@produces("completeWorkspaceImport", "archive_invalid")
def damaged_archive_imported(world: World) -> httpx.Response:
    response = completed(world, {"a.md": "", "b.md": b"\xff"}, workspace(world))
    assert "b.md" in response.json()["detail"]
    return response


@produces("completeWorkspaceImport", "archive_too_many_files")
def archive_of_too_many_files_imported(world: World) -> httpx.Response:
    number = MAX_ENTRIES + 1
    size = number * CENTRAL.size
    end = {"here": number, "entries": number, "size": size}
    return completed_as_it_is(
        world, crafted(before_end=bytes(size), zip64=True, zip64_end=end), workspace(world)
    )


@produces("completeWorkspaceImport", "archive_too_large")
def archive_of_too_large_files_imported(world: World) -> httpx.Response:
    # Deflated as much as deflate can.
    packed = bytes(-(-MAX_BYTES // MAX_RATIO))
    entries = [
        Crafted(f"attachments/{number}.png", packed=packed, crc=0, size=MAX_BYTES)
        for number in range(MAX_TOTAL // MAX_BYTES + 1)
    ]
    return completed_as_it_is(world, crafted(*entries), workspace(world))


@produces("completeWorkspaceImport", "not_found")
def import_completed_that_does_not_exist(world: World) -> httpx.Response:
    return world.ask("POST", f"{world.base}/imports/{fresh_id()}/complete")


@produces("abortWorkspaceImport", "200")
def import_aborted(world: World) -> httpx.Response:
    place = started(world)
    world.ask("DELETE", place)
    assert world.ask("GET", place).status_code == 404
    return world.ask("DELETE", place)


@produces("exportWorkspace", "200")
def workspace_exported(world: World) -> httpx.Response:
    note = world.note("exported — ü")
    response = world.ask("GET", f"{world.base}/export", headers=world.reader.by_key)
    with zipfile.ZipFile(io.BytesIO(response.content)) as packed:
        assert packed.read(note["path"]) == "exported — ü".encode()
    return response
