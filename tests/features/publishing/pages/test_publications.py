"""The pages of the published links of a workspace."""

import re
from html import escape
from urllib.parse import quote

import pytest

from octavo.features.publishing.api.publications import PublishedTarget
from octavo.features.publishing.pages.publications import folders_of, name_of
from tests.fakes.page_reader import Installation, PageReader
from tests.fakes.publishing_rig import MAXIMUM
from tests.fakes.users_api import ADDRESS, ORIGIN

UNKNOWN = "01900000-0000-7000-8000-0000000000ff"
ADDRESSES = re.compile(rf"{ORIGIN}/published/[\w-]{{32}}")
NOTE, FOLDER = "Kitchen/Tea/Earl Grey.md", "Kitchen/Tea"
HOSTILE = "\"><script>alert('1')</script>&amp;"
DAY = 86_400


def escaped(text: str) -> str:
    """Return the HTML of a text, as templates write it."""
    return escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


async def create_workspace(house: Installation, ann: PageReader, *paths: str) -> str:
    """Create a workspace with notes, and return the path of its links."""
    await ann.open("/workspaces")
    await ann.submit("Create the workspace", name="Household")
    base = ann.path.removesuffix("/members")
    if paths:
        await house.users.write_notes(base.rpartition("/")[2], *paths)
    return f"{base}/links"


@pytest.fixture
async def links(house: Installation, ann: PageReader) -> str:
    """The path of the links of a workspace of Ann with two notes."""
    return await create_workspace(house, ann, NOTE, "Bills.md")


async def publish(ann: PageReader, links: str, **given: str) -> str:
    """Create a link, and return its address."""
    await ann.open(f"{links}/new")
    await ann.submit("Create the link", **{"kind": "note", "path": NOTE, **given})
    assert ann.status == 200, ann.page.alerts
    [address] = set(ADDRESSES.findall(ann.text))
    return str(address)


@pytest.mark.parametrize(
    ("kind", "path", "name"),
    [
        ("note", "Tea/Green.md", "Tea/Green"),
        ("note", "", "A note that was purged"),
        ("folder", "Tea", "Tea"),
        ("folder", "", "The whole workspace"),
    ],
)
def test_target_has_a_name(kind: str, path: str, name: str) -> None:
    given = {"kind": kind, "file_id": None, "path": path}
    assert name_of(PublishedTarget.model_validate(given)) == name


def test_folders_of_files_are_named_once_at_every_depth() -> None:
    paths = ["a.md", "b/c/d.md", "b/e.md", "B/c.md"]
    assert folders_of(paths) == ["B", "b", "b/c"]


async def test_empty_list_says_what_publishing_is_for(ann: PageReader, links: str) -> None:
    await ann.open(links)
    assert "Nothing is published" in ann.text
    await ann.open(ann.page.links["Publish a note or a folder"])
    assert ann.path == f"{links}/new"


async def test_address_is_shown_once_with_a_picture(ann: PageReader, links: str) -> None:
    address = await publish(ann, links, label="Ann & Bob")
    assert ann.page.title == "The link is ready \u2013 Household \u2013 Octavo"
    assert ann.received["cache-control"] == "no-store"
    assert '<svg role="img"' in ann.text
    assert "QR code of the address" in ann.text
    assert "The note as it is when they read it" in ann.text
    await ann.open(links)
    assert address not in ann.text
    assert "Kitchen/Tea/Earl Grey</strong>" in ann.text
    assert "<bdi>Ann &amp; Bob</bdi>" in ann.text


async def test_form_that_is_sent_twice_creates_one_link(ann: PageReader, links: str) -> None:
    await ann.open(f"{links}/new")
    form = ann.form("Create the link")
    addresses = set()
    for _ in range(2):
        await ann.send_form(form, kind="note", path="Bills.md")
        addresses |= set(ADDRESSES.findall(ann.text))
    assert len(addresses) == 1
    await ann.open(links)
    assert ann.text.count(">Revoke<") == 1


@pytest.mark.parametrize(
    ("kind", "path", "name"),
    [
        ("note", "Bills", "Bills"),
        ("note", f" /{NOTE} ", "Kitchen/Tea/Earl Grey"),
        ("folder", "Kitchen", "Kitchen"),
        ("folder", "Kitchen/Tea/", "Kitchen/Tea"),
        ("whole", "", "The whole workspace"),
        ("whole", NOTE, "The whole workspace"),
    ],
)
async def test_notes_and_folders_are_published(
    ann: PageReader, links: str, kind: str, path: str, name: str
) -> None:
    await publish(ann, links, kind=kind, path=path)
    await ann.open(links)
    assert f'<strong dir="auto">{name}</strong>' in ann.text


@pytest.mark.parametrize(
    ("given", "field", "text"),
    [
        ({"kind": "x"}, "kind", "Choose what the link opens."),
        ({"path": " / "}, "path", "Give the path of the note."),
        ({"path": "Kitchen"}, "path", "This is a folder."),
        ({"path": "Kitch"}, "path", "There is no note with this path."),
        ({"path": "a\0b"}, "path", "NUL"),
        ({"kind": "folder", "path": ""}, "path", "Give the path of the folder."),
        ({"kind": "folder", "path": "Garden"}, "path", "There is no note below this folder."),
        ({"kind": "folder", "path": NOTE}, "path", "This is a note."),
        ({"kind": "folder", "path": "a//b"}, "path", ""),
        ({"label": "x" * 201}, "label", "200"),
        ({"days": "2"}, "days", "Choose how long"),
        ({"until": "2026-01-01"}, "until", "This day is over."),
        ({"until": "soon"}, "until", "Give a day, such as"),
        ({"password": "short"}, "password", "at least 8 characters"),
        ({"openings": "0"}, "openings", "Give a whole number from 1 to 1,000,000"),
        ({"openings": "1000001"}, "openings", "Give a whole number from 1 to 1,000,000"),
        ({"openings": "\u0661"}, "openings", "Give a whole number from 1 to 1,000,000"),
        ({"openings": "9" * 5000}, "openings", "Give a whole number from 1 to 1,000,000"),
    ],
)
async def test_mistake_is_explained_at_its_field(
    ann: PageReader, links: str, given: dict[str, str], field: str, text: str
) -> None:
    await ann.open(f"{links}/new")
    sent = {"kind": "note", "path": NOTE, "label": "Ann", "password": "open sesame", **given}
    page = await ann.submit("Create the link", **sent)
    assert 400 <= ann.status < 500
    assert page.focused == [field]
    assert text in page.alerts[0]
    assert f'id="{field}-error"' in ann.text
    assert field == "password" or "Enter the password again" in page.alerts[0]
    await ann.open(links)
    assert "Nothing is published" in ann.text


async def test_what_was_typed_is_kept_but_the_password(ann: PageReader, links: str) -> None:
    await ann.open(f"{links}/new")
    given = {
        "kind": "folder",
        "path": HOSTILE,
        "label": "From me",
        "days": "7",
        "until": "2031-12-31",
        "openings": "3",
    }
    await ann.submit("Create the link", **given, password="open sesame")
    assert ann.status in (404, 422)
    assert ann.text.count(escaped(HOSTILE)) == 1
    fields = ann.form("Create the link").fields
    assert {name: fields[name] for name in ("path", "label", "days", "until", "openings")} == {
        name: value for name, value in given.items() if name != "kind"
    }
    assert 'value="folder" required checked' in ann.text
    assert "open sesame" not in ann.text


async def test_several_mistakes_are_listed_and_the_first_is_focused(
    ann: PageReader, links: str
) -> None:
    await ann.open(f"{links}/new")
    page = await ann.submit("Create the link", path="x", openings="x", until="x")
    assert page.focused == ["path"]
    for label in ("Path", "Last day", "Number of openings"):
        assert page.links[label].startswith("#")


@pytest.mark.parametrize(
    ("query", "kind", "path"),
    [
        ("", "note", ""),
        (f"?note={quote(NOTE)}", "note", NOTE),
        (f"?folder={quote(FOLDER)}", "folder", FOLDER),
        ("?folder=", "whole", ""),
    ],
)
async def test_address_fills_the_form_in(
    ann: PageReader, links: str, query: str, kind: str, path: str
) -> None:
    await ann.open(f"{links}/new{query}")
    assert ann.form("Create the link").fields["path"] == path
    assert f'value="{kind}" required checked' in ann.text


async def test_paths_are_suggested(ann: PageReader, links: str) -> None:
    await ann.open(f"{links}/new")
    suggested = re.findall(r'<option value="([^"]+)">(Folder|Note)<', ann.text)
    assert suggested == [
        ("Kitchen", "Folder"),
        (FOLDER, "Folder"),
        ("Bills.md", "Note"),
        (NOTE, "Note"),
    ]


async def test_workspace_without_notes_has_nothing_to_publish(
    house: Installation, ann: PageReader
) -> None:
    links = await create_workspace(house, ann)
    await ann.open(f"{links}/new")
    assert "There is nothing to publish yet" in ann.text
    assert all(not each.button.startswith("Create") for each in ann.page.forms)
    await ann.open(ann.page.links["Write the first note"])
    assert ann.page.headings[0] == "New note"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, "never"),
        ({"days": "7"}, "in 1 week"),
        ({"until": "2027-01-16"}, "in 2 days"),
        ({"days": "365", "until": "2027-01-16"}, "in 2 days"),
    ],
)
async def test_list_says_when_links_end(
    ann: PageReader, links: str, given: dict[str, str], shown: str
) -> None:
    await publish(ann, links, **given)
    await ann.open(links)
    ends = re.findall(r'data-name="Ends">(.*?)</td>', ann.text)
    assert [re.sub("<[^>]+>", "", each) for each in ends] == [shown]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, "none"),
        ({"password": "open sesame"}, "password"),
        ({"openings": "1"}, "one opening"),
        ({"password": "open sesame", "openings": "1,200"}, "password, 1,200 openings"),
    ],
)
async def test_list_says_what_limits_links(
    ann: PageReader, links: str, given: dict[str, str], shown: str
) -> None:
    await publish(ann, links, **given)
    await ann.open(links)
    assert re.findall(r'data-name="Limits">(.*?)</td>', ann.text) == [shown]


async def test_link_is_revoked_after_a_question(ann: PageReader, links: str) -> None:
    given = {"label": "Ann & Bob", "password": "open sesame", "openings": "2"}
    await publish(ann, links, **given)
    await ann.open(links)
    assert "by <bdi>Ann</bdi>" in ann.text
    question = ann.page.links["Revoke the link to Kitchen/Tea/Earl Grey"]
    page = await ann.open(question)
    assert page.headings == ["Revoke this link?"]
    assert '<dd dir="auto">Ann &amp; Bob</dd>' in ann.text
    assert '<dd dir="auto">password, 2 openings</dd>' in ann.text
    await ann.submit("Revoke the link")
    assert (ann.path, ann.page.alerts) == (
        links,
        ["The link is revoked. It opens nothing any more."],
    )
    assert "No link is live now." in ann.text
    assert ">revoked</span>" in ann.text
    assert "From <bdi>Ann &amp; Bob</bdi>" in ann.text
    await ann.open(question)
    assert ann.path == links


async def test_question_about_an_unknown_link_leads_to_the_list(
    ann: PageReader, links: str
) -> None:
    await ann.open(f"{links}/{UNKNOWN}/revoke")
    assert ann.path == links


async def test_ended_link_is_explained_and_its_notes_can_be_published_again(
    house: Installation, ann: PageReader, links: str
) -> None:
    await publish(ann, links, kind="folder", path=FOLDER, days="1")
    house.users.identity.sources.time += DAY
    ann = await house.signed_in(ADDRESS)
    await ann.open(links)
    assert "They open nothing, and can't be made live again." in ann.text
    assert re.search(r"Its time ended <time.*?>\d+ seconds? ago<", ann.text)
    await ann.open(ann.page.links[f"Publish again {FOLDER}"])
    assert ann.form("Create the link").fields["path"] == FOLDER


async def test_link_that_was_taken_down_is_explained(
    house: Installation, ann: PageReader, links: str
) -> None:
    await house.users.report(await publish(ann, links), "spam")
    await ann.open("/administration/reports")
    await ann.open(ann.page.links["Take the link down"])
    await ann.submit("Take the link down")
    await ann.open(links)
    assert ">taken down</span>" in ann.text
    assert "took it down after a report." in ann.text
    assert "Publish again" not in ann.text


async def test_list_says_which_links_open_nothing(
    house: Installation, ann: PageReader, links: str
) -> None:
    await publish(ann, links)
    await publish(ann, links, kind="folder", path=NOTE.rpartition("/")[0])
    await ann.open(links)
    assert "opens nothing" not in ann.text
    await house.users.identity.execute("UPDATE files SET state = 'trashed' WHERE path = $1", NOTE)
    await ann.open(links)
    assert ann.text.count("opens nothing") == 2
    assert "The note was deleted." in ann.text
    assert "There is no note in it." in ann.text
    await house.users.identity.execute("UPDATE accounts SET controls_publishing = 0")
    await ann.open(links)
    assert ann.text.count("Who created it may not publish.") == 2


async def test_long_list_has_pages(house: Installation, ann: PageReader, links: str) -> None:
    for number in range(31):
        await publish(ann, links, label=f"link {number}.", days="1")
        if number % MAXIMUM == MAXIMUM - 1:
            house.users.identity.sources.time += DAY
            ann = await house.signed_in(ADDRESS)
    await ann.open(links)
    assert ann.text.count("<tr><td") == 30
    await ann.open(ann.page.links["Next page"])
    assert ann.text.count("<tr><td") == 1
    assert "No link on this page is live." in ann.text
    await ann.open(ann.page.links["First page"])
    assert ann.path == links


async def test_maximum_number_of_links_is_said(ann: PageReader, links: str) -> None:
    for _ in range(MAXIMUM):
        await publish(ann, links)
    await ann.open(f"{links}/new")
    page = await ann.submit("Create the link", path=NOTE)
    assert ann.status == 422
    assert f"as many live links as it may have, {MAXIMUM}:" in page.alerts[0]


async def test_person_who_may_not_publish_is_told_so(
    house: Installation, ann: PageReader, links: str
) -> None:
    await publish(ann, links)
    form = await ann.form_at(f"{links}/new", "Create the link")
    await house.users.identity.execute("UPDATE accounts SET controls_publishing = 0")
    ann = await house.signed_in(ADDRESS)
    for path in (links, f"{links}/new"):
        await ann.open(path)
        assert "let you publish" in ann.text
        assert all(not each.button.startswith("Create") for each in ann.page.forms)
    assert "Publish a note or a folder" not in ann.page.links
    token = ann.form("Sign out").fields["token-of-form"]
    await ann.send_form(form, **{"token-of-form": token, "kind": "note", "path": NOTE})
    assert ann.status == 403
    assert "let you publish" in ann.text


@pytest.mark.parametrize("role", ["administrator", "editor", "reader"])
async def test_links_are_for_members_who_manage_the_workspace(
    house: Installation, ann: PageReader, bob: PageReader, links: str, role: str
) -> None:
    await publish(ann, links)
    base = links.removesuffix("/links")
    await ann.open(f"{base}/invitations")
    await ann.submit("Create the link", role=role)
    [invitation] = re.findall(r"register\?invitation=[\w-]+", ann.text)
    await bob.open(f"/{invitation}")
    await bob.submit("Join")
    await bob.open(base)
    manages = role == "administrator"
    assert ("Published links" in bob.page.links) is manages
    for path in (links, f"{links}/new", f"{links}/{UNKNOWN}/revoke"):
        await bob.open(path)
        assert bob.status == (200 if manages else 403)
        if not manages:
            assert bob.page.headings == ["You may not do this"]
    token = bob.form("Sign out").fields
    await bob.send(f"{links}/{UNKNOWN}/revoke", **token)
    assert bob.status == (404 if manages else 403)


async def test_links_of_others_are_not_found(bob: PageReader, links: str) -> None:
    for path in (links, f"{links}/new"):
        await bob.open(path)
        assert bob.status == 404


async def test_what_people_wrote_is_escaped(house: Installation, ann: PageReader) -> None:
    links = await create_workspace(house, ann, "a&lt;'.md")
    await publish(ann, links, path="a&lt;'", label=HOSTILE)
    assert "<script" not in ann.text
    await ann.open(links)
    assert escaped(HOSTILE) in ann.text
    assert escaped("a&lt;'") in ann.text
