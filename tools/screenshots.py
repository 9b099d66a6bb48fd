"""Write a picture of every page, narrow and wide, light and dark, to ``build/screenshots``.

For people who judge the pages: ``make screenshots``. The pages and their people are those of the
tests in a browser. It needs Chromium and its driver. With ``--docs``, it writes the pictures that
the documentation shows, instead.
"""

import argparse
import re
import sys
import time
from pathlib import Path
from typing import cast
from uuid import uuid4

from selenium.webdriver import Chrome

from tests.e2e.browser import missing
from tests.e2e.browsing import NARROW, PAGES, WIDE, PageSite, fill_in, page_site, press
from tests.e2e.people import PASSWORD

FOLDER = Path(__file__).resolve().parent.parent / "build" / "screenshots"
DOCS = FOLDER.parent.parent / "docs" / "pictures"
_TALLEST = 4000
_SHOWN = (
    ("note", "Ann", "/workspaces/{workspace}/notes/{tea}", 1120, "light"),
    ("note-narrow", "Ann", "/workspaces/{workspace}/notes/{tea}", NARROW, "dark"),
    ("folder", "Ann", "/workspaces/{workspace}", 1120, "light"),
    ("edit", "Ann", "/workspaces/{workspace}/notes/{tea}/edit", 1120, "light"),
    ("difference", "Ann", "/workspaces/{workspace}/notes/{tea}/difference", 1120, "dark"),
    ("search", "Ann", "/workspaces/{workspace}/search?q=tea", 1120, "light"),
)
"""The pictures of the documentation: name, person, page, width and appearance."""
_EDIT = "/workspaces/{workspace}/notes/{tea}/edit"
_NEW = "/workspaces/{workspace}/new"
_LOOKS = ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark"))


def preview(site: PageSite, width: int, appearance: str) -> Chrome:
    """Show the preview of a new note."""
    page = site.open(_NEW, width, appearance)
    fill_in(
        page, {"Path": "Tea/Green tea", "Text": "# Green tea\n\nAt **75 °C**, for two minutes."}
    )
    press(page, "Preview")
    return page


def refused(site: PageSite, width: int, appearance: str) -> Chrome:
    """Show the form of a new note with a path that is taken."""
    page = site.open(_NEW, width, appearance)
    fill_in(page, {"Path": "Tea/Earl Grey", "Text": "Mine."})
    press(page, "Create the note")
    return page


def meanwhile(site: PageSite, width: int, appearance: str) -> Chrome:
    """Show a note that another person changed while Ann wrote."""
    page = site.open(_EDIT, width, appearance)
    tea = site.values["tea"]
    base = site.path("/api/workspaces/{workspace}")
    found = site.api("Ann", "GET", f"{base}/files/{tea}?content=text")
    head = cast("dict[str, str]", found["head"])["id"]
    before = str(found["text"]).partition("Bob pours")[0]
    text = f"{before}Bob pours it at {time.time()}.\n"
    operation = {"op": "update", "fileId": tea, "ifMatch": head, "text": text}
    body = {"mutationId": str(uuid4()), "operations": [operation]}
    site.api("Bob", "POST", f"{base}/changesets", body)
    fill_in(
        page, {"Text": f"{str(found['text']).partition('Bob pours')[0]}Bob pours it at noon.\n"}
    )
    press(page, "Save")
    return page


def not_saved(site: PageSite, width: int, appearance: str) -> Chrome:
    """Show the text of somebody who may not write any more."""
    site.become("Bob")
    page = site.open(_NEW, width, appearance)
    fill_in(page, {"Path": "Tea/Oolong", "Text": "Half fermented."})
    member = site.path("/api/workspaces/{workspace}/members/{bob}")
    site.api("Ann", "PATCH", member, {"role": "reader"})
    press(page, "Create the note")
    site.api("Ann", "PATCH", member, {"role": "editor"})
    return page


def sign_in_again(site: PageSite, width: int, appearance: str) -> Chrome:
    """Show the text of somebody whose session has ended."""
    page = site.open(_NEW, width, appearance)
    fill_in(page, {"Path": "Tea/Oolong", "Text": "Half fermented."})
    site.become("")
    press(page, "Create the note")
    return page


def go_on(site: PageSite, width: int, appearance: str) -> Chrome:
    """Show the text of somebody who has signed in again."""
    page = sign_in_again(site, width, appearance)
    fill_in(page, {"E-mail address": site.people["Ann"].address, "Password": PASSWORD})
    press(page, "Sign in and go on")
    return page


_SENT = (preview, refused, meanwhile, not_saved, sign_in_again, go_on)
"""The pages that answer a form; they show what Ann sent, or Bob."""


def picture(page: Chrome, file: Path, width: int) -> None:
    """Write a picture of the whole page that is shown."""
    height = page.execute_script("return document.documentElement.scrollHeight")
    size = {"width": width, "height": min(max(height, 480), _TALLEST)}
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {**size, "deviceScaleFactor": 1, "mobile": False}
    )
    page.save_screenshot(str(file))


def file_name(person: str, path: str) -> str:
    """Return the name of the pictures of a page, without width and appearance."""
    words = re.sub(r"[^A-Za-z]+", "-", path).strip("-") or "start"
    return f"{words}-{person}" if person else words


def write_shown() -> None:
    """Write the pictures of the documentation."""
    DOCS.mkdir(parents=True, exist_ok=True)
    with page_site() as site:
        for name, person, path, width, appearance in _SHOWN:
            site.become(person)
            picture(site.open(path, width, appearance), DOCS / f"{name}.png", width)
    sys.stdout.write(f"{len(_SHOWN)} pictures are in {DOCS}\n")


def main() -> None:
    """Write the pictures, and print where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write those of the documentation")
    given = parser.parse_args()
    reason = missing()
    if reason is not None:
        raise SystemExit(reason)
    if given.docs:
        write_shown()
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    with page_site() as site:
        for person, path in PAGES:
            site.become(person)
            for width, appearance in _LOOKS:
                page = site.open(path, width, appearance)
                picture(page, FOLDER / f"{file_name(person, path)}-{width}-{appearance}.png", width)
        for send in _SENT:
            for width, appearance in _LOOKS:
                site.become("Ann")
                page = send(site, width, appearance)
                name = send.__name__.replace("_", "-")
                picture(page, FOLDER / f"sent-{name}-{width}-{appearance}.png", width)
    count = (len(PAGES) + len(_SENT)) * len(_LOOKS)
    sys.stdout.write(f"{count} pictures are in {FOLDER}\n")


if __name__ == "__main__":
    main()
