"""A server with its images in an object store, which fails and returns."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.octavo_process import data_folder, running
from tests.e2e.people import client, settle
from tests.e2e.prepared import start
from tests.e2e.server import PATIENCE
from tests.e2e.test_archives import OCTETS, packed, unpacked
from tests.fakes.faulty_object_store import FaultyObjectStore, faulty_object_store
from tests.fakes.image_files import encoded, picture
from tests.fakes.s3_server import BUCKET, ENVIRONMENT, SECRET, s3_endpoint, set_environment

PNG = encoded(picture((300, 200)), "PNG")
OTHER = encoded(picture((200, 300)), "PNG")
NO_RETRY = "it responded with status 403 (AccessDenied)"


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyObjectStore]:
    with s3_endpoint() as endpoint, faulty_object_store(endpoint) as server:
        set_environment(monkeypatch, AWS_ENDPOINT_URL=server.address, **ENVIRONMENT)
        yield server


def upload(http: httpx.Client, workspace: str, data: bytes) -> httpx.Response:
    files = {"file": ("a.png", data, "image/png")}
    return http.post(f"/api/workspaces/{workspace}/attachments", files=files)


def test_images_are_stored_there_and_notes_do_not_need_it(faulty: FaultyObjectStore) -> None:
    with (
        data_folder() as folder,
        running(folder, "--object-store", f"s3://{BUCKET}/images") as octavo,
        client(octavo.url, settle(octavo)) as http,
    ):
        workspace = http.post("/api/workspaces", json={"name": "Notes"}).json()["id"]
        uploaded = upload(http, workspace, PNG)
        assert uploaded.status_code == 201, uploaded.text
        place = f"/api/workspaces/{workspace}/attachments/{uploaded.json()['objectId']}/finalize"
        attached = http.post(place, json={"path": "attachments/a.png"})
        assert attached.status_code == 200, attached.text
        file = f"/api/workspaces/{workspace}/files/{attached.json()['fileId']}"
        assert http.get(f"{file}/content").content == PNG
        assert not list((folder / "blobs").glob("*"))

        faulty.fault = "refusal"
        assert upload(http, workspace, OTHER).status_code == 503
        assert http.get(f"{file}/content").status_code == 503
        ready = http.get("/ready")
        assert ready.status_code == 200
        unmet = [each["name"] for each in ready.json()["requirements"] if not each["met"]]
        assert unmet == ["object_store"]
        assert http.get(f"/api/workspaces/{workspace}/files").status_code == 200

        faulty.fault = None
        assert http.get(f"{file}/content").content == PNG
        assert upload(http, workspace, OTHER).status_code == 201
        code, log = octavo.stop()
    assert code == 0
    assert any(NO_RETRY in line for line in log)
    assert not any(SECRET in line or "Signature" in line for line in log)


def test_import_waits_for_the_store_and_loses_nothing(faulty: FaultyObjectStore) -> None:
    files = {"a.md": b"![](attachments/p.png)", "attachments/p.png": PNG}
    with (
        data_folder() as folder,
        running(folder, "--object-store", f"s3://{BUCKET}/imports") as octavo,
        client(octavo.url, settle(octavo)) as http,
    ):
        workspace = http.post("/api/workspaces", json={"name": "Notes"}).json()["id"]
        base = f"/api/workspaces/{workspace}"
        place = f"{base}/imports/{http.post(f'{base}/imports', json={}).json()['importId']}"
        part = packed(files)
        faulty.fault = "refusal"
        refused = http.put(f"{place}/parts/1", content=part, headers=OCTETS)
        assert (refused.status_code, refused.json()["code"]) == (503, "storage_unavailable")
        faulty.fault = None
        assert http.put(f"{place}/parts/1", content=part, headers=OCTETS).status_code == 200
        faulty.fault = "refusal"
        refused = http.post(f"{place}/complete")
        assert (refused.status_code, refused.json()["code"]) == (503, "storage_unavailable")
        assert http.get(f"{base}/files").json()["items"] == []
        faulty.fault = None
        done = http.post(f"{place}/complete")
        assert done.status_code == 200, done.text
        assert unpacked(http.get(f"{base}/export").content) == files
        [image] = http.get(f"{base}/files", params={"prefix": "attachments/"}).json()["items"]
        content = f"{base}/files/{image['id']}/content"
        assert http.get(content, headers={"range": "bytes=10-19"}).content == PNG[10:20]
        assert http.get(f"{content}?width=160").headers["content-type"] == "image/webp"
        assert [*(folder / "staging").glob("*/*")] == []
        code, _ = octavo.stop()
    assert code == 0


def test_store_without_an_account_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch)
    given = (
        "--bind",
        "127.0.0.1:0",
        "--data-dir",
        str(tmp_path / "data"),
        "--object-store",
        "az://notes",
    )
    with start(*given, folder=tmp_path) as process:
        _, output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, output
    [line] = output.splitlines()
    assert "the object store az://notes can't be opened: Account must be specified" in line
