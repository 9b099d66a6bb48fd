"""Folders are read."""

import re
from uuid import UUID

import pytest

from octavo.features.notes.pages import folders, frame
from octavo.features.notes.pages.folders import SHORTCUTS
from octavo.features.notes.pages.frame import MOST_IN_TREE
from octavo.store import Transaction
from tests.fakes.page_reader import PageReader
from tests.features.notes.pages.conftest import Vault


async def test_tree_is_open_along_the_way_to_the_note(ann: PageReader, vault: Vault) -> None:
    await vault.write(ann, "Garden/Beds/North", "")
    await vault.write(ann, "Kitchen/Drinks/Tea", "Green.")
    assert "Drinks" in ann.page.links
    assert "Garden" in ann.page.links
    assert "Beds" not in ann.page.links
    assert ann.text.count('aria-current="page"') == 2 + 1
    await ann.open(ann.page.links["Garden"])
    assert ann.page.headings == ["Garden"]
    assert "1 note" in ann.text


async def test_large_folder_has_pages_and_a_short_tree(ann: PageReader, vault: Vault) -> None:
    count = 450
    paths = [f"Many/{number:03}.md" for number in range(count)]
    await vault.house.users.push(vault.workspace_id, *vault.creations(paths))
    await ann.open(f"{vault.base}?folder=Many")
    assert len(ann.text) < 60_000
    assert f"{count - MOST_IN_TREE} more…" in ann.page.links
    seen = set()
    while True:
        seen |= {name for name in ann.page.links if name.isdigit()}
        if "Next page" not in ann.page.links:
            break
        await ann.open(ann.page.links["Next page"])
    assert len(seen) == count


async def test_author_is_named_among_more_members_than_a_response_has(
    ann: PageReader, vault: Vault
) -> None:
    await vault.write(ann, "a", "")
    ids = [str(UUID(int=number)) for number in range(1, 501)]

    async def add_earlier_members(transaction: Transaction) -> None:
        await transaction.execute_many(
            "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
            " updated_at) VALUES ($1::uuid, $2, 'Other', '', 'member', 'active', 0, 0)",
            [(account_id, account_id) for account_id in ids],
        )
        await transaction.execute_many(
            "INSERT INTO members (workspace_id, account_id, role, joined_at)"
            " VALUES ($1::uuid, $2::uuid, 'reader', 0)",
            [(vault.workspace_id, account_id) for account_id in ids],
        )

    await vault.house.users.identity.store.write(add_earlier_members)
    await ann.open(f"{vault.base}/recent")
    assert 'data-name="By" dir="auto">Ann</td>' in ann.text


async def test_recent_changes_name_who_and_how(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/recent")
    assert "Nothing has changed yet" in ann.text
    for path in ("a", "b", "c"):
        await vault.write(ann, path, "")
    await ann.open(f"{vault.base}/recent")
    found = [each for each in ann.page.links if each in "abc"]
    # The tree is after the main part.
    assert found[:3] == ["c", "b", "a"]
    assert "in the browser" in ann.text


async def test_recent_changes_end_with_the_oldest(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_ROWS_OF_CHANGES", "2")
    for path in ("a", "b", "c", "d"):
        note = await vault.write(ann, path, "")
    await ann.open(f"{vault.base}/recent")
    older = ann.page.links["Next page"]
    await vault.edit(ann, note, "changed")
    await ann.open(older)
    assert [each for each in ann.page.links if each in "abcd"][:2] == ["b", "a"]
    # The changes since then are on the first page.
    assert "Next page" not in ann.page.links
    await ann.open(ann.page.links["First page"])
    assert next(each for each in ann.page.links if each in "abcd") == "d"


async def test_folder_that_is_gone_says_so(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}?folder=Nowhere")
    assert "There are no notes in this folder" in ann.text
    await ann.open(ann.page.links["Write a note here"])
    assert ann.form("Create the note").fields["path"] == "Nowhere/"


async def test_folder_that_is_gone_does_not_show_the_notes_above_it(
    ann: PageReader, vault: Vault
) -> None:
    await vault.write(ann, "Tea", "")
    await vault.write(ann, "Kitchen/Bread", "")
    for folder in ("Nowhere", "Kitchen/Nowhere"):
        await ann.open(f"{vault.base}?folder={folder}")
        assert ann.page.headings[0] == "Nowhere"
        assert "There are no notes in this folder" in ann.text


async def test_empty_workspace_has_one_primary_button(ann: PageReader, vault: Vault) -> None:
    await ann.open(vault.base)
    assert len(re.findall(r'class="button[a-z ]* primary"', ann.text)) == 1
    await vault.write(ann, "Tea", "")
    await ann.open(vault.base)
    assert "Write the first note" not in ann.page.links


async def test_side_bar_leads_to_the_places_of_the_workspace(ann: PageReader, vault: Vault) -> None:
    await ann.open(vault.base)
    places = ("recent", "images", "unresolved", "deleted", "transfers", "programs", "members")
    assert {f"{vault.base}/{each}" for each in places} <= set(ann.page.links.values())


async def test_new_note_says_where_it_goes_without_a_path(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/new")
    assert "in the folder Inbox." in ann.text
    await ann.open(f"{vault.base}/new?folder=Kitchen")
    assert "Inbox" not in ann.text


async def test_fields_suggest_folders_upper_ones_first(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ann.open(f"{vault.base}/new")
    assert "<datalist" not in ann.text
    tea = await vault.write(ann, "Kitchen/Drinks/Tea", "Green.")
    await vault.write(ann, "Garden/Beds/North", "")
    folders = ["Garden", "Kitchen", "Garden/Beds", "Kitchen/Drinks"]
    for page, ending in (
        (f"{vault.base}/new", "/"),
        (f"{vault.base}/search", ""),
        (f"{tea}/move", "/Tea"),
    ):
        await ann.open(page)
        assert suggested(ann) == [f"{each}{ending}" for each in folders]
    monkeypatch.setattr(frame, "MOST_SUGGESTED", 3)
    await ann.open(f"{vault.base}/search")
    assert suggested(ann) == folders[:3]


def suggested(reader: PageReader) -> list[str]:
    return re.findall('<option value="([^"]*)"></option>', reader.text)


async def test_shortcuts_are_listed_and_each_is_on_a_page(ann: PageReader, vault: Vault) -> None:
    await ann.open("/shortcuts")
    assert "Way back" in ann.text
    for letter in SHORTCUTS:
        assert f"<kbd>{letter.upper()}</kbd>" in ann.text
    note = await vault.write(ann, "Tea", "Green.")
    found = set()
    for page in (note, f"{note}/edit"):
        await ann.open(page)
        keys = re.findall('accesskey="(.)"', ann.text)
        assert len(keys) == len(set(keys))
        found |= {*keys}
    assert found == set(SHORTCUTS)


async def test_folder_in_a_folder_with_a_name_of_signs_is_opened(
    ann: PageReader, vault: Vault
) -> None:
    await vault.write(ann, "R&D+/50%#1/Plan", "")
    await ann.open(vault.base)
    await ann.open(ann.page.links["R&D+"])
    await ann.open(ann.page.links["50%#1"])
    assert ann.page.headings == ["50%#1"]
    assert "Plan" in ann.page.links
