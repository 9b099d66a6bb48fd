"""Write a picture of every page, narrow and wide, light and dark, to ``build/screenshots``.

For people who judge the pages: ``make screenshots``. The pages and their people are those of the
tests in a browser. It needs Chromium and its driver. With ``--docs``, it writes the pictures that
the documentation shows, instead.
"""

import argparse
import re
import sys
from pathlib import Path

from selenium.webdriver import Chrome

from tests.e2e.browser import missing
from tests.e2e.browsing import NARROW, PAGES, WIDE, page_site

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
_LOOKS = ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark"))


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
    sys.stdout.write(f"{len(PAGES) * len(_LOOKS)} pictures are in {FOLDER}\n")


if __name__ == "__main__":
    main()
