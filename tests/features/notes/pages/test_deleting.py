"""Notes are deleted, restored and erased."""

import pytest

from tests.fakes.image_files import encoded, picture
from tests.fakes.page_reader import PageReader
from tests.features.notes.pages.conftest import Vault
from tests.features.notes.pages.test_reading import UNKNOWN


async def test_note_is_deleted_restored_and_erased(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Kitchen/Tea", "Green.")
    await vault.write(ann, "Coffee", "Not [tea](Kitchen/Tea.md).")
    form = await ann.form_at(f"{note}/delete", "Delete the note")
    assert "One link leads here" in ann.text
    await ann.submit("Delete the note")
    assert "It is among the deleted notes" in ann.page.alerts[0]
    await ann.send_form(form, once="another")
    assert ann.path == f"{vault.base}/deleted"
    await ann.open(note)
    assert ann.page.headings == ["History of Tea"]
    await ann.open(f"{vault.base}/deleted")
    await ann.open(ann.page.links["Restore Tea"])
    await ann.submit("Restore the note")
    assert ann.page.alerts == ["The note is restored."]
    assert "Kitchen/Tea.md" in await vault.texts()
    await vault.delete(ann, note)
    await ann.open(f"{note}/purge")
    await ann.submit("Erase for good")
    assert ann.page.alerts == ["The note is erased for good."]
    await ann.open(f"{note}/history")
    assert "erased for good" in ann.text
    assert "Green" not in ann.text
    await ann.open(note)
    assert (ann.status, ann.page.headings) == (410, ["This note was erased for good"])
    assert ann.page.links["Back to Household"] == vault.base


@pytest.mark.parametrize("page", ["edit", "move", "delete"])
async def test_form_of_a_deleted_or_erased_note_leads_to_what_remains(
    ann: PageReader, vault: Vault, page: str
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await vault.delete(ann, note)
    await ann.open(f"{note}/{page}")
    assert (ann.status, ann.path) == (200, f"{note}/history")
    assert ann.page.links["Restore it"] == f"{note}/restore"
    await ann.open(f"{note}/purge")
    await ann.submit("Erase for good")
    await ann.open(f"{note}/{page}")
    assert (ann.status, ann.page.headings) == (410, ["This note was erased for good"])
    assert ann.page.links["History"] == f"{note}/history"
    await ann.open(f"{vault.base}/notes/{UNKNOWN}/{page}")
    assert ann.status == 404


async def test_image_is_called_so_while_it_is_deleted_restored_and_erased(
    ann: PageReader, vault: Vault
) -> None:
    await ann.open(f"{vault.base}/images")
    await ann.upload("Add the image", "cup.png", encoded(picture((20, 10)), "PNG"))
    await ann.open(ann.page.links["Delete the image"])
    assert ann.page.headings == ["Delete this image?"]
    form = ann.form("Delete the image")
    await ann.submit("Delete the image")
    assert (ann.path, ann.page.headings) == (f"{vault.base}/images", ["Images"])
    assert ann.page.alerts[0].startswith("The image is deleted.")
    await ann.send_form(form, once="another")
    assert ann.page.alerts[0].startswith("The image is deleted.")
    note = form.action.removesuffix("/delete")
    for page, heading, button, message in (
        ("restore", "Restore this image?", "Restore the image", "The image is restored."),
        ("move", "Move or rename cup.png", "Move the image", "There was nothing to save."),
        ("delete", "Delete this image?", "Delete the image", "The image is deleted."),
        ("purge", "Erase this image for good?", "Erase for good", "The image is erased for good."),
    ):
        await ann.open(f"{note}/{page}")
        assert ann.page.headings == [heading]
        await ann.submit(button)
        assert ann.page.alerts[0].startswith(message)
    await ann.open(note.replace("/notes/", "/images/"))
    assert (ann.status, ann.page.headings) == (410, ["This image was erased for good"])


async def test_note_whose_place_is_taken_is_restored_elsewhere(
    ann: PageReader, vault: Vault
) -> None:
    await vault.write(ann, "Kitchen/Cups", "Cups.")
    note = await vault.write(ann, "Kitchen/Tea", "Green. [Cups](Cups.md)")
    await vault.delete(ann, note)
    await vault.write(ann, "Kitchen/Tea", "Black.")
    await ann.open(f"{note}/restore")
    await ann.submit("Restore the note")
    assert ann.page.focused == ["path"]
    await ann.submit("Restore the note", path="Green tea")
    assert await vault.texts() == {
        "Kitchen/Cups.md": "Cups.",
        "Kitchen/Tea.md": "Black.",
        "Green tea.md": "Green. [Cups](Kitchen/Cups.md)",
    }


async def test_note_that_changed_since_it_was_seen_is_not_deleted(
    ann: PageReader, vault: Vault
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    form = await ann.form_at(f"{note}/delete", "Delete the note")
    await vault.edit(ann, note, "Important.")
    await ann.send_form(form)
    assert "The note changed meanwhile" in ann.page.alerts[0]
    assert await vault.texts() == {"Tea.md": "Important."}


async def test_folder_of_a_deleted_note_is_shown_whatever_it_is_called(
    ann: PageReader, vault: Vault
) -> None:
    note = await vault.write(ann, "R&D #1/Tea", "Green.")
    await vault.write(ann, "R&D #1/Coffee", "Black.")
    await vault.delete(ann, note)
    assert ann.page.headings == ["R&D #1"]
    assert "Coffee" in ann.page.links


async def test_live_note_is_not_erased(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await ann.open(f"{note}/purge")
    assert ann.status == 404
    token = ann.form("Sign out").fields["token-of-form"]
    await ann.send(f"{note}/purge", **{"token-of-form": token})
    assert ann.status == 404
    assert await vault.texts() == {"Tea.md": "Green."}


async def test_each_of_many_deleted_notes_with_one_path_can_be_restored(
    ann: PageReader, vault: Vault
) -> None:
    first = ""
    for _ in range(103):
        note = await vault.write(ann, "Daily", "")
        first = first or note
        await vault.delete(ann, note)
    for each in (first, note):
        await ann.open(f"{each}/restore")
        assert ann.status == 200
