"""Thumbnails and cleaned copies: made once, kept with their image, and bounded on the way."""

import hashlib
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest
import trio
from octavo_rules.identity import Digest

from octavo.features.images.image_work import ImageWork, WrittenFile
from octavo.features.images.thumbnails import AT_ONCE, ImageVariant, Thumbnails
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.store.blobs import BlobKey, BlobMissing
from octavo.store.queries import blobs
from octavo.store.sqlite import InlineStore
from octavo.workers import WorkerFailed, WorkTooLarge
from tests.fakes.identity_fixture import PredictableSources
from tests.fakes.image_files import SRGB, animation, encoded, opened, personal_exif, picture, pixels
from tests.fakes.images_rig import ImagesRig, images_rig
from tests.fakes.stores import open_inline

EXIF = personal_exif(orientation=6)
PERSONAL = {
    "JPEG": encoded(picture((40, 30)), "JPEG", exif=EXIF, icc_profile=SRGB),
    "PNG": encoded(picture((40, 30)), "PNG", exif=EXIF, icc_profile=SRGB),
    "WEBP": encoded(picture((40, 30)), "WEBP", exif=EXIF, icc_profile=SRGB),
    "GIF": animation("GIF", (40, 30), 3, comment=b"A comment of Ada"),
}
PLAIN = encoded(picture((40, 30)), "PNG")
LATER = 2**62
"""When every blob is checked."""

P = ParamSpec("P")
T = TypeVar("T")


@pytest.fixture
async def engine() -> AsyncIterator[InlineStore]:
    store = open_inline()
    yield store
    store.close()


@pytest.fixture
async def rig(engine: InlineStore) -> AsyncIterator[ImagesRig]:
    sources = PredictableSources()
    async with images_rig(
        engine,
        now=sources.now,
        new_id=sources.new_id,
        new_entropy=sources.new_entropy,
        meter=UsageMeter(engine, now=sources.now, writer_id=sources.new_id()),
        storage=StorageQuota(engine),
    ) as made:
        yield made


async def store(rig: ImagesRig, data: bytes) -> BlobKey:
    """Store an image."""
    path = rig.folder / "an image"
    path.write_bytes(data)
    digest = Digest(hashlib.sha256(data).hexdigest())
    return await rig.writer.put(WrittenFile(path, digest, len(data), zlib.crc32(data)))


async def collect(engine: InlineStore) -> set[BlobKey]:
    """Return all blobs that nothing refers to; nothing refers to the images of these tests."""
    before: set[BlobKey] = set()
    while True:
        await engine.write(blobs.check_some(LATER))
        found = {*await engine.read(blobs.to_delete())}
        if found == before:
            return found
        before = found


@pytest.mark.parametrize("form", PERSONAL)
async def test_copy_names_nobody_and_shows_the_same(rig: ImagesRig, form: str) -> None:
    image = await store(rig, PERSONAL[form])
    found = await rig.thumbnails.without_metadata(image)
    data = rig.blobs.blobs[found.key]
    assert (found.size, found.key[:64]) == (len(data), hashlib.sha256(data).hexdigest())
    assert b"Ada" in PERSONAL[form]
    assert b"Ada" not in data
    assert b"SECRET" not in data
    assert pixels(data) == pixels(PERSONAL[form])
    if form != "GIF":
        assert opened(data).getexif()[0x0112] == 6
        assert opened(data).info["icc_profile"] == SRGB
    assert rig.blobs.blobs[image] == PERSONAL[form]
    assert [*rig.folder.iterdir()] == []


async def test_image_without_metadata_is_its_own_copy_and_collected(
    rig: ImagesRig, engine: InlineStore
) -> None:
    image = await store(rig, PLAIN)
    assert await rig.thumbnails.without_metadata(image) == ImageVariant(image, len(PLAIN))
    rig.blobs.away = True
    # Nothing is looked at again.
    assert await rig.thumbnails.without_metadata(image) == ImageVariant(image, len(PLAIN))
    assert await collect(engine) == {image}


async def test_copy_and_thumbnails_are_collected_with_their_image(
    rig: ImagesRig, engine: InlineStore
) -> None:
    image = await store(rig, PERSONAL["JPEG"])
    copy = await rig.thumbnails.without_metadata(image)
    thumbnail = await rig.thumbnails.get(image, 160)
    assert await collect(engine) == {image, copy.key, thumbnail.key}


async def test_thumbnail_and_copy_whose_bytes_were_lost_are_made_again(
    rig: ImagesRig, engine: InlineStore
) -> None:
    image = await store(rig, PERSONAL["JPEG"])
    for make in (rig.thumbnails.without_metadata, lambda image: rig.thumbnails.get(image, 160)):
        first = await make(image)
        data = rig.blobs.blobs.pop(first.key)
        again = await make(image)
        assert again.key != first.key
        assert rig.blobs.blobs[again.key] == data
        assert await make(image) == again
    assert len(await collect(engine)) == 5


async def test_copy_that_many_ask_for_is_made_once(rig: ImagesRig) -> None:
    image = await store(rig, PERSONAL["JPEG"])
    found = set()

    async def get() -> None:
        found.add(await rig.thumbnails.without_metadata(image))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(get)
    assert (len(found), len(rig.blobs.blobs)) == (1, 2)


def of_another_process(rig: ImagesRig, engine: InlineStore, work: ImageWork) -> Thumbnails:
    sources = PredictableSources()
    return Thumbnails(
        engine, rig.blobs, rig.writer, rig.staging, work, new_id=lambda: f"b{sources.new_id()}"
    )


async def test_copy_that_two_processes_make_is_one(rig: ImagesRig, engine: InlineStore) -> None:
    image = await store(rig, PERSONAL["JPEG"])
    other = of_another_process(rig, engine, rig.thumbnails._work)
    found = set()

    async def get(thumbnails: Thumbnails) -> None:
        found.add(await thumbnails.without_metadata(image))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(get, rig.thumbnails)
        nursery.start_soon(get, other)
    assert (len(found), len(rig.blobs.blobs)) == (1, 3)


@pytest.mark.parametrize("error", [WorkerFailed("killed"), WorkTooLarge("too much")])
async def test_copy_that_a_worker_does_not_make_is_an_error(
    rig: ImagesRig, engine: InlineStore, error: Exception
) -> None:
    async def fail(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        await trio.lowlevel.checkpoint()
        raise error

    image = await store(rig, PERSONAL["JPEG"])
    failing = of_another_process(rig, engine, ImageWork(fail))
    with pytest.raises(WorkerFailed):
        await failing.without_metadata(image)
    copy = await rig.thumbnails.without_metadata(image)
    assert b"Ada" not in rig.blobs.blobs[copy.key]


async def test_image_that_is_collected_meanwhile_is_missing(
    rig: ImagesRig, engine: InlineStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    image, fetch = await store(rig, PERSONAL["JPEG"]), rig.blobs.fetch

    async def fetch_and_collect(key: BlobKey, target: Path) -> None:
        await fetch(key, target)
        await collect(engine)

    monkeypatch.setattr(rig.blobs, "fetch", fetch_and_collect)
    with pytest.raises(BlobMissing):
        await rig.thumbnails.without_metadata(image)


async def test_few_images_are_on_the_disk_at_once(
    rig: ImagesRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = [await store(rig, PLAIN) for _ in range(3 * AT_ONCE)]
    fetch, staged = rig.blobs.fetch, 0

    async def fetch_and_count(key: BlobKey, target: Path) -> None:
        nonlocal staged
        await fetch(key, target)
        for _ in range(50):
            staged = max(staged, len([*rig.folder.iterdir()]))
            await trio.lowlevel.checkpoint()

    monkeypatch.setattr(rig.blobs, "fetch", fetch_and_count)
    async with trio.open_nursery() as nursery:
        for image in images:
            nursery.start_soon(rig.thumbnails.without_metadata, image)
    assert staged == AT_ONCE // 2
