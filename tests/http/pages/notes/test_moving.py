"""Notes are moved."""

from tests.fakes.page_reader import PageReader
from tests.http.pages.notes.conftest import Vault


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
    await ann.submit("Move the note", path="")
    assert ann.status == 400
