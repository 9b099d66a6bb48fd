"""Where the references of a published note lead, and what differs between readers."""

from dataclasses import replace

import pytest
from octavo_rules.identity import FileId

from octavo.features.publishing.composition import ViewComposer, body_of, placeholders
from octavo.features.publishing.rules import LinkTarget
from octavo.features.publishing.workspace_map import WorkspaceMap
from octavo.render.note import render_note
from tests.features.publishing.test_rules_ticket import LINK
from tests.features.publishing.test_workspace_map import head, site_of

PLACES = placeholders(bytes(32))
FOLDER = replace(LINK, target=LinkTarget("folder", None, "tea"))
NOTE = replace(LINK, target=LinkTarget("note", FileId("1"), ""))


def site() -> WorkspaceMap:
    return site_of(
        head("1", "tea/a.md"),
        head("2", "tea/x/b c.md"),
        head("3", "b.md"),
        head("4", "attachments/cup.png"),
    )


def body(text: str, ticket: str | None = None) -> str:
    """The HTML of the text of ``tea/a.md`` for a reader of the folder."""
    composer, files = ViewComposer(PLACES), site()
    note = files.note(FOLDER.target, FileId("1"))
    assert note is not None
    rendered = render_note(text)
    html = body_of(rendered, composer.addresses(FOLDER, files, note, rendered.references))
    return PLACES.filled(html.encode(), "TOKEN", ticket).decode()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("[a](x/b%20c.md)", "TOKEN?note=2"),
        ("[a](</tea/x/b c.md>)", "TOKEN?note=2"),
        ("[[b c]]", "TOKEN?note=2"),
        ("[[b c#Green tea]]", "TOKEN?note=2#green-tea"),
        ("[[b c#^dough]]", "TOKEN?note=2#%5Edough"),
        ("[a](x/b%20c.md#green-tea)", "TOKEN?note=2#green-tea"),
        ("[[b c#Été & thé]]", "TOKEN?note=2#%C3%A9t%C3%A9--th%C3%A9"),
        ("[[a#Top]]\n\n# Top", "#top"),
        ("![[b c]]", "TOKEN?note=2"),
    ],
)
def test_link_leads_to_a_published_note(text: str, address: str) -> None:
    assert f'href="{address}"' in body(text)


@pytest.mark.parametrize("text", ["[a](../b.md)", "[[b]]", "[a](c.md)", "[[/b.md|a]]", "![[b]]"])
def test_link_that_leads_elsewhere_is_text(text: str) -> None:
    html = body(text)
    assert "<a" not in html
    assert "a" in html or "b" in html


def test_image_has_its_size_and_its_revision() -> None:
    html = body("![A cup](/attachments/cup.png)")
    assert 'src="TOKEN/attachments/4/40?note=1"' in html
    assert 'width="10" height="10"' in html
    assert 'alt="A cup"' in html


def test_image_that_is_not_there_is_its_text() -> None:
    assert body("![A cup](/attachments/other.png)") == (
        '<p><span class="missing">A cup</span></p>\n'
    )


def test_ticket_is_in_every_address_of_the_link() -> None:
    html = body("[[b c]] ![[cup.png]] [e](https://example.org)", "T")
    assert 'href="TOKEN?note=2&amp;ticket=T"' in html
    assert 'src="TOKEN/attachments/4/40?note=1&amp;ticket=T"' in html
    assert 'href="https://example.org"' in html


def test_placeholders_are_replaced_and_quoted() -> None:
    page = f'<a href="{PLACES.token}{PLACES.only}">'.encode()
    assert PLACES.filled(page, 'a"/b', "T") == b'<a href="a%22%2Fb?ticket=T">'
    assert PLACES.filled(page, "a", None) == b'<a href="a">'


def test_note_has_its_neighbours_and_the_way_to_it() -> None:
    composer, files = ViewComposer(PLACES), site()
    note = files.note(FOLDER.target, FileId("2"))
    assert note is not None
    view = composer.note(FOLDER, files, note, None, "text")
    assert view.title == "b c"
    top = f"{PLACES.token}{PLACES.only}"
    assert view.crumbs == [("tea", top), ("x", f"{top}#in/x")]
    assert view.previous is not None
    assert view.previous.name == "a"
    assert view.following is None
    assert view.plain


def test_link_of_a_note_shows_nothing_of_where_it_is() -> None:
    composer, files = ViewComposer(PLACES), site()
    note = files.note(NOTE.target, FileId("1"))
    assert note is not None
    view = composer.note(NOTE, files, note, render_note("# Tea\n\n[[b c]]"), "")
    assert (view.title, view.crumbs, view.previous, view.following) == ("Tea", [], None, None)


def test_list_of_a_folder_is_a_tree() -> None:
    composer, files = ViewComposer(PLACES), site()
    view = composer.folder(FOLDER, files.notes_below("tea"))
    assert (view.count, view.folder.name) == (2, "tea")
    assert [each.name for each in view.folder.notes] == ["a"]
    [inner] = view.folder.folders
    assert (inner.name, [each.name for each in inner.notes]) == ("x", ["b c"])
    whole = replace(FOLDER, target=LinkTarget("folder", None, ""))
    listed = composer.folder(whole, files.notes_below(""))
    assert (listed.count, listed.folder.name) == (3, "All notes")
