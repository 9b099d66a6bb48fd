"""Write a picture of every page, narrow and wide, light and dark, to ``build/screenshots``.

For people who judge the pages: ``make screenshots``. The pages and their people are those of the
tests in a browser. It needs Chromium and its driver.
"""

import re
import sys
from pathlib import Path

from selenium.webdriver import Chrome

from tests.e2e.browser import missing
from tests.e2e.browsing import NARROW, PAGES, WIDE, page_site

FOLDER = Path(__file__).resolve().parent.parent / "build" / "screenshots"
_TALLEST = 4000
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


def main() -> None:
    """Write the pictures, and print where they are."""
    reason = missing()
    if reason is not None:
        raise SystemExit(reason)
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
