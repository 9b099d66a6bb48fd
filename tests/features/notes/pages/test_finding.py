"""Notes are found, and links that lead nowhere."""

import pytest
from octavo_rules.schemas import SnippetDocument

from octavo.features.notes.pages.finding import pieces_of
from tests.fakes.page_reader import PageReader
from tests.features.notes.pages.conftest import Vault


@pytest.mark.parametrize(
    ("text", "marks", "pieces"),
    [
        ("a b c", [], [("a b c", False)]),
        ("a b c", [(2, 3)], [("a ", False), ("b", True), (" c", False)]),
        ("a b", [(0, 1), (2, 3)], [("a", True), (" ", False), ("b", True)]),
        ("ab", [(0, 1), (1, 2)], [("a", True), ("b", True)]),
    ],
)
def test_matches_are_marked(
    text: str, marks: list[tuple[int, int]], pieces: list[tuple[str, bool]]
) -> None:
    given = {"text": text, "marks": tuple({"start": at, "end": end} for at, end in marks)}
    assert list(pieces_of(SnippetDocument.model_validate(given))) == pieces


async def test_search_finds_and_marks(ann: PageReader, vault: Vault) -> None:
    await vault.write(ann, "Kitchen/Tea", "# Tea\n\nGreen & hot water.")
    await vault.write(ann, "Garden/Roses", "Red.")
    await ann.open(f"{vault.base}/search")
    await ann.submit_query("Search", q="wat")
    assert "<mark>wat" in ann.text
    assert "1 note." in ann.text
    await ann.open(f"{vault.base}/search?q=wat&folder=Garden")
    assert "Nothing was found" in ann.text
    await ann.open(f"{vault.base}/search?q=wat&folder=Kitchn")
    assert "There are no notes in the folder “Kitchn”" in ann.text
    await ann.open(f"{vault.base}/search?q=%22")
    assert ann.status in (200, 400)


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


async def test_every_unresolved_link_is_on_one_of_the_pages(ann: PageReader, vault: Vault) -> None:
    names = [f"Tea {number:02}.md" for number in range(60)]
    await vault.write(ann, "List", "\n\n".join(f"[x](<{name}>)" for name in names))
    await ann.open(f"{vault.base}/unresolved")
    listed = [name for name in names if f"Write it: {name}" in ann.page.links]
    await ann.open(ann.page.links["Next page"])
    others = [name for name in names if f"Write it: {name}" in ann.page.links]
    assert sorted(listed + others) == names
    assert "Next page" not in ann.page.links


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
    await ann.open(f"{vault.base}/search?q=tea&by=01900000-0000-7000-8000-0000000000ff")
    assert "fewer filters" in ann.text
    await ann.open(f"{vault.base}/search?q=tea&by=x")
    assert ann.status == 400
    assert "Who" in ann.page.alerts[0]
