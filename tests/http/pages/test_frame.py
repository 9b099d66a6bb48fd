"""The frame of every page."""

import re

import pytest

from tests.fakes.page_reader import Installation, PageReader


def places(text: str) -> list[str]:
    """The places that the bar leads to."""
    bar = text.partition('<nav class="wide"')[2].partition("</nav>")[0]
    return re.findall(r">([A-Za-z ]+)</a>", bar)


async def test_bar_leads_to_the_places_of_the_visitor(
    house: Installation, ann: PageReader, bob: PageReader
) -> None:
    stranger = house.stranger()
    found = {}
    for name, reader in (("ann", ann), ("bob", bob), ("stranger", stranger)):
        await reader.open("/problems")
        found[name] = places(reader.text)
    assert found == {
        "ann": ["Workspaces", "Account", "Administration"],
        "bob": ["Workspaces", "Account"],
        "stranger": ["Sign in"],
    }


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/workspaces", "/workspaces"),
        ("/account/keys", "/account"),
        ("/administration/accounts", "/administration"),
    ],
)
async def test_bar_marks_the_place(ann: PageReader, path: str, place: str) -> None:
    await ann.open(path)
    assert f'<a href="{place}" aria-current="page">' in ann.text


async def test_smaller_limit_is_shown(ann: PageReader) -> None:
    await ann.open("/administration/accounts")
    await ann.open(ann.page.links["Ann"])
    await ann.submit("Save", storage="20")
    await ann.open("/account")
    assert "0 bytes of 20 MB" in ann.text
    await ann.open("/administration/accounts")
    await ann.open(ann.page.links["Ann"])
    await ann.submit("Save the controls", controlledStorage="5")
    await ann.open("/account")
    assert "0 bytes of 5 MB" in ann.text


async def test_times_are_in_the_language_of_the_reader(ann: PageReader) -> None:
    ann.headers["accept-language"] = "de-DE,de;q=0.9,en;q=0.5"
    await ann.open("/account")
    assert re.search(r'<time [^>]*title="[^"]+ UTC" lang="de">vor \d+ \w+</time>', ann.text)
