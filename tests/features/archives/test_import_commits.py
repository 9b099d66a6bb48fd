"""Images whose bytes are collected while an import stores them."""

from pathlib import Path

import pytest

from octavo.store.blobs import BlobKey
from octavo.store.queries import blobs
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import NotesApi, opened
from tests.features.archives.api.test_imports import archive, contents, start
from tests.features.archives.test_sql import collected

STORED, STORED_TOO, NEW = (encoded(picture((20, 10 + seed), seed=seed), "PNG") for seed in range(3))


def collecting(api: NotesApi, patch: pytest.MonkeyPatch) -> None:
    """Have blobs collected that no image refers to, as soon as the next blob is put."""
    put = api.images.blobs.put

    async def put_and_collect(key: BlobKey, source: Path) -> None:
        patch.undo()
        await put(key, source)
        await api.execute("DELETE FROM uploads")
        await api.execute("UPDATE blobs SET check_at = 0 WHERE stored = 1")
        for each in await collected(api.store):
            await api.images.blobs.delete(each)
            await api.store.write(blobs.forget([each]))

    patch.setattr(api.images.blobs, "put", put_and_collect)


async def test_image_that_was_just_collected_is_stored_again_beside_new_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened() as api:
        await api.upload(STORED)
        await api.upload(STORED_TOO)
        files = {
            f"attachments/{number}.png": data
            for number, data in enumerate((STORED, NEW, STORED_TOO, NEW, STORED))
        }
        given, data = await start(api), archive(files)
        await given.send(1, data)
        collecting(api, monkeypatch)
        response = await given.complete()
        assert response.status == 200, response.body
        assert await contents(api) == files
        # Each is stored once, with the part of the archive.
        stored = [STORED, STORED_TOO, NEW, data]
        assert sorted(api.images.blobs.blobs.values()) == sorted(stored)
