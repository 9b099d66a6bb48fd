"""A browser without scripts: it opens pages, fills in their forms, and keeps cookies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from mimetypes import guess_type
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from antechamber.asgi import Receive, Scope
from octavo_rules.problems import NotSignedIn
from quart_trio import QuartTrio

from octavo.access.ports import Clock
from octavo.features.accounts import pages as accounts
from octavo.features.administration.pages import administration
from octavo.features.history.pages import add_program_pages
from octavo.features.legal.pages import add_consent_page
from octavo.features.legal.rules import NO_TEXTS, LegalTexts
from octavo.features.members.pages import members
from octavo.features.members.pages.register import add_register_pages
from octavo.features.members.rules import Prerequisites
from octavo.features.notes.pages import add_note_pages
from octavo.features.notes.pages.frame import NotePages
from octavo.features.oauth.pages import add_connection_pages
from octavo.features.publishing.pages import publications
from octavo.http.contract.openapi import openapi_document
from octavo.http.pages.forms import FormStamps
from octavo.kernel import AddPages
from octavo.model.access.account import Role
from octavo.model.usage import NO_LIMITS, NOTHING, InstallationUsage, Month
from octavo.service.health import ServiceOperations
from octavo.service.pages import pages
from octavo.store import StoreUnavailable
from tests.fakes.identity_fixture import NO_PREREQUISITES, PASSWORD, PORTAL, identity_fixture
from tests.fakes.publishing_users import PublishingUsers
from tests.fakes.users_api import ADDRESS, ORIGIN

if TYPE_CHECKING:
    from quart.typing import TestClientProtocol

_VOID = frozenset({"input", "meta", "link", "br", "wbr"})
_REDIRECTS = 5
FIELDS = "application/x-www-form-urlencoded"
BOUNDARY = "----of-the-browser"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
_PART = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="


async def nobody(scope: Scope, receive: Receive, request_id: str) -> object:
    """Perform no operation: nobody is signed in."""
    raise NotSignedIn


async def closed(token: str) -> bool:
    """Return that no invitation and no token is valid."""
    return False


def no_time() -> float:
    """Return the start of Unix time."""
    return 0.0


def no_entropy() -> bytes:
    """Return bytes without entropy."""
    return bytes(32)


SESSION_SECONDS = 90 * 86_400.0


def form_stamps(now: Clock = no_time) -> FormStamps:
    """Return the stamps of forms; their secret is not stored."""

    async def secret() -> bytes:
        return bytes(32)

    return FormStamps(secret, now=now, session_seconds=SESSION_SECONDS)


def multipart(fields: Mapping[str, str], field_name: str, name: str, file: bytes) -> bytes:
    """Return the body of a form as browsers send it, with one file after the fields."""
    kind = guess_type(name)[0] or "application/octet-stream"
    head = f'{_PART}"{field_name}"; filename="{name}"\r\nContent-Type: {kind}\r\n\r\n'
    return b"".join([_parts(fields), head.encode(), file, f"\r\n--{BOUNDARY}--\r\n".encode()])


def multipart_fields(fields: Mapping[str, str]) -> bytes:
    """Return the body of a form without a file."""
    return _parts(fields) + f"--{BOUNDARY}--\r\n".encode()


def _parts(fields: Mapping[str, str]) -> bytes:
    return "".join(f'{_PART}"{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()).encode()


@dataclass
class Form:
    """A form of a page: where it leads, its fields with their values, and its button."""

    method: str
    action: str
    multipart: bool = False
    fields: dict[str, str] = field(default_factory=dict)
    unchecked: set[str] = field(default_factory=set)
    button: str = ""


class Document(HTMLParser):
    """What a person and a screen reader find on a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: dict[str, str] = {}
        self.headings: list[str] = []
        self.alerts: list[str] = []
        self.title = ""
        self.labelled: set[str] = set()
        self.ids: list[str] = []
        self.described: set[str] = set()
        self.controls: list[dict[str, str | None]] = []
        self.focused: list[str] = []
        self._open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._forms: dict[str, Form] = {}
        # Buttons outside of their forms, by the ids of these.
        self._outside: list[tuple[str, str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        for form_id, button, given in self._outside:
            self._press(self._forms[form_id], button, given)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.ids.append(given["id"] or "")
        self.described |= set((given.get("aria-describedby") or "").split())
        if "autofocus" in given:
            self.focused.append(given.get("name") or "")
        if tag == "form":
            is_multipart = given.get("enctype") == "multipart/form-data"
            method, action = given.get("method") or "get", given.get("action") or ""
            self.forms.append(Form(method, action, is_multipart))
            self._forms[given.get("id") or ""] = self.forms[-1]
        if tag in ("input", "select", "textarea"):
            self._add_control(tag, given)
        if tag == "option" and "selected" in given:
            select = next(each for each in reversed(self._open) if each[0] == "select")[1]
            self.forms[-1].fields[select.get("name") or ""] = given.get("value") or ""
        if tag == "label":
            self.labelled.add(given.get("for") or "")
        if tag not in _VOID:
            self._open.append((tag, given, []))

    def _add_control(self, tag: str, given: dict[str, str | None]) -> None:
        name, value = given.get("name"), given.get("value") or ""
        if given.get("type") != "hidden" and "hidden" not in given:
            self.controls.append(given)
        if name is None or not self.forms:
            return
        if given.get("type") in ("checkbox", "radio") and "checked" not in given:
            self.forms[-1].unchecked.add(name)
        else:
            self.forms[-1].fields.setdefault(name, value)

    def handle_data(self, data: str) -> None:
        for _, _, text in self._open:
            text.append(data)

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            name, given, parts = self._open.pop()
            if name == "textarea" and self.forms and given.get("name"):
                # Browsers leave out the first line feed.
                written = "".join(parts).removeprefix("\n")
                self.forms[-1].fields[given["name"] or ""] = written
            self._close(name, given, " ".join("".join(parts).split()))
            if name == tag:
                return

    def _close(self, tag: str, given: dict[str, str | None], text: str) -> None:
        if tag == "a":
            self.links.setdefault(text, given.get("href") or "")
        elif tag == "h1":
            self.headings.append(text)
        elif tag == "title" and all(each[0] != "svg" for each in self._open):
            self.title = text
        elif tag == "textarea":
            given["value"] = text
        elif tag == "button" and given.get("form"):
            self._outside.append((given["form"] or "", text, given))
        elif tag == "button" and self.forms:
            self._press(self.forms[-1], text, given)
        elif tag == "option" and "selected" in given and "value" not in given:
            select = next(each for each in reversed(self._open) if each[0] == "select")[1]
            self.forms[-1].fields[select.get("name") or ""] = text
        if given.get("role") in ("alert", "status"):
            self.alerts.append(text)

    def _press(self, form: Form, button: str, given: dict[str, str | None]) -> None:
        """The first button of a form is pressed."""
        if not form.button:
            form.button = button
            if given.get("name"):
                form.fields[given["name"] or ""] = given.get("value") or ""


class PageReader:
    """A person in a browser.

    Attributes:
        status, path, text, page: of the response that is shown.
    """

    def __init__(self, app: QuartTrio) -> None:
        self._client: TestClientProtocol = app.test_client(use_cookies=False)
        self.cookies: dict[str, str] = {}
        self.headers: dict[str, str] = {"sec-fetch-site": "same-origin", "user-agent": "Firefox"}
        self.status, self.path, self.text = 0, "", ""
        self.page = Document("")
        self.received: dict[str, str] = {}

    async def open(self, path: str) -> Document:
        """Open a page, and follow redirects."""
        await self._request("GET", path)
        return self.page

    async def send(self, path: str, /, **given: str) -> Document:
        """Submit fields to ``path``, whatever the page contains."""
        await self._request("POST", path, urlencode(given).encode())
        return self.page

    async def send_form(self, form: Form, **given: str) -> Document:
        """Fill in a form, perhaps of a page that is not shown any more, and submit it.

        Fields that the form does not have are sent, too.
        """
        return await self._send_form(form, {**form.fields, **given})

    async def _send_form(self, form: Form, fields: Mapping[str, str]) -> Document:
        action = form.action or urlsplit(self.path).path
        if form.multipart:
            await self._request("POST", action, multipart_fields(fields), MULTIPART)
        else:
            await self._request("POST", action, urlencode(fields).encode())
        return self.page

    async def submit(self, button: str, **given: str | None) -> Document:
        """Fill in the form with a button that begins so, and submit it.

        None unchecks a box, or leaves a field out. Fields that the form does not have are errors.
        """
        form = self.form(button)
        assert set(given) <= set(form.fields) | form.unchecked, form
        fields = {**form.fields, **given}
        sent = {name: value for name, value in fields.items() if value is not None}
        return await self._send_form(form, sent)

    async def upload(self, button: str, name: str, file: bytes, **given: str) -> Document:
        """Fill in the form with a button that begins so, with a file of a field, and submit it.

        The fields before the file are sent as a browser does.
        """
        form = self.form(button)
        [of_file] = [each for each in self.page.controls if each.get("type") == "file"]
        fields = {**form.fields, **given}
        del fields[of_file["name"] or ""]
        await self._request(
            "POST",
            form.action or urlsplit(self.path).path,
            multipart(fields, of_file["name"] or "", name, file),
            MULTIPART,
        )
        return self.page

    async def submit_query(self, button: str, **given: str) -> Document:
        """Fill in a form that asks for a page, and submit it."""
        form = self.form(button)
        assert form.method == "get"
        path = form.action or urlsplit(self.path).path
        return await self.open(f"{path}?{urlencode({**form.fields, **given})}")

    async def form_at(self, path: str, button: str) -> Form:
        """Open a page, and return its form with a button that begins so."""
        await self.open(path)
        return self.form(button)

    def form(self, button: str) -> Form:
        """Return the form with a button that begins so."""
        found = [each for each in self.page.forms if each.button.startswith(button)]
        assert found, [each.button for each in self.page.forms]
        return found[0]

    async def _request(
        self, method: str, path: str, data: bytes = b"", content_type: str = FIELDS
    ) -> None:
        for _ in range(_REDIRECTS):
            headers = dict(self.headers)
            if self.cookies:
                headers["cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
            if method == "POST":
                headers["origin"] = headers.get("origin", ORIGIN)
                headers["content-type"] = content_type
            send = self._client.post if method == "POST" else self._client.get
            response = await send(path, headers=headers, data=data)
            for cookie in response.headers.getlist("set-cookie"):
                for name, morsel in SimpleCookie(cookie).items():
                    self.cookies[name] = morsel.value
                    if morsel["max-age"] == "0":
                        del self.cookies[name]
            self.status, self.path = response.status_code, path
            self.received = {name.lower(): value for name, value in response.headers}
            if response.status_code != 303:
                break
            method, path, data = "GET", response.headers["location"], b""
        text = await response.get_data(as_text=True)
        assert isinstance(text, str)
        self.text, self.page = text, Document(text)
        if self.received.get("content-type", "").startswith("text/html"):
            self._check()

    def _check(self) -> None:
        """What is true of every page."""
        page = self.page
        assert len(page.headings) == 1, page.headings
        assert page.title.endswith("Octavo"), page.title
        assert "<script" not in self.text
        assert "style=" not in self.text
        assert len(set(page.ids)) == len(page.ids), page.ids
        assert page.described <= set(page.ids)
        for control in page.controls:
            assert control.get("id") in page.labelled or control.get("aria-label"), control
        for form in page.forms:
            assert form.button, form
            if form.method == "post" and "token-of-form" in form.fields:
                assert form.fields["token-of-form"], form
        assert len(page.focused) <= 1


class Installation:
    """An installation with pages over an in-memory store.

    Attributes:
        used: what it has used; None if that can't be read.
    """

    def __init__(
        self,
        users: PublishingUsers,
        portal: Mapping[str, str] = PORTAL,
        *,
        mcp: bool = True,
        sends_mail: bool = True,
    ) -> None:
        self.users = users
        self.used: InstallationUsage | None = InstallationUsage(
            Month("2027-01"), NOTHING, 0, NO_LIMITS
        )
        self.app = pages(
            api_document="/api/openapi.json",
            openapi=lambda: openapi_document([ServiceOperations], title="Octavo", version="1"),
            public_url=ORIGIN,
            legal=users.identity.legal,
            features=self._features(portal, mcp=mcp, sends_mail=sends_mail),
            perform=users.application.perform,
            now=users.identity.sources.now,
            new_entropy=users.identity.sources.new_entropy,
            stamps=form_stamps(users.identity.sources.now),
        )

    def _features(
        self, portal: Mapping[str, str], *, mcp: bool, sends_mail: bool
    ) -> Iterator[AddPages]:
        identity = self.users.identity
        now, registration = identity.sources.now, identity.registration
        yield lambda site: accounts.add_pages(
            site,
            identity.password_reset.opens,
            self._usage,
            portal,
            now,
            sends_mail=sends_mail,
        )
        yield lambda site: add_register_pages(
            site, registration.opens, registration.invited_into, identity.legal
        )
        yield members.add_workspace_pages
        yield members.add_member_pages
        yield add_consent_page
        yield lambda site: administration.add_pages(site, self._usage)
        yield lambda site: add_program_pages(site, now)
        yield lambda site: publications.add_publication_pages(site, now)
        yield publications.add_report_pages
        if mcp:
            yield add_connection_pages
        notes = self.users.publishing.member_notes
        new_entropy = identity.sources.new_entropy
        yield lambda site: add_note_pages(NotePages(site, notes, now, new_entropy))

    async def _usage(self) -> InstallationUsage:
        if self.used is None:
            raise StoreUnavailable("the disk is away")
        return self.used

    def stranger(self) -> PageReader:
        """A person who is not signed in."""
        return PageReader(self.app)

    async def person(self, address: str = ADDRESS, role: Role = "member") -> PageReader:
        """A person with an account, signed in through the page."""
        await self.users.identity.account(address, role)
        return await self.signed_in(address)

    async def signed_in(self, address: str) -> PageReader:
        """A person with an account, in another browser."""
        reader = self.stranger()
        await reader.open("/sign-in")
        await reader.submit("Sign in", address=address, password=PASSWORD)
        assert reader.path == "/workspaces", reader.text
        return reader


@contextmanager
def installation(
    legal: LegalTexts = NO_TEXTS,
    prerequisites: Prerequisites = NO_PREREQUISITES,
    portal: Mapping[str, str] = PORTAL,
    *,
    mcp: bool = True,
    sends_mail: bool = True,
) -> Iterator[Installation]:
    """Return an installation without accounts."""
    with identity_fixture(legal=legal, prerequisites=prerequisites) as identity:
        yield Installation(PublishingUsers(identity), portal, mcp=mcp, sends_mail=sends_mail)
