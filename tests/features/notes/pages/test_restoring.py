"""A workspace, or a folder, is restored to an earlier moment on pages."""

import json
import re
from urllib.parse import urlencode

import pytest

from octavo.features.history.api import restorations
from octavo.features.notes.pages import restoring
from octavo.store import Transaction
from octavo.store.queries.revision_rows import WORKSPACE
from tests.fakes.page_reader import PageReader
from tests.features.notes.pages.conftest import Vault

HOUR = 3600
OTHER = "01900000-0000-7000-8000-aaaaaaaaaaaa"


async def changed(ann: PageReader, vault: Vault) -> None:
    """Notes that were changed and created in the last hour."""
    tea = await vault.write(ann, "Kitchen/Tea", "Green.")
    vault.house.users.identity.sources.time += 2 * HOUR
    await vault.edit(ann, tea, "Black.")
    await vault.write(ann, "Kitchen/Coffee", "Strong.")
    await vault.write(ann, "Garden/Roses", "Red.")


async def test_workspace_is_restored_and_the_restoration_undone(
    ann: PageReader, vault: Vault
) -> None:
    await changed(ann, vault)
    present = await vault.texts()
    await ann.open(vault.base)
    await ann.open(ann.page.links["Restore to an earlier moment"])
    assert ann.page.headings[0] == "Restore to an earlier moment"
    await ann.open(ann.page.links["An hour ago"])
    for words in ("Kitchen/Tea.md", "gets its earlier state back", "Garden/Roses.md", "is deleted"):
        assert words in ann.text
    await ann.submit("Restore 3 files")
    assert ann.page.headings[0] == "Restored"
    assert "3 of 3 files have been brought back to that state." in ann.text
    restoration = ann.path
    assert "refresh" not in ann.text
    assert await vault.texts() == {"Kitchen/Tea.md": "Green."}
    await ann.open(ann.page.links["Undo this restoration…"])
    assert ann.page.headings[0] == "Undo this restoration?"
    assert "comes back" in ann.text
    await ann.submit("Undo the restoration")
    assert await vault.texts() == present
    assert "It undoes" in ann.text
    await ann.open(restoration)
    assert ann.page.headings[0] == "Undone"
    assert "Undo this restoration…" not in ann.page.links
    await ann.open(f"{vault.base}/restorations")
    assert re.findall(r'<span class="badge[^>]*>(\w+)<', ann.text) == ["done", "undone"]


async def test_address_of_an_undo_that_undoes_something_else_is_a_restoration(
    ann: PageReader, vault: Vault
) -> None:
    await changed(ann, vault)
    await ann.open(f"{vault.base}/restore")
    await ann.open(ann.page.links["An hour ago"])
    await ann.submit("Restore 3 files")
    undo = ann.page.links["Undo this restoration…"]
    for other in (
        undo.replace("position=", "position=1"),
        re.sub("undoes=.*", "undoes=nothing", undo),
        re.sub("undoes=.*", "undoes=00000000-0000-4000-8000-000000000000", undo),
    ):
        await ann.open(other)
        assert not ann.page.headings[0].startswith("Undo")


async def test_folder_is_restored_from_its_page(ann: PageReader, vault: Vault) -> None:
    await changed(ann, vault)
    await ann.open(f"{vault.base}?folder=Kitchen")
    await ann.open(ann.page.links["Restore this folder to an earlier moment"])
    await ann.open(ann.page.links["An hour ago"])
    assert "Roses" not in "".join(ann.page.headings)
    await ann.submit("Restore 2 files")
    assert await vault.texts() == {"Kitchen/Tea.md": "Green.", "Garden/Roses.md": "Red."}


async def test_date_and_time_are_in_utc(ann: PageReader, vault: Vault) -> None:
    await changed(ann, vault)
    await ann.open(f"{vault.base}/restore")
    form = ann.form("See what would change")
    await ann.open(f"{form.action}?{urlencode(form.fields)}")
    await ann.submit("Restore 3 files")
    assert await vault.texts() == {"Kitchen/Tea.md": "Green."}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"at": "yesterday"}, "Give a date and a time"),
        # Outside of the years 1 to 9999 in UTC.
        ({"at": "0001-01-01T00:00+14:00"}, "Give a date and a time"),
        ({"at": "9999-12-31T23:59-14:00"}, "Give a date and a time"),
        ({"at": "1990-01-01T00:00"}, "Earlier revisions may have been removed"),
        ({"at": "2090-01-01T00:00"}, "That moment has not come yet"),
        ({"position": "99"}, "no such position"),
    ],
)
async def test_moment_that_cannot_be_restored_is_explained(
    ann: PageReader, vault: Vault, query: dict[str, str], words: str
) -> None:
    await ann.open(f"{vault.base}/restore?{urlencode(query)}")
    assert ann.status == 400
    assert words in ann.page.alerts[0]


@pytest.mark.parametrize("position", ["9" * 5000, "9" * 16, "99", "\u0663", "1e3", "-1"])
async def test_position_that_cannot_be_restored_is_explained(
    ann: PageReader, vault: Vault, position: str
) -> None:
    await changed(ann, vault)
    await ann.open(f"{vault.base}/restore")
    await ann.open(ann.page.links["An hour ago"])
    before = await vault.texts()
    await ann.submit("Restore 3 files", moment="", position=position)
    assert ann.status == 400
    assert "Date and time" in ann.page.alerts[0]
    assert await vault.texts() == before


async def test_moment_since_which_nothing_changed_says_so(ann: PageReader, vault: Vault) -> None:
    await vault.write(ann, "Tea", "Green.")
    vault.house.users.identity.sources.time += 2 * HOUR
    await ann.open(f"{vault.base}/restore")
    await ann.open(ann.page.links["An hour ago"])
    assert "Everything is as it was then." in ann.text


async def test_form_that_is_sent_again_restores_once(ann: PageReader, vault: Vault) -> None:
    await changed(ann, vault)
    await ann.open(f"{vault.base}/restore")
    await ann.open(ann.page.links["An hour ago"])
    form = ann.form("Restore 3 files")
    shown = set()
    for once in ("1", "2"):
        await ann.send_form(form, once=once)
        shown.add(ann.path)
    assert len(shown) == 1


async def record(vault: Vault, state: str, failure: str | None = None) -> None:
    """Record the only restoration as one that has not ended."""

    async def script(transaction: Transaction) -> None:
        await transaction.execute(
            f"UPDATE restorations SET state = $2, failure = $3, total = 20, done = 7"
            f" WHERE workspace = {WORKSPACE}",
            vault.workspace_id,
            state,
            failure,
        )

    await vault.house.users.identity.store.write(script)


async def test_page_of_a_running_restoration_refreshes_itself(
    ann: PageReader, vault: Vault
) -> None:
    await changed(ann, vault)
    await ann.open(f"{vault.base}/restore")
    await ann.open(ann.page.links["An hour ago"])
    await ann.submit("Restore 3 files")
    progress = ann.path
    await record(vault, "running")
    await ann.open(progress)
    assert '<meta http-equiv="refresh" content="3">' in ann.text
    assert "7 of 20 files" in ann.text


async def test_restoration_that_stopped_goes_on(ann: PageReader, vault: Vault) -> None:
    await changed(ann, vault)
    await ann.open(f"{vault.base}/restore")
    await ann.open(ann.page.links["An hour ago"])
    await ann.submit("Restore 3 files")
    progress = ann.path
    await record(vault, "failed", '["forbidden", "You may not."]')
    await ann.open(progress)
    assert ann.page.headings[0] == "The restoration stopped"
    assert "You may not." in ann.page.alerts[0]
    assert "nothing is lost" in ann.page.alerts[0]
    assert "Undo what it did…" in ann.page.links
    await ann.submit("Go on")
    assert (ann.path, ann.page.headings[0]) == (progress, "Restored")


async def test_restoration_that_stopped_is_undone(ann: PageReader, vault: Vault) -> None:
    await changed(ann, vault)
    present = await vault.texts()
    await ann.open(f"{vault.base}/restore")
    await ann.open(ann.page.links["An hour ago"])
    await ann.submit("Restore 3 files")
    await record(vault, "failed", '["forbidden", "You may not."]')
    await ann.open(ann.path)
    await ann.open(ann.page.links["Undo what it did…"])
    await ann.submit("Undo the restoration")
    assert await vault.texts() == present


async def moved_away(ann: PageReader, vault: Vault) -> str:
    """A restoration that has deleted a note; the path of its page."""
    await changed(ann, vault)
    await ann.open(f"{vault.base}/restore")
    await ann.open(ann.page.links["An hour ago"])
    await ann.submit("Restore 3 files")
    progress = ann.path

    async def script(transaction: Transaction) -> None:
        await transaction.execute("UPDATE files SET state = 'deleted' WHERE state = 'live'")

    await vault.house.users.identity.store.write(script)
    return progress


async def test_files_that_are_deleted_for_now_are_named(ann: PageReader, vault: Vault) -> None:
    progress = await moved_away(ann, vault)
    await record(vault, "failed", '["forbidden", "You may not."]')
    await ann.open(progress)
    assert "1 file is deleted for now" in ann.page.alerts[0]
    assert "<h2>Deleted for now</h2>" in ann.text
    assert "Kitchen/Tea.md" in ann.text


async def test_files_that_cannot_come_back_are_named_apart_from_others(
    ann: PageReader, vault: Vault
) -> None:
    progress = await moved_away(ann, vault)
    await record(vault, "done")

    left = [[OTHER, "a.md", "still_deleted"], [OTHER, "b.md", "path_taken"]]

    async def script(transaction: Transaction) -> None:
        await transaction.execute(
            "UPDATE restorations SET skipped_count = 2, skipped_files = $1", json.dumps(left)
        )

    await vault.house.users.identity.store.write(script)
    await ann.open(progress)
    assert ann.text.index("Could not come back") < ann.text.index("a.md")
    assert ann.text.index("a.md") < ann.text.index("Stays as it is") < ann.text.index("b.md")


async def test_files_that_are_left_and_not_named_are_counted(ann: PageReader, vault: Vault) -> None:
    progress = await moved_away(ann, vault)
    await record(vault, "done")
    left = [[OTHER, f"{number:02}.md", "path_taken"] for number in range(25)]

    async def script(transaction: Transaction) -> None:
        await transaction.execute(
            "UPDATE restorations SET skipped_count = 1030, skipped_files = $1", json.dumps(left)
        )

    await vault.house.users.identity.store.write(script)
    await ann.open(progress)
    assert all(f">{number:02}.md</strong>" in ann.text for number in range(25))
    assert "<li>1,005 more.</li>" in ann.text


async def test_preview_counts_the_files_that_it_does_not_name(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restorations, "MAX_LEFT", 1)
    notes = {name: await vault.write(ann, f"out/{name}", "x") for name in "abc"}
    for name, note in notes.items():
        await ann.open(f"{note}/edit")
        await ann.submit("Save", path=f"in/{name}.md")
        # Another note has its path, outside of the folder that is restored.
        await vault.write(ann, f"out/{name}", "y")
    await ann.open(f"{vault.base}/restore?position=3&folder=in")
    assert ann.text.count("Another file has its earlier path now.") == 1
    assert ">in/a.md</strong>" in ann.text
    assert "<li>2 more.</li>" in ann.text


async def test_restorations_are_listed_and_lead_to_their_pages(
    ann: PageReader, vault: Vault
) -> None:
    await changed(ann, vault)
    await ann.open(f"{vault.base}/restore?folder=Kitchen")
    await ann.open(ann.page.links["An hour ago"])
    await ann.submit("Restore 2 files")
    progress = ann.path
    await ann.open(f"{vault.base}/restore")
    await ann.open(ann.page.links["Restorations so far"])
    assert ann.page.headings[0] == "Restorations"
    assert ann.page.links["Kitchen"] == progress
    for words in (">2 files</td>", '<span class="badge good">done</span>', "<bdi>Ann</bdi></td>"):
        assert words in ann.text
    await record(vault, "failed", '["forbidden", "You may not."]')
    await ann.open(ann.path)
    for words in (">7 of 20 files</td>", '<span class="badge bad">stopped</span>'):
        assert words in ann.text


async def test_list_of_restorations_has_pages(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restoring, "_ROWS", "1")
    for folder in ("a", "b"):
        await vault.write(ann, f"{folder}/Tea", "Green.")
    for folder in ("a", "b"):
        await ann.open(f"{vault.base}/restore?position=0&folder={folder}")
        await ann.submit("Restore 1 file")
        vault.house.users.identity.sources.time += 60
    await ann.open(f"{vault.base}/restorations")
    assert ("b" in ann.page.links, "a" in ann.page.links) == (True, False)
    await ann.open(ann.page.links["Next page"])
    assert ("b" in ann.page.links, "a" in ann.page.links) == (False, True)


async def test_workspace_without_restorations_says_what_is_listed(
    ann: PageReader, vault: Vault
) -> None:
    await ann.open(f"{vault.base}/restorations")
    assert "Nothing was restored yet" in ann.text


@pytest.mark.parametrize("page", ["restore", "restorations"])
async def test_stranger_finds_no_workspace(bob: PageReader, vault: Vault, page: str) -> None:
    await bob.open(f"{vault.base}/{page}")
    assert bob.status == 404
