"""Stories of people who have a browser and no script: notes are written, shared and found."""

import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.e2e.browser import missing
from tests.e2e.browsing import (
    NARROW,
    ORIGIN,
    WIDE,
    PageSite,
    field,
    fill_in,
    follow,
    heading,
    message,
    page_site,
    press,
    register,
)
from tests.e2e.people import PASSWORD, invite
from tests.e2e.server import PATIENCE
from tests.fakes.image_files import encoded, picture
from tests.fakes.vaults import OBSIDIAN
from tests.fakes.yjs_device import Device

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")


@pytest.fixture(scope="module")
def site() -> Iterator[PageSite]:
    with page_site(write_objects=40_000) as made:
        fay = register(made.http, "Fay", invite(made.folder))
        yield replace(made, people={**made.people, "Fay": fay})


@pytest.fixture
def workspace(site: PageSite) -> str:
    """The path of the pages of a new workspace of Ann, which her browser shows."""
    site.become("Ann")
    page = site.open("/workspaces", NARROW)
    fill_in(page, {"Name": "Household"})
    press(page, "Create the workspace")
    return page.current_url.removeprefix(ORIGIN)


def write(page: Chrome, workspace: str, path: str, text: str) -> str:
    """Write a note in the form, and return the path of its page."""
    page.get(f"{ORIGIN}{workspace}/new")
    fill_in(page, {"Path": path, "Text": text})
    press(page, "Create the note")
    assert message(page) == "The note is created."
    return page.current_url.removeprefix(ORIGIN)


def prose(page: Chrome) -> str:
    return page.find_element(By.CSS_SELECTOR, ".prose").text


def api_of(workspace: str, note: str = "") -> str:
    """The path of the workspace, or of a note, in the API."""
    name = note.rpartition("/")[2]
    return f"/api{workspace}/files/{name}" if note else f"/api{workspace}"


def test_newcomer_writes_the_first_note(site: PageSite, workspace: str) -> None:
    page = site.browser
    assert (heading(page), "No notes yet" in page.page_source) == ("Household", True)
    follow(page, "Write the first note")
    fill_in(page, {"Path": "Kitchen/Tea", "Text": "# Tea\n\nGreen, at **75 °C**."})
    press(page, "Preview")
    assert page.find_element(By.CSS_SELECTOR, ".preview strong").text == "75 °C"
    press(page, "Create the note")
    assert (heading(page), message(page)) == ("Tea", "The note is created.")
    assert page.find_element(By.CSS_SELECTOR, ".prose strong").text == "75 °C"
    follow(page, "Edit")
    fill_in(page, {"Text": "# Tea\n\nBlack."})
    press(page, "Save")
    assert (message(page), prose(page)) == ("Saved.", "Black.")


def test_client_saves_in_between_and_both_texts_are_kept(site: PageSite, workspace: str) -> None:
    page = site.browser
    note = write(page, workspace, "Tea", "Green.\n\nHot.\n")
    follow(page, "Edit")
    place = api_of(workspace, note)
    head = site.api("Ann", "GET", place)["head"]
    assert isinstance(head, dict)
    changed = {"op": "update", "fileId": note.rpartition("/")[2], "ifMatch": head["id"]}
    body = {"mutationId": head["id"], "operations": [{**changed, "text": "Green tea.\n\nHot.\n"}]}
    site.api("Ann", "POST", f"{api_of(workspace)}/changesets", body)
    fill_in(page, {"Text": "Green.\n\nVery hot.\n"})
    press(page, "Save")
    assert heading(page) == "This note changed while you wrote"
    assert "there are no conflicts" in page.page_source
    press(page, "Save the merged text")
    assert prose(page) == "Green tea.\nVery hot."


def test_device_merges_a_document_in_between(site: PageSite, workspace: str) -> None:
    page = site.browser
    note = write(page, workspace, "Tea", "Green.\n\nHot.\n")
    follow(page, "Edit")
    place = api_of(workspace, note)
    device = Device.of(dict(site.api("Ann", "GET", place)))
    device.insert(5, " tea")
    site.api("Ann", "POST", f"{place}/saves", device.save())
    fill_in(page, {"Text": "Green.\n\nVery hot.\n"})
    press(page, "Save")
    press(page, "Save the merged text")
    assert prose(page) == "Green tea.\nVery hot."


def test_contradiction_is_finished_by_the_person(site: PageSite, workspace: str) -> None:
    page = site.browser
    note = write(page, workspace, "Tea", "Steep 3 minutes.\n")
    follow(page, "Edit")
    head = site.api("Ann", "GET", api_of(workspace, note))["head"]
    assert isinstance(head, dict)
    changed = {"op": "update", "fileId": note.rpartition("/")[2], "ifMatch": head["id"]}
    body = {"mutationId": head["id"], "operations": [{**changed, "text": "Steep 2 minutes.\n"}]}
    site.api("Ann", "POST", f"{api_of(workspace)}/changesets", body)
    fill_in(page, {"Text": "Steep 4 minutes.\n"})
    press(page, "Save")
    shown = [each.text for each in page.find_elements(By.CSS_SELECTOR, ".conflicts ins")]
    assert shown == ["4", "2"]
    fill_in(page, {"Text": "Steep 2 to 4 minutes.\n"})
    press(page, "Save the merged text")
    assert (message(page), prose(page)) == ("Saved.", "Steep 2 to 4 minutes.")
    follow(page, "History")
    assert len(page.find_elements(By.CSS_SELECTOR, "tbody tr")) == 3


def test_expired_session_keeps_the_text(site: PageSite, workspace: str) -> None:
    page = site.browser
    note = write(page, workspace, "Tea", "Green.\n")
    follow(page, "Edit")
    fill_in(page, {"Text": "Black, after an hour of thinking.\n"})
    site.become("")
    press(page, "Save")
    assert heading(page) == "Sign in again"
    fill_in(page, {"E-mail address": "ann@example.org", "Password": PASSWORD})
    press(page, "Sign in and go on")
    assert heading(page) == "You are signed in again"
    press(page, "Save")
    assert page.current_url == ORIGIN + note
    assert prose(page) == "Black, after an hour of thinking."


def test_image_is_added_to_a_note_and_shown(site: PageSite, workspace: str, tmp_path: Path) -> None:
    file = tmp_path / "Tea cup.png"
    file.write_bytes(encoded(picture((40, 30)), "PNG"))
    page = site.browser
    write(page, workspace, "Kitchen/Tea", "# Tea\n")
    follow(page, "Edit")
    page.find_element(By.XPATH, "//summary[.='Add an image']").click()
    page.find_element(By.ID, "image").send_keys(str(file))
    press(page, "Upload and insert")
    text = page.find_element(By.ID, "text").get_attribute("value")
    assert text == "# Tea\n\n![Tea cup](../attachments/Tea%20cup.png)\n"
    press(page, "Save")
    shown = page.find_element(By.CSS_SELECTOR, ".prose img")
    assert shown.get_attribute("alt") == "Tea cup"
    assert page.execute_script("return arguments[0].naturalWidth", shown) == 40
    page.get(f"{ORIGIN}{workspace}/images")
    follow(page, "Tea cup.png")
    follow(page, "Tea")
    assert heading(page) == "Tea"


def test_cells_of_a_right_to_left_table_are_aligned_as_the_table(
    site: PageSite, workspace: str
) -> None:
    page = site.browser
    table = "| \u0627\u0633\u0645 | A |\n| --- | --- |\n| \u0634\u0627\u064a | 12 |\n"
    write(page, workspace, "Tea", f"\u0645\u0631\u062d\u0628\u0627\n\n{table}")
    cells = page.find_elements(By.CSS_SELECTOR, ".prose :is(th, td)")
    assert [each.value_of_css_property("text-align") for each in cells] == ["right"] * 4


def test_note_is_moved_with_its_links_and_found(site: PageSite, workspace: str) -> None:
    page = site.browser
    note = write(page, workspace, "Tea", "# Green tea\n\nOf the spring harvest.\n")
    write(page, workspace, "Drinks", "Never without [tea](Tea.md).\n")
    page.get(f"{ORIGIN}{note}/move")
    fill_in(page, {"Path": "Kitchen/Drinks/Tea"})
    press(page, "Move the note")
    assert message(page) == "The note is moved."
    follow(page, "Drinks", within="#links-here")
    follow(page, "tea", within=".prose")
    assert heading(page) == "Green tea"
    page.set_window_size(WIDE, 800)
    page.get(f"{ORIGIN}{workspace}/search")
    page.find_element(By.ID, "q").send_keys("harv")
    press(page, "Search")
    assert page.find_element(By.TAG_NAME, "mark").text.startswith("harv")
    follow(page, "Green tea")
    assert "spring harvest" in prose(page)


def test_note_is_deleted_and_restored(site: PageSite, workspace: str) -> None:
    page = site.browser
    write(page, workspace, "Tea", "Green.\n")
    follow(page, "Delete")
    press(page, "Delete the note")
    assert "It is among the deleted notes" in message(page)
    page.get(f"{ORIGIN}{workspace}/deleted")
    follow(page, "Restore")
    press(page, "Restore the note")
    assert (message(page), prose(page)) == ("The note is restored.", "Green.")


def test_workspace_is_restored_and_the_restoration_undone(site: PageSite, workspace: str) -> None:
    page = site.browser
    note = write(page, workspace, "Tea", "Green.\n")
    moment = page.find_element(By.CSS_SELECTOR, "header time").get_attribute("datetime")
    follow(page, "Edit")
    fill_in(page, {"Text": "Black.\n"})
    press(page, "Save")
    write(page, workspace, "Coffee", "Strong.\n")
    page.get(f"{ORIGIN}{workspace}/restore")
    assert heading(page) == "Restore to an earlier moment"
    page.get(f"{ORIGIN}{workspace}/restore?moment={moment}")
    assert "is deleted" in page.find_element(By.TAG_NAME, "main").text
    press(page, "Restore 2 files")
    # The page is loaded again by itself while the restoration runs.
    WebDriverWait(page, PATIENCE).until(lambda _: heading(page) == "Restored")
    restored = page.current_url
    page.get(ORIGIN + note)
    assert prose(page) == "Green."
    page.get(restored)
    follow(page, "Undo this restoration…")
    press(page, "Undo the restoration")
    WebDriverWait(page, PATIENCE).until(lambda _: heading(page) == "Restored")
    page.get(ORIGIN + note)
    assert prose(page) == "Black."


def test_note_is_published_from_its_page(site: PageSite, workspace: str) -> None:
    page = site.browser
    write(page, workspace, "Kitchen/Tea", "# Tea\n\nGreen.\n")
    follow(page, "Share")
    press(page, "Create the link")
    address = page.find_element(By.ID, "address").text
    site.become("")
    page.get(address)
    assert (heading(page), "Green." in prose(page)) == ("Tea", True)
    site.become("Ann")


@pytest.mark.parametrize("role", ["reader", "editor"])
def test_second_person_reads_or_writes(site: PageSite, workspace: str, role: str) -> None:
    page = site.browser
    note = write(page, workspace, "Tea", "Green.\n")
    sent = site.api("Ann", "POST", f"{api_of(workspace)}/invitations", {"role": role})
    site.api("Fay", "POST", "/api/invitations/accept", {"token": sent["token"]})
    site.become("Fay")
    page.get(ORIGIN + note)
    buttons = [each.text for each in page.find_elements(By.CSS_SELECTOR, "header .row a")]
    assert "History" in buttons
    assert ("Edit" in buttons) is (role == "editor")
    page.get(f"{ORIGIN}{note}/edit")
    if role == "reader":
        assert "not change them" in page.find_element(By.TAG_NAME, "main").text
        return
    fill_in(page, {"Text": "Green, says Fay.\n"})
    press(page, "Save")
    assert prose(page) == "Green, says Fay."
    site.become("Ann")
    page.get(ORIGIN + note)
    assert "by Fay" in page.find_element(By.TAG_NAME, "main").text


class TextBrowser:
    """w3m with the session of a person: a page is its text, and the links that it numbers."""

    def __init__(self, site: PageSite, name: str) -> None:
        self._base = str(site.http.base_url).rstrip("/")
        self._cookie = f"Cookie: __Host-octavo={site.people[name].cookie}"
        self.text = ""
        self.links: dict[str, str] = {}

    def open(self, address: str, *more: str) -> str:
        command = ["w3m", "-dump", "-cols", "70", "-o", "display_link_number=1", *more]
        address = address if address.startswith("http") else self._base + address
        done = subprocess.run(
            [*command, "-header", self._cookie, address], capture_output=True, check=True
        )
        self.text, _, references = done.stdout.decode().partition("References:")
        names = dict(re.findall(r"\[(\d+)\]([^\[\n]+)", self.text))
        addresses = dict(re.findall(r"\[(\d+)\] (\S+)", references))
        self.links = {
            name.strip(): addresses[number] for number, name in names.items() if number in addresses
        }
        return self.text

    def follow(self, name: str) -> str:
        return self.open(self.address(name))

    def address(self, name: str) -> str:
        """The address of the first link that begins so."""
        return next(each for text, each in self.links.items() if text.startswith(name))

    def post(self, path: str, fields: dict[str, str], folder: Path) -> str:
        file = folder / "fields"
        file.write_text(urlencode(fields))
        return self.open(path, "-header", f"Origin: {ORIGIN}", "-post", str(file))


def test_notes_are_read_and_written_in_a_text_browser(
    site: PageSite, workspace: str, tmp_path: Path
) -> None:
    """Pages are complete without style, and in the order in which they are read."""
    if shutil.which("w3m") is None:
        pytest.skip("NO PAGE IS READ IN A TEXT BROWSER: there is no w3m (apt-get install w3m).")
    write(site.browser, workspace, "Kitchen/Tea", "# Tea\n\nGreen, at **75 °C**.\n\n- one\n")
    reader = TextBrowser(site, "Ann")
    assert "Recently changed" in reader.open(workspace)
    reader.follow("Kitchen")
    shown = reader.follow("Tea")
    at = -1
    for each in ("Household", "Kitchen", "Tea", "Edit", "Green, at 75", "one", "New note"):
        at = shown.find(each, at + 1)
        assert at >= 0, (each, shown)
    address = reader.address("Edit").removeprefix(str(site.http.base_url).rstrip("/"))
    assert "Help for Markdown" in reader.follow("Edit")
    headers = {"cookie": f"__Host-octavo={site.people['Ann'].cookie}"}
    form = site.http.get(address, headers=headers).text
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
    fields = {**hidden, "path": "Kitchen/Tea.md", "text": "# Tea\n\nBlack.", "action": "save"}
    reader.post(address, fields, tmp_path)
    assert "Black." in reader.open(address.removesuffix("/edit"))
    assert "with a device" not in reader.open(f"{address.removesuffix('/edit')}/history")
    assert "tea" in reader.open(f"{workspace}/search?q=black").lower()


def test_newcomer_tries_the_example(site: PageSite, workspace: str) -> None:
    page = site.browser
    press(page, "Try it with an example")
    assert message(page).startswith("Here is the example.")
    assert heading(page) == "Welcome"
    follow(page, "garden plan")
    follow(page, "Bread")
    assert page.find_elements(By.CSS_SELECTOR, ".prose math, .prose .callout")
    follow(page, "Formulas", within=".prose")
    assert heading(page) == "Formulas"


def test_vault_is_imported_in_the_browser(site: PageSite, workspace: str, tmp_path: Path) -> None:
    page = site.browser
    file = tmp_path / "Vault.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in OBSIDIAN.files.items():
            archive.writestr(name, data)
    follow(page, "Import notes")
    field(page, "Archive").send_keys(str(file))
    press(page, "Import")
    # A busy machine shows the progress first.
    WebDriverWait(page, PATIENCE).until(lambda shown: heading(shown) == "Your notes are here")
    assert page.find_element(By.CSS_SELECTOR, ".facts dd").text == str(len(OBSIDIAN.notes))
    follow(page, "Open the notes")
    follow(page, "Vault")
    follow(page, "Home")
    assert heading(page) == "Home"
    follow(page, "to do")
    assert heading(page) == "Garden plan"
    page.get(f"{ORIGIN}{workspace}/transfers")
    field(page, "Archive").send_keys(str(file))
    press(page, "Import")
    assert heading(page) == "The archive was not imported"
    assert "Move or delete those notes" in message(page)
    press(page, "Discard the archive")
    assert message(page) == "The archive is discarded."
