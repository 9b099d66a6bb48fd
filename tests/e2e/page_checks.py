"""What is wrong with the page that a browser shows: measured in it, and found by axe-core."""

from collections.abc import Iterable
from pathlib import Path

from selenium.webdriver import Chrome

AXE_CORE = Path(__file__).parents[1] / "axe/node_modules/axe-core/axe.min.js"
READABLE = 4.5
"""The least contrast of text: WCAG 2.2, success criterion 1.4.3."""

_CHECKS = {
    # The width of all that can be scrolled to.
    "width": "return document.documentElement.scrollWidth",
    # Elements that reach beyond the window, unless something around them scrolls by itself.
    "overflowing": """
    return [...document.querySelectorAll("body *")].filter((element) => {
        for (let each = element.parentElement; each; each = each.parentElement)
            if (getComputedStyle(each).overflowX !== "visible") return false;
        return element.getBoundingClientRect().right > innerWidth + 0.5;
    }).map((element) => element.outerHTML.slice(0, 200))
""",
    # Texts in columns of fewer than three characters, and broken words of headings and controls.
    "cramped": """
    const found = [], range = document.createRange();
    const lines = (text, start, end) => {
        range.setStart(text, start);
        range.setEnd(text, end);
        return new Set([...range.getClientRects()].map((each) => Math.round(each.top))).size;
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text; text = texts.nextNode();) {
        const words = [...text.data.matchAll(/\\S+/g)], around = text.parentElement;
        if (!words.length || !around.checkVisibility() || around.closest(".unseen, code")) continue;
        const all = lines(text, words[0].index, text.data.length);
        if (all > 2 && text.data.trim().length / all < 3) found.push(`column: ${text.data}`);
        if (around.closest("h1, h2, h3, th, label, time, .badge, .button, nav:not(.crumbs)"))
            for (const {0: word, index} of words)
                if (word.length <= 13 && lines(text, index, index + word.length) > 1)
                    found.push(`word: ${word}`);
    }
    return found;
""",
    # Headings of columns that don't begin where the texts below them do.
    "shifted": """
    return [...document.querySelectorAll("th:not([class^='align-'])")].filter((each) => {
        const side = getComputedStyle(each.parentElement).direction === "rtl" ? "right" : "left";
        return !["start", side].includes(getComputedStyle(each).textAlign);
    }).map((each) => each.textContent)
""",
    # Elements whose text is too faint, with their contrast.
    "faint": """
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
""".replace("LEAST", str(READABLE)),
    "brightness": """
    const colour = getComputedStyle(document.documentElement).backgroundColor;
    const [red, green, blue] = colour.match(/[0-9]+/g).map(Number);
    return red + green + blue > 3 * 128 ? "bright" : "dim";
""",
    "scripts": "return document.scripts.length",
}
_FITTING = ("width", "overflowing", "cramped", "shifted")
_READABLE = ("faint", "brightness", "scripts")

_AXE = """
    const done = arguments[arguments.length - 1];
    const options = {
        resultTypes: ["violations"],
        preload: false,
        rules: {"color-contrast": {enabled: false}},
    };
    axe.run(document, options).then((result) => done(
        result.violations.map((each) => [each.id, ...each.nodes.map((node) => node.html)])
    ), (error) => done([[String(error)]]));
"""
"""What axe-core finds, with the elements. The contrast is measured by the checks above, for all
texts, and axe-core would take longer for it than for everything else.
"""


def measured(browser: Chrome, checks: Iterable[str]) -> dict[str, object]:
    """Return the results of checks, by their names."""
    calls = ",".join(f"{each}: (() => {{{_CHECKS[each]}}})()" for each in checks)
    found: dict[str, object] = browser.execute_script(f"return {{{calls}}}")
    return found


def fit(browser: Chrome) -> dict[str, object]:
    """Measure whether the page fits the window: see `fitting`."""
    return measured(browser, _FITTING)


def fitting(width: int) -> dict[str, object]:
    """What `fit` returns in a window of so many pixels when nothing is wrong.

    Nothing scrolls sideways, no word is broken, and columns are in line.
    """
    return {"width": width, "overflowing": [], "cramped": [], "shifted": []}


def look(browser: Chrome) -> dict[str, object]:
    """Measure whether the page fits and is readable: see `readable`."""
    return measured(browser, (*_FITTING, *_READABLE))


def readable(width: int, brightness: str) -> dict[str, object]:
    """What `look` returns when nothing is wrong; ``brightness`` is ``bright`` or ``dim``."""
    return {**fitting(width), "faint": [], "brightness": brightness, "scripts": 0}


def accessibility_faults(browser: Chrome, axe: str) -> object:
    """Return what axe-core, with the source ``axe``, finds wrong with the page that is shown.

    The page has no script itself. The source is loaded into a page once.
    """
    allow = {"value": False}
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", allow)
    try:
        if not browser.execute_script("return 'axe' in window"):
            browser.execute_script(axe)
        return browser.execute_async_script(_AXE)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
