"""The images of a workspace."""

import pytest

from octavo.features.notes.pages.images import image_name
from tests.fakes.image_files import encoded, picture
from tests.fakes.page_reader import PageReader
from tests.features.notes.pages.conftest import Vault
from tests.features.publishing.pages.test_publications import create_workspace

PNG = encoded(picture((20, 10)), "PNG")
OTHER_PNG = encoded(picture((10, 20), seed=1), "PNG")


async def test_gallery_says_how_images_are_added(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/images")
    assert "No images yet" in ann.text
    assert ann.form("Add the image").action == f"{vault.base}/images"


async def add(reader: PageReader, vault: Vault, name: str, data: bytes) -> None:
    await reader.open(f"{vault.base}/images")
    await reader.upload("Add the image", name, data)


async def test_image_is_added_without_a_note(ann: PageReader, vault: Vault) -> None:
    await add(ann, vault, "My cup.PNG", PNG)
    assert ann.page.headings == ["My cup.png"]
    assert ann.page.alerts == ["The image is added. A note shows it when it links to it."]
    assert "No note shows this image." in ann.text
    await add(ann, vault, "My cup.png", OTHER_PNG)
    assert ann.page.headings == ["My cup 2.png"]
    await ann.open(f"{vault.base}/images")
    assert {"My cup.png", "My cup 2.png"} <= set(ann.page.links)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("cup.png", b"text", "not an image of an accepted type: PNG, JPEG, GIF or WebP."),
        ("cup.jpg", PNG, "is a PNG image, but its name does not end with .png: rename the file."),
        ("cup.gif", encoded(picture((9, 9)), "JPEG"), "a JPEG image, but its name does not end"),
    ],
)
async def test_image_of_another_type_is_refused_by_the_names_of_types(
    ann: PageReader, vault: Vault, name: str, data: bytes, reason: str
) -> None:
    await add(ann, vault, name, data)
    assert ann.status == 415
    assert reason in ann.page.alerts[0]


async def test_image_that_is_sent_twice_is_added_once(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/images")
    form = ann.page
    await ann.upload("Add the image", "cup.png", PNG)
    first, ann.page = ann.path, form
    await ann.upload("Add the image", "cup.png", PNG)
    assert ann.path == first
    assert ann.page.headings == ["cup.png"]
    await ann.open(f"{vault.base}/images")
    assert ann.text.count("<img ") == 1


async def test_other_image_in_a_form_that_is_sent_again_is_added(
    ann: PageReader, vault: Vault
) -> None:
    await ann.open(f"{vault.base}/images")
    form = ann.page
    await ann.upload("Add the image", "cup.png", PNG)
    ann.page = form
    await ann.upload("Add the image", "cup.png", OTHER_PNG)
    assert ann.page.headings == ["cup 2.png"]


async def test_name_that_differs_in_case_gets_a_number(ann: PageReader, vault: Vault) -> None:
    await add(ann, vault, "Cup.png", PNG)
    await add(ann, vault, "cup.png", OTHER_PNG)
    assert ann.page.headings == ["cup 2.png"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [('a"b.png', "a b.png"), ('cup.p"n\ng', "cup.png"), ("cup.", "image"), ("..", "image")],
)
def test_name_of_an_image_is_valid_in_a_header(name: str, expected: str) -> None:
    assert image_name(name) == expected


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("", b"", "Choose an image first."),
        ("cup.png", b"no image", "image"),
        ("cup.png", PNG[:-9], "image"),
        ("cup.jpg", PNG, "rename the file"),
        ("cup", PNG, "rename the file"),
    ],
)
async def test_what_is_no_image_is_refused_beside_the_field(
    ann: PageReader, vault: Vault, name: str, data: bytes, said: str
) -> None:
    await add(ann, vault, name, data)
    assert ann.status >= 400
    assert said in ann.page.alerts[0]
    assert ann.page.focused == ["image"]
    await ann.open(f"{vault.base}/images")
    assert "No images yet" in ann.text


async def test_image_of_another_workspace_is_not_added(
    ann: PageReader, bob: PageReader, vault: Vault
) -> None:
    await create_workspace(vault.house, bob)
    await bob.open(f"{bob.path.removesuffix('/members')}/images")
    bob.form("Add the image").action = f"{vault.base}/images"
    await bob.upload("Add the image", "cup.png", PNG)
    assert bob.status == 404
