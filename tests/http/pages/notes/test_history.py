"""The history of notes, and notes that are moved, deleted, restored and erased."""

import pytest

from octavo.http.api.history import DiffHunkSchema, DiffLineSchema
from octavo.http.pages.notes.history import SideRow, side_by_side
from tests.fakes.page_reader import PageReader
from tests.http.pages.notes.conftest import Vault


async def edited(ann: PageReader, vault: Vault) -> str:
    """The page of a note with two revisions."""
    note = await vault.write(ann, "Tea", "Steep 3 minutes.\nHot.\n")
    vault.house.users.identity.sources.time += 60
    await ann.open(f"{note}/edit")
    await ann.submit("Save", text="Steep 4 minutes.\nHot.\n")
    return note


async def test_history_lists_who_and_how(ann: PageReader, vault: Vault) -> None:
    note = await edited(ann, vault)
    await ann.open(f"{note}/history")
    assert ann.page.headings == ["History of Tea"]
    assert ann.text.count("in the browser") == 2
    assert ann.text.count("present</span>") == 1


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("words", ["<del>3</del><ins>4</ins>"]),
        ("lines", ["<del>\u2212 Steep 3 minutes.", "<ins>+ Steep 4 minutes."]),
        ("sides", ["<del>Steep 3 minutes.", "<ins>Steep 4 minutes."]),
        ("nothing", ["<del>3</del><ins>4</ins>"]),
    ],
)
async def test_difference_is_shown(
    ann: PageReader, vault: Vault, view: str, shown: list[str]
) -> None:
    note = await edited(ann, vault)
    await ann.open(f"{note}/difference?view={view}")
    assert ann.status == 200
    for each in shown:
        assert each in ann.text


def test_removed_lines_are_beside_those_that_replace_them() -> None:
    kinds = (("context", "a"), ("removed", "b"), ("removed", "c"), ("added", "B"), ("context", "d"))
    lines = [DiffLineSchema.model_validate({"kind": kind, "text": text}) for kind, text in kinds]
    hunk = DiffHunkSchema(old_start=1, old_lines=4, new_start=1, new_lines=3, lines=lines)
    assert list(side_by_side(hunk)) == [
        SideRow("a", "a", changed=False),
        SideRow("b", "B", changed=True),
        SideRow("c", None, changed=True),
        SideRow("d", "d", changed=False),
    ]


async def test_earlier_text_is_read_and_made_the_present_one(ann: PageReader, vault: Vault) -> None:
    note = await edited(ann, vault)
    await ann.open(f"{note}/history")
    [oldest] = [path for name, path in ann.page.links.items() if name.startswith("Read")][-1:]
    await ann.open(oldest)
    assert "Steep 3 minutes." in ann.text
    await ann.submit("Make this the present text")
    assert ann.page.alerts == ["The earlier text is restored, as a new revision."]
    assert await vault.texts() == {"Tea.md": "Steep 3 minutes.\nHot.\n"}


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


async def test_note_is_deleted_restored_and_erased(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Kitchen/Tea", "Green.")
    await vault.write(ann, "Coffee", "Not [tea](Kitchen/Tea.md).")
    await ann.open(f"{note}/delete")
    assert "One link leads here" in ann.text
    form = ann.form("Delete the note")
    await ann.submit("Delete the note")
    assert "It is among the deleted notes" in ann.page.alerts[0]
    await ann.send(form.action, **{**form.fields, "once": "another"})
    assert ann.path == f"{vault.base}/deleted"
    await ann.open(note)
    assert ann.page.headings == ["History of Tea"]
    await ann.open(f"{vault.base}/deleted")
    await ann.open(ann.page.links["Restore Tea"])
    await ann.submit("Restore the note")
    assert ann.page.alerts == ["The note is restored."]
    assert "Kitchen/Tea.md" in await vault.texts()
    await ann.open(f"{note}/delete")
    await ann.submit("Delete the note")
    await ann.open(f"{note}/purge")
    await ann.submit("Erase for good")
    assert ann.page.alerts == ["The note is erased for good."]
    await ann.open(f"{note}/history")
    assert "erased for good" in ann.text
    assert "Green" not in ann.text


async def test_note_whose_place_is_taken_is_restored_elsewhere(
    ann: PageReader, vault: Vault
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await ann.open(f"{note}/delete")
    await ann.submit("Delete the note")
    await vault.write(ann, "Tea", "Black.")
    await ann.open(f"{note}/restore")
    await ann.submit("Restore the note")
    assert ann.page.focused == ["path"]
    await ann.submit("Restore the note", path="Green tea")
    assert await vault.texts() == {"Tea.md": "Black.", "Green tea.md": "Green."}


async def test_note_that_changed_since_it_was_seen_is_not_deleted(
    ann: PageReader, vault: Vault
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await ann.open(f"{note}/delete")
    form = ann.form("Delete the note")
    await ann.open(f"{note}/edit")
    await ann.submit("Save", text="Important.")
    await ann.send(form.action, **form.fields)
    assert "The note changed meanwhile" in ann.page.alerts[0]
    assert await vault.texts() == {"Tea.md": "Important."}


async def test_live_note_is_not_erased(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    await ann.open(f"{note}/purge")
    assert ann.status == 404
    token = ann.form("Sign out").fields["token-of-form"]
    await ann.send(f"{note}/purge", **{"token-of-form": token})
    assert ann.status == 404
    assert await vault.texts() == {"Tea.md": "Green."}
