"""Payloads of cross-site scripting and texts that take long, published and opened in a browser."""

import json
import os
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import httpx
import pytest
from selenium.webdriver import Chrome

from octavo.model.refusal import UnrenderableNote
from octavo.render.limits import check_renderable
from tests.e2e.browser import missing, running_browser
from tests.e2e.octavo_process import data_folder, running
from tests.e2e.people import client, settle
from tests.fakes.page_anatomy import SCRIPT, allowed_elements
from tests.fakes.pathological_notes import PATHOLOGICAL, nested, table
from tests.fakes.xss_payloads import payloads

HOST = "localhost:8080"
ORIGIN = f"http://{HOST}"
TOGETHER = int(os.environ.get("OCTAVO_PAYLOADS_TOGETHER", "40"))
"""Payloads in one note: one of them may hide others, so that the long version has one."""
WITH_POLICY = int(os.environ.get("OCTAVO_PAYLOADS_WITH_POLICY", "4"))
"""Of so many notes, one is also opened with the policy, which can only prevent more."""
SIZES = [int(each) for each in os.environ.get("OCTAVO_SLOW_SIZES", "8000,3000,1200").split(",")]
"""How many characters of each text that takes long are tried, the most first."""
OF_ONE_TAB = 250
"""Pages that one tab shows: each takes longer than the one before."""
LEAST = 1500
MOST_OPERATIONS = 500
SECONDS = 30
HOOKS = """
    window.ranHere = [];
    for (const name of ["alert", "confirm", "prompt", "print", "open", "fetch", "eval"])
        window[name] = () => { window.ranHere.push(name) };
"""


@dataclass(frozen=True)
class Reading:
    """A browser, a link of a folder, and the notes in it."""

    browser: Chrome
    http: httpx.Client
    token: str
    notes: dict[str, str]

    def address(self, note: str) -> str:
        return f"/published/{self.token}?note={self.notes[note]}"


def texts() -> dict[str, str]:
    """The notes by their paths."""
    every = [*payloads()]
    assert len(every) >= LEAST
    random.Random(7).shuffle(every)
    found = {}
    for at in range(0, len(every), TOGETHER):
        together = every[at : at + TOGETHER]
        text = "\n\n***\n\n".join(each.replace("\x00", "") for each in together)
        found[f"payloads/{at:05}.md"] = text.encode("utf-8", "replace").decode()
    return found


def is_renderable(text: str) -> bool:
    try:
        check_renderable(text)
    except UnrenderableNote:
        return False
    return True


def slow_texts() -> dict[str, str]:
    """Texts that take long: units that cost most, repeated as often as is accepted."""
    found = {}
    for number, unit in enumerate(PATHOLOGICAL):
        size = next(
            (each for each in SIZES if is_renderable(unit * (each // len(unit)))), SIZES[-1]
        )
        found[f"slow/{number:03}.md"] = unit * (size // len(unit))
    others = {"nested": nested(24), "table": table(20, 2_900), "long": "x" * SIZES[0]}
    return found | {f"slow/{name}.md": text for name, text in others.items()}


@pytest.fixture(scope="module")
def reading() -> Iterator[Reading]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    saved = {**texts(), **slow_texts()}
    saved = {path: each for path, each in saved.items() if is_renderable(each)}
    with data_folder() as folder, running(folder, "--public-url", ORIGIN) as octavo:
        person = settle(octavo)
        with client(octavo.url, person) as http:
            place = f"/api/workspaces/{made(http, '/api/workspaces', {'name': 'A'})['id']}"
            notes = push(http, place, saved)
            target = {"kind": "folder", "path": ""}
            link = made(http, f"{place}/publications", {"target": target})
            with running_browser(HOST, octavo.port, logs_requests=True) as browser:
                yield Reading(browser, http, link["token"], notes)


def made(http: httpx.Client, path: str, body: object) -> dict[str, str]:
    response = http.post(path, json=body)
    assert response.status_code == 201, response.text
    found: dict[str, str] = response.json()
    return found


def push(http: httpx.Client, place: str, saved: dict[str, str]) -> dict[str, str]:
    """Save notes in changesets; return their ids by their paths."""
    notes: dict[str, str] = {}
    waiting = [*saved.items()]
    while waiting:
        portion: list[dict[str, str]] = []
        size = 0
        while waiting and len(portion) < MOST_OPERATIONS and size < 3_000_000:
            path, text = waiting.pop()
            number = f"30000000-0000-7000-8000-{len(notes):012x}"
            notes[path] = number
            size += len(text)
            portion.append({"op": "create", "fileId": number, "path": path, "text": text})
        body = {"mutationId": f"40000000-0000-7000-8000-{len(notes):012x}", "operations": portion}
        response = http.post(
            f"{place}/changesets", json=body, headers={"sync-protocol": "1"}, timeout=120
        )
        assert response.status_code == 200, response.text
    return notes


def requested(browser: Chrome) -> set[str]:
    """The hosts that the browser has asked for something since the last call."""
    hosts = set()
    for entry in browser.get_log("performance"):  # type: ignore[no-untyped-call]
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            hosts.add(re.match(r"\w+:(?://[^/?#]*)?", url)[0])  # type: ignore[index]
    return hosts


def open_tab(browser: Chrome) -> None:
    """Go on in a new tab."""
    before = browser.current_window_handle
    browser.switch_to.new_window("tab")
    after = browser.current_window_handle
    browser.switch_to.window(before)
    browser.close()
    browser.switch_to.window(after)


@pytest.mark.parametrize("policy", ["with the policy", "without the policy"])
def test_no_payload_runs_or_loads_anything(reading: Reading, policy: str) -> None:
    browser, bypassed = reading.browser, policy == "without the policy"
    elements = allowed_elements()
    found: dict[str, Sequence[str]] = {}
    paths = [path for path in reading.notes if path.startswith("payloads/")]
    paths = paths[:: 1 if bypassed else WITH_POLICY]
    for begin in range(0, len(paths), OF_ONE_TAB):
        open_tab(browser)
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": bypassed})
        browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HOOKS})
        for path in paths[begin : begin + OF_ONE_TAB]:
            browser.get(ORIGIN + reading.address(path))
            wrong = browser.execute_script(SCRIPT, elements)
            if wrong:
                found[path] = wrong
        assert requested(browser) == {ORIGIN}
    assert found == {}


def test_page_without_the_sanitiser_is_caught(reading: Reading) -> None:
    """The check of a page finds what it is to find, and the log what a tab asks for."""
    browser = reading.browser
    open_tab(browser)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    browser.get(ORIGIN + f"/published/{reading.token}/report")
    found = browser.execute_script(
        """
        document.body.innerHTML = `<script>1</script><p onclick="a()" style="b">c</p>
            <a href="javascript:1">d</a><img src="https://evil.example/x">`;
        """
        + SCRIPT,
        allowed_elements(),
    )
    assert sorted(set(found)) == [
        "a href=javascript:1",
        "element script",
        "img src=https://evil.example/x",
        "p onclick",
        "p style",
    ]
    assert requested(browser) == {ORIGIN, "https://evil.example"}


def test_notes_that_take_long_are_read_in_time(reading: Reading) -> None:
    """Each gets its page, rendered or as it was written, and others are served meanwhile."""
    slow = [path for path in reading.notes if path.startswith("slow/")]
    assert len(slow) > 20
    for path in slow:
        began = time.monotonic()
        response = reading.http.get(reading.address(path), timeout=SECONDS + 10)
        assert response.status_code == 200, path
        assert "<article" in response.text or "<pre" in response.text, path
        assert time.monotonic() - began < SECONDS, path
