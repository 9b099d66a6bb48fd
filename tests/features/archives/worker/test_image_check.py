"""Images of an archive are extracted, decoded and described."""

import hashlib
import zlib
from pathlib import Path

import pytest

from octavo.features.archives.worker.checked_files import checked_images
from octavo.features.archives.worker.image_check import check_images
from octavo.features.archives.worker.refusal import ArchiveInvalid
from tests.fakes.image_files import encoded, personal_exif, picture, samples
from tests.fakes.imported_archives import imported
from tests.fakes.zip_files import Crafted, crafted, surveyed, written

PERSONAL = encoded(picture((40, 30)), "JPEG", exif=personal_exif())
PNG, GIF = samples()["png"].data, samples()["gif-animated"].data


@pytest.mark.parametrize("method", [0, 8])
def test_image_is_extracted_and_described(tmp_path: Path, method: int) -> None:
    data = crafted(Crafted("a.md"), Crafted("x/a.GIF", GIF, method), Crafted("b.png", PNG, method))
    found = imported(tmp_path, data, parts=2).images
    image = found["attachments/x/a.GIF"]
    assert Path(image.file).read_bytes() == GIF
    assert image.digest == hashlib.sha256(GIF).hexdigest()
    assert (image.crc, image.size) == (zlib.crc32(GIF), len(GIF))
    assert (image.media_type, image.width, image.height, image.frames) == ("image/gif", 37, 23, 4)
    assert Path(found["attachments/b.png"].file).read_bytes() == PNG


@pytest.mark.parametrize("comment", [b"", b"Octavo export"])
def test_personal_metadata_is_removed_with_the_setting(tmp_path: Path, comment: bytes) -> None:
    entries = (Crafted("attachments/a.jpg", PERSONAL, 8), Crafted("attachments/b.png", PNG))
    data = crafted(*entries, comment=comment)
    found = imported(tmp_path, data, removes_metadata=True).images
    image = found["attachments/a.jpg"]
    stored = Path(image.file).read_bytes()
    assert len(stored) < len(PERSONAL)
    assert b"Ada" not in stored
    assert (image.size, image.crc) == (len(stored), zlib.crc32(stored))
    assert image.digest == hashlib.sha256(stored).hexdigest()
    # As it is shown: it is turned.
    assert (image.media_type, image.width, image.height) == ("image/jpeg", 30, 40)
    unchanged = found["attachments/b.png"]
    assert Path(unchanged.file).read_bytes() == PNG
    assert unchanged.digest == hashlib.sha256(PNG).hexdigest()


def test_slice_that_takes_long_is_checked_in_several_turns(tmp_path: Path) -> None:
    entries = [Crafted(f"attachments/{number}.png", PNG) for number in range(3)]
    paths = written(tmp_path / "parts", crafted(*entries), 1)
    place, result = surveyed(tmp_path, paths)
    [(begin, end)] = result["image_slices"]
    files = []
    while begin < end:
        # Each turn checks one file at least.
        file, begin = check_images(paths, place, begin, end, removes_metadata=False, seconds=0)
        files.append(file)
    assert begin == end
    found = checked_images(files)
    assert [each.path for each in found] == [f"attachments/{number}.png" for number in range(3)]
    assert len(files) == 3


def test_equal_images_are_files_of_their_own(tmp_path: Path) -> None:
    found = imported(tmp_path, crafted(*[Crafted(f"{each}.png", PNG) for each in range(25)]))
    assert len(found.result["image_slices"]) == 3
    assert len({image.file for image in found.images.values()}) == 25


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Crafted("a.png", GIF), "a.png: The path of a GIF image must end with .gif"),
        (Crafted("a.png", b"text"), "a.png: The file is not a PNG"),
        (Crafted("a.png", b""), "a.png: The file is empty"),
        (Crafted("a.png", PNG[:-20]), "a.png: The PNG file is truncated"),
        (Crafted("a.png", PNG, crc=1), "a.png: Its data is damaged"),
        (Crafted("a.png", PNG, size=len(PNG) + 1), "a.png: It has more or fewer bytes"),
    ],
)
def test_file_that_is_no_acceptable_image_is_refused(
    tmp_path: Path, entry: Crafted, text: str
) -> None:
    with pytest.raises(ArchiveInvalid) as refused:
        imported(tmp_path, crafted(entry))
    assert text in str(refused.value)
