"""Vaults of other programs are imported whole, by whatever program made the archive."""

import io
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.fakes.imported_archives import imported
from tests.fakes.vaults import VAULTS


def by_python(folder: Path, files: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return file.getvalue()


def by_python_as_a_stream(folder: Path, files: dict[str, bytes]) -> bytes:
    class Stream(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise io.UnsupportedOperation

    file = Stream()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return file.getvalue()


def by_info_zip(folder: Path, files: dict[str, bytes]) -> bytes:
    if shutil.which("zip") is None:
        pytest.skip("needs zip")
    root = folder / "vault"
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    subprocess.run(["zip", "-qr", "../vault.zip", "."], cwd=root, check=True)
    return (folder / "vault.zip").read_bytes()


@pytest.mark.parametrize("name", VAULTS)
@pytest.mark.parametrize("program", [by_python, by_python_as_a_stream, by_info_zip])
def test_vault_is_imported(tmp_path: Path, name: str, program: object) -> None:
    vault = VAULTS[name]
    assert callable(program)
    found = imported(tmp_path, program(tmp_path, vault.files), parts=3)
    assert found.notes == vault.notes
    assert set(found.images) == vault.images
    assert found.result["left_out"] == vault.left_out
