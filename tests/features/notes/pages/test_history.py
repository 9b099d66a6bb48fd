"""The history of notes."""

import pytest
from octavo_rules.schemas import DiffHunk, DiffLine

from octavo.features.notes.pages.note import SideRow, side_by_side
from tests.fakes.page_reader import PageReader
from tests.features.notes.pages.conftest import Vault


async def edited(ann: PageReader, vault: Vault) -> str:
    """The page of a note with two revisions."""
    note = await vault.write(ann, "Tea", "Steep 3 minutes.\nHot.\n")
    vault.house.users.identity.sources.time += 60
    await vault.edit(ann, note, "Steep 4 minutes.\nHot.\n")
    return note


async def test_history_lists_who_and_how(ann: PageReader, vault: Vault) -> None:
    note = await edited(ann, vault)
    await ann.open(f"{note}/history")
    assert ann.page.headings == ["History of Tea"]
    assert ann.text.count("in the browser") == 2
    assert ann.text.count("current</span>") == 1


async def test_newest_revision_of_a_deleted_note_is_not_called_current(
    ann: PageReader, vault: Vault
) -> None:
    note = await edited(ann, vault)
    await vault.delete(ann, note)
    await ann.open(f"{note}/history")
    assert "current</span>" not in ann.text
    assert ann.text.count("deleted</span>") == 1


async def test_pages_of_a_note_name_its_title_and_its_file(ann: PageReader, vault: Vault) -> None:
    note = await vault.write(ann, "Kitchen/Tea", "# Green tea\n\nHot.")
    await ann.open(f"{note}/history")
    [earlier] = [path for name, path in ann.page.links.items() if name.startswith("Read")]
    for page, heading in (
        (note, "Green tea"),
        (f"{note}/history", "History of Green tea"),
        (f"{note}/difference", "What changed in Green tea"),
        (f"{note}/move", "Move or rename Green tea"),
        (earlier, "Green tea"),
    ):
        await ann.open(page)
        assert ann.page.headings[0] == heading
        assert ">Tea.md<" in ann.text


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("words", ["<del>3</del><ins>4</ins>"]),
        ("lines", ["<del>\u2212 Steep 3 minutes.", "<ins>+ Steep 4 minutes."]),
        ("sides", ['<td dir="auto"><del>Steep 3 minutes.', "<ins>Steep 4 minutes."]),
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


@pytest.mark.parametrize("view", ["words", "lines", "sides"])
async def test_difference_that_is_cut_says_so_and_shows_both_texts(
    ann: PageReader, vault: Vault, view: str
) -> None:
    note = await vault.write(ann, "Tea", "x" * 30_000)
    await vault.edit(ann, note, "y" * 30_000)
    await ann.open(f"{note}/difference?view={view}")
    assert "There are more changes than this page shows." in ann.text
    assert "xxx" in ann.text
    assert "yyy" in ann.text
    assert len(ann.text) < 60_000


def test_removed_lines_are_beside_those_that_replace_them() -> None:
    kinds = (("context", "a"), ("removed", "b"), ("removed", "c"), ("added", "B"), ("context", "d"))
    lines = [DiffLine.model_validate({"kind": kind, "text": text}) for kind, text in kinds]
    hunk = DiffHunk(old_start=1, old_lines=4, new_start=1, new_lines=3, lines=tuple(lines))
    assert list(side_by_side(hunk)) == [
        SideRow("a", "a", changed=False),
        SideRow("b", "B", changed=True),
        SideRow("c", None, changed=True),
        SideRow("d", "d", changed=False),
    ]


async def test_earlier_text_is_read_and_made_the_current_one(ann: PageReader, vault: Vault) -> None:
    note = await edited(ann, vault)
    await ann.open(f"{note}/history")
    [oldest] = [path for name, path in ann.page.links.items() if name.startswith("Read")][-1:]
    await ann.open(oldest)
    assert "Steep 3 minutes." in ann.text
    assert "Saved by <bdi>Ann</bdi>" in ann.text
    await ann.submit("Make this the current text")
    assert ann.page.alerts == ["The earlier text is restored, as a new revision."]
    assert await vault.texts() == {"Tea.md": "Steep 3 minutes.\nHot.\n"}


@pytest.mark.parametrize("view", ["lines", "sides"])
async def test_line_that_only_gained_its_end_is_not_shown_as_changed(
    ann: PageReader, vault: Vault, view: str
) -> None:
    note = await vault.write(ann, "Tea", "Line A")
    await vault.edit(ann, note, "Line A\nLine B")
    await ann.open(f"{note}/difference?view={view}")
    assert "<del>" not in ann.text
    assert "Line A" in ann.text
    assert ann.text.count("<ins>") == 1
    await vault.edit(ann, note, "Line A")
    await ann.open(f"{note}/difference?view={view}")
    assert "<ins>" not in ann.text
    assert ann.text.count("<del>") == 1
    await vault.edit(ann, note, "Line A\n")
    await ann.open(f"{note}/difference?view={view}")
    assert "Only the line end at the end of the text differs." in ann.text
