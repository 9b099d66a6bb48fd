from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageCms, ImageOps, ImageStat

from octavo.features.images.worker.image_file import ImageFacts, InvalidImage
from octavo.features.images.worker.thumbnails import (
    MAX_HEIGHT,
    QUALITY,
    WIDTHS,
    fitted,
    write_thumbnail,
)
from tests.fakes.image_files import (
    SRGB,
    animation,
    encoded,
    opened,
    personal_exif,
    picture,
    png_chunk,
    samples,
)

Colour = tuple[int, ...]


def thumbnail(tmp_path: Path, data: bytes, width: int = 160) -> Image.Image:
    """Return the written thumbnail, whose facts are those that the function returned."""
    source, out = tmp_path / "file", tmp_path / "out"
    source.write_bytes(data)
    facts = write_thumbnail(str(source), width, str(out))
    image = opened(out.read_bytes())
    assert (image.format, getattr(image, "n_frames", 1)) == ("WEBP", 1)
    assert facts == ImageFacts("image/webp", *image.size, 1)
    return image


def difference(one: Image.Image, other: Image.Image) -> float:
    """Return the mean difference of two images of the same size, from 0 to 255."""
    statistics = ImageStat.Stat(ImageChops.difference(one.convert("RGB"), other.convert("RGB")))
    return max(statistics.mean)


def coloured(size: tuple[int, int]) -> Image.Image:
    """Return an image with another colour in each corner."""
    image = Image.new("RGB", size, "white")
    half = (size[0] // 2, size[1] // 2)
    for at, colour in (((0, 0), "red"), ((half[0], 0), "green"), ((0, half[1]), "blue")):
        image.paste(colour, (*at, at[0] + half[0], at[1] + half[1]))
    return image


@pytest.mark.parametrize("name", samples())
def test_thumbnail_of_a_small_image_is_the_image_in_lossy_encoding(
    tmp_path: Path, name: str
) -> None:
    upright = ImageOps.exif_transpose(opened(samples()[name].data))
    if upright.mode == "I;16":
        upright = upright.point(lambda value: value * (1 / 256) + 0).convert("L")
    original = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    expected = opened(encoded(original, "WEBP", quality=QUALITY, method=4))
    found = thumbnail(tmp_path, samples()[name].data)
    assert (found.size, found.mode) == (expected.size, expected.mode)
    if found.mode == "RGBA":
        # Premultiplied colours are less precise where a pixel is almost transparent.
        assert difference(found.getchannel("A"), expected.getchannel("A")) == 0
        background = Image.new("RGBA", found.size, "grey")
        found = Image.alpha_composite(background, found)
        expected = Image.alpha_composite(background, expected)
    assert difference(found, expected) < 3


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_thumbnail_of_a_large_image_looks_like_it(tmp_path: Path, form: str, width: int) -> None:
    data = encoded(picture((2001, 1501)), form)
    found = thumbnail(tmp_path, data, width)
    assert found.size == (width, round(1501 * width / 2001))
    small = opened(data).convert("RGB").resize(found.size, Image.Resampling.LANCZOS)
    assert difference(found, opened(encoded(small, "WEBP", quality=QUALITY, method=4))) < 4


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_orientation_is_applied(tmp_path: Path, form: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(coloured((640, 400)), form, exif=exif)
    upright = ImageOps.exif_transpose(opened(data))
    found = thumbnail(tmp_path, data)
    assert found.size == fitted(upright.size, (160, 160 * MAX_HEIGHT))
    assert difference(found, upright.resize(found.size)) < 6


def test_tall_image_is_bounded_in_height(tmp_path: Path) -> None:
    found = thumbnail(tmp_path, encoded(picture((200, 4000)), "PNG"))
    assert found.size == (32, 640)


def test_tall_image_that_is_turned_is_bounded_in_height(tmp_path: Path) -> None:
    data = encoded(picture((4000, 200)), "JPEG", exif=personal_exif(orientation=6))
    assert thumbnail(tmp_path, data).size == (32, 640)


def test_metadata_is_not_copied(tmp_path: Path) -> None:
    data = samples()["jpeg-exif"].data
    assert thumbnail(tmp_path, data).info.keys() <= {"background", "duration", "loop", "timestamp"}
    assert b"Ada" not in (tmp_path / "out").read_bytes()


def test_colours_are_converted_to_srgb(tmp_path: Path) -> None:
    # A profile whose red and blue are exchanged: the picture is red, its pixels are blue.
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    red, blue = profile.index(b"rXYZ"), profile.index(b"bXYZ")
    profile[red : red + 4], profile[blue : blue + 4] = b"bXYZ", b"rXYZ"
    data = encoded(Image.new("RGB", (20, 20), "blue"), "PNG", icc_profile=bytes(profile))
    found = thumbnail(tmp_path, data).convert("RGB").getpixel((10, 10))
    assert isinstance(found, tuple)
    assert found[0] > 200
    assert found[2] < 60


@pytest.mark.parametrize(
    "profile",
    [b"damaged", b"x" * 200, ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()],
)
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_profile_that_does_not_fit_is_ignored(tmp_path: Path, form: str, profile: bytes) -> None:
    data = encoded(Image.new("RGB", (20, 20), "blue"), form, icc_profile=profile)
    assert difference(thumbnail(tmp_path, data), Image.new("RGB", (20, 20), "blue")) < 10


def test_profile_of_another_colour_space_is_ignored(tmp_path: Path) -> None:
    image = picture((20, 20), "CMYK")
    found = thumbnail(tmp_path, encoded(image, "JPEG", icc_profile=SRGB))
    assert difference(found, thumbnail(tmp_path, encoded(image, "JPEG"))) == 0


def test_thumbnail_of_an_animation_is_its_first_frame(tmp_path: Path) -> None:
    found = thumbnail(tmp_path, animation("GIF", (40, 30), 3))
    assert difference(found, picture((40, 30))) < 10


def test_edge_of_a_transparent_image_keeps_its_colour(tmp_path: Path) -> None:
    image = Image.new("RGBA", (1000, 1000), (0, 0, 0, 0))
    image.paste((255, 255, 255, 255), (0, 0, 503, 1000))
    found = thumbnail(tmp_path, encoded(image, "PNG")).convert("RGBA")
    visible = [colour for colour in pixels_of(found) if colour[3] > 60]
    assert visible
    assert min(min(colour[:3]) for colour in visible) > 200


def pixels_of(image: Image.Image) -> list[Colour]:
    data = image.tobytes()
    return [tuple(data[at : at + 4]) for at in range(0, len(data), 4)]


def test_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    found = set()
    for _ in range(2):
        thumbnail(tmp_path, samples()["png-profile"].data)
        found.add((tmp_path / "out").read_bytes())
    assert len(found) == 1


@pytest.mark.parametrize("name", ["png", "jpeg", "gif", "webp"])
def test_damaged_image_is_refused_and_nothing_written(tmp_path: Path, name: str) -> None:
    data = samples()[name].data
    with pytest.raises(InvalidImage):
        thumbnail(tmp_path, data[: len(data) * 2 // 3])
    assert not (tmp_path / "out").exists()


def test_pixels_that_cannot_be_decoded_are_refused(tmp_path: Path) -> None:
    data = samples()["png"].data
    start = data.index(b"IDAT") - 4
    with pytest.raises(InvalidImage, match="cannot be decoded"):
        thumbnail(tmp_path, data[:start] + png_chunk(b"IDAT", b"x" * 50) + png_chunk(b"IEND", b""))


def test_folder_that_is_missing_is_an_error_of_the_system(tmp_path: Path) -> None:
    source = tmp_path / "file"
    source.write_bytes(samples()["gif"].data)
    with pytest.raises(FileNotFoundError):
        write_thumbnail(str(source), 160, str(tmp_path / "missing" / "out"))


@example(size=(16_384, 1), bound=(160, 640))
@example(size=(1, 16_384), bound=(160, 640))
@given(
    size=st.tuples(st.integers(1, 16_384), st.integers(1, 16_384)),
    bound=st.tuples(st.integers(1, 1280), st.integers(1, 5120)),
)
def test_fitted_size_is_within_both_and_has_the_aspect_ratio(
    size: tuple[int, int], bound: tuple[int, int]
) -> None:
    width, height = fitted(size, bound)
    assert 1 <= width <= min(size[0], bound[0])
    assert 1 <= height <= min(size[1], bound[1])
    # As wide or as high as possible, and the other one rounded from it.
    scale = min(1, bound[0] / size[0], bound[1] / size[1])
    assert abs(width - size[0] * scale) <= 0.5 or width == 1
    assert abs(height - size[1] * scale) <= 0.5 or height == 1
