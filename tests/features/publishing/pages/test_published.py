"""The pages that readers of published links see."""

import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import jinja2
import pytest

from octavo.features.legal.rules import NO_TEXTS, LegalText, LegalTexts
from octavo.features.publishing.pages.published import published_pages
from octavo.features.publishing.rules import LONGEST_NOTE, REASONS
from octavo.features.publishing.views import (
    Crumb,
    FolderEntry,
    FolderView,
    NoteEntry,
    NoteView,
    OutlineEntry,
)

SITE = "https://notes.example"
LEGAL = LegalTexts(LegalText("1", "/legal/terms"), LegalText("2", "https://example.org/privacy"))
PAGES = published_pages(SITE, LEGAL)
REPORT = "../report/{token}"
HOSTILE = "\"><script>alert('1')</script>&amp;"

NOTE = NoteView(
    title="Bread, slow",
    html='<p>The dough <em>works</em>.</p>\n<h2 id="evening">The evening</h2>',
    language=None,
    description="The dough works.",
    minutes=6,
    changed_at=1_795_341_600_000,
    outline=(),
    label=None,
    crumbs=(),
    previous=None,
    following=None,
    report=REPORT,
)
OUTLINE = (
    OutlineEntry(2, "Flour", "flour"),
    OutlineEntry(4, "Rye", "rye"),
    OutlineEntry(3, "Wheat", "wheat"),
    OutlineEntry(2, "Water", "water"),
)
TEA = FolderEntry("Tea", (), (NoteEntry("Earl Grey", "Tea/Earl%20Grey"),))
FOLDER = FolderView(
    FolderEntry("Household", (FolderEntry("Kitchen", (TEA,), ()),), (NoteEntry("Bills", "Bills"),)),
    count=2,
    label="Our house",
    report=REPORT,
)
EVERY_PAGE = {
    "note": PAGES.note(NOTE),
    "note of a folder": PAGES.note(
        replace(
            NOTE,
            label="Our house",
            outline=OUTLINE,
            language="de",
            crumbs=(Crumb("Household", "./"), Crumb("Kitchen", "./#in/Kitchen")),
            previous=Crumb("Bills", "Bills"),
            following=Crumb("Earl Grey", "Tea/Earl%20Grey"),
        )
    ),
    "plain note": PAGES.note(replace(NOTE, html="# <b>", plain=True)),
    "folder": PAGES.folder(FOLDER),
    "closed": PAGES.closed(REPORT),
    "report": PAGES.report(),
    "reported": PAGES.reported(),
}


class Structure(HTMLParser):
    """The elements of a page, with their attributes; those that have an end are ended in order."""

    _void = frozenset({"br", "input", "link", "meta", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        assert len(dict(attrs)) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in self._void:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element of a picture, which ends itself."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Check that the element was the last to begin."""
        assert self._open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of the elements of one name."""
        return [attributes for name, attributes in self.elements if name == tag]


every_page = pytest.mark.parametrize("text", EVERY_PAGE.values(), ids=EVERY_PAGE)


@every_page
def test_page_has_one_heading_a_title_and_a_main_part(text: str) -> None:
    structure = Structure(text)
    assert text.lstrip().startswith("<!doctype html>")
    assert len(structure.all("h1")) == len(structure.all("title")) == 1
    assert [each["id"] for each in structure.all("main")] == ["main"]
    assert structure.all("html") == [{"lang": "en"}]
    ids = [each["id"] for _, each in structure.elements if "id" in each]
    assert len(ids) == len(set(ids))


@every_page
def test_page_has_no_script_no_style_and_no_form_token(text: str) -> None:
    structure = Structure(text)
    tags = {name for name, _ in structure.elements}
    assert tags & {"script", "style", "iframe", "object", "base"} == set()
    names = {name for _, attributes in structure.elements for name in attributes}
    assert "style" not in names
    assert {name for name in names if name.startswith("on")} == set()
    assert "token-of-form" not in text
    loaded = [each["rel"] for each in structure.all("link")]
    assert loaded == ["icon", "stylesheet"]


@every_page
def test_page_is_not_to_be_indexed(text: str) -> None:
    assert {"name": "robots", "content": "noindex"} in Structure(text).all("meta")


@every_page
def test_page_leads_into_the_installation_only_to_the_legal_documents(text: str) -> None:
    addresses = {each.get("href") for each in Structure(text).all("a")}
    absolute = {each for each in addresses if each and (each[0] == "/" or ":" in each)}
    assert absolute == {"/legal/terms", "https://example.org/privacy"}


@every_page
def test_page_names_the_installation_without_its_address(text: str) -> None:
    assert SITE not in text


def test_no_reader_waits_for_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(*_: object, **__: object) -> None:
        pytest.fail("a template is compiled when a page is served")

    pages = published_pages(SITE, LEGAL)
    monkeypatch.setattr(jinja2.Environment, "compile", compiled)
    assert pages.note(NOTE) == EVERY_PAGE["note"]
    assert pages.folder(FOLDER) == EVERY_PAGE["folder"]
    assert pages.closed(REPORT) == EVERY_PAGE["closed"]
    assert pages.report() == EVERY_PAGE["report"]
    assert pages.reported() == EVERY_PAGE["reported"]
    assert "Too much" in pages.refused("Too much", "Wait a minute.", "")


def test_installation_without_documents_has_no_links_to_them() -> None:
    pages = published_pages(SITE, NO_TEXTS)
    for text in (pages.note(NOTE), pages.reported()):
        assert Structure(text).all("nav") == []


def test_note_shows_its_title_text_day_and_length() -> None:
    text = EVERY_PAGE["note"]
    assert "<title>Bread, slow</title>" in text
    assert '<h1 dir="auto">Bread, slow</h1>' in text
    assert NOTE.html in text
    assert '<time datetime="2026-11-22">22 November 2026</time> · 6 minutes to read' in text
    assert "1 minute to read" in PAGES.note(replace(NOTE, minutes=1))


def test_note_is_described_to_programs_that_show_links() -> None:
    meta = Structure(EVERY_PAGE["note of a folder"]).all("meta")
    given = {each["property"]: each["content"] for each in meta if "property" in each}
    assert given == {
        "og:title": "Bread, slow",
        "og:description": "The dough works.",
        "og:type": "article",
        "og:site_name": "Octavo",
    }
    assert {"name": "description", "content": "The dough works."} in meta


def test_note_without_text_has_no_description() -> None:
    assert "description" not in PAGES.note(replace(NOTE, description=""))


def test_description_of_a_folder_names_no_folder() -> None:
    for label, title in (("Our house", "Our house"), (None, "Notes")):
        meta = Structure(PAGES.folder(replace(FOLDER, label=label))).all("meta")
        given = {each.get("property", each.get("name")): each.get("content") for each in meta}
        assert (given["og:title"], given["og:description"]) == (title, "2 notes")
        assert "Household" not in given.values()


def test_note_is_in_its_language_and_the_frame_in_english() -> None:
    structure = Structure(EVERY_PAGE["note of a folder"])
    marked = [(tag, each["lang"]) for tag, each in structure.elements if "lang" in each]
    assert marked == [("html", "en"), ("h1", "de"), ("ol", "de"), ("div", "de")]


def test_contents_are_listed_by_depth() -> None:
    text = EVERY_PAGE["note of a folder"]
    listed = re.findall(r'data-depth="(\d)"><a href="#(\w+)" dir="auto">(\w+)</a>', text)
    assert listed == [
        ("1", "flour", "Flour"),
        ("2", "rye", "Rye"),
        ("2", "wheat", "Wheat"),
        ("1", "water", "Water"),
    ]


def test_short_note_has_no_list_of_contents() -> None:
    assert "Contents" not in PAGES.note(replace(NOTE, outline=OUTLINE[:2]))


def test_note_of_a_folder_leads_back_and_to_its_neighbours() -> None:
    text = EVERY_PAGE["note of a folder"]
    assert "From <bdi>Our house</bdi>" in text
    assert '<a href="./" dir="auto">Household</a>' in text
    assert '<a href="./#in/Kitchen" dir="auto">Kitchen</a>' in text
    assert '<a href="Bills" rel="prev">' in text
    assert '<a href="Tea/Earl%20Grey" rel="next">' in text


def test_only_neighbour_stands_alone() -> None:
    text = PAGES.note(replace(NOTE, following=Crumb("Earl Grey", "Earl")))
    assert ("Next" in text, "Previous" in text) == (True, False)


def test_note_that_cannot_be_rendered_is_shown_as_written() -> None:
    # A parser leaves out the first line break of <pre>.
    text = PAGES.note(replace(NOTE, html="\n# <b>\n", plain=True))
    assert "be shown as a page" in text
    assert '<pre class="written" dir="auto">\n\n# &lt;b&gt;\n</pre>' in text


def test_what_people_wrote_is_escaped() -> None:
    crumb = Crumb(HOSTILE, HOSTILE)
    entry = FolderEntry(HOSTILE, (), (NoteEntry(HOSTILE, HOSTILE),))
    note = replace(
        NOTE,
        title=HOSTILE,
        label=HOSTILE,
        language=HOSTILE,
        description=HOSTILE,
        outline=(OutlineEntry(1, HOSTILE, HOSTILE),) * 3,
        crumbs=(crumb, crumb),
        previous=crumb,
        following=crumb,
        report=HOSTILE,
    )
    folder = replace(FOLDER, folder=replace(entry, folders=(entry,)), label=HOSTILE, report=HOSTILE)
    plain = replace(note, html=HOSTILE, plain=True)
    shown = (PAGES.note(note), PAGES.note(plain), PAGES.folder(folder), PAGES.closed(HOSTILE))
    for text in shown:
        assert "<script" not in text
        assert escape(HOSTILE).replace("&quot;", "&#34;").replace("&#x27;", "&#39;") in text
        Structure(text)


def test_folder_lists_its_notes_by_folder() -> None:
    text = EVERY_PAGE["folder"]
    assert '<h1 dir="auto">Household</h1>\n<p class="hint">2 notes</p>' in text
    own, _, inner = text.partition("<details")
    assert '<a href="Bills" dir="auto">Bills</a>' in own
    assert re.sub("<[^>]+>", "", re.findall("<h2>(.*)</h2>", inner)[0]) == "Kitchen / Tea"
    assert '<a href="Tea/Earl%20Grey" dir="auto">Earl Grey</a>' in inner


def test_every_folder_has_its_place_in_the_list() -> None:
    before, _, after = EVERY_PAGE["folder"].partition("<summary>")
    assert 'id="in/Kitchen' not in before
    # The folder around it has no notes of its own, and no heading.
    assert after.index('id="in/Kitchen"') < after.index('id="in/Kitchen/Tea"')
    assert after.index('id="in/Kitchen/Tea"') < after.index("Earl Grey")


@pytest.mark.parametrize(("count", "opened"), [(100, True), (101, False)])
def test_folders_of_a_long_list_are_folded(count: int, opened: bool) -> None:
    text = PAGES.folder(replace(FOLDER, count=count))
    assert ('<details class="section" open>' in text) is opened


def test_deep_folder_is_named_by_its_last_folders() -> None:
    folder = TEA
    for number in range(30):
        folder = FolderEntry(f"f{number}", (folder,), ())
    text = PAGES.folder(replace(FOLDER, folder=folder))
    shown = re.sub("<[^>]+>", "", re.findall("<h2>(.*)</h2>", text)[0])
    assert shown == "… / f2 / f1 / f0 / Tea"


def test_folder_without_notes_says_so() -> None:
    text = PAGES.folder(replace(FOLDER, folder=FolderEntry("Empty", (), ()), count=0))
    assert "0 notes" in text
    assert "Nothing is here yet" in text


def test_folder_of_a_thousand_notes_lists_each() -> None:
    notes = tuple(NoteEntry(f"Note {number}", f"n{number}") for number in range(25))
    folders = tuple(FolderEntry(f"Folder {number}", (), notes) for number in range(40))
    text = PAGES.folder(replace(FOLDER, folder=FolderEntry("All", folders, ()), count=1000))
    assert "1,000 notes" in text
    assert text.count("<li>") == 1000


def test_closed_link_asks_for_a_password_that_may_be_empty() -> None:
    structure = Structure(EVERY_PAGE["closed"])
    assert structure.all("form") == [{"method": "post"}]
    [field] = structure.all("input")
    assert (field["name"], field["type"], field["autocomplete"]) == ("password", "password", "off")
    assert "required" not in field
    assert REPORT in {each["href"] for each in structure.all("a")}


def test_closed_link_gives_every_reason_at_once() -> None:
    text = EVERY_PAGE["closed"]
    for reason in ("password", "expired", "withdrawn", "used up", "gone", "incomplete"):
        assert reason in text


def test_report_has_a_reason_and_may_have_a_note() -> None:
    structure = Structure(EVERY_PAGE["report"])
    assert structure.all("form") == [{"method": "post"}]
    reasons = structure.all("input")
    assert [each["value"] for each in reasons] == list(REASONS)
    assert {(each["name"], each["type"]) for each in reasons} == {("reason", "radio")}
    assert all("required" in each for each in reasons)
    [note] = structure.all("textarea")
    assert (note["name"], note["maxlength"]) == ("note", str(LONGEST_NOTE))
    assert "required" not in note


def test_equal_views_give_equal_pages() -> None:
    others = published_pages(SITE, LEGAL)
    assert others.note(replace(NOTE)) == EVERY_PAGE["note"]
    assert others.folder(replace(FOLDER)) == EVERY_PAGE["folder"]
    assert others.closed(REPORT) == EVERY_PAGE["closed"]
    assert (others.report(), others.reported()) == (EVERY_PAGE["report"], EVERY_PAGE["reported"])
