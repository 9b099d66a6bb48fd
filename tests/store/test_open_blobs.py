"""Which blob store the settings name."""

import subprocess
import sys
from pathlib import Path

import pytest

from octavo.service.settings import Settings
from octavo.store.blobs import BlobStore, BlobsUnusable, LocalBlobs
from octavo.store.blobs.blob_store import path_of_key
from octavo.store.blobs.object_store import ObjectBlobs
from octavo.store.open_blobs import open_blobs
from tests.fakes.s3_server import ENVIRONMENT, s3_endpoint, set_environment
from tests.project.source import ROOT
from tests.store.blobs.conformance import content, key

KEY = key(1, b"x")
SECRET = "c2VjcmV0"
CREDENTIALS = {
    "s3://notes/octavo": ENVIRONMENT,
    "az://notes/octavo": {
        "AZURE_STORAGE_ACCOUNT_NAME": "example",
        "AZURE_STORAGE_ACCOUNT_KEY": SECRET,
    },
    "gs://notes/octavo": {},
}


async def put_and_read(blobs: BlobStore, folder: Path) -> bytes:
    (folder / "source").write_bytes(b"x")
    await blobs.put(KEY, folder / "source")
    return await content(blobs, KEY)


async def test_blobs_are_in_the_data_folder_by_default(tmp_path: Path) -> None:
    blobs = open_blobs(Settings(data_dir=tmp_path))
    assert isinstance(blobs, LocalBlobs)
    assert await put_and_read(blobs, tmp_path) == b"x"
    assert (tmp_path / "blobs" / path_of_key(KEY)).exists()


async def test_blobs_are_in_the_object_store_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_endpoint() as endpoint:
        set_environment(monkeypatch, AWS_ENDPOINT_URL=endpoint, **ENVIRONMENT)
        blobs = open_blobs(Settings(data_dir=tmp_path, object_store="s3://octavo-blobs/images"))
        assert await put_and_read(blobs, tmp_path) == b"x"


@pytest.mark.parametrize("address", CREDENTIALS)
def test_every_kind_of_object_store_is_opened(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, **CREDENTIALS[address])
    assert isinstance(open_blobs(Settings(object_store=address)), ObjectBlobs)


@pytest.mark.parametrize(
    ("address", "environment", "message"),
    [
        ("az://notes", {}, "Account must be specified"),
        ("s3://notes", {"AWS_ACCESS_KEY_ID": SECRET}, "Missing SecretAccessKey"),
        (
            "az://notes",
            {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_ACCOUNT_KEY": f"{SECRET} "},
            "Invalid Access Key",
        ),
        ("gs://notes", {"GOOGLE_APPLICATION_CREDENTIALS": "/missing"}, "No such file"),
    ],
)
def test_object_store_without_valid_credentials_can_not_be_opened(
    address: str,
    environment: dict[str, str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_environment(monkeypatch, **environment)
    with pytest.raises(BlobsUnusable, match=f"the object store {address} can't be opened") as found:
        open_blobs(Settings(object_store=address))
    assert message in str(found.value)
    assert SECRET not in str(found.value)


def test_blobs_in_a_folder_do_not_load_obstore() -> None:
    code = "import sys, octavo.service.running; sys.exit('obstore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
