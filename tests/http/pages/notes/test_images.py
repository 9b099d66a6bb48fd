"""The images of a workspace."""

from tests.fakes.page_reader import PageReader
from tests.http.pages.notes.conftest import Vault


async def test_gallery_says_how_images_are_added(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/images")
    assert "No images yet" in ann.text
