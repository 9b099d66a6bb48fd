"""Folders and notes are read."""

import gc

import pytest

from tests.fakes.page_reader import PageReader
from tests.features.notes.pages.conftest import Vault
from tests.features.publishing.pages.test_publications import escaped

UNKNOWN = "01900000-0000-7000-8000-0000000000ff"


async def test_note_shows_text_contents_and_what_links_to_it(ann: PageReader, vault: Vault) -> None:
    text = "# Tea\n\n## Green\n\nHot.\n\n## Black\n\n## White\n"
    tea = await vault.write(ann, "Kitchen/Tea", text)
    await vault.write(ann, "Kitchen/Coffee", "# Coffee\n\nNot [tea](Tea.md#black).")
    coffee = ann.path
    await ann.open(tea)
    assert ann.page.title == "Tea \u2013 Household \u2013 Octavo"
    assert [ann.page.links[each] for each in ("Green", "Black", "White")] == [
        "#green",
        "#black",
        "#white",
    ]
    assert ann.page.links["Coffee"] == coffee
    assert "1 note links here" in ann.text
    assert "in the browser" in ann.text
    await ann.open(coffee)
    assert ann.page.links["tea"] == f"{tea}#black"


async def test_note_that_links_twice_is_listed_once(ann: PageReader, vault: Vault) -> None:
    tea = await vault.write(ann, "Tea", "## Green\n\n## Black\n")
    await vault.write(ann, "Coffee", "Not [tea](Tea.md#black), and not [tea](Tea.md#green).")
    await vault.write(ann, "Water", "For [tea](Tea.md).")
    await ann.open(tea)
    assert "2 notes link here" in ann.text
    listed = ann.text.split('id="links-here"')[1].split("</section>")[0]
    assert listed.count("<li>") == 2


async def test_link_to_no_note_leads_to_the_form_of_a_new_one(
    ann: PageReader, vault: Vault
) -> None:
    await vault.write(ann, "Kitchen/Tea", "Ask [[Ben]] or [Dora](../People/Dora.md).")
    await ann.open(ann.page.links["Ben"])
    assert ann.form("Create the note").fields["path"] == "Kitchen/Ben.md"
    await ann.open(f"{vault.base}/new?path=People/Dora.md")
    await ann.submit("Create the note", text="A friend.")
    await ann.open(f"{vault.base}?folder=Kitchen")
    await ann.open(ann.page.links["Tea"])
    assert ann.page.links["Dora"].startswith(f"{vault.base}/notes/")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        '<img src=x onerror="alert(1)">',
        '[["><script>alert(1)</script>]]',
        "---\ntitle: <script>alert(1)</script>\n---\n",
    ],
)
async def test_text_runs_nothing(ann: PageReader, vault: Vault, text: str) -> None:
    note = await vault.write(ann, "Tea", text)
    for page in (note, f"{note}/edit", f"{note}/history", vault.base, f"{vault.base}/unresolved"):
        await ann.open(page)
        assert "<script" not in ann.text
        assert 'onerror="' not in ann.text
        assert "javascript:alert" not in ann.text.replace("(javascript:alert", "")


async def test_names_are_text_everywhere(ann: PageReader, vault: Vault) -> None:
    name = "a'&b"
    note = await vault.write(ann, f"{name}/{name}", f"# {name}\n\n[[{name} c]]")
    for page in ("", "/move", "/delete", "/history", "/edit"):
        await ann.open(f"{note}{page}")
        assert escaped(name) in ann.text


async def test_note_of_another_workspace_does_not_exist(
    ann: PageReader, bob: PageReader, vault: Vault
) -> None:
    note = await vault.write(ann, "Tea", "Green.")
    for page in ("", "/edit", "/move", "/delete", "/history", "/difference"):
        await bob.open(f"{note}{page}")
        assert bob.status == 404
    for page in ("", "/recent", "/search?q=tea", "/unresolved", "/deleted", "/images", "/new"):
        await bob.open(f"{vault.base}{page}")
        assert bob.status == 404
    await ann.open(f"{vault.base}/notes/{UNKNOWN}")
    assert ann.status == 404


@pytest.mark.parametrize("place", [f"notes/{UNKNOWN}", "nowhere"])
async def test_page_that_is_missing_leads_to_its_workspace_for_members_only(
    ann: PageReader, bob: PageReader, vault: Vault, place: str
) -> None:
    for reader, expected in ((ann, True), (bob, False)):
        await reader.open(f"{vault.base}/{place}")
        assert reader.status == 404
        assert ("Back to Household" in reader.page.links) is expected
        assert reader.page.links["Back to your workspaces"] == "/"


@pytest.mark.parametrize("page", ["", "/edit", "/move", "/delete", "/history"])
async def test_page_of_a_long_note_leaves_no_text_to_the_collector(
    ann: PageReader, vault: Vault, page: str
) -> None:
    text = "A line of a long note.\n" * 4_000
    note = await vault.write(ann, "Tea", text)
    # What is loaded for the first time may leave some.
    await ann.open(f"{note}{page}")
    await ann.open(vault.base)
    gc.collect()
    gc.disable()
    try:
        await ann.open(f"{note}{page}")
        await ann.open(vault.base)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [
            (type(each), held[:50])
            for each in gc.garbage
            for held in [each, *gc.get_referents(each)]
            if isinstance(held, str | bytes) and len(held) > len(text) // 2
        ]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == []
