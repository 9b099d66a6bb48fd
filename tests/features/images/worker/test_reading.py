import io
import os
import pickle
import random
import struct
import subprocess
import sys
import time
import warnings
import zlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps

from octavo.features.images.worker.image_file import ImageFacts, InvalidImage
from octavo.features.images.worker.reading import inspect_image
from octavo.model.image_limits import MAX_BYTES
from tests.fakes.image_files import (
    Sample,
    animation,
    encoded,
    gif_extension,
    grey_png,
    jpeg_segment,
    personal_exif,
    picture,
    png_chunk,
    png_file,
    png_header,
    riff_chunk,
    samples,
    webp_file,
    with_segment,
)
from tests.fakes.image_mutation import mutated
from tests.project.source import ROOT

# `make fuzz` mutates more.
MUTATIONS = int(os.environ.get("OCTAVO_FUZZ_IMAGES", "4000"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images")


def inspected(folder: Path, data: bytes) -> ImageFacts:
    path = folder / "file"
    path.write_bytes(data)
    return inspect_image(str(path))


def refusal(folder: Path, data: bytes) -> str:
    with pytest.raises(InvalidImage) as refused:
        inspected(folder, data)
    return str(refused.value)


def shown(sample: Sample) -> tuple[int, int]:
    """The size of the picture after its orientation."""
    with Image.open(io.BytesIO(sample.data)) as image:
        return ImageOps.exif_transpose(image).size


@pytest.mark.parametrize("name", samples())
def test_facts_agree_with_what_pillow_made(folder: Path, name: str) -> None:
    sample = samples()[name]
    facts = inspected(folder, sample.data)
    assert facts == ImageFacts(sample.media_type, *shown(sample), sample.frames)
    with Image.open(io.BytesIO(sample.data)) as image:
        assert (image.size, getattr(image, "n_frames", 1)) == (sample.size, sample.frames)


@given(
    form=st.sampled_from(["PNG", "JPEG", "GIF", "WEBP"]),
    width=st.integers(1, 80),
    height=st.integers(1, 80),
    mode=st.sampled_from(["1", "L", "P", "RGB", "RGBA"]),
)
def test_facts_of_a_still_image_are_its_dimensions(
    folder: Path, form: str, width: int, height: int, mode: str
) -> None:
    image = Image.new(mode, (width, height), 1)
    data = encoded(image.convert("RGB") if form == "JPEG" else image, form)
    assert inspected(folder, data) == ImageFacts(f"image/{form.lower()}", width, height, 1)


@given(form=st.sampled_from(["PNG", "GIF", "WEBP"]), frames=st.integers(2, 12))
def test_facts_of_an_animation_count_its_frames(folder: Path, form: str, frames: int) -> None:
    assert inspected(folder, animation(form, (9, 7), frames)).frames == frames


def test_frames_of_an_animated_png_include_a_separate_default_picture(folder: Path) -> None:
    data = animation("PNG", (9, 7), 3, default_image=True)
    assert inspected(folder, data).frames == 3


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"", "The file is empty.", id="empty"),
        pytest.param(b"plain text", "not a PNG, JPEG, GIF or WebP", id="text"),
        pytest.param(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a PNG", id="svg"),
        pytest.param(encoded(picture((5, 5)), "BMP"), "not a PNG", id="bmp"),
        pytest.param(encoded(picture((5, 5)), "TIFF"), "not a PNG", id="tiff"),
        pytest.param(encoded(picture((5, 5)), "AVIF"), "not a PNG", id="avif"),
        pytest.param(bytes(MAX_BYTES + 1), "At most 33,554,432 bytes", id="too-large"),
    ],
)
def test_file_that_is_no_image_is_refused(folder: Path, data: bytes, text: str) -> None:
    assert text in refusal(folder, data)


def test_name_of_the_file_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "picture.tiff"
    path.write_bytes(samples()["gif"].data)
    assert inspect_image(str(path)).media_type == "image/gif"


def test_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        inspect_image(str(tmp_path / "missing"))


@pytest.mark.parametrize("name", samples())
def test_file_cut_at_any_place_is_refused(folder: Path, name: str) -> None:
    data = samples()[name].data
    # A byte that pads the last chunk of a WebP file can be missing.
    for end in {*range(0, len(data) - 2, 1 + len(data) // 60), len(data) - 2}:
        assert refusal(folder, data[:end])


@pytest.mark.parametrize("name", samples())
def test_bytes_after_the_end_are_ignored(folder: Path, name: str) -> None:
    sample = samples()[name]
    facts = ImageFacts(sample.media_type, *shown(sample), sample.frames)
    assert inspected(folder, sample.data + b"PK\x03\x04 another file") == facts


def test_jpeg_with_several_pictures_counts_as_the_first(folder: Path) -> None:
    first, second = picture((20, 10)), picture((40, 30), seed=1)
    data = encoded(first, "MPO", save_all=True, append_images=[second])
    assert inspected(folder, data) == ImageFacts("image/jpeg", 20, 10, 1)


BOMBS = {
    "png-pixels": (grey_png(10_000, 5_001), "At most 50,000,000 pixels"),
    "png-side": (png_file(png_header(2**31 - 1, 1), png_chunk(b"IDAT", b"")), "At most 16,384"),
    "png-empty": (png_file(png_header(0, 5), png_chunk(b"IDAT", b"")), "is empty"),
    "png-text": (
        grey_png(5, 5, png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(10**7)))),
        "larger than 1,048,576 bytes",
    ),
    "png-international-text": (
        grey_png(5, 5, png_chunk(b"iTXt", b"Comment\0\1\0en\0\0" + zlib.compress(bytes(10**7)))),
        "larger than 1,048,576 bytes",
    ),
    "png-texts": (
        grey_png(5, 5, *[png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(200_000)))] * 6),
        "larger than 1,048,576 bytes",
    ),
    "png-profile": (
        grey_png(5, 5, png_chunk(b"iCCP", b"name\0\0" + zlib.compress(bytes(10**7)))),
        "larger than 1,048,576 bytes",
    ),
    "png-chunks": (grey_png(5, 5, png_chunk(b"teSt", b"") * 100_001), "too many parts"),
    "gif-side": (
        samples()["gif"].data[:6] + b"\xff\xff\xff\xff" + samples()["gif"].data[10:],
        "At most",
    ),
    "gif-empty": (samples()["gif"].data[:6] + bytes(4) + samples()["gif"].data[10:], "outside"),
    "gif-sub-blocks": (
        samples()["gif"].data[:-1] + gif_extension(0xFE, *[b"x"] * 500_001) + b";",
        "too many blocks",
    ),
    "jpeg-scans": (
        samples()["jpeg-progressive"].data[:-2]
        + jpeg_segment(0xDA, bytes((1, 1, 0, 1, 63, 0))) * 101
        + b"\xff\xd9",
        "too many scans",
    ),
    "webp-pixels": (
        webp_file(
            riff_chunk(b"VP8X", bytes(4) + b"\xff\x3f\0\xff\x3f\0"), riff_chunk(b"VP8 ", b"")
        ),
        "At most 50,000,000 pixels",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bomb_is_refused(folder: Path, name: str) -> None:
    data, text = BOMBS[name]
    assert text in refusal(folder, data)


def test_animation_with_too_many_frames_is_refused_before_decoding(folder: Path) -> None:
    data = samples()["gif"].data
    frame = data[data.index(b",", 13 + 3 * 64) : -1]
    tiny = b"GIF89a" + struct.pack("<HHBBB", 37, 23, 0, 0, 0) + frame * 2_001 + b";"
    assert "At most 2,000 are accepted" in refusal(folder, tiny)


def test_recording_of_a_screen_is_accepted_without_decoding_its_frames(folder: Path) -> None:
    # All of them would be 226 million pixels.
    still = encoded(Image.new("P", (1425, 818)), "GIF")
    begin = still.index(b",", 13 + 3 * (2 << (still[10] & 7)))
    data = still[:begin] + still[begin:-1] * 194 + b";"
    begun = time.thread_time()
    assert inspected(folder, data) == ImageFacts("image/gif", 1425, 818, 194)
    assert time.thread_time() - begun < 1


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_dimensions_are_those_that_are_shown(folder: Path, form: str, orientation: int) -> None:
    data = encoded(Image.new("RGB", (40, 30)), form, exif=personal_exif(orientation))
    size = (30, 40) if orientation >= 5 else (40, 30)
    assert inspected(folder, data) == ImageFacts(f"image/{form.lower()}", *size, 1)


def test_data_that_expands_past_the_picture_is_not_expanded(folder: Path) -> None:
    lines = zlib.compress(bytes(50_000_000))
    data = png_file(png_header(5, 5), png_chunk(b"IDAT", lines))
    assert inspected(folder, data) == ImageFacts("image/png", 5, 5, 1)


def test_metadata_that_pillow_would_stumble_over_does_not_reach_it(folder: Path) -> None:
    exif = b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + b"\xff" * 60_000
    data = samples()["jpeg"].data
    for body in (exif, b"MPF\0MM\0*\0\0\0\x08\xff\xff", b"Photoshop 3.0\0" + b"8BIM" * 1000):
        for marker in (0xE1, 0xE2, 0xED):
            data = with_segment(data, marker, body)
    assert inspected(folder, data) == ImageFacts("image/jpeg", 37, 23, 1)


def test_result_and_refusal_can_be_sent_between_processes() -> None:
    facts, refused = ImageFacts("image/png", 3, 2, 1), InvalidImage("The file is empty.")
    assert pickle.loads(pickle.dumps(facts)) == facts
    copy = pickle.loads(pickle.dumps(refused))
    assert (type(copy), str(copy)) == (InvalidImage, "The file is empty.")


def test_refusal_does_not_name_the_file(tmp_path: Path) -> None:
    for name, (data, _) in BOMBS.items():
        assert str(tmp_path) not in refusal(tmp_path, data), name


def test_damaged_animation_leaves_no_warning(folder: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        refusal(folder, animation("PNG", (9, 7), 3)[:-60])
    assert caught == []


@pytest.mark.parametrize("part", ["gif", "jpeg", "png", "webp"])
def test_mutated_file_has_facts_or_is_refused(folder: Path, part: str) -> None:
    names = sorted(name for name in samples() if name.startswith(part))
    outcomes = Counter[str]()
    for number in range(MUTATIONS // 4):
        data = mutated(
            random.Random(f"{part} {number}"), samples()[names[number % len(names)]].data
        )
        try:
            assert isinstance(inspected(folder, data), ImageFacts)
            outcomes["accepted"] += 1
        except InvalidImage:
            outcomes["refused"] += 1
    assert min(outcomes["accepted"], outcomes["refused"]) > MUTATIONS // 4 // 100, outcomes


MEASURE = """
import resource, sys
from octavo.features.images.worker.reading import inspect_image
from octavo.features.images.worker.thumbnails import write_thumbnail
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
print(inspect_image(sys.argv[1]).width, write_thumbnail(sys.argv[1], 1280, sys.argv[2]).width)
"""


@pytest.mark.parametrize(
    ("form", "size", "mode", "options"),
    [
        ("PNG", (8000, 6250), "RGBA", {"compress_level": 1}),
        ("WEBP", (6000, 4000), "RGBA", {"lossless": True, "method": 0}),
        ("JPEG", (5000, 10_000), "RGB", {"progressive": True, "subsampling": 0}),
    ],
)
def test_largest_image_fits_into_512_mib(
    tmp_path: Path, form: str, size: tuple[int, int], mode: str, options: dict[str, object]
) -> None:
    image = Image.new(mode, size, (9, 99, 199, 128)[: len(mode)])
    image.paste(picture((500, 400), mode), (100, 100))
    path = tmp_path / "file"
    image.save(path, form, **options)
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert (run.stdout, run.stderr) == (f"{size[0]} 1280\n", "")
