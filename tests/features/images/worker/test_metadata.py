import io
import random
from pathlib import Path

import pytest
from PIL import Image, ImageOps, PngImagePlugin

from octavo.features.images.worker.image_file import InvalidImage, PartRole
from octavo.features.images.worker.metadata import remove_personal_metadata
from octavo.features.images.worker.reading import inspect_image, read_container
from tests.fakes.image_files import (
    SRGB,
    animation,
    encoded,
    gif_extension,
    jpeg_segment,
    personal_exif,
    picture,
    pixels,
    png_chunk,
    riff_chunk,
    samples,
    with_segment,
)

SECRETS = (b"Ada", b"SERIAL", b"SECRET", b"adas-phone", b"A comment", b"A\0d\0a")
XMP = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'>SECRET of Ada</x:xmpmeta>"


def png_text() -> PngImagePlugin.PngInfo:
    info = PngImagePlugin.PngInfo()
    info.add_text("Author", "Ada Artist")
    info.add_text("Comment", "SECRET", zip=True)
    info.add_itxt("XML:com.adobe.xmp", XMP.decode())
    return info


def with_parts(image: bytes, part: bytes, at: int) -> bytes:
    return image[:at] + part + image[at:]


def personal_files() -> dict[str, bytes]:
    """Return files with personal metadata of every kind."""
    exif = personal_exif()
    image = picture((37, 23))
    display = {"exif": exif, "icc_profile": SRGB, "dpi": (300, 300)}
    jpeg = encoded(image, "JPEG", comment=b"A comment", xmp=XMP, **display)
    iptc = b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x0f\x1c\x02\x50\0\x0aAda Artist\0"
    preview = b"JFIF\0\1\1\1\0\x48\0\x48\1\1Ada"
    gif = animation("GIF", (37, 23), 3, loop=5, comment=b"A comment of Ada")
    webp_animation = animation("WEBP", (37, 23), 3, exif=exif, xmp=XMP, icc_profile=SRGB)
    mpo = encoded(image, "MPO", save_all=True, append_images=[picture((9, 9), seed=1)], exif=exif)
    return {
        "jpeg": with_segment(jpeg, 0xED, iptc),
        "jpeg-progressive": encoded(image, "JPEG", progressive=True, **display),
        "jpeg-cmyk": encoded(picture((37, 23), "CMYK"), "JPEG", exif=exif, xmp=XMP),
        "jpeg-two-exif": with_segment(jpeg, 0xE1, exif),
        "jpeg-preview": b"\xff\xd8" + jpeg_segment(0xE0, preview) + jpeg[20:],
        "jpeg-pictures": mpo,
        "jpeg-trailer": samples()["jpeg"].data + b"SECRET video",
        "png": encoded(image, "PNG", pnginfo=png_text(), **display),
        "png-animated": animation("PNG", (37, 23), 3, pnginfo=png_text(), exif=exif),
        "png-after-data": with_parts(
            samples()["png"].data,
            png_chunk(b"tEXt", b"Author\0Ada"),
            len(samples()["png"].data) - 12,
        ),
        "gif": gif,
        "gif-xmp": with_parts(gif, gif_extension(0xFF, b"XMP DataXMP", XMP), len(gif) - 1),
        "webp": encoded(image, "WEBP", xmp=XMP, exif=exif, icc_profile=SRGB),
        "webp-lossless": encoded(picture((37, 23), "RGBA"), "WEBP", lossless=True, exif=exif),
        "webp-animated": webp_animation,
        "webp-xmp-only": encoded(image, "WEBP", xmp=XMP),
    }


PERSONAL = personal_files()


def cleaned(tmp_path: Path, data: bytes) -> bytes | None:
    """Return the copy without personal metadata, or None if none was written."""
    source, out = tmp_path / "file", tmp_path / "out"
    source.write_bytes(data)
    removed = remove_personal_metadata(str(source), str(out))
    assert out.exists() is removed
    return out.read_bytes() if removed else None


def removed_from(tmp_path: Path, name: str) -> bytes:
    found = cleaned(tmp_path, PERSONAL[name])
    assert found is not None
    return found


@pytest.mark.parametrize("name", PERSONAL)
def test_copy_names_nobody(tmp_path: Path, name: str) -> None:
    found = removed_from(tmp_path, name)
    assert [secret for secret in SECRETS if secret in found] == []
    with Image.open(io.BytesIO(found)) as image:
        image.load()
        assert image.getexif().get_ifd(0x8825) == {}
        assert image.getexif().keys() <= {0x0112, 0x011A, 0x011B, 0x0128, 0x8769}
        assert image.getexif().get_ifd(0x8769).keys() <= {0xA001}
        assert not image.info.keys() & {"comment", "xmp", "Author", "Comment", "photoshop", "mp"}


@pytest.mark.parametrize("name", PERSONAL)
def test_copy_shows_the_same(tmp_path: Path, name: str) -> None:
    before, after = PERSONAL[name], removed_from(tmp_path, name)
    shown = pixels(before)
    # A JPEG shows its first picture.
    assert pixels(after) == (shown[:1] if name == "jpeg-pictures" else shown)
    with Image.open(io.BytesIO(before)) as one, Image.open(io.BytesIO(after)) as other:
        assert ImageOps.exif_transpose(one).size == ImageOps.exif_transpose(other).size
        assert one.getexif().get(0x0112) == other.getexif().get(0x0112)
        for key in ("icc_profile", "dpi", "loop", "duration", "transparency"):
            assert one.info.get(key) == other.info.get(key), key


@pytest.mark.parametrize("name", PERSONAL)
def test_copy_has_the_compressed_data_byte_for_byte(tmp_path: Path, name: str) -> None:
    def picture_of(data: bytes) -> bytes:
        path = tmp_path / "compared"
        path.write_bytes(data)
        return read_container(str(path)).picture()

    assert picture_of(removed_from(tmp_path, name)) == picture_of(PERSONAL[name])


@pytest.mark.parametrize("name", PERSONAL)
def test_copy_is_accepted_and_has_nothing_more_to_remove(tmp_path: Path, name: str) -> None:
    found = removed_from(tmp_path, name)
    source = tmp_path / "file"
    facts = inspect_image(str(source))
    assert inspect_image(str(tmp_path / "out")) == facts
    (tmp_path / "out").unlink()
    assert cleaned(tmp_path, found) is None


@pytest.mark.parametrize(
    "name", sorted({*samples()} - {"jpeg-exif", "png-profile", "webp-exif", "gif-transparent"})
)
def test_file_without_personal_metadata_is_not_copied(tmp_path: Path, name: str) -> None:
    assert cleaned(tmp_path, samples()[name].data) is None


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_file_with_orientation_and_profile_only_is_not_copied(tmp_path: Path, form: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(picture((9, 7)), form, exif=exif, icc_profile=SRGB, dpi=(96, 96))
    assert cleaned(tmp_path, data) is None


def test_flags_of_a_webp_file_say_what_is_left(tmp_path: Path) -> None:
    found = removed_from(tmp_path, "webp-xmp-only")
    assert found[12:16] == b"VP8X"
    assert found[20] & 0x2C == 0
    assert int.from_bytes(found[4:8], "little") == len(found) - 8


def test_unknown_chunk_in_a_frame_of_a_webp_file_is_removed(tmp_path: Path) -> None:
    data = samples()["webp-animated"].data
    at = data.index(b"ANMF")
    length = int.from_bytes(data[at + 4 : at + 8], "little")
    frame = data[at + 8 : at + 8 + length + length % 2] + riff_chunk(b"NOTE", b"SECRET")
    content = data[8:at] + riff_chunk(b"ANMF", frame) + data[at + 8 + length + length % 2 :]
    found = cleaned(tmp_path, riff_chunk(b"RIFF", content))
    assert found == data


@pytest.mark.parametrize("name", ["png", "jpeg", "gif", "webp"])
def test_damaged_container_is_refused_and_nothing_written(tmp_path: Path, name: str) -> None:
    data = samples()[name].data
    with pytest.raises(InvalidImage):
        cleaned(tmp_path, data[: len(data) // 2])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["jpeg", "png", "gif", "webp"])
def test_mutated_file_is_cleaned_or_refused(tmp_path: Path, name: str) -> None:
    rng = random.Random(name)
    for _ in range(300):
        data = bytearray(PERSONAL[name])
        for _ in range(rng.choice((1, 2, 10))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            cleaned(tmp_path, bytes(data))
        except InvalidImage:
            continue
        copy = tmp_path / "out"
        if copy.exists():
            parts = read_container(str(copy)).parts
            assert not [part for part in parts if part.role is PartRole.OTHER]
            copy.unlink()
