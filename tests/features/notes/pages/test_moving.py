"""Notes are moved."""

from tests.fakes.image_files import encoded, picture
from tests.fakes.page_reader import PageReader
from tests.features.notes.pages.conftest import Vault


async def test_note_is_moved_and_links_follow(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await vault.write(ann, "Kitchen", "See [tea](Tea.md).")
    await ann.open(f"{note}/move")
    await ann.submit("Move the note", path="Drinks/Tea")
    assert (ann.path, ann.page.alerts) == (note, ["The note is moved."])
    assert await vault.texts() == {
        "Drinks/Tea.md": "Green.",
        "Kitchen.md": "See [tea](Drinks/Tea.md).",
    }
    await ann.open(f"{note}/move")
    await ann.submit("Move the note", path="Kitchen", rewrite=None)
    assert ann.status == 409
    assert ann.page.focused == ["path"]
    assert "There is a file Kitchen.md already: choose another path." in ann.page.alerts[0]
    await ann.submit("Move the note", path="/")
    assert ann.status == 400


async def test_note_that_was_deleted_meanwhile_is_not_moved(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    form = await ann.form_at(f"{note}/move", "Move the note")
    await vault.delete(ann, note)
    await ann.send_form(form, path="Drinks/Tea")
    assert (ann.status, ann.path) == (200, f"{note}/history")


async def test_image_is_renamed_with_its_ending(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/images")
    await ann.upload("Add the image", "cup.png", encoded(picture((20, 10)), "PNG"))
    image = ann.path
    await ann.open(f"{image.replace('/images/', '/notes/')}/move")
    await ann.submit("Move the image", path=" attachments/mug.png ")
    assert (ann.path, ann.page.alerts) == (image, ["The image is moved."])
    assert ann.page.headings == ["mug.png"]
