"""Archives are imported and exported in the browser, and the example is created."""

import io
import random
import zipfile
from collections.abc import Mapping

import pytest
import trio
import trio.testing

from octavo.features.archives import imports
from octavo.features.archives.api import imports as import_operations
from octavo.features.notes.pages import transfers
from octavo.features.notes.pages.example import example_notes
from octavo.store import Transaction
from tests.fakes.image_files import encoded, picture
from tests.fakes.page_reader import PageReader
from tests.features.notes.pages.conftest import Vault
from tests.features.publishing.pages.test_publications import create_workspace

PNG = encoded(picture((20, 10)), "PNG")
Files = Mapping[str, str | bytes]


def archive(files: Files) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, data in files.items():
            packed.writestr(path, data)
    return written.getvalue()


async def upload(reader: PageReader, vault: Vault, files: Files) -> None:
    await reader.open(f"{vault.base}/transfers")
    await reader.upload("Import", "vault.zip", archive(files))


async def test_archive_becomes_notes_and_what_is_left_out_is_explained(
    ann: PageReader, vault: Vault
) -> None:
    files: Files = {
        "Tea.md": "# Tea\n\n[[Ben]] ![[p.png]]",
        "People/Ben.md": "A friend.",
        "img/p.png": PNG,
        ".obsidian/app.json": "{}",
        "plan.pdf": b"%PDF",
        "\u202eNet\u200b.md": "",
    }
    await ann.open(vault.base)
    await ann.open(ann.page.links["Import notes"])
    await ann.upload("Import", "vault.zip", archive(files))
    assert (ann.status, ann.page.headings) == (200, ["Your notes are here"])
    assert "1 file with settings of programs" in ann.text
    assert "1 other file." in ann.text
    assert "1 file has a new name: the old one had characters that can't be seen" in ann.text
    assert "http-equiv" not in ann.text
    assert set(await vault.texts()) == {"Tea.md", "People/Ben.md", "Net.md"}
    await ann.open(ann.page.links["Open the notes"])
    assert {"Tea", "People"} <= set(ann.page.links)
    await ann.open(f"{vault.base}/recent")
    assert "with an import" in ann.text


async def test_archive_without_notes_says_so(ann: PageReader, vault: Vault) -> None:
    await upload(ann, vault, {".obsidian/app.json": "{}"})
    assert ann.page.headings == ["The archive has no notes"]
    assert "1 file with settings of programs" in ann.text


async def parts_stored(vault: Vault) -> int:
    return len(vault.house.users.images.blobs.blobs)


async def open_imports(vault: Vault) -> int:
    async def script(transaction: Transaction) -> int:
        row = await transaction.fetch_one("SELECT COUNT(*) FROM imports")
        assert row is not None
        return int(row[0])

    return await vault.house.users.identity.store.read(script)


async def test_archive_of_several_parts_is_stored_piece_by_piece(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "PART_SIZE", 1000)
    monkeypatch.setattr(import_operations, "PART_SIZE", 1000)
    monkeypatch.setattr(transfers, "PATIENCE", 0)
    noise = random.Random(1).randbytes(1500).hex()
    await upload(ann, vault, {"Tea.md": noise})
    assert await parts_stored(vault) == 2
    assert {len(each) for each in vault.house.users.images.blobs.blobs.values()} >= {1000}
    await ann.submit("Import it now")
    assert ann.page.headings == ["The archive is not imported yet"]
    monkeypatch.setattr(transfers, "PATIENCE", 2.0)
    await ann.submit("Import it now")
    assert await vault.texts() == {"Tea.md": noise}


async def test_upload_that_is_refused_on_the_way_leaves_nothing(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "PART_SIZE", 100)
    await upload(ann, vault, {"Tea.md": random.Random(1).randbytes(300).hex()})
    assert (ann.status, ann.path) == (413, f"{vault.base}/transfers")
    assert "100 bytes" in ann.page.alerts[0]
    assert (await open_imports(vault), await parts_stored(vault)) == (0, 0)


@pytest.mark.parametrize(
    ("headers", "given", "status"),
    [
        ({"origin": "https://evil.example"}, {}, 403),
        ({"sec-fetch-site": "cross-site"}, {}, 403),
        ({}, {"token-of-form": "0" * 64}, 403),
        ({}, {"token-of-form": ""}, 403),
    ],
)
async def test_form_of_another_page_stores_nothing(
    ann: PageReader, vault: Vault, headers: dict[str, str], given: dict[str, str], status: int
) -> None:
    await ann.open(f"{vault.base}/transfers")
    ann.headers |= headers
    await ann.upload("Import", "vault.zip", archive({"Tea.md": "Green."}), **given)
    assert ann.status == status
    assert (await open_imports(vault), await parts_stored(vault)) == (0, 0)


async def test_stranger_signs_in_first_and_nothing_is_stored(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/transfers")
    ann.cookies.clear()
    await ann.upload("Import", "vault.zip", archive({"Tea.md": "Green."}))
    assert ann.page.headings == ["Sign in"]
    assert await open_imports(vault) == 0


async def test_workspace_of_others_takes_no_archive(
    ann: PageReader, bob: PageReader, vault: Vault
) -> None:
    await create_workspace(vault.house, bob)
    await bob.open(f"{bob.path.removesuffix('/links')}/transfers")
    bob.form("Import").action = f"{vault.base}/transfers"
    await bob.upload("Import", "vault.zip", archive({"Tea.md": "Green."}))
    assert bob.status == 404
    await upload(ann, vault, {"Tea.md": "Green."})
    await bob.open(ann.path)
    assert bob.status == 404
    assert await vault.texts() == {"Tea.md": "Green."}


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("", b"", "Choose a zip archive first."),
        ("a.zip", b"", "This is not a zip archive"),
        ("notes.md", b"# Tea", "This is not a zip archive"),
    ],
)
async def test_what_is_no_archive_is_not_stored(
    ann: PageReader, vault: Vault, name: str, data: bytes, said: str
) -> None:
    await ann.open(f"{vault.base}/transfers")
    await ann.upload("Import", name, data)
    assert ann.status == 400
    assert said in ann.page.alerts[0]
    assert ann.page.focused == ["archive"]
    assert await open_imports(vault) == 0


async def test_file_that_can_not_be_imported_is_named_and_the_archive_discarded(
    ann: PageReader, vault: Vault
) -> None:
    await upload(ann, vault, {"Tea.md": b"\xff\xfe"})
    assert ann.page.headings == ["The archive was not imported"]
    assert "Tea.md: It is not UTF-8" in ann.page.alerts[0]
    assert "Correct this on your computer" in ann.page.alerts[0]
    assert "Try again" not in ann.text
    await ann.submit("Discard the archive")
    assert ann.page.alerts == ["The archive is discarded."]
    assert await open_imports(vault) == 0


async def test_notes_are_not_overwritten_and_the_import_is_tried_again(
    ann: PageReader, vault: Vault
) -> None:
    tea = await vault.write(ann, "Tea", "Mine.")
    await upload(ann, vault, {"Tea.md": "Theirs."})
    refused = ann.path
    assert "Move or delete those notes" in ann.page.alerts[0]
    await vault.delete(ann, tea)
    await ann.open(refused)
    await ann.submit("Try again")
    assert ann.page.headings == ["Your notes are here"]
    assert await vault.texts() == {"Tea.md": "Theirs."}


async def test_form_that_is_sent_twice_imports_once(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/transfers")
    form, data = ann.page, archive({"Tea.md": "Green."})
    await ann.upload("Import", "vault.zip", data)
    first = ann.path
    ann.page = form
    await ann.upload("Import", "vault.zip", data, once=form.forms[-1].fields["once"])
    assert (ann.path, ann.page.headings) == (first, ["Your notes are here"])
    assert await open_imports(vault) == 1


async def test_import_waits_for_another_one_of_the_account(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = vault.house.users
    account = await vault.account_id()
    other = "01900000-0000-7000-8000-0000000000aa"
    await users.archives.jobs.start(account, other, trio.sleep_forever)
    await upload(ann, vault, {"Tea.md": "Green."})
    assert "another import or export of yours is running" in ann.page.alerts[0]
    users.archives.jobs.cancel(other)
    await trio.testing.wait_all_tasks_blocked()
    await ann.submit("Import it now")
    assert ann.page.headings == ["Your notes are here"]


async def test_page_is_loaded_again_while_the_import_runs(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "PATIENCE", 0)
    await upload(ann, vault, {"Tea.md": "Green."})
    assert "http-equiv" not in ann.text
    jobs, import_id = vault.house.users.archives.jobs, ann.path.rpartition("/")[2]
    await jobs.start(await vault.account_id(), import_id, trio.sleep_forever)
    await ann.open(ann.path)
    assert ann.page.headings == ["The import is running"]
    assert '<meta http-equiv="refresh" content="3">' in ann.text
    await ann.submit("Stop the import")
    assert ann.page.alerts == ["The archive is discarded."]


async def test_too_many_imports_are_listed(
    ann: PageReader, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "PATIENCE", 0)
    for _ in range(imports.OPEN_IMPORTS):
        await upload(ann, vault, {"Tea.md": "Green."})
    await upload(ann, vault, {"Tea.md": "Green."})
    assert "Finish or discard one of them first" in ann.page.alerts[0]
    await ann.open(ann.page.links["1. An import into this workspace"])
    await ann.submit("Discard the archive")
    await upload(ann, vault, {"Tea.md": "Green."})
    assert ann.page.headings == ["The archive is not imported yet"]


async def test_export_is_linked_and_is_imported_unchanged(ann: PageReader, vault: Vault) -> None:
    await vault.write(ann, "Kitchen/Tea", "Green.")
    await ann.open(f"{vault.base}/transfers")
    links = [ann.page.links[each] for each in ("Notes and images", "Notes only")]
    users = vault.house.users
    (name, value), *_ = ann.cookies.items()
    for link in links:
        response = await users.get(link, (b"cookie", f"{name}={value}".encode()))
        assert response.status == 200
        with zipfile.ZipFile(io.BytesIO(response.body)) as packed:
            assert packed.read("Kitchen/Tea.md") == b"Green."


async def test_example_is_created_once_and_its_links_lead_somewhere(
    ann: PageReader, vault: Vault
) -> None:
    await ann.open(vault.base)
    empty = ann.page
    await ann.submit("Try it with an example")
    assert ann.page.alerts == ["Here is the example. This note says where to begin."]
    assert ann.page.headings == ["Welcome"]
    assert await vault.texts() == example_notes()
    assert '<div class="callout' in ann.text
    await ann.open(ann.page.links["recipe for bread"])
    assert "<math" in ann.text
    await ann.open(f"{vault.base}/unresolved")
    assert [each for each in ann.page.links if each.startswith("Write it")] == [
        "Write it: Things to read"
    ]
    ann.page, ann.path = empty, vault.base
    await ann.submit("Try it with an example", once="another")
    assert ann.status == 200
    ann.page, ann.path = empty, vault.base
    await ann.submit("Try it with an example", once="third", mutation="")
    assert ann.page.alerts == ["The example is here already, or notes with the same names."]
    assert await vault.texts() == example_notes()


async def test_archive_without_notes_leads_to_another_one(ann: PageReader, vault: Vault) -> None:
    await upload(ann, vault, {".obsidian/app.json": "{}"})
    assert ann.page.headings[0] == "The archive has no notes"
    assert "Open the notes" not in ann.page.links
    await ann.open(ann.page.links["Import another archive"])
    assert ann.page.headings[0] == "Import and export"
