"""Readers of published links in a real browser: every state of a link, and what leads where."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import url_contains
from selenium.webdriver.support.wait import WebDriverWait

from tests.e2e.browser import missing, running_browser
from tests.e2e.browsing import fill_in, follow, heading, press
from tests.e2e.octavo_process import data_folder, running
from tests.e2e.people import Person, client, settle
from tests.e2e.pictures import Pictures
from tests.e2e.server import PATIENCE
from tests.fakes.image_files import encoded, picture

HOST = "localhost:8080"
ORIGIN = f"http://{HOST}"
PASSWORD = "open sesame"
CLOSED = "Open this link"
GREEN = """---
lang: en-GB
---
# Green tea

See [the black one](x/black.md) and [[soup]].[^1]

![A cup](/attachments/cup.png)

[^1]: From [[black#Milk|a neighbour]].
"""
BLACK = "# Black tea\n\nWater at 95 °C.\n\n## Milk\n\nAt the end.\n"


@dataclass
class Readers:
    """A browser, and a workspace whose notes are published."""

    browser: Chrome
    http: httpx.Client
    person: Person
    place: str
    notes: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: object = None) -> dict[str, str]:
        response = self.http.request(method, path, json=body, headers=self.person.by_key)
        assert response.is_success, response.text
        found: dict[str, str] = response.json()
        return found

    def publish(self, **how: object) -> dict[str, str]:
        target = {"kind": "folder", "path": "tea"}
        return self.ask("POST", f"{self.place}/publications", {"target": target, **how})

    def open(self, link: dict[str, str]) -> Chrome:
        self.browser.get(f"{ORIGIN}/published/{link['token']}")
        return self.browser


@pytest.fixture(scope="module")
def readers() -> Iterator[Readers]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with data_folder() as folder, running(folder, "--public-url", ORIGIN) as octavo:
        person = settle(octavo)
        with client(octavo.url) as http, running_browser(HOST, octavo.port) as browser:
            made = Readers(browser, http, person, "")
            workspace = made.ask("POST", "/api/workspaces", {"name": "Vault"})["id"]
            made.place = f"/api/workspaces/{workspace}"
            Pictures(http, person, made.place).attach(encoded(picture((30, 20)), "PNG"), "cup.png")
            for path, text in (
                ("tea/green.md", GREEN),
                ("tea/x/black.md", BLACK),
                ("soup.md", "# Soup\n\nA secret.\n"),
            ):
                body = {"path": path, "text": text}
                made.notes[path] = made.ask("POST", f"{made.place}/files", body)["fileId"]
            yield made


def text_of(page: Chrome) -> str:
    return page.find_element(By.TAG_NAME, "body").text


def test_folder_is_a_small_site(readers: Readers) -> None:
    page = readers.open(readers.publish(label="Ann's notes"))
    assert heading(page) == "tea"
    assert "From Ann's notes" in text_of(page)
    follow(page, "green")
    assert heading(page) == "Green tea"
    assert page.title == "Green tea"
    assert "soup" in text_of(page)
    assert "secret" not in page.page_source
    [cup] = page.find_elements(By.TAG_NAME, "img")
    assert page.execute_script("return arguments[0].naturalWidth", cup) == 30
    follow(page, "the black one")
    assert heading(page) == "Black tea"
    follow(page, "x")
    assert heading(page) == "tea"
    assert page.current_url.endswith("#in/x")
    follow(page, "black")
    page.find_element(By.CSS_SELECTOR, "a[rel=prev]").click()
    assert heading(page) == "Green tea"
    follow(page, "a neighbour")
    assert page.current_url.endswith("#milk")
    follow(page, "tea")
    assert heading(page) == "tea"
    assert page.get_cookies() == []


def test_footnotes_lead_there_and_back(readers: Readers) -> None:
    page = readers.open(readers.publish())
    follow(page, "green")
    before = page.current_url.partition("#")[0]
    page.find_element(By.CSS_SELECTOR, ".footnote a").click()
    assert page.current_url.partition("#")[0] == before
    there = page.current_url
    page.find_element(By.CSS_SELECTOR, "a.footnote-back").click()
    assert page.current_url not in (there, before)
    assert heading(page) == "Green tea"


def test_password_opens_the_link_and_everything_in_it(readers: Readers) -> None:
    page = readers.open(readers.publish(password=PASSWORD))
    assert heading(page) == CLOSED
    fill_in(page, {"Password": "wrong password"})
    press(page, "Open")
    assert heading(page) == CLOSED
    fill_in(page, {"Password": PASSWORD})
    press(page, "Open")
    assert heading(page) == "tea"
    follow(page, "green")
    [cup] = page.find_elements(By.TAG_NAME, "img")
    assert page.execute_script("return arguments[0].naturalWidth", cup) == 30
    follow(page, "the black one")
    page.refresh()
    assert heading(page) == "Black tea"


def test_link_opens_as_often_as_it_may(readers: Readers) -> None:
    link = readers.publish(openings=1)
    page = readers.open(link)
    page.refresh()
    assert heading(page) == CLOSED
    press(page, "Open")
    # The page has left the address of the form: to load it again opens nothing again.
    WebDriverWait(page, PATIENCE).until(url_contains("?ticket="))
    page.refresh()
    follow(page, "green")
    assert heading(page) == "Green tea"
    address = page.current_url
    press(readers.open(link), "Open")
    assert heading(page) == CLOSED
    page.get(address)
    assert heading(page) == "Green tea"


@pytest.mark.parametrize("password", [None, PASSWORD])
def test_double_click_is_one_opening(readers: Readers, password: str | None) -> None:
    for _ in range(3):
        page = readers.open(readers.publish(openings=1, password=password))
        if password is not None:
            fill_in(page, {"Password": password})
        button = page.find_element(By.CSS_SELECTOR, "main button")
        ActionChains(page).double_click(button).perform()
        WebDriverWait(page, PATIENCE).until(url_contains("?ticket="))
        assert heading(page) == "tea"


def test_link_of_one_note_leads_nowhere_else(readers: Readers) -> None:
    target = {"kind": "note", "fileId": readers.notes["tea/green.md"]}
    page = readers.open(readers.publish(target=target))
    assert heading(page) == "Green tea"
    links = page.find_elements(By.CSS_SELECTOR, "main a")
    leading = [str(each.get_attribute("href")).partition("#")[0] for each in links]
    assert leading == [page.current_url] * len(links)
    assert "tea/" not in text_of(page)


def ended(readers: Readers, how: str) -> dict[str, str]:
    """A link that opens nothing any more."""
    if how == "expired":
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
        link = readers.publish(expiresAt=at)
        time.sleep(2.1)
    elif how == "deleted":
        body = {"path": f"old/{time.time_ns()}.md", "text": "Old."}
        key = readers.person.by_key
        note = readers.http.post(f"{readers.place}/files", json=body, headers=key)
        link = readers.publish(target={"kind": "note", "fileId": note.json()["fileId"]})
        given = {**key, "If-Match": note.headers["etag"]}
        path = f"{readers.place}/files/{note.json()['fileId']}"
        assert readers.http.delete(path, headers=given).is_success
    elif how == "unknown":
        link = {"token": "A" * 32}
    else:
        link = readers.publish()
    if how == "revoked":
        readers.ask("DELETE", f"{readers.place}/publications/{link['id']}")
    if how == "taken down":
        report = reported(readers, link)
        readers.ask("POST", f"/api/reports/{report['id']}/takedown")
    return link


def reported(readers: Readers, link: dict[str, str]) -> dict[str, str]:
    """Report a link in the browser; return the report."""
    page = readers.open(link)
    page.find_element(By.CSS_SELECTOR, "a[href$='/report']").click()
    assert heading(page) == "Report a page"
    page.find_element(By.CSS_SELECTOR, "label[for=copyright]").click()
    page.find_element(By.ID, "note").send_keys("The pictures\nare <b>mine</b>.")
    press(page, "Send the report")
    assert heading(page) == "Thank you"
    found = readers.http.get("/api/reports", headers=readers.person.by_key).json()["items"][0]
    assert (found["reason"], found["note"]) == ("copyright", "The pictures\nare <b>mine</b>.")
    made: dict[str, str] = found
    return made


@pytest.mark.parametrize("how", ["unknown", "revoked", "expired", "taken down", "deleted"])
def test_link_that_ended_shows_the_same_page(readers: Readers, how: str) -> None:
    link = ended(readers, how)
    page = readers.open(link)
    assert heading(page) == CLOSED
    fill_in(page, {"Password": PASSWORD})
    press(page, "Open")
    assert heading(page) == CLOSED
    shown = re.sub(re.escape(link["token"]), "", page.page_source)
    unknown = readers.open({"token": "B" * 32})
    assert shown == unknown.page_source.replace("B" * 32, "")


@contextmanager
def controlled(readers: Readers, **controls: object) -> Iterator[None]:
    """Set controls of the account, as an external service does."""
    path = f"/api/accounts/{readers.person.account_id}"
    answer = readers.http.get(path, headers=readers.person.by_key).json()
    revision = answer["controls"]["revision"]
    before = {name: answer["controls"][name] for name in controls}
    readers.ask("PATCH", path, {"controls": {"revision": revision, **controls}})
    yield
    readers.ask("PATCH", path, {"controls": {"revision": revision + 1, **before}})


@pytest.mark.parametrize("controls", [{"publishing": False}, {"downloadObjectsPerMonth": 0}])
def test_link_that_opens_nothing_for_a_while_shows_the_same_page(
    readers: Readers, controls: dict[str, object]
) -> None:
    link = readers.publish()
    with controlled(readers, **controls):
        page = readers.open(link)
        assert heading(page) == CLOSED
        press(page, "Open")
        assert heading(page) == CLOSED
        shown = re.sub(re.escape(link["token"]), "", page.page_source)
        unknown = readers.open({"token": "B" * 32})
        assert shown == unknown.page_source.replace("B" * 32, "")
    assert heading(readers.open(link)) == "tea"


def test_administrator_reads_what_was_reported(readers: Readers) -> None:
    link = readers.publish(password=PASSWORD)
    report = reported(readers, link)
    page = readers.browser
    page.get(report["address"].replace("https://notes.example.org", ORIGIN))
    assert heading(page) == CLOSED
    fill_in(page, {"Password": PASSWORD})
    press(page, "Open")
    assert heading(page) == "tea"
    readers.ask("DELETE", f"/api/reports/{report['id']}")
    page.get(report["address"].replace("https://notes.example.org", ORIGIN))
    assert heading(page) == CLOSED


# The last one: no other report of this client is accepted for a while.
def test_reader_is_told_of_too_many_reports(readers: Readers) -> None:
    token = "C" * 32
    for _ in range(100):
        response = readers.http.post(f"/published/{token}/report", data={"reason": "spam"})
        if response.status_code == 429:
            break
    page = readers.open({"token": f"{token}/report"})
    page.find_element(By.CSS_SELECTOR, "label[for=other]").click()
    page.find_element(By.ID, "note").send_keys("A long story.")
    press(page, "Send the report")
    assert heading(page) == "Too many attempts"
    assert "Try again in" in text_of(page)
    page.back()
    assert page.find_element(By.ID, "note").get_attribute("value") == "A long story."
