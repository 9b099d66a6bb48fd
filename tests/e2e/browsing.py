"""People in a browser at an installation that has accounts, workspaces, keys and invitations."""

import io
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple, cast
from urllib.parse import urlencode
from uuid import uuid4

import httpx
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.wait import WebDriverWait

from octavo.features.oauth.rules.authorization_request import challenge_of
from octavo.model.usage import month_of
from tests.e2e.browser import resize, running_browser, show
from tests.e2e.databases import change
from tests.e2e.octavo_process import data_folder, running
from tests.e2e.people import PASSWORD, invite, reset_token
from tests.e2e.server import PATIENCE
from tests.e2e.threaded_server import serving
from tests.fakes.smtp_server import MailServer, mail_server

HOST = "localhost:8080"
ORIGIN = f"http://{HOST}"
NARROW, WIDE = 320, 1280
_COOKIE = "__Host-octavo"


PAGES = [
    ("", "/"),
    ("", "/sign-in"),
    ("", "/problems"),
    ("", "/problems/head_moved"),
    ("", "/register"),
    ("", "/register?invitation={opened}"),
    ("", "/register?invitation={used}"),
    ("", "/api/docs"),
    ("", "/not-a-page"),
    ("", "/forgot-password"),
    ("", "/reset-password?token={reset}"),
    ("", "/reset-password?token=used"),
    ("", "/legal/terms"),
    ("Ann", "/sign-out"),
    ("Bob", "/register?invitation={opened}"),
    ("Ann", "/workspaces"),
    ("Bob", "/workspaces"),
    ("Ann", "/workspaces/{workspace}"),
    ("Bob", "/workspaces/{workspace}?folder=Tea"),
    ("Ann", "/workspaces/{quiet}"),
    ("Ann", "/workspaces/{workspace}/recent"),
    ("Ann", "/workspaces/{workspace}/new?folder=Tea"),
    ("Ann", "/new"),
    ("Ann", "/shortcuts"),
    ("Ann", "/workspaces/{workspace}/notes/{tea}"),
    ("Ann", "/workspaces/{workspace}/notes/{roses}"),
    ("Bob", "/workspaces/{workspace}/notes/{tea}/edit"),
    ("Ann", "/workspaces/{workspace}/notes/{tea}/move"),
    ("Ann", "/workspaces/{workspace}/notes/{tea}/delete"),
    ("Ann", "/workspaces/{workspace}/notes/{tea}/history"),
    ("Ann", "/workspaces/{workspace}/notes/{tea}/history/{tea_before}"),
    ("Ann", "/workspaces/{workspace}/notes/{tea}/difference"),
    ("Ann", "/workspaces/{workspace}/notes/{tea}/difference?view=lines"),
    ("Ann", "/workspaces/{workspace}/notes/{tea}/difference?view=sides"),
    ("Ann", "/workspaces/{workspace}/search?q=tea"),
    ("Ann", "/workspaces/{workspace}/search?q=nothing"),
    ("Ann", "/workspaces/{workspace}/search?q=tea&since=week&by={bob}"),
    ("Ann", "/workspaces/{workspace}/unresolved"),
    ("Ann", "/workspaces/{workspace}/deleted"),
    ("Ann", "/workspaces/{workspace}/notes/{gone}/restore"),
    ("Ann", "/workspaces/{workspace}/notes/{gone}/purge"),
    ("Ann", "/workspaces/{workspace}/images"),
    ("Ann", "/workspaces/{workspace}/transfers"),
    ("Ann", "/workspaces/{quiet}/transfers/{imported}"),
    ("Ann", "/workspaces/{quiet}/transfers/{refused}"),
    ("Ann", "/workspaces/{quiet}/transfers/{arrived}?refused=archive_job_running"),
    ("Ann", "/workspaces/{workspace}/members"),
    ("Bob", "/workspaces/{workspace}/members"),
    ("Ann", "/workspaces/{workspace}/members/{bob}/role"),
    ("Ann", "/workspaces/{workspace}/members/{bob}/remove"),
    ("Bob", "/workspaces/{workspace}/members/{bob}/remove"),
    ("Ann", "/workspaces/{workspace}/invitations"),
    ("Ann", "/workspaces/{workspace}/links"),
    ("Bob", "/workspaces/{workspace}/links"),
    ("Ann", "/workspaces/{quiet}/links"),
    ("Ann", "/workspaces/{quiet}/links/new"),
    ("Ann", "/workspaces/{workspace}/links/new?folder=Tea"),
    ("Ann", "/workspaces/{workspace}/links/{link}/revoke"),
    ("Ann", "/workspaces/{workspace}/programs"),
    ("Ann", "/workspaces/{workspace}/programs/undo?{undo}"),
    ("Ann", "/workspaces/{quiet}/programs"),
    ("Ann", "/workspaces/{workspace}/restore"),
    ("Ann", "/workspaces/{workspace}/restore?at=1990-01-01T00:00"),
    ("Ann", "/workspaces/{workspace}/restore?position=1"),
    ("Ann", "/workspaces/{workspace}/restore?position=1&folder=Tea"),
    ("Ann", "/workspaces/{quiet}/restore/{restoration}"),
    ("Ann", "/workspaces/{quiet}/restorations"),
    ("Ann", "/workspaces/{workspace}/restorations"),
    ("Ann", "/workspaces/{workspace}/settings"),
    ("Ann", "/workspaces/{workspace}/delete"),
    ("Ann", "/account"),
    ("Ann", "/account/password"),
    ("Ann", "/account/sessions"),
    ("Ann", "/account/keys"),
    ("Bob", "/account/keys"),
    ("Ann", "/account/keys/{key}/revoke"),
    ("Ann", "/oauth/authorize?{asked}"),
    ("Bob", "/oauth/authorize?{asked}"),
    ("Ann", "/oauth/authorize"),
    ("Ann", "/account/connections"),
    ("Bob", "/account/connections"),
    ("Ann", "/account/connections/{connection}/revoke"),
    ("Ann", "/account/consent"),
    ("Ann", "/account/removal"),
    ("Ann", "/administration/accounts"),
    ("Ann", "/administration/accounts?text=nobody"),
    ("Ann", "/administration/accounts/{bob}"),
    ("Ann", "/administration/accounts/{bob}/remove"),
    ("Ann", "/administration/invitations"),
    ("Ann", "/administration/installation"),
    ("Ann", "/administration/reports"),
    ("Ann", "/administration/reports/{report}/takedown"),
    ("Ann", "/administration/audit"),
    ("Ann", "/administration/audit?kind=invitation_revoked"),
    ("Bob", "/administration/accounts"),
    ("Bob", "/account"),
    ("Cid", "/account"),
    ("Cid", "/account/sessions"),
    ("Dee", "/workspaces"),
    ("", "{folder}"),
    ("", "{note}"),
    ("", "{closed}"),
    ("", "{folder}/report"),
]
"""Who opens a page, and the page."""

PAGES_OF_LONG_NAMES = [
    ("Eve", "/workspaces/{long}"),
    ("Eve", "/workspaces/{long}/notes/{long_file}"),
    ("Eve", "/workspaces/{long}/notes/{long_file}/edit"),
    ("Eve", "/workspaces/{long}/notes/{long_file}/history"),
    ("Eve", "/workspaces/{long}/notes/{long_file}/move"),
    ("Eve", "/workspaces/{long}/recent"),
    ("Eve", "/workspaces/{long}/transfers"),
    ("Eve", "/workspaces/{long}/search?q=donau"),
    ("Eve", "/workspaces"),
    ("Eve", "/workspaces/{long}/members"),
    ("Ann", "/workspaces/{long}/members/{eve}/remove"),
    ("Ann", "/workspaces/{long}/invitations"),
    ("Ann", "/workspaces/{long}/links"),
    ("Ann", "/workspaces/{long}/links/new?note={long_note}"),
    ("Ann", "/workspaces/{long}/links/{long_link}/revoke"),
    ("Eve", "/workspaces/{long}/settings"),
    ("Ann", "/workspaces/{long}/delete"),
    ("Eve", "/account"),
    ("Eve", "/account/keys"),
    ("Eve", "/account/keys/{long_key}/revoke"),
    ("Eve", "/oauth/authorize?{long_asked}"),
    ("Eve", "/account/connections"),
    ("Eve", "/register?invitation={opened}"),
    ("Ann", "/administration/accounts"),
    ("Ann", "/administration/accounts/{eve}"),
    ("Ann", "/administration/accounts/{eve}/remove"),
    ("Ann", "/administration/reports"),
    ("Ann", "/administration/audit"),
]
"""Pages that show the names of `with_long_names`: who opens a page, and the page."""


EARL_GREY = """# Earl Grey

Steep for **three** minutes, in water of 95 °C. See [Roses](../Garden/Roses.md) and [[Milk]].

## Cups

| Cup | Grams |
|:--|--:|
| small | 2 |

## Pots

- [ ] buy one
- [x] wash it

## Notes

> Never boil it twice.
"""
INSTALLATION_READ = 8_520_000_000
"""Bytes that all accounts have read in this month."""
TERMS = """---
version: 2026-05
---
# Terms of this installation

Keep your password to yourself. Notes are *yours*.

## What we do

1. We keep your notes, with every revision.
2. We make copies every night.
"""


ROSES = """# Roses

Roses want *sun* and an open place.

## Soil

Deep, and not too wet.

## Pruning

| Month | What |
| --- | --- |
| March | cut to the third eye |
| July | only what has withered |

## Companions

- Lavender
- Sage
"""
COMPLAINT = """My full name and my address are in the table near the end.

I have asked the author twice to take them out, and got no answer. Please write to me:
dora@example.org"""


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the installation, with the cookie of a session."""

    account_id: str
    address: str
    cookie: str


class Link(NamedTuple):
    """A published link, with the path for readers."""

    link_id: str
    path: str


@dataclass(frozen=True, slots=True)
class PageSite:
    """An installation in a browser.

    Attributes:
        browser: the browser.
        folder: the data folder of the server.
        http: a client of the server, for what is prepared without the browser.
        people: the accounts, by their first names.
        values: what paths of pages contain, by name.
        mail: the mail server of the installation.
        portal: the address of the portal of its operator.
    """

    browser: Chrome
    folder: Path
    http: httpx.Client
    people: Mapping[str, Account]
    values: Mapping[str, str]
    mail: MailServer
    portal: str

    def path(self, template: str) -> str:
        """Return a path: ``{name}`` in the template is one of the values."""
        return template.format_map(self.values)

    def become(self, name: str) -> None:
        """Let the browser have the session of a person; of nobody for an empty name."""
        self.browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
        if name:
            cookie = {"name": _COOKIE, "value": self.people[name].cookie, "url": ORIGIN}
            flags = {"secure": True, "httpOnly": True, "path": "/", "sameSite": "Lax"}
            self.browser.execute_cdp_cmd("Network.setCookie", {**cookie, **flags})

    def resize(self, width: int) -> None:
        """Change the width of the window, in pixels."""
        resize(self.browser, width)

    def enlarge_text(self) -> None:
        """Show the text of the page at twice its size."""
        self.browser.execute_script("document.documentElement.style.fontSize = '200%'")

    def emulate(self, media: str, **features: str) -> None:
        """Show the page on ``media``, with media features; their names have underscores here."""
        given = [{"name": name.replace("_", "-"), "value": features[name]} for name in features]
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": given}
        )

    def open(self, template: str, width: int = WIDE, scheme: str = "light") -> Chrome:
        """Open a page."""
        show(self.browser, ORIGIN + self.path(template), width, scheme)
        return self.browser

    def api(
        self, name: str, method: str, path: str, document: object = None
    ) -> Mapping[str, object]:
        """Perform an operation of the API as a person, and return the response."""
        cookie = f"{_COOKIE}={self.people[name].cookie}"
        headers = {"cookie": cookie, "origin": ORIGIN}
        response = self.http.request(method, path, headers=headers, json=document)
        assert response.is_success, response.text
        found = response.json()
        assert isinstance(found, dict)
        return found


def connect(
    site: PageSite, name: str, program: str, workspaces: Sequence[str] | None = None
) -> dict[str, str]:
    """Register a program, and let a person allow it access; return what it asks for."""
    made = site.http.post(
        "/oauth/register",
        json={
            "client_name": program,
            "client_uri": "https://assistant.example.org/about",
            "redirect_uris": ["http://127.0.0.1:33418/callback"],
            "token_endpoint_auth_method": "none",
        },
    )
    asked = {
        "response_type": "code",
        "client_id": str(made.json()["client_id"]),
        "redirect_uri": "http://127.0.0.1:33418/callback",
        "code_challenge": challenge_of("v" * 43),
        "code_challenge_method": "S256",
        "scope": "notes:read notes:write",
        "state": "a state",
    }
    allowed = {"parameters": asked, "allow": True, "workspaceIds": workspaces, "days": 90}
    site.api(name, "POST", "/api/account/access-requests", allowed)
    return asked


def heading(page: Chrome) -> str:
    """Return the heading of a page."""
    return page.find_element(By.TAG_NAME, "h1").text


def message(page: Chrome) -> str:
    """Return what a page says of the last change."""
    return page.find_element(By.CSS_SELECTOR, "[role=status], [role=alert]").text


def field(page: Chrome, label: str) -> WebElement:
    """Return the field with a label that begins so."""
    [found] = page.find_elements(By.XPATH, f"//*[@id=//label[starts-with(., '{label}')]/@for]")
    return found


def wait_for_focus(page: Chrome, name: str) -> None:
    """Wait until the field of this name has the focus: the browser gives it when it draws."""
    WebDriverWait(page, PATIENCE, ignored_exceptions=[WebDriverException]).until(
        lambda _: page.switch_to.active_element.get_attribute("name") == name
    )


def fill_in(page: Chrome, given: Mapping[str, str]) -> None:
    """Type texts into fields, named by their labels."""
    for label, text in given.items():
        found = field(page, label)
        found.clear()
        found.send_keys(text)


def press(page: Chrome, text: str) -> None:
    """Press the button in the main part of a page whose text begins so."""
    buttons = page.find_elements(By.CSS_SELECTOR, "main button")
    _go(page, next(each for each in buttons if each.text.startswith(text)))


def follow(page: Chrome, text: str, within: str = "main") -> None:
    """Follow the link in a part of a page whose text begins so."""
    links = page.find_elements(By.CSS_SELECTOR, f"{within} a")
    _go(page, next(each for each in links if each.text.startswith(text)))


def sign_out(page: Chrome) -> None:
    """Press the button that signs out."""
    _go(page, page.find_element(By.CSS_SELECTOR, ".end button"))


def _go(page: Chrome, leading: WebElement) -> None:
    """Click what leads to another page, and wait for it: a password takes its time."""
    present = page.find_element(By.TAG_NAME, "html")
    leading.click()
    # While the page changes, the driver may fail to look the element up.
    waiting = WebDriverWait(page, PATIENCE, ignored_exceptions=[WebDriverException])
    waiting.until(staleness_of(present))


def register(http: httpx.Client, name: str, invitation: str, address: str = "") -> Account:
    address = address or f"{name.lower()}@example.org"
    given = {
        "invitation": invitation,
        "address": address,
        "password": PASSWORD,
        "displayName": name,
        "consent": {"termsVersion": "2026-05", "privacyVersion": "3"},
    }
    response = http.post("/api/registrations", json=given, headers={"origin": ORIGIN})
    assert response.status_code == 201, response.text
    cookie = response.headers["set-cookie"].partition(";")[0].partition("=")[2]
    return Account(response.json()["id"], address, cookie)


class _Portal(BaseHTTPRequestHandler):
    """A page of an operator's portal, which shows the address that it was asked for."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(f"<title>Billing</title><h1>{escape(self.path)}</h1>".encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def portal() -> Iterator[str]:
    """Serve a portal in a thread; its address."""
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), _Portal)) as address:
        yield address


@contextmanager
def page_site(*, write_objects: int = 20_000) -> Iterator[PageSite]:
    """Run an installation with people, and a browser that finds it at `ORIGIN`.

    Ann administers the installation and owns a workspace, in which Bob is an editor, who has read
    as much as he may this month, when the installation may write
    no more, as it has written 20,000 objects; Cid is locked by the
    operator; Dee has not accepted the present terms.
    """
    with data_folder() as folder, mail_server() as mail, portal() as billing:
        terms = folder.parent / "terms.md"
        terms.write_text(TERMS)
        options = (
            *("--public-url", ORIGIN, "--terms", str(terms)),
            *("--privacy-notice", "https://example.org/privacy", "--privacy-version", "3"),
            *("--smtp-host", "127.0.0.1", "--smtp-port", str(mail.port), "--smtp-security", "none"),
            *("--mail-from", "Octavo <notes@example.org>"),
            *("--portal", f"billing={billing}/pay?from=notes"),
            *("--mcp", "true", "--mcp-write", "true"),
            *(
                "--download-bytes-per-month",
                "10000000000",
                "--write-objects-per-month",
                str(write_objects),
            ),
        )
        with (
            running(folder, *options) as octavo,
            httpx.Client(base_url=octavo.url, timeout=PATIENCE, trust_env=False) as http,
            running_browser(HOST, octavo.port) as browser,
        ):
            first = octavo.invitation()
            people = {"Ann": register(http, "Ann", first)}
            for name in ("Bob", "Cid", "Dee"):
                people[name] = register(http, name, invite(folder))
            values = {"used": first, "opened": invite(folder)}
            values["reset"] = reset_token(folder, None, people["Bob"].address)
            site = PageSite(browser, folder, http, people, values, mail, billing)
            _furnish(site, values)
            change(
                folder,
                None,
                "UPDATE accounts SET consent_terms = '2025' WHERE address = 'dee@example.org'",
            )
            yield site


def _furnish(site: PageSite, values: dict[str, str]) -> None:
    made = site.api("Ann", "POST", "/api/workspaces", {"name": "Household & garden"})
    values["workspace"] = str(made["id"])
    base = f"/api/workspaces/{made['id']}"
    sent = site.api("Ann", "POST", f"{base}/invitations", {"role": "editor"})
    site.api("Bob", "POST", "/api/invitations/accept", {"token": sent["token"]})
    _write_notes(site, base, values)
    _publish(site, values)
    _import(site, values)
    for_address = {"role": "reader", "address": "dora.van.der.berg@a-long-name.example.org"}
    site.api("Ann", "POST", f"{base}/invitations", for_address)
    key = site.api("Ann", "POST", "/api/account/keys", {"name": "backup script"})
    values["key"] = str(key["id"])
    values["asked"] = urlencode(connect(site, "Ann", "An assistant", [str(made["id"])]))
    values["undo"] = _change_as_program(site, str(made["id"]))
    values["restoration"] = _restore(site, values["quiet"])
    connected = site.api("Ann", "GET", "/api/account/connections")
    values["connection"] = cast("list[dict[str, str]]", connected["items"])[0]["id"]
    values["bob"] = site.people["Bob"].account_id
    values["ann"] = site.people["Ann"].account_id
    limits = {"downloadBytesPerMonth": 1_000_000_000, "downloadObjectsPerMonth": 5_000}
    path = f"/api/accounts/{site.people['Bob'].account_id}"
    limited = {"controls": {"revision": 1, "storageBytes": 250_000_000, **limits}}
    site.api("Ann", "PATCH", path, limited)
    change(
        site.folder,
        None,
        "INSERT INTO account_usage (account_id, month, download_bytes, download_objects)"
        f" VALUES ('{site.people['Bob'].account_id}', '{month_of(time.time())}', 852000000, 5000)",
    )
    change(
        site.folder,
        None,
        "INSERT INTO installation_usage (month, download_bytes, download_objects, write_objects)"
        f" VALUES ('{month_of(time.time())}', {INSTALLATION_READ}, 81234, 20000)"
        # The archives may be counted already.
        " ON CONFLICT (month) DO UPDATE SET download_bytes = excluded.download_bytes,"
        " download_objects = excluded.download_objects, write_objects = excluded.write_objects",
    )
    controls = {"revision": 1, "locked": True, "lockReason": "The bill of March is open."}
    path = f"/api/accounts/{site.people['Cid'].account_id}"
    site.api("Ann", "PATCH", path, {"controls": controls})


def _write_notes(site: PageSite, base: str, values: dict[str, str]) -> None:
    """Write a note with two revisions, one that is deleted, and links."""
    text = "# Earl Grey\n\nSteep for four minutes.\n"
    tea = site.api("Ann", "POST", f"{base}/files", {"path": "Tea/Earl Grey.md", "text": text})
    values["tea"] = str(tea["fileId"])
    before = cast("dict[str, str]", tea["revision"])["id"]
    values["tea_before"] = before
    changed = {"op": "update", "fileId": values["tea"], "ifMatch": before, "text": EARL_GREY}
    gone = site.api("Ann", "POST", f"{base}/files", {"path": "Tea/Mate.md", "text": "# Mate\n"})
    values["gone"] = str(gone["fileId"])
    head = cast("dict[str, str]", gone["revision"])["id"]
    deleted = {"op": "delete", "fileId": values["gone"], "ifMatch": head}
    body = {"mutationId": values["gone"], "operations": [changed, deleted]}
    site.api("Ann", "POST", f"{base}/changesets", body)


def _change_as_program(site: PageSite, workspace_id: str) -> str:
    """Record two of Ann's notes as changes of her program; return the query of their undo.

    One of them she changes afterwards.
    """
    base = f"/api/workspaces/{workspace_id}/files"
    for path in ("Garden/Watering.md", "Garden/Compost.md"):
        text = "# By an assistant\n\nEvery second evening.\n"
        site.api("Ann", "POST", base, {"path": path, "text": text})
    program = "(SELECT MAX(pk) FROM oauth_programs)"
    change(
        site.folder,
        None,
        f"UPDATE files SET program = {program}, origin = 'mcp' WHERE path LIKE 'Garden/%o%'",
    )
    [client] = cast(
        "list[dict[str, str]]",
        site.api("Ann", "GET", f"/api/workspaces/{workspace_id}/clients")["items"],
    )
    return urlencode({"client": client["client"], "account": client["accountId"]})


def _restore(site: PageSite, workspace_id: str) -> str:
    """Restore a workspace with a purged file; return the id of the restoration."""
    base = f"/api/workspaces/{workspace_id}"
    made = site.api("Ann", "POST", f"{base}/files", {"path": "a.md", "text": "Of no use."})
    position = made["position"]
    revision = cast("dict[str, str]", made["revision"])["id"]
    operation = {"op": "delete", "fileId": made["fileId"], "ifMatch": revision}
    changeset = {"mutationId": str(uuid4()), "operations": [operation]}
    site.api("Ann", "POST", f"{base}/changesets", changeset)
    site.api("Ann", "POST", f"{base}/files/{made['fileId']}/purge", {})
    site.api("Ann", "POST", f"{base}/files", {"path": "b.md", "text": "Too late."})
    found = site.api("Ann", "POST", f"{base}/restorations", {"position": position})
    return str(found["restorationId"])


def _publish(site: PageSite, values: dict[str, str]) -> None:
    """Publish notes of the workspace, and report two of the links; a workspace without notes."""
    files = f"/api/workspaces/{values['workspace']}/files"
    made = site.api("Ann", "POST", files, {"path": "Garden/Roses.md", "text": ROSES})
    whole = {"target": {"kind": "folder", "path": ""}, "label": "Ann & Bob"}
    file_id = made["fileId"]
    values["roses"] = str(file_id)
    folder = publish(site, "Ann", values["workspace"], whole)
    note = publish(
        site, "Ann", values["workspace"], {"target": {"kind": "note", "fileId": file_id}}
    )
    tea = {"target": {"kind": "folder", "path": "Tea"}}
    month = datetime.fromtimestamp(time.time() + 30 * 86_400, UTC).isoformat()
    closed = {**tea, "password": "open sesame", "openings": 3, "expiresAt": month}
    values["closed"] = publish(site, "Ann", values["workspace"], closed).path
    for each in (tea, {**tea, "label": "The tea society"}, tea):
        ended = publish(site, "Ann", values["workspace"], each)
        links = f"/api/workspaces/{values['workspace']}/publications"
        site.api("Ann", "DELETE", f"{links}/{ended.link_id}")
    bad = publish(site, "Ann", values["workspace"], tea)
    report(site, bad.path, "copyright", "")
    found = site.api("Ann", "GET", "/api/reports")["items"]
    assert isinstance(found, list)
    site.api("Ann", "POST", f"/api/reports/{found[0]['id']}/takedown")
    report(site, folder.path, "spam", "")
    report(site, note.path, "personal_data", COMPLAINT)
    report(site, note.path, "other", "See https://example.org/" + "a-very-long-address-" * 12)
    found = site.api("Ann", "GET", "/api/reports")["items"]
    assert isinstance(found, list)
    values.update(folder=folder.path, note=note.path, link=folder.link_id, report=found[0]["id"])
    values["quiet"] = str(site.api("Ann", "POST", "/api/workspaces", {"name": "Quiet"})["id"])


def _import(site: PageSite, values: dict[str, str]) -> None:
    """Send three archives: one that has no notes, one that is refused, and one that waits."""
    base = f"/api/workspaces/{values['quiet']}/imports"
    headers = {"cookie": f"{_COOKIE}={site.people['Ann'].cookie}", "origin": ORIGIN}
    octets = {**headers, "content-type": "application/octet-stream"}
    for name, path in (("imported", ".obsidian/a"), ("refused", "a.md"), ("arrived", "b.md")):
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            archive.writestr(path, b"\xff")
        values[name] = str(site.api("Ann", "POST", base, {})["importId"])
        place = f"{base}/{values[name]}"
        part = written.getvalue()
        assert site.http.put(f"{place}/parts/1", content=part, headers=octets).is_success
        if name != "arrived":
            completed = site.http.post(f"{place}/complete", headers=headers)
            assert completed.is_success is (name == "imported"), completed.text


def publish(site: PageSite, name: str, workspace_id: str, body: object) -> Link:
    """Create a published link as a person."""
    made = site.api(name, "POST", f"/api/workspaces/{workspace_id}/publications", body)
    return Link(str(made["id"]), str(made["address"]).removeprefix(ORIGIN))


def report(site: PageSite, path: str, reason: str, note: str) -> None:
    """Report the link at a path, as a reader."""
    response = site.http.post(f"{path}/report", data={"reason": reason, "note": note})
    assert response.status_code == 200, response.text


def with_long_names(site: PageSite) -> PageSite:
    """Return ``site`` with names of 100 letters, without a space, and a long address.

    Eve has such a name and address, a key, and the role of an editor in a workspace of Ann.
    """
    letters = "Donaudampfschifffahrt" * 5
    address = f"{'eve' * 20}@{'a-long-name-of-a-host.' * 5}example.org"
    eve = register(site.http, letters[:100], invite(site.folder), address)
    people = {**site.people, "Eve": eve}
    site = replace(site, people=people)
    made = site.api("Ann", "POST", "/api/workspaces", {"name": letters[1:101]})
    base = f"/api/workspaces/{made['id']}"
    sent = site.api("Ann", "POST", f"{base}/invitations", {"role": "editor", "address": address})
    site.api("Eve", "POST", "/api/invitations/accept", {"token": sent["token"]})
    # This one stays open.
    site.api("Ann", "POST", f"{base}/invitations", {"role": "reader", "address": f"f{address}"})
    key = site.api("Eve", "POST", "/api/account/keys", {"name": letters[2:102]})
    values = {"long": str(made["id"]), "long_key": str(key["id"]), "eve": eve.account_id}
    asked = connect(site, "Eve", letters[6:106], [str(made["id"])])
    values["long_asked"] = urlencode(asked)
    values["long_note"] = f"{letters[3:103]}/{letters[4:104]}.md"
    written = {"path": values["long_note"], "text": letters}
    file_id = site.api("Ann", "POST", f"{base}/files", written)["fileId"]
    values["long_file"] = str(file_id)
    body = {"target": {"kind": "note", "fileId": file_id}, "label": letters[5:105]}
    link = publish(site, "Ann", values["long"], {**body, "openings": 1_000_000})
    values["long_link"] = link.link_id
    ended = publish(site, "Ann", values["long"], body)
    site.api("Ann", "DELETE", f"{base}/publications/{ended.link_id}")
    report(site, link.path, "other", letters)
    return replace(site, values={**site.values, **values})
