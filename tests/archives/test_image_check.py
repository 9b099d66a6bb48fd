"""Images of an archive are extracted, decoded and described."""

import hashlib
import zlib
from pathlib import Path

import pytest

from octavo.archives.refusal import ArchiveInvalid
from tests.fakes.image_files import samples
from tests.fakes.imported_archives import imported
from tests.fakes.zip_files import Crafted, crafted

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


def test_equal_images_are_files_of_their_own(tmp_path: Path) -> None:
    found = imported(tmp_path, crafted(*[Crafted(f"{each}.png", PNG) for each in range(25)]))
    assert len(found.result["image_slices"]) == 3
    assert len({image.file for image in found.images.values()}) == 25


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Crafted("a.png", GIF), "a.png: The path of an image of the type image/gif must end with"),
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
