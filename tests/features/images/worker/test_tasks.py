"""What worker processes do with images."""

import hashlib
import json
import zlib
from pathlib import Path

import pytest

from octavo.features.images.worker.image_file import InvalidImage
from octavo.features.images.worker.tasks import (
    inspect_file,
    inspect_without_metadata,
    make_thumbnail,
    remove_metadata,
)
from tests.fakes.image_files import encoded, personal_exif, picture

FACTS = {"media_type": "image/jpeg", "width": 30, "height": 40, "frames": 1}


@pytest.fixture
def personal(tmp_path: Path) -> Path:
    """A JPEG that says where it was taken."""
    path = tmp_path / "a"
    path.write_bytes(encoded(picture((40, 30)), "JPEG", exif=personal_exif()))
    return path


def written(path: Path) -> dict[str, str | int]:
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return {"digest": digest, "size": len(data), "crc": zlib.crc32(data)}


def test_facts_are_json(personal: Path) -> None:
    found = inspect_file(str(personal))
    assert found == FACTS
    assert json.loads(json.dumps(found)) == found


def test_file_that_is_no_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    with pytest.raises(InvalidImage):
        inspect_file(str(tmp_path / "a"))


def test_copy_without_metadata_is_described(personal: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert inspect_without_metadata(str(personal), str(out)) == {**FACTS, **written(out)}
    assert b"Ada" not in out.read_bytes()
    copy = tmp_path / "copy"
    assert remove_metadata(str(personal), str(copy)) == written(out)
    assert copy.read_bytes() == out.read_bytes()


def test_file_without_metadata_is_not_copied(tmp_path: Path) -> None:
    path, out = tmp_path / "a", tmp_path / "out"
    path.write_bytes(encoded(picture((40, 30)), "PNG"))
    found = inspect_without_metadata(str(path), str(out))
    assert found == {**FACTS, "media_type": "image/png", "width": 40, "height": 30}
    assert remove_metadata(str(path), str(out)) == {}
    assert not out.exists()


def test_thumbnail_is_described(personal: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = make_thumbnail(str(personal), 160, str(out))
    assert found == {
        "media_type": "image/webp",
        # The orientation exchanges width and height.
        "width": 30,
        "height": 40,
        "frames": 1,
        **written(out),
    }
