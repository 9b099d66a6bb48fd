"""The pages in a real browser: they fit its width, run no script, and lead to an account."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.e2e.browser import missing, running_browser, show
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

    browser: Chrome
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

WIDTH = "return document.documentElement.scrollWidth"

OVERFLOWING = """
    return [...document.querySelectorAll("body *")].filter((element) => {
        for (let each = element.parentElement; each; each = each.parentElement)
            if (getComputedStyle(each).overflowX !== "visible") return false;
        return element.getBoundingClientRect().right > innerWidth + 0.5;
    }).map((element) => element.outerHTML.slice(0, 200))
"""
"""Elements that reach beyond the window, unless something around them scrolls by itself."""


FAINT = """
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
""".replace("LEAST", str(READABLE))
"""Elements whose text is too faint, with their contrast."""

BRIGHTNESS = """
    const colour = getComputedStyle(document.documentElement).backgroundColor;
    const [red, green, blue] = colour.match(/[0-9]+/g).map(Number);
    return red + green + blue > 3 * 128 ? "bright" : "dim";
"""


def open_page(site: Site, path: str, width: int, scheme: Scheme = "light") -> Chrome:
    """Open a page of the installation."""
    show(site.browser, site.address(path), width, scheme)
    return site.browser


def field(page: Chrome, label: str) -> WebElement:
    """Return the field with this label."""
    [found] = page.find_elements(By.XPATH, f"//input[@id=//label[starts-with(., '{label}')]/@for]")
    return found


def fill_in(page: Chrome, email: str, password: str) -> None:
    """Fill in the form of an invitation as a person does, and submit it."""
    field(page, "E-mail address").send_keys(email)
    field(page, "Name").send_keys("Ann")
    field(page, "Password").send_keys(password)
    page.find_element(By.CSS_SELECTOR, "button").click()


@pytest.mark.parametrize(("width", "scheme"), [(NARROW, "dark"), (WIDE, "light")])
@pytest.mark.parametrize("path", PATHS)
def test_page_fits_the_window_and_is_readable(
    site: Site, path: str, width: int, scheme: Scheme
) -> None:
    page = open_page(site, path, width, scheme)
    assert page.execute_script(WIDTH) == width
    assert page.execute_script(OVERFLOWING) == []
    assert page.execute_script(FAINT) == []
    assert page.find_elements(By.TAG_NAME, "script") == []
    assert page.execute_script(BRIGHTNESS) == {"light": "bright", "dark": "dim"}[scheme]


def test_checks_see_what_does_not_fit_and_what_is_faint(site: Site) -> None:
    # At an address of its own: the policy of the installation's pages allows no style in a page.
    wide = "data:text/html,<!doctype html><p style='width: 400px; color: gray'>wide and faint"
    show(site.browser, wide, NARROW, "light")
    assert site.browser.execute_script(WIDTH) > NARROW
    assert len(site.browser.execute_script(OVERFLOWING)) == 1
    assert [each[:4] for each in site.browser.execute_script(FAINT)] == ["3.95"]


def test_browser_runs_no_script(site: Site) -> None:
    show(site.browser, "data:text/html,<p>as sent<script>document.body.remove()</script>", 320, "")
    assert site.browser.find_element(By.TAG_NAME, "p").text == "as sent"


def test_form_that_is_refused_keeps_what_was_typed_and_says_why(site: Site) -> None:
    page = open_page(site, "/register?invitation={opened}", NARROW)
    fill_in(page, "bob@example.org", "short")
    assert field(page, "E-mail address").get_attribute("value") == "bob@example.org"
    assert field(page, "Password").get_attribute("value") == ""
    assert page.find_element(By.CSS_SELECTOR, "[role=alert] a").text == "Password"
    assert page.switch_to.active_element.get_attribute("name") == "password"


def test_person_registers_and_the_link_shows_no_form_again(site: Site) -> None:
    page = open_page(site, "/register?invitation={spent}", NARROW)
    fill_in(page, "cid@example.org", PASSWORD)
    assert page.current_url == ORIGIN + "/register/done"
    open_page(site, "/register?invitation={spent}", NARROW)
    assert page.find_element(By.TAG_NAME, "h1").text == "This invitation can't be used"
    assert page.find_elements(By.TAG_NAME, "form") == []
