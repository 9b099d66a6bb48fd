"""The pages in a real browser: they fit its width, run no script, and lead to an account."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.browser import missing, running_browser
from tests.e2e.octavo_process import data_folder, invited, running

HOST = "localhost:8080"
ORIGIN = f"http://{HOST}"
NARROW, WIDE = 320, 1280
PASSWORD = "correct horse battery staple"
Scheme = Literal["light", "dark"]
READABLE = 4.5
"""The least contrast of text: WCAG 2.2, success criterion 1.4.3."""


@dataclass(frozen=True, slots=True)
class Site:
    """An installation in a browser, and the tokens of its invitations by what became of them."""

    browser: Browser
    invitations: Mapping[str, str]

    def address(self, path: str) -> str:
        """The address of a page: ``{name}`` in its path is the token of an invitation."""
        return ORIGIN + path.format_map(self.invitations)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with data_folder() as folder, running(folder, "--public-url", ORIGIN) as octavo:
        used = octavo.invitation()
        invitations = {"used": used, "spent": invited(folder), "opened": invited(folder)}
        with running_browser(HOST, octavo.port) as browser:
            made = Site(browser, invitations)
            fill_in(
                open_page(made, "/register?invitation={used}", WIDE), "ann@example.org", PASSWORD
            )
            yield made


PATHS = [
    "/",
    "/problems",
    "/problems/precondition_failed",
    "/register",
    "/register?invitation={opened}",
    "/register?invitation={used}",
    "/register/done",
    "/api/docs",
    "/not-a-page",
]

OVERFLOWING = """
    () => [...document.querySelectorAll("body *")].filter((element) => {
        for (let each = element.parentElement; each; each = each.parentElement)
            if (getComputedStyle(each).overflowX !== "visible") return false;
        return element.getBoundingClientRect().right > innerWidth + 0.5;
    }).map((element) => element.outerHTML.slice(0, 200))
"""
"""Elements that reach beyond the window, unless something around them scrolls by itself."""


FAINT = """
    () => {
        const context = document.createElement("canvas").getContext("2d");
        const drawn = (colours) => {
            colours.forEach((each) => { context.fillStyle = each; context.fillRect(0, 0, 1, 1) });
            return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3).map((value) => {
                const part = value / 255;
                return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
            });
        };
        const luminance = ([red, green, blue]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        const found = [];
        for (const element of document.querySelectorAll("body, body *")) {
            const children = [...element.childNodes];
            const text = children.some((each) => each.nodeType === 3 && each.data.trim());
            if (!text || !element.checkVisibility()) continue;
            const behind = ["white"];
            for (let each = element; each; each = each.parentElement)
                behind.splice(1, 0, getComputedStyle(each).backgroundColor);
            const back = luminance(drawn(behind));
            const front = luminance(drawn([...behind, getComputedStyle(element).color]));
            const ratio = (Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05);
            if (ratio < LEAST) found.push(`${ratio.toFixed(2)} ${element.outerHTML.slice(0, 200)}`);
        }
        return found;
    }
""".replace("LEAST", str(READABLE))
"""Elements whose text is too faint, with their contrast."""

BRIGHTNESS = """
    () => {
        const colour = getComputedStyle(document.documentElement).backgroundColor;
        const [red, green, blue] = colour.match(/[0-9]+/g).map(Number);
        return red + green + blue > 3 * 128 ? "bright" : "dim";
    }
"""


def open_page(site: Site, path: str, width: int, scheme: Scheme = "light") -> Page:
    """Open a page in a context of its own, without script."""
    context = site.browser.new_context(
        viewport={"width": width, "height": 720}, color_scheme=scheme, java_script_enabled=False
    )
    page = context.new_page()
    page.goto(site.address(path))
    return page


def fill_in(page: Page, email: str, password: str) -> None:
    """Fill in the form of an invitation as a person does, and submit it."""
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Name").fill("Ann")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button").click()


@pytest.mark.parametrize(("width", "scheme"), [(NARROW, "dark"), (WIDE, "light")])
@pytest.mark.parametrize("path", PATHS)
def test_page_fits_the_window_and_is_readable(
    site: Site, path: str, width: int, scheme: Scheme
) -> None:
    page = open_page(site, path, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(OVERFLOWING) == []
    assert page.evaluate(FAINT) == []
    assert page.evaluate(BRIGHTNESS) == {"light": "bright", "dark": "dim"}[scheme]


def test_checks_see_what_does_not_fit_and_what_is_faint(site: Site) -> None:
    page = open_page(site, "/", NARROW)
    # At an address of its own: the policy of the installation's pages allows no style in a page.
    page.goto("data:text/html,<!doctype html><p style='width: 400px; color: gray'>wide and faint")
    assert page.evaluate("document.documentElement.scrollWidth") > NARROW
    assert len(page.evaluate(OVERFLOWING)) == 1
    assert [each[:4] for each in page.evaluate(FAINT)] == ["3.95"]


def test_form_that_is_refused_keeps_what_was_typed_and_says_why(site: Site) -> None:
    page = open_page(site, "/register?invitation={opened}", NARROW)
    fill_in(page, "bob@example.org", "short")
    assert page.get_by_label("E-mail address").input_value() == "bob@example.org"
    assert page.get_by_label("Password").input_value() == ""
    assert page.get_by_role("alert").get_by_role("link").inner_text() == "Password"
    assert page.evaluate("document.activeElement.name") == "password"


def test_person_registers_and_the_link_shows_no_form_again(site: Site) -> None:
    page = open_page(site, "/register?invitation={spent}", NARROW)
    fill_in(page, "cid@example.org", PASSWORD)
    assert page.url == ORIGIN + "/register/done"
    page.go_back()
    page.reload()
    assert page.get_by_role("heading").first.inner_text() == "This invitation can't be used"
    assert page.locator("form").count() == 0
