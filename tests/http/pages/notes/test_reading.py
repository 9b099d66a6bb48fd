"""Folders and notes are read."""

import pytest

from octavo.http.pages.notes.frame import MOST_IN_TREE
from tests.fakes.page_reader import PageReader
from tests.http.pages.notes.conftest import Vault
from tests.http.pages.test_publications import escaped

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
    assert "1 link leads here" in ann.text
    assert "in the browser" in ann.text
    await ann.open(coffee)
    assert ann.page.links["tea"] == f"{tea}#black"


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


async def test_folder_that_is_gone_says_so(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}?folder=Nowhere")
    assert "No note is in this folder" in ann.text
    await ann.open(ann.page.links["Write a note here"])
    assert ann.form("Create the note").fields["path"] == "Nowhere/"


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


async def test_search_finds_and_marks(ann: PageReader, vault: Vault) -> None:
    await vault.write(ann, "Kitchen/Tea", "# Tea\n\nGreen & hot water.")
    await vault.write(ann, "Garden/Roses", "Red.")
    await ann.open(f"{vault.base}/search")
    await ann.submit_query("Search", q="wat")
    assert "<mark>wat" in ann.text
    assert "1 note." in ann.text
    await ann.open(f"{vault.base}/search?q=wat&folder=Garden")
    assert "Nothing was found" in ann.text
    await ann.open(f"{vault.base}/search?q=%22")
    assert ann.status in (200, 400)


async def test_search_has_filters_of_time_and_person(
    ann: PageReader, bob: PageReader, vault: Vault
) -> None:
    sources = vault.house.users.identity.sources
    await vault.write(ann, "Old", "Green tea.")
    sources.time += 2 * 86_400
    await vault.write(ann, "New", "Black tea.")
    await ann.open(f"{vault.base}/search")
    results = {}
    for since in ("", "day", "week", "decade"):
        await ann.submit_query("Search", q="tea", folder="", since=since)
        results[since] = [each for each in ("Old", "New") if f">{each}</a> <span" in ann.text]
    assert results == {
        "": ["Old", "New"],
        "day": ["New"],
        "week": ["Old", "New"],
        "decade": ["Old", "New"],
    }
    own = await vault.account_id()
    await ann.open(f"{vault.base}/search?q=tea&by={own}&since=day")
    assert f'<option value="{own}" selected>By me</option>' in ann.text
    assert '<option value="day" selected>' in ann.text
    assert "1 note." in ann.text
    await ann.open(f"{vault.base}/search?q=tea&by={UNKNOWN}")
    assert "fewer filters" in ann.text
    await ann.open(f"{vault.base}/search?q=tea&by=x")
    assert ann.status == 400
    assert "Who" in ann.page.alerts[0]


async def test_unresolved_links_are_listed_and_written(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/unresolved")
    assert "Every link leads somewhere" in ann.text
    await vault.write(ann, "Kitchen/Tea", "Ask [Ben](Ben.md).")
    await ann.open(f"{vault.base}/unresolved")
    await ann.open(ann.page.links["Write it: Ben.md"])
    await ann.submit("Create the note", text="A friend.")
    assert ann.page.alerts == ["The note is created."]
    await ann.open(f"{vault.base}/unresolved")
    assert "Every link leads somewhere" in ann.text


async def test_gallery_says_how_images_are_added(ann: PageReader, vault: Vault) -> None:
    await ann.open(f"{vault.base}/images")
    assert "No images yet" in ann.text
